// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scheduler's hooks: every change of a thread's state goes into its account. Nothing is sent,
 * nothing is allocated here but for new threads; the one event is a thread's end.
 */
#include "bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/blame_sched.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/freezer.bpf.h"
#include "bpf/profile.bpf.h"
#include "bpf/reasons.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/span_switch.bpf.h"
#include "bpf/throttle.bpf.h"

/* Four arguments since 5.18 (commit fa2c3254d7cf); before, the state is still in the thread. */
const volatile bool switch_has_state = true;
/*
 * What a program of sched_switch does beside accounting. Each is a program of its own: the verifier
 * spends time on what cannot be reached, too.
 */
enum switch_work {
	SWITCH_ACCOUNTS,
	SWITCH_SPANS,
	SWITCH_PROFILE,
};

/* User space waits for the end of threads. */
volatile bool ends_awaited = false;

static __always_inline void send(struct task_struct *task, struct account *account, __u16 kind)
{
	struct wire_thread *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		count(&losses.exits);
		return;
	}
	if (kind == WIRE_THREAD)
		record_fill(record, account, &account->frozen, account->frozen_ns, kind);
	else
		record_fill(record, account, &account->live, account->live.since_ns, kind);
	record_fill_task(record, task, account);
	record_fill_family(record, task);
	record_fill_cgroup(record, task);
	if (account->was_frozen) {
		const struct freeze *freeze = freeze_of(task);

		if (freeze)
			freeze_apply(freeze, &record->totals);
	}
	/* user space drains the ring at each snapshot: wake it early only when the ring fills up */
	if (ends_awaited || bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > EARLY_WAKEUP_BYTES)
		bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/*
 * The last switch of a thread: nothing of its life is missing from the record. For some time
 * before, since it left the process table, the iterator has not met it any more; what it would have
 * read goes with it, but not after the last snapshot, to which its end belongs. The account itself
 * is freed with the thread (deleting it here could call into RCU under the run-queue lock).
 */
static __always_inline void end_thread(struct task_struct *task, struct account *account,
				       enum switch_work work, __u64 now_ns)
{
	account_leave_cpu(account, wait_site(WIRE_STATES, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE),
			  now_ns);
	if (is_skipped(account))
		return;
	if (reasons_all)
		reason_end(task, account);
	if (!is_last && account->frozen_ns == snapshot_ns && account->read_ns != snapshot_ns &&
	    account->origin_ns < account->frozen_ns)
		send(task, account, WIRE_THREAD);
	send(task, account, WIRE_EXIT);
	if (blame_on)
		blame_end_thread(account, is_last);
	account_reported(account);
	if (work == SWITCH_SPANS)
		worker_end(task, now_ns);
}

/* Still runnable, but not running: preempted, throttled, or it yielded. */
static __always_inline void leave_runnable(void *ctx, struct task_struct *task,
					   struct account *account, enum switch_work work,
					   __u64 now_ns)
{
	struct wire_wait_site next =
		wait_site(WIRE_RUNNABLE, WIRE_DETAIL_PREEMPTED, WIRE_SYSCALL_NONE);

	if (is_throttled(task)) {
		next.detail = WIRE_DETAIL_THROTTLED;
	} else if (!is_kernel_thread(task)) {
		int syscall = arch_syscall(task, (struct pt_regs *)bpf_task_pt_regs(task));

		if (class_of(syscall) == SYSCALL_YIELD)
			next = wait_site(WIRE_RUNNABLE, WIRE_DETAIL_YIELDED, syscall);
	}
	next = any_where(next);
	account_leave_cpu(account, next, now_ns);
	if (work == SWITCH_SPANS)
		span_leave_cpu(ctx, task, account, now_ns);
	if (work == SWITCH_PROFILE && !is_skipped(account))
		profile_leave_cpu(ctx, task, account, now_ns);
	account->live.totals.preempted++;
	if (next.detail == WIRE_DETAIL_THROTTLED) {
		account->live.totals.throttled++;
		if (blame_on && !is_skipped(account))
			blame_of(account)->limit = limit_reached(task);
	}
}

