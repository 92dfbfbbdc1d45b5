// SPDX-License-Identifier: GPL-2.0-or-later
/* What threads run, by samples of each CPU, and what waits. Loaded only for `dwell profile`. */
#include "bpf/kernel_types.h"

#define FOLLOW_BY_COPY

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/profile.bpf.h"

struct bpf_perf_event_data;

SEC("?perf_event")
int on_profile_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wire_wait_site site = wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	struct account *account = account_of(task);

	if (!account || is_skipped(account))
		return 0;
	profile_send_stack(ctx, task, &site, bpf_ktime_get_ns(), SPAN_STACK_CPU);
	return 0;
}

/* With this probability, in 1/2^32, a walk takes the stack of what it meets. */
volatile __u32 profile_walk_chance = 0;
/* What the last one met and no stack had been taken of. */
volatile __u64 profile_met = 0;

/* Of a thread that is off its CPU, and whose memory user space is to read. */
static __always_inline long write_asleep(struct seq_file *seq, struct task_struct *task,
					 const struct profile *profile)
{
	__u32 place = profile_iterator_place;
	struct span_stack *stack = bpf_map_lookup_elem(&span_samples, &place);
	long bytes;

	if (!stack)
		return 0;
	__builtin_memset(stack, 0, __builtin_offsetof(struct span_stack, python));
	stack->header.size = __builtin_offsetof(struct span_stack, user);
	stack->header.kind = SPAN_STACK;
	stack->header.time_ns = profile->left_ns;
	stack->of = SPAN_STACK_ASLEEP;
	stack->site = profile->site;
	stack->switches = task->nvcsw + task->nivcsw;
	span_identify(task, stack);
	stack->worker_tid = stack->tid;
	stack->thread_pointer = arch_thread_pointer(task);
	if (!is_kernel_thread(task))
		stack->frame = user_frame_of(task);
	bytes = bpf_get_task_stack(task, stack->kernel, sizeof(stack->kernel), 0);
	stack->kernel_count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
	return bpf_seq_write(seq, stack, __builtin_offsetof(struct span_stack, user));
}

/*
 * What waits, many times a second. How likely it was to be chosen by all walks so far counts, also
 * of what has been.
 */
SEC("?iter/task")
int profile_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wire_wait_site site;
	struct account *account;
	struct profile *profile;
	__u64 left_ns, now_ns = bpf_ktime_get_ns();
	__u32 chance;

	if (!task || task->exit_state || task->on_cpu)
		return 0;
	account = account_of(task);
	if (!account || is_skipped(account))
		return 0;
	site = account->live.site;
	left_ns = account->live.since_ns;
	if (site.state <= WIRE_RUNNABLE || !profile_has(site.state))
		return 0;
	profile = profile_make(task);
	if (!profile)
		return 0;
	if (!profile->left_ns) {
		profile->site = site;
		profile->is_taken = 0;
		profile->chance = 0;
		profile->every_ns = 0;
		profile->left_ns = left_ns;
	}
	if (profile->left_ns != left_ns || now_ns - left_ns < profile_settled_ns)
		return 0;
	if (!profile->is_taken) {
		profile_met++;
		if (bpf_get_prandom_u32() <= profile_walk_chance) {
			if (write_asleep(ctx->meta->seq, task, profile))
				return 0;
			profile->is_taken = 1;
		}
	}
	chance = profile_chance(profile);
	profile->chance =
		chance +
		(__u32)(((__u64)(PROFILE_CERTAIN - chance) * ((__u64)profile_walk_chance + 1)) >>
			32);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
