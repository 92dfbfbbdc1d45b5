/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of times off the CPU, for `dwell profile`. Those of short ones are taken when a thread
 * leaves its CPU, while its memory can be read, and with a probability in proportion to how long it
 * is expected to stay away, by what it did at that place before. Those of long ones are read by
 * user space while the thread waits: many times a second an iterator walks over what waits, and
 * chooses some. When the thread comes back, its time counts as much as it was unlikely to be taken
 * (Horvitz and Thompson 1952): so sums are right on average whatever was expected, and a good guess
 * only makes them vary less.
 */
#ifndef DWELL_BPF_PROFILE_BPF_H
#define DWELL_BPF_PROFILE_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/spans.bpf.h"

/* 1 << enum wire_state: times of which there are to be stacks; 0: no profile. */
const volatile __u32 profile_states __weak = 0;
/* Stacks of waits in PROFILE_WINDOW_NS and CPU, about; at least 1. */
const volatile __u32 profile_stacks __weak = 1;
/* Place of the iterator in span_samples. */
const volatile __u32 profile_iterator_place __weak = 0;
/* What outlives this has a walk that may choose it. Written by user space only. */
volatile __u64 profile_walk_ns __weak = 0;
/* What has waited so long can be read before it ends. Written by user space only. */
volatile __u64 profile_settled_ns __weak = 0;
/* A wait of that length has ended. User space sets it to 0. */
volatile __u64 profile_long __weak = 0;
/* Records that found the ring full. */
volatile __u64 profile_lost __weak = 0;

#define PROFILE_PLACES	4 /* that a thread remembers */
#define PROFILE_CERTAIN 0xffffffffU

struct profile {
	__u64 left_ns;		    /* it left its CPU; 0: it has one, or it did so before us */
	__u64 sent_ns;		    /* its wait has been reported up to here; 0: not at all */
	struct wire_wait_site site; /* what it left its CPU for */
	__u32 chance;		    /* that its stack was taken so far: profile_chance() */
	__u32 is_taken;
	__u32 likely_ns, every_ns; /* of which it was chosen; every_ns 0: `chance` says it */
	__u32 expected_ns[PROFILE_PLACES]; /* by place_of(); 0: it has not been there */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct profile);
} profiles __weak SEC(".maps");

/* A CPU takes a stack about once in `every_ns` of time that threads are expected to be away. */
struct profile_cpu {
	__u64 window_ns; /* its present window began */
	__u32 taken;	 /* in it */
	__u32 every_ns;
	__u32 mean_ns; /* how long threads were away, of late */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct profile_cpu);
} profile_cpus __weak SEC(".maps");

static __always_inline struct profile *profile_of(struct task_struct *task)
{
	return bpf_task_storage_get(&profiles, task, NULL, 0);
}