/* FUTEX2_PRIVATE in the flags of futex_wait() is the same bit as in the operation of futex(). */
static __always_inline bool is_private_futex(const struct pt_regs *regs, enum syscall_class class)
{
	__u64 flags = class == SYSCALL_FUTEX_WAIT ? arch_argument_3(regs) : arch_argument_1(regs);

	return flags & FUTEX_PRIVATE_FLAG;
}

/*
 * Of the lock that a thread begins to wait for. Others may have the same number. Not inlined:
 * verifiers up to 6.1 have no room for it on the stack of the hooks.
 */
static __noinline __u32 lock_number(struct task_struct *task, int syscall, __u32 detail)
{
	enum syscall_class class = class_of(syscall);
	const struct pt_regs *regs;
	__u64 address;

	if (!task)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	address = arch_argument_0(regs);
	if (detail == WIRE_DETAIL_KERNEL_LOCK)
		return 2;
	/* the file's, whichever part of it fcntl() locks */
	if (class == SYSCALL_FLOCK || class == SYSCALL_FCNTL)
		return (__u32)(descriptor_inode(task, address) >> 6) << 3 | 3;
	if (class != SYSCALL_FUTEX && class != SYSCALL_FUTEX_WAIT)
		return ((__u32)address << 10 ^ (__u32)syscall) << 3 | 3;
	/* what several processes share has other addresses in each, but the same place in a page */
	return is_private_futex(regs, class) ? (__u32)address & ~3U
					     : ((__u32)address & 0xfff) << 8 | 1;
}

static __always_inline void leave_blocked(void *ctx, struct task_struct *task,
					  struct account *account, unsigned int state,
					  enum switch_work work, __u64 now_ns)
{
	struct wire_wait_site next;

	if (bpf_core_field_exists(task->seccomp.filter) &&
	    account->filter != (__u64)task->seccomp.filter) {
		account->filter = (__u64)task->seccomp.filter;
		barrier(); /* read back it is a number, which a global function takes */
		account->is_supervised = has_supervisor(account->filter);
	}
	next = any_where(classify(task, state, account->last_call, account->is_supervised, ctx));
	next = any_where(site_refine(task, account, next, now_ns));
	if (next.syscall >= 0)
		account->last_call = next;
	if (blame_on) {
		/* of others it may turn out that they are one: site_correct() */
		bool for_lock = next.state == WIRE_LOCK || is_futex_wait(next) ||
				next.state == WIRE_UNKNOWN || account->asked_since == (__u32)now_ns;

		blame_wait_begins(task, account, for_lock, now_ns);
		if (for_lock)
			blame_of(account)->lock = lock_number(task, next.syscall, next.detail);
	}
	account_leave_cpu(account, next, now_ns);
	if (work == SWITCH_SPANS)
		span_leave_cpu(ctx, task, account, now_ns);
	if (work == SWITCH_PROFILE && !is_skipped(account))
		profile_leave_cpu(ctx, task, account, now_ns);
}

/* One of it was not seen. */
static __always_inline void count_transition(const struct account *account)
{
	if (!is_skipped(account))
		count(&losses.transitions);
}

/*
 * The wait from `since_ns` on has ended, after account_enter(). What of it was reported as
 * something else stays that: how much. Not inlined: it is rare.
 */
static __noinline __u64 keep_reported(struct task_struct *task, struct account *account,
				      __u32 state, __u64 since_ns)
{
	__u64 ns;

	if (!task || !account)
		return 0;
	ns = totals_give_back(&account->live.totals, &account->was, state, since_ns);
	if (ns)
		reason_add(task, account, account->was.site, ns);
	return ns;
}

/*
 * It ran, but was never seen to get its CPU: the switch was hidden. How long it ran, the kernel has
 * counted all the same, so only what it waited for before is not quite known.
 * What a snapshot may have reported already, of the time before its instant, stays as it is. Not
 * inlined: it is rare, and the way of all others is not to be longer for it.
 */
static __noinline int catch_up(struct task_struct *task, struct account *account, __u64 ran_ns,
			       __u64 now_ns)
{
	__u64 instant_ns = snapshot_ns;
	__u64 least_ns, from_ns = now_ns - ran_ns, waited_ns, since_ns;
	__u8 state;

	if (!task || !account)
		return 0;
	count_transition(account);
	since_ns = least_ns = account->live.since_ns;
	state = account->live.site.state;
	if (account->frozen_ns != instant_ns && now_ns >= instant_ns && instant_ns > least_ns)
		least_ns = instant_ns;
	if (ran_ns > now_ns || from_ns < least_ns)
		from_ns = least_ns;
	waited_ns = account_enter(
		account, wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE), from_ns);
	if (state == WIRE_RUNNABLE)
		account_latency(account, waited_ns);
	else
		keep_reported(task, account, state, since_ns);
	return 0;
}

