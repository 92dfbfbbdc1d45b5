// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/culprit_groups.h"

#include "base/clock.h"
#include "base/duration.h"
#include "capture/proc_threads.h"

void culprit_groups_clear(struct culprit_groups *groups)
{
	*groups = (struct culprit_groups){.since_ns = clock_ns(CLOCK_BOOTTIME)};
}

#define START_NS   (1U << 20)			   /* units of wire_culprit.start */
#define TICK_UNITS (NS_PER_S / 100 / START_NS + 1) /* proc_stat has clock ticks */

/* A pid that has been used again is another process's, which has begun since the last snapshot. */
static bool is_there(const struct culprit_groups *groups, const struct wire_culprit *culprit)
{
	struct proc_stat stat;
	uint32_t later;

	if (!proc_stat_read(culprit->pid, culprit->pid, &stat))
		return false;
	if (stat.start_ns < groups->since_ns || !culprit->tid)
		return true;
	/* it has begun itself, or the thread began after it */
	later = culprit->start - (uint32_t)(stat.start_ns / START_NS);
	return later <= (culprit->tid == culprit->pid ? TICK_UNITS : INT32_MAX);
}

static int ask(const struct culprit_groups *groups, const struct wire_culprit *culprit,
	       __u64 time_ns, struct record_sink sink)
{
	struct wire_member member = {
		.header = {.size = sizeof(member), .kind = WIRE_MEMBER, .time_ns = time_ns},
		.pid = culprit->pid};

	member.cgroup_id = proc_cgroup_id(culprit->pid);
	/* asked after it, so that it is the answer's process */
	return member.cgroup_id && is_there(groups, culprit) ? sink_send(sink, &member.header) : 0;
}

int culprit_groups_send(struct culprit_groups *groups, const struct wire_blame *record,
			struct record_sink sink)
{
	const struct wire_culprit *culprits = (const struct wire_culprit *)(record + 1);
	int result = 0;

	for (__u32 i = 0; result >= 0 && i < record->count; i++) {
		const struct wire_culprit *culprit = &culprits[i];
		__u32 *pid = &groups->pids[culprit->pid % CULPRIT_GROUPS];

		if (culprit->kind != WIRE_CULPRIT_THREAD || !culprit->pid || *pid == culprit->pid ||
		    culprit->pid == record->pid || groups->asked == CULPRIT_GROUPS)
			continue;
		*pid = culprit->pid;
		groups->asked++;
		result = ask(groups, culprit, record->header.time_ns, sink);
	}
	return result;
}