/* Only in fork and in the iterator, where memory may be allocated. */
static __always_inline struct profile *profile_make(struct task_struct *task)
{
	return bpf_task_storage_get(&profiles, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline bool profile_has(__u8 state)
{
	return state < WIRE_STATES && profile_states >> state & 1;
}

static __always_inline __u32 place_of(const struct wire_wait_site *site)
{
	return ((__u32)site->syscall ^ site->state) & (PROFILE_PLACES - 1);
}

static __always_inline __u32 clip_u32(__u64 ns)
{
	return ns > 0xffffffffU ? 0xffffffffU : (__u32)ns;
}

/* More than wanted were taken: less often from now on; and the other way round. */
static __always_inline void profile_new_window(struct profile_cpu *cpu, __u64 now_ns)
{
	__u64 every_ns = cpu->every_ns;

	if (cpu->taken > profile_stacks * 4)
		every_ns *= 4;
	else if (cpu->taken < profile_stacks / 4)
		every_ns /= 4;
	else
		every_ns = every_ns * (cpu->taken + 1) / (profile_stacks + 1);
	cpu->every_ns =
		every_ns < PROFILE_EVERY_LEAST_NS ? PROFILE_EVERY_LEAST_NS : clip_u32(every_ns);
	cpu->window_ns = now_ns;
	cpu->taken = 0;
}

/*
 * Whether its stack is to be taken: with a probability of likely_ns / every_ns. The quotient itself
 * is needed only where it counts, and costs as much as the rest.
 */
static __always_inline bool profile_choose(struct profile *profile, struct profile_cpu *cpu,
					   __u32 expected_ns, __u64 now_ns)
{
	__u64 likely = expected_ns;

	if (now_ns - cpu->window_ns > PROFILE_WINDOW_NS || cpu->taken > profile_stacks * 4)
		profile_new_window(cpu, now_ns);
	/* a walk will meet it */
	if (likely > profile_walk_ns)
		likely = profile_walk_ns;
	/* what is expected to be short may be long: not too unlikely, or it weighs too much */
	likely += cpu->mean_ns / 8 + 1;
	profile->likely_ns = clip_u32(likely);
	profile->every_ns = cpu->every_ns;
	return (__u64)bpf_get_prandom_u32() * profile->every_ns <= (__u64)profile->likely_ns << 32;
}

/* In 1/2^32. */
static __always_inline __u32 profile_chance(struct profile *profile)
{
	__u32 likely_ns = profile->likely_ns, every_ns = profile->every_ns;

	if (every_ns)
		profile->chance = likely_ns < every_ns
					  ? (__u32)(((__u64)likely_ns << 32) / every_ns)
					  : PROFILE_CERTAIN;
	profile->every_ns = 0;
	return profile->chance;
}

static __always_inline __u64 profile_wakeup(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > PROFILE_WAKEUP_BYTES
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Of the current thread. */
static __attribute__((noinline, unused)) int profile_send_stack(void *ctx, struct task_struct *task,
								const struct wire_wait_site *site,
								__u64 now_ns, __u32 of)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct span_stack *stack = bpf_map_lookup_elem(&span_samples, &cpu);
	__u64 size;

	if (!stack)
		return 0;
	stack->header.kind = SPAN_STACK;
	stack->header.cpu = (__u16)cpu;
	stack->header.time_ns = now_ns;
	stack->span_ns = 0;
	stack->weight_ns = 0;
	stack->worker_tid = tid_of(task);
	stack->of = of;
	stack->switches = of == SPAN_STACK_AWAY ? task->nvcsw + task->nivcsw : 0;
	stack->thread_pointer = arch_thread_pointer(task);
	stack->site = *site;
	if (is_kernel_thread(task)) {
		stack->frame = (struct site_frame){};
		stack->in_user_mode = 0;
		stack->user_bytes = 0;
		stack->python_count = 0;
		span_identify(task, stack);
		span_fill_kernel(ctx, stack);
	} else {
		span_fill_stack(ctx, task, stack);
	}
	size = (__builtin_offsetof(struct span_stack, user) + stack->user_bytes + 7) & ~7ULL;
	if (size > sizeof(*stack))
		return 0;
	stack->header.size = (__u32)size;
	if (bpf_ringbuf_output(&events, stack, size, profile_wakeup()))
		count(&profile_lost);
	return 0;
}

/* The current thread leaves its CPU, and its account says for what. */
static __attribute__((noinline, unused)) void
profile_leave_cpu(void *ctx, struct task_struct *task, const struct account *account, __u64 now_ns)
{
	struct profile *profile = profile_of(task);
	__u32 zero = 0, expected_ns;
	struct profile_cpu *cpu;

	if (!profile)
		return;
	profile->left_ns = account->live.since_ns;
	profile->sent_ns = 0;
	profile->site = account->live.site;
	profile->is_taken = 0;
	profile->chance = 0;
	profile->every_ns = 0;
	cpu = bpf_map_lookup_elem(&profile_cpus, &zero);
	if (!cpu)
		return;
	expected_ns = profile->expected_ns[place_of(&profile->site)];
	if (!expected_ns)
		expected_ns = cpu->mean_ns;
	if (!profile_choose(profile, cpu, expected_ns, now_ns))
		return;
	profile->is_taken = 1;
	cpu->taken++;
	profile_send_stack(ctx, task, &profile->site, profile->left_ns, SPAN_STACK_AWAY);
}

static __always_inline void profile_fill(struct profile_away *away, struct task_struct *task,
					 struct profile *profile, __u64 ready_ns, __u64 end_ns)
{
	__u64 from_ns = profile->sent_ns ?: profile->left_ns;

	away->header.size = sizeof(*away);
	away->header.kind = PROFILE_AWAY;
	away->header.cpu = (__u16)bpf_get_smp_processor_id();
	away->header.time_ns = end_ns;
	away->left_ns = profile->left_ns;
	away->from_ns = from_ns;
	away->ready_ns = ready_ns < from_ns ? from_ns : ready_ns;
	away->tid = tid_of(task);
	away->pid = pid_of(task);
	away->start_ns = task->start_boottime;
	away->site = profile->site;
	away->inverse =
		clip_u32(((__u64)PROFILE_INVERSE_ONE << 32) / ((__u64)profile_chance(profile) + 1));
}

/* It has a CPU again, and could have run since ready_ns. */
static __attribute__((noinline, unused)) void profile_take_cpu(struct task_struct *task,
							       __u64 ready_ns, __u64 now_ns)
{
	struct profile *profile = profile_of(task);
	struct profile_away *away;
	struct profile_cpu *cpu;
	__u32 zero = 0, *expected;
	__u64 counts_ns = 0;

	if (!profile || !profile->left_ns)
		return;
	if (ready_ns < profile->left_ns)
		ready_ns = profile->left_ns;
	if (profile_has(profile->site.state)) {
		counts_ns += ready_ns - profile->left_ns;
		if (counts_ns >= profile_settled_ns)
			profile_long = 1;
	}
	if (profile_has(WIRE_RUNNABLE))
		counts_ns += now_ns - ready_ns;
	expected = &profile->expected_ns[place_of(&profile->site)];
	*expected =
		clip_u32(*expected ? ((__u64)*expected * 3 + counts_ns) / 4 + 1 : counts_ns + 1);
	cpu = bpf_map_lookup_elem(&profile_cpus, &zero);
	if (cpu) {
		__u64 shorter_ns = counts_ns < profile_walk_ns ? counts_ns : profile_walk_ns;

		cpu->mean_ns = clip_u32(((__u64)cpu->mean_ns * 15 + shorter_ns) / 16);
	}
	if (profile->is_taken && profile->sent_ns < now_ns) {
		away = bpf_ringbuf_reserve(&events, sizeof(*away), 0);
		if (away) {
			profile_fill(away, task, profile, ready_ns, now_ns);
			bpf_ringbuf_submit(away, profile_wakeup());
		} else {
			count(&profile_lost);
		}
	}
	profile->left_ns = 0;
}

/* It was not what it seemed when the thread left its CPU: site_correct(). */
static __always_inline void profile_correct(struct task_struct *task, struct wire_wait_site site)
{
	struct profile *profile = profile_of(task);

	if (profile && profile->left_ns)
		profile->site = site;
}

#endif
