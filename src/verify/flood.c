// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "verify/flood.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/forked.h"
#include "verify/await.h"
#include "verify/pattern.h"
#include "verify/verify.h"

/* The ring of ends has room for 4 MiB (EVENTS_BYTES of record.bpf.h): of half as many. */
#define THREADS	   16000
#define TIMEOUT_NS (120 * NS_PER_S)

static void *end_at_once(void *data)
{
	return data;
}

static _Noreturn void flood(int begin, atomic_ulong *ended)
{
	pthread_t thread;
	char byte;

	if (read(begin, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, end_at_once, NULL))
			break;
		pthread_join(thread, NULL);
		atomic_fetch_add(ended, 1);
	}
	/* its first one */
	atomic_fetch_add(ended, 1);
	_exit(EXIT_SUCCESS);
}

static void judge(struct verification *result, struct pattern_result *pattern, pid_t pid,
		  unsigned long ended)
{
	const struct interval *interval = observer_interval(result->observer);
	uint64_t lost = interval ? losses_lost(&interval->losses) : 0, seen = 0, missing;
	char why[sizeof(pattern->why)];

	for (size_t i = 0; interval && i < interval->row_count; i++)
		seen += interval->rows[i].pid == (uint32_t)pid && interval->rows[i].exited;
	missing = ended > seen ? ended - seen : 0;
	result->lost_on_purpose += missing;
	result->lost_unreported += missing > lost ? missing - lost : 0;
	pattern->threads += (unsigned int)ended;
	if (missing > lost) {
		snprintf(why, sizeof(why), "%llu of %lu ends are missing, %llu reported as lost",
			 (unsigned long long)missing, ended, (unsigned long long)lost);
		judge_round(pattern, VERDICT_FAIL, true, why);
	} else {
		judge_round(pattern, missing ? VERDICT_PASS : VERDICT_INCONCLUSIVE, false,
			    missing ? "" : "nothing was lost");
	}
}

/* Reads nothing between the two instants. */
static int observe(struct observer *observer, pid_t pid, int begin, bool *ret_ended,
		   struct error *error)
{
	int result = observer_begin(observer, error);
	siginfo_t state = {.si_pid = 0};

	if (result >= 0 && write(begin, "", 1) != 1)
		result = error_set(error, errno, "%s", strerror(errno));
	*ret_ended = result >= 0 && await_process(pid, TIMEOUT_NS);
	/* what still makes threads proves nothing */
	if (*ret_ended &&
	    (waitid(P_PID, (id_t)pid, &state, WEXITED | WNOHANG | WNOWAIT) < 0 || !state.si_pid))
		result = error_set(error, ETIMEDOUT, "its threads had not ended after 2 minutes");
	return result >= 0 ? observer_end(observer, error) : result;
}

void flood_run(struct verification *result, struct pattern_result *pattern, unsigned int round)
{
	atomic_ulong *ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct error error = {""};
	bool has_ended = false;
	int begin[2];
	pid_t pid;

	pattern->round = round;
	if (ended == MAP_FAILED)
		return judge_round(pattern, VERDICT_SKIP, false, strerror(errno));
	if (pipe2(begin, O_CLOEXEC) < 0) {
		judge_round(pattern, VERDICT_SKIP, false, strerror(errno));
		munmap(ended, sizeof(*ended));
		return;
	}
	pid = pattern_fork();
	if (!pid)
		flood(begin[0], ended);
	if (pid < 0)
		judge_round(pattern, VERDICT_SKIP, false, strerror(errno));
	else if (observe(result->observer, pid, begin[1], &has_ended, &error) < 0)
		judge_round(pattern, VERDICT_SKIP, false, error.text);
	else if (has_ended)
		judge(result, pattern, pid, atomic_load(ended));
	else
		result->interrupted = true;
	forked_end(pid);
	close(begin[0]);
	close(begin[1]);
	munmap(ended, sizeof(*ended));
}
