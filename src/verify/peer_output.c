// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/peer_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"

int peer_sums_add(struct peer_sums *sums, uint32_t tid, enum peer_time what, uint64_t ns)
{
	size_t known = sums->tids.count, number = identities_add(&sums->tids, tid, 0);

	if (number == IDENTITY_NONE ||
	    array_reserve(&sums->ns, &sums->room, number + 1, sizeof(*sums->ns)) < 0)
		return -ENOMEM;
	if (number == known)
		memset(sums->ns[number], 0, sizeof(*sums->ns));
	sums->ns[number][what] += ns;
	return 0;
}

const uint64_t *peer_sums_find(const struct peer_sums *sums, uint32_t tid)
{
	size_t number = identities_find(&sums->tids, tid, 0);

	return number == IDENTITY_NONE ? NULL : sums->ns[number];
}

void peer_sums_release(struct peer_sums *sums)
{
	identities_release(&sums->tids);
	free(sums->ns);
}

/* The tid of "name[tid]" or "name[tid/pid]", where `text` ends with that; a name may be anything.
 */
static uint32_t bracketed_tid(const char *text, size_t length)
{
	while (length && text[length - 1] != '[')
		length--;
	return length ? (uint32_t)strtoul(text + length, NULL, 10) : 0;
}

/* `13842.041316 [0000]  python3[18890/18097]     0.000      0.035      0.098`, milliseconds */
int peer_take_timehist(struct peer_sums *sums, const char *line)
{
	static const enum peer_time times[] = {PEER_BLOCKED, PEER_RUNNABLE, PEER_CPU};
	const char *end = strrchr(line, ']');
	double milliseconds[ARRAY_SIZE(times)];
	uint32_t tid;
	int result = 0;

	if (!end || sscanf(end + 1, "%lf %lf %lf", &milliseconds[0], &milliseconds[1],
			   &milliseconds[2]) != 3)
		return 0;
	tid = bracketed_tid(line, (size_t)(end - line));
	for (size_t i = 0; tid && result >= 0 && i < ARRAY_SIZE(times); i++)
		result =
			peer_sums_add(sums, tid, times[i], (uint64_t)(milliseconds[i] * NS_PER_MS));
	return result;
}

/* `tid = 17447 python3`, and then `      128 -> 255        : 2     |****|`, microseconds */
int peer_take_runqlat(struct peer_sums *sums, const char *line)
{
	unsigned long long low, high, count;

	if (sscanf(line, " tid = %u", &sums->tid) == 1)
		return 0;
	if (!sums->tid || sscanf(line, " %llu -> %llu : %llu", &low, &high, &count) != 3)
		return 0;
	return peer_sums_add(sums, sums->tid, PEER_RUNNABLE,
			     (low + high + 1) * NS_PER_US / 2 * count);
}

/* `    -                loop-service (18889)`, and then `        4027`, microseconds */
int peer_take_offcputime(struct peer_sums *sums, const char *line)
{
	const char *open = strrchr(line, '(');
	uint32_t tid = sums->tid;
	unsigned long long us;
	char rest;

	sums->tid = 0;
	if (tid && sscanf(line, " %llu %c", &us, &rest) == 1)
		return peer_sums_add(sums, tid, PEER_OFF_CPU, us * NS_PER_US);
	if (open && !strncmp(line, "    - ", 6))
		sums->tid = (uint32_t)strtoul(open + 1, NULL, 10);
	return 0;
}