static __always_inline void leave_cpu(void *ctx, struct task_struct *task, bool preempt,
				      unsigned int state, const struct turn_clock *clock,
				      enum switch_work work, __u64 now_ns)
{
	struct account *account = account_of(task);
	__u64 ran_ns;

	if (!account)
		return;
	ran_ns = task->se.sum_exec_runtime;
	/* it runs, so the switch that let it was not seen */
	if (account->live.site.state != WIRE_ON_CPU)
		catch_up(task, account, ran_ns - account->ran_ns, now_ns);
	else
		now_ns = account_end_turn(account, ran_ns, clock, now_ns);
	/* of the ways through the turn's end, which differ by ranges, one is left to verify */
	now_ns += unknown_zero;
	ran_ns += unknown_zero;
	account->ran_ns = ran_ns;
	if (state & TASK_DEAD)
		end_thread(task, account, work, now_ns);
	else if (preempt || !state || !has_left_queue(task))
		leave_runnable(ctx, task, account, work, now_ns);
	else
		leave_blocked(ctx, task, account, state, work, now_ns);
}

/*
 * It gets a CPU, but was never seen to leave its last one. What it did since then is not known; as
 * far as it was not charged for it, another thread ran.
 */
static __noinline int take_again(struct account *account, __u64 ran_ns, __u64 now_ns)
{
	struct turn_clock nothing_omitted = {};

	if (!account)
		return 0;
	nothing_omitted.omitted_ns = account->turn.omitted_ns;
	account_end_turn(account, ran_ns, &nothing_omitted, now_ns);
	if (account->turn.is_divided)
		count_transition(account);
	account_leave_cpu(account, account->live.site, now_ns);
	return 0;
}

/* It gets a CPU, but was never seen to be woken. */
static __noinline int take_asleep(struct task_struct *task, struct account *account, __u32 state,
				  __u64 since_ns)
{
	if (!task || !account)
		return 0;
	count_transition(account);
	keep_reported(task, account, state, since_ns);
	return 0;
}

static __always_inline void take_cpu(struct task_struct *task, struct task_struct *before,
				     struct blame_cpu *cpu, const struct turn_clock *clock,
				     enum switch_work work, __u64 now_ns)
{
	struct account *account = account_of(task);
	__u64 spent_ns, ran_ns, since_ns;
	struct wire_wait_site waited;
	__u8 state;

	if (!account)
		return;
	waited = account->live.site;
	state = waited.state;
	since_ns = account->live.since_ns;
	ran_ns = task->se.sum_exec_runtime;
	if (state == WIRE_ON_CPU)
		take_again(account, ran_ns, now_ns);
	spent_ns = account_enter(
		account, wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE), now_ns);
	if (account->turn.balance_ns < -TURN_TOLERANCE_NS && state == WIRE_RUNNABLE)
		since_ns += account_pay(account, state, spent_ns);
	if (blame_on && state == WIRE_RUNNABLE && !is_skipped(account))
		blame_queue(cpu, task, account, waited, since_ns, now_ns);
	account_begin_turn(account, ran_ns, clock);
	if (state == WIRE_RUNNABLE)
		account_latency(account, spent_ns);
	else if (state != WIRE_ON_CPU)
		take_asleep(task, account, state, since_ns);
	if (work == SWITCH_SPANS)
		span_take_cpu(task, waited.detail == WIRE_DETAIL_THROTTLED ? NULL : before, account,
			      state == WIRE_RUNNABLE ? spent_ns : 0, now_ns);
	if (work == SWITCH_PROFILE)
		profile_take_cpu(task, state == WIRE_RUNNABLE ? now_ns - spent_ns : now_ns, now_ns);
}

static __always_inline int switch_threads(__u64 *ctx, struct task_struct *prev,
					  struct task_struct *next, enum switch_work work)
{
	__u64 now_ns = bpf_ktime_get_ns();
	/* the fourth argument, read only where the kernel has it */
	unsigned int state = switch_has_state ? (unsigned int)ctx[3] : prev->__state;
	const struct rq *rq = run_queue_of(prev);
	struct turn_clock clock = turn_clock_of(rq);

	struct blame_cpu *cpu = blame_keeps_runs ? blame_cpu_here() : NULL;

	/* never: each CPU has one. But a way less for the verifier */
	if (blame_keeps_runs && !cpu)
		return 0;
	if (blame_keeps_runs)
		blame_switch(cpu, prev, next, rq, &clock, now_ns);
	if (prev->pid)
		leave_cpu(ctx, prev, (bool)ctx[0], state, &clock, work, now_ns + unknown_zero);
	if (next->pid)
		take_cpu(next, prev, cpu, &clock, work, now_ns);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switch_threads(ctx, prev, next, SWITCH_ACCOUNTS);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch_spans, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switch_threads(ctx, prev, next, SWITCH_SPANS);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch_profile, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switch_threads(ctx, prev, next, SWITCH_PROFILE);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct account *account = account_of(task);
	struct wire_wait_site waited;
	__u64 spent_ns, since_ns;
	bool corrected;

	/* a wakeup of a thread that has not left its CPU, or has not blocked, changes nothing */
	if (!account || account->live.site.state <= WIRE_RUNNABLE)
		return 0;
	corrected = site_correct(task, account);
	waited = account->live.site;
	if (profile_states && corrected)
		profile_correct(task, waited);
	since_ns = account->live.since_ns;
	spent_ns = account_enter(account,
				 wait_site(WIRE_RUNNABLE, WIRE_DETAIL_WOKEN, WIRE_SYSCALL_NONE),
				 blame_on ? blame_end_ns(account) : bpf_ktime_get_ns());
	if (account->turn.overdue_ns)
		account_pay(account, waited.state, spent_ns);
	if (account->was_frozen)
		spent_ns -= freeze_end_wait(task, account, waited.state, since_ns);
	if (corrected)
		spent_ns -= turn_smaller(spent_ns,
					 keep_reported(task, account, waited.state, since_ns));
	reason_add(task, account, waited, spent_ns);
	account->live.totals.woken++;
	return 0;
}

/* Unless it is of a target. */
static __always_inline void mark_beside(struct task_struct *task)
{
	struct account *account = account_of(task);

	if (account)
		account->is_beside = !is_of_target(task);
}

/* Accounts are made here and in the iterator, where no scheduler lock is held. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct account *account = account_of(parent);

	if (inherits_watch(parent, account, child))
		account_new_thread(child);
	if (watch_beside && !(account && !account->is_beside && inherits_target(parent, child)))
		mark_beside(child);
	if (profile_states && account_of(child)) {
		profile_make(child);
		python_inherit(parent, child);
	}
	if (span_lives && account_of(child) && worker_of(parent)) {
		struct worker *worker = worker_make(child);

		if (worker)
			span_note_waker(worker, parent);
	}
	return 0;
}

/* The command that is watched, until it runs its program; 0: none. */
volatile __u32 command_pid = 0;

/* What it did before was dwell's: its account begins with the program's first instruction. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(on_command, struct task_struct *task)
{
	struct account *account = account_of(task);
	struct turn_clock clock;

	if (!command_pid || !account || pid_of(task) != command_pid)
		return 0;
	command_pid = 0;
	account_reported(account);
	account_delete(task);
	account = account_new(task);
	if (!account)
		return 0;
	/* it is in the middle of a turn */
	clock = turn_clock_unlocked(task);
	account_begin_turn(account, RAN_UNKNOWN, &clock);
	account_begin(account, task, wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE),
		      bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_leave, struct task_struct *task)
{
	struct account *account = account_of(task);

	if (!account || is_skipped(account) || account->read_ns ||
	    (is_last && account->origin_ns >= snapshot_ns))
		return 0;
	if (!__sync_lock_test_and_set(&account->is_leaving, 1))
		count(&leaving);
	/* the iterator may have met it just now, and not have seen that it leaves */
	if (account->read_ns)
		account_reported(account);
	return 0;
}

/* Longer paths are asked for by user space, as long as the cgroup is there. */
#define CGROUP_PATH_BYTES 256

/* A struct wire_cgroup, with all its room. */
struct cgroup_made {
	struct wire_header header;
	__u64 id;
	char path[CGROUP_PATH_BYTES];
};

_Static_assert(__builtin_offsetof(struct cgroup_made, path) == sizeof(struct wire_cgroup), "");

/* A header alone, for which user space wakes. */
static __always_inline bool send_at_once(__u16 kind)
{
	struct wire_header *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record)
		return false;
	record->size = sizeof(*record);
	record->kind = kind;
	record->cpu = 0;
	record->time_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return true;
}

/*
 * Its path, which none could ask for any more once it has gone; or, where a cgroup is watched, that
 * it may have been made again. Without room in the ring the next snapshot looks.
 */
SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(on_cgroup, struct cgroup *group, const char *path)
{
	struct cgroup_made *made;
	long bytes;

	/* the hierarchy of cgroups v2 has the first number */
	if (BPF_CORE_READ(group, root, hierarchy_id))
		return 0;
	if (watch_cgroup) {
		if (watch_cgroup_level == CGROUP_LEVEL_UNKNOWN ||
		    (__u32)BPF_CORE_READ(group, level) == watch_cgroup_level)
			send_at_once(CGROUP_MADE);
		return 0;
	}
	made = bpf_ringbuf_reserve(&events, sizeof(*made), 0);
	if (!made)
		return 0;
	__builtin_memset(made, 0, sizeof(*made));
	made->header.size = sizeof(*made);
	made->header.kind = WIRE_CGROUP;
	made->header.time_ns = bpf_ktime_get_ns();
	made->id = BPF_CORE_READ(group, kn, id);
	bytes = bpf_probe_read_kernel_str(made->path, sizeof(made->path), path);
	if (bytes <= 1 || bytes == sizeof(made->path))
		bpf_ringbuf_discard(made, 0);
	else
		bpf_ringbuf_submit(made, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Threads come into a cgroup by one of a process, which stands for all. Only the iterator meets
 * each of them, so user space is asked to run it.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *into, const char *path, struct task_struct *task)
{
	struct account *account = account_of(task);

	if ((account && !is_skipped(account)) || !is_of_target(task))
		return 0;
	if (!send_at_once(CGROUP_JOINED))
		count(&losses.threads);
	return 0;
}

/*
 * Threads the kernel makes without a fork event (io_uring workers). This hook runs under the
 * run-queue lock: only where the allocator of task storage allows it (else the next snapshot finds
 * them, and counts them as late).
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	struct bpf_local_storage_map___mem_alloc *mem_alloc = NULL;
	struct bpf_local_storage_map___nolock *nolock = NULL;

	if (!bpf_core_field_exists(mem_alloc->selem_ma) &&
	    !bpf_core_field_exists(nolock->use_kmalloc_nolock))
		return 0;
	if (account_of(task))
		return 0;
	if ((watch_all || task->flags & PF_IO_WORKER) && is_watched(task)) {
		account_new_thread(task);
		if (watch_beside)
			mark_beside(task);
	}
	return 0;
}

/*
 * In the context of who ends a wait; sched_wakeup may come later, on another CPU. The lock of the
 * thread keeps others out.
 */
SEC("?tp_btf/sched_waking")
int BPF_PROG(on_blame_waking, struct task_struct *task)
{
	struct account *account = account_of(task);

	if (!account || account->live.site.state <= WIRE_RUNNABLE ||
	    account->live.site.state >= WIRE_STATES)
		return 0;
	/* it may hand a lock down to a target */
	if (is_skipped(account) && account->live.site.state != WIRE_LOCK)
		return 0;
	site_correct(task, account);
	blame_waking(task, account, bpf_ktime_get_ns());
	return 0;
}

/* What waited on one CPU goes on waiting on another. */
SEC("?tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task)
{
	struct account *account = account_of(task);

	if (account && account->live.site.state == WIRE_RUNNABLE && !is_skipped(account))
		blame_migrate(task, account, bpf_ktime_get_ns());
	return 0;
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(on_disk, struct request *request)
{
	__u32 index = bpf_get_smp_processor_id();
	struct blame_cpu *cpu = bpf_map_lookup_elem(&blame_cpus, &index);

	if (cpu)
		blame_disk(cpu, request, bpf_ktime_get_ns());
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
