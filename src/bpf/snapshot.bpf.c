// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The task iterator: gives accounts to threads that have none yet (seeding), and reads every
 * account as it was at `snapshot_ns`.
 */
#include "bpf/kernel_types.h"

#define FOLLOW_BY_COPY

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/blame.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/freezer.bpf.h"
#include "bpf/profile.bpf.h"
#include "bpf/reasons.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/span_bounds.bpf.h"
#include "bpf/spans.bpf.h"

/* Walks before the first one is over find threads that no hook could have seen. */
volatile bool seeded = false;

/* Between two snapshots: threads that have an account are not read. */
volatile bool seeding_only = false;

/* After a snapshot: only who waits for a lock is of interest. */
volatile bool locked_only = false;

/* After the last snapshot: only whose turn at a loop has turned out to be over. */
volatile bool parked_only = false;

/* Too large for the stack; user space has at most one walk open at a time. */
static struct wire_thread record;
static struct blame_record blame_record;
static struct span_worker worker_record;
static struct span_seed seed_record;

#define READ_ATTEMPTS 2 /* more, after the first */

#define CLOCK_CPUS    512

/* What a thread does, read from outside without a lock. */
static __always_inline struct wire_wait_site observe(struct task_struct *task)
{
	struct wire_wait_site nothing = {};
	unsigned int state = freeze_saved_state(task);
	bool is_supervised = false;

	/* frozen in a wait, it waits: freeze_look() finds out the rest */
	if (!state)
		state = task->__state;
	if (task->on_cpu)
		return wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	if (state & TASK_NEW)
		return wait_site(WIRE_RUNNABLE, WIRE_DETAIL_NEW, WIRE_SYSCALL_NONE);
	if (!state || state & TASK_WAKING || !has_left_queue(task))
		return wait_site(WIRE_RUNNABLE, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	if (bpf_core_field_exists(task->seccomp.filter))
		is_supervised = has_supervisor((__u64)BPF_CORE_READ(task, seccomp.filter));
	return classify(task, state, nothing, is_supervised, NULL);
}

/*
 * The thread may change state between observe() and account_begin(), unseen by the hooks. So look
 * again when the hooks know the account: what changed before that is seen now, what changes later
 * is theirs.
 */
static __always_inline void seed(struct task_struct *task)
{
	struct account *account = account_new(task);
	__u64 now_ns = bpf_ktime_get_ns();
	struct turn_clock clock;
	union {
		struct wire_wait_site site;
		__u32 word;
	} first, again;

	if (!account || account->origin_ns)
		return;
	first.site = observe(task);
	clock = turn_clock_unlocked(task);
	account_begin_turn(account, account->ran_ns, &clock);
	/* not a loop: verifiers up to 6.1 at least refuse the one that clang makes of it */
	account_begin(account, task, first.site, now_ns);
	account->is_beside = watch_beside && !is_of_target(task);
	again.site = observe(task);
	/* a hook may change it at any moment, and knows better */
	if (account->live.since_ns == now_ns && again.word != first.word &&
	    __sync_val_compare_and_swap((__u32 *)&account->live.site, first.word, again.word) ==
		    first.word &&
	    again.site.state == WIRE_ON_CPU)
		account->ran_ns = RAN_UNKNOWN;
	if (freeze_saved_state(task))
		freeze_seed(task, account);
	site_ask_seeded(task, account);
	/* one whose fork is not reported yet has no time that could be missing */
	if (seeded && !watch_cgroup && first.site.detail != WIRE_DETAIL_NEW &&
	    !(watch_beside && account->is_beside))
		count(&losses.threads);
}

static __always_inline __u64 sum_ns(const struct wire_totals *totals)
{
	__u64 sum = 0;

	for (int state = 0; state < WIRE_STATES; state++)
		sum += totals->ns[state];
	return sum;
}

/* What the record, of a thread on its CPU, says of its turn so far. */
static __noinline int give_up_open(struct task_struct *task, struct account *account)
{
	struct turn_loss loss;

	if (!task || !account)
		return 0;
	loss = account_open_turn(account, task, record.end_ns);
	totals_give_up(&record.totals, loss.stolen_ns, loss.irq_ns, 0);
	return 0;
}

/* One attempt; true if what was read adds up. */
static __always_inline bool read_account(struct task_struct *task, struct account *account,
					 __u64 instant_ns)
{
	/* adding nothing is a full barrier */
	if (__sync_fetch_and_add(&account->frozen_ns, 0) != instant_ns)
		record_fill(&record, account, &account->live, instant_ns, WIRE_THREAD);
	if (record.site.state == WIRE_ON_CPU)
		give_up_open(task, account);
	if (__sync_fetch_and_add(&account->frozen_ns, 0) == instant_ns)
		record_fill(&record, account, &account->frozen, instant_ns, WIRE_THREAD);
	return record.since_ns <= instant_ns &&
	       sum_ns(&record.totals) == instant_ns - record.origin_ns;
}

static __always_inline bool read_account_again(struct task_struct *task, struct account *account,
					       __u64 instant_ns)
{
	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++)
		if (read_account(task, account, instant_ns))
			return true;
	count(&losses.torn);
	return false;
}

/*
 * Whether it is still in the turn it was in when it was looked at, or in one that it has begun
 * without a wait for events: another wait may be one that its loop's threads have for each other.
 */
static __always_inline bool turn_goes_on(const struct span_verdict *verdict,
					 const struct account *account, const struct worker *worker)
{
	return verdict->in_poll && !worker->wait && !worker->is_nested &&
	       (account->live.site.state <= WIRE_RUNNABLE ||
		account->live.since_ns == verdict->since_ns);
}

/*
 * What user space has found out about the thread since it was asked. It has not polled anything
 * since then, or it would be known. False: nothing so far.
 */
static __always_inline bool apply_verdict(struct task_struct *task, const struct account *account,
					  struct worker **worker)
{
	__u32 tid = tid_of(task), pending = 0;
	struct span_verdict *verdict = bpf_map_lookup_elem(&span_verdicts, &tid);
	__u8 state = account->live.site.state;

	if (!verdict || verdict->start_ns != task->start_boottime)
		return false;
	*worker = worker_make(task);
	if (!*worker)
		return false;
	if (verdict->kind == SPAN_TURN)
		pending = turn_goes_on(verdict, account, *worker) ? SPAN_PENDING_TURN : 0;
	else if (verdict->in_poll &&
		 (state != WIRE_IDLE || account->live.since_ns == verdict->since_ns))
		pending = SPAN_PENDING_POLL;
	else if (verdict->root && !verdict->in_poll && state != WIRE_IDLE)
		pending = SPAN_PENDING_ROOT;
	if (!(*worker)->kind && pending) {
		if (task->on_cpu)
			(*worker)->pending = pending;
		else
			span_seed(*worker, account, pending, bpf_ktime_get_ns());
	}
	if (!(*worker)->kind)
		(*worker)->kind = verdict->kind;
	(*worker)->is_loop |= verdict->kind == SPAN_TURN;
	/* a thread may leave block_on() for good */
	if (!verdict->root && (*worker)->root && span_is_endless(*worker))
		(*worker)->depth = 0;
	(*worker)->root = verdict->root;
	(*worker)->judged = 1;
	bpf_map_delete_elem(&span_verdicts, &tid);
	return true;
}

/*
 * What is written returns 0, or less where the reader's buffer is full: then all of this thread's
 * records are dropped, and it is met once more with an empty one. So nothing may be taken as read
 * before the last of them is written.
 */
static __always_inline long write_seed(struct seq_file *seq, struct task_struct *task)
{
	__builtin_memset(&seed_record, 0, sizeof(seed_record));
	seed_record.header.size = sizeof(seed_record);
	seed_record.header.kind = SPAN_SEED;
	seed_record.header.time_ns = record.end_ns;
	seed_record.start_ns = record.start_ns;
	seed_record.since_ns = record.since_ns;
	seed_record.switches = task->nvcsw + task->nivcsw;
	seed_record.process_start_ns = process_start_of(task);
	seed_record.thread_pointer = arch_thread_pointer(task);
	seed_record.exec_id = task->self_exec_id;
	seed_record.tid = record.tid;
	seed_record.site = record.site;
	seed_record.frame = user_frame_of(task);
	__builtin_memcpy(seed_record.comm, record.comm, sizeof(seed_record.comm));
	return bpf_seq_write(seq, &seed_record, sizeof(seed_record));
}

/*
 * Ends the turn of a thread that waits for its next one at a place of `loop_parks` that was not
 * known when it began to: else the turn, which may have been a stall, would go on until it is woken
 * (span_parks() ends those after it). As it is off its CPU, no one else ends it, but for the moment
 * in which it is woken: then the stall may be reported twice.
 */
static __noinline int end_parked_turn(struct task_struct *task, struct worker *worker,
				      const struct account *account)
{
	const struct span_block *block;

	if (!task || !worker || !account || worker->kind != SPAN_TURN || !worker->depth ||
	    !worker->off || task->on_cpu)
		return 0;
	block = span_block_at(worker, worker->present);
	if (!span_is_at_park(task, block->site))
		return 0;
	worker->looked_at_tid = tid_of(task);
	worker->looked_at_pid = pid_of(task);
	worker->off = 0;
	span_finish(worker, account, block->since_ns);
	worker->depth = 0;
	worker->parked = 1;
	worker->looked_at_tid = 0;
	return 1;
}

/* With what `record` says of the thread. */
static __noinline long write_worker_record(struct seq_file *seq, struct worker *worker)
{
	__u32 depth;
	long result;

	if (!seq || !worker)
		return 0;
	depth = worker->depth - 1;
	__builtin_memset(&worker_record, 0, sizeof(worker_record));
	worker_record.header.size = sizeof(worker_record);
	worker_record.header.kind = SPAN_WORKER;
	worker_record.header.time_ns = record.end_ns;
	worker_record.start_ns = record.start_ns;
	worker_record.spans = worker->spans;
	worker_record.stalls = worker->stalls;
	worker_record.longest_ns = worker->longest_ns;
	if (depth < SPAN_LEVELS && !worker->is_doubtful &&
	    (!span_is_run(worker) || worker->certain)) {
		worker_record.open_ns = span_level_at(worker, depth)->start_ns;
		worker_record.open_cookie = span_level_at(worker, depth)->cookie;
	}
	worker_record.is_busy = worker->is_busy;
	worker_record.since_ns = record.since_ns;
	worker_record.site = record.site;
	worker_record.tid = record.tid;
	worker_record.pid = record.pid;
	worker_record.kind = worker->kind ? worker->kind : worker->past_kind;
	__builtin_memcpy(worker_record.comm, record.comm, sizeof(worker_record.comm));
	if (worker->alone && worker->off) {
		worker_record.open_ns = span_block_at(worker, worker->present)->since_ns;
		worker_record.open_cookie = SPAN_COOKIE_WAIT;
	}
	if ((worker->depth || worker->alone) && worker->off) {
		__u32 present = worker->present;
		const struct span_block *block = span_block_at(worker, present);

		worker_record.block_ns = block->since_ns;
		/* of that wait more may be known than the account says: span_refine() */
		if (block->site.syscall == record.site.syscall)
			worker_record.site = block->site;
		if (block->has_stack)
			worker_record.stack = *span_stack_number(worker, present, 0);
	}
	result = bpf_seq_write(seq, &worker_record, sizeof(worker_record));
	if (!result)
		worker->longest_ns = 0;
	return result;
}

static __attribute__((noinline)) long write_worker(struct seq_file *seq, struct task_struct *task,
						   const struct account *account)
{
	struct worker *worker = worker_of(task);
	long result = 0;

	if (span_seeding && (!worker || !worker->judged || worker->root) && worker_may_be(task) &&
	    !apply_verdict(task, account, &worker) && (!worker || !worker->judged) &&
	    record.site.state > WIRE_RUNNABLE && !task->on_cpu)
		result = write_seed(seq, task);
	if (result || !worker || (!worker->kind && !worker->past_kind))
		return result;
	end_parked_turn(task, worker, account);
	return write_worker_record(seq, worker);
}

/* Once more in one snapshot, for what has ended in between. */
static __attribute__((noinline)) long write_parked(struct seq_file *seq, struct task_struct *task,
						   struct account *account, __u64 instant_ns)
{
	struct worker *worker = worker_of(task);

	if (!account || !worker || account->origin_ns >= instant_ns ||
	    !end_parked_turn(task, worker, account) ||
	    !read_account_again(task, account, instant_ns))
		return 0;
	record_fill_task(&record, task, account);
	return write_worker_record(seq, worker);
}

/*
 * What the thread before had of these, for each costs reads through several pointers, and a process
 * with thousands of threads has one. Of this snapshot only: later there may be another process or
 * cgroup at the address.
 */
static struct {
	__u64 instant_ns, leader, cgroups, cgroup_id;
	__u32 pid, parent_pid;
	__u64 process[sizeof(record.process) / sizeof(__u64)];
} last;

static __always_inline void look_at_relations(struct task_struct *task, __u64 instant_ns)
{
	__u64 leader = (__u64)task->group_leader, cgroups = (__u64)task->cgroups;
	bool is_new = last.instant_ns != instant_ns;

	if (is_new || last.leader != leader || last.pid != (__u32)task->tgid) {
		/* behind its end nothing of a longer name stays */
		__builtin_memset(record.process, 0, sizeof(record.process));
		record_fill_family(&record, task);
		last.leader = leader;
		last.pid = task->tgid;
		last.parent_pid = record.parent_pid;
		__builtin_memcpy(last.process, record.process, sizeof(last.process));
	}
	if (is_new || last.cgroups != cgroups) {
		record_fill_cgroup(&record, task);
		last.cgroups = cgroups;
		last.cgroup_id = record.cgroup_id;
	}
	last.instant_ns = instant_ns;
}

static __always_inline void fill_relations(void)
{
	record.parent_pid = last.parent_pid;
	__builtin_memcpy(record.process, last.process, sizeof(record.process));
	record.cgroup_id = last.cgroup_id;
}

static __always_inline __u64 mixed(__u64 hash, __u64 more)
{
	return (hash ^ more) * 0x9e3779b97f4a7c15; /* 2^64 / the golden ratio */
}

/* Of what others may change while the thread waits. After look_at_relations(). */
static __always_inline __u32 hash_of(const struct task_struct *task, const struct account *account)
{
	__u64 comm[2], hash;

	task_name(task, comm);
	hash = mixed(mixed(mixed(0, comm[0]), comm[1]),
		     (__u64)task->policy << 32 | (__u32)task->static_prio);
	hash = mixed(mixed(mixed(hash, last.process[0]), last.process[1]), last.cgroup_id);
	/* of a wait that goes on, it may turn out to be another */
	hash = mixed(hash, *(const volatile __u32 *)&account->live.site);
	return mixed(hash, (__u64)account->is_beside << 32 | last.parent_pid) >> 32;
}

/*
 * Most threads of a machine wait from one snapshot to the next: half of what they cost would be
 * their totals, in memory that no one else touches. What began to wait before the last snapshot was
 * in it as it is now, and stays so at this one's instant whatever the hooks do meanwhile.
 */
static __always_inline bool is_unchanged(const struct task_struct *task,
					 const struct account *account, __u32 hash)
{
	return account->live.since_ns < account->read_ns &&
	       account->live.site.state > WIRE_RUNNABLE && !account->was_frozen &&
	       !(task->__state & TASK_FROZEN) && account->sent_hash == hash;
}

static struct thread_unchanged unchanged_record;

static __always_inline long write_unchanged(struct seq_file *seq, struct task_struct *task,
					    const struct account *account, __u64 instant_ns)
{
	unchanged_record.header.size = sizeof(unchanged_record);
	unchanged_record.header.kind = THREAD_UNCHANGED;
	unchanged_record.header.time_ns = instant_ns;
	unchanged_record.start_ns = task->start_boottime;
	unchanged_record.tid = pid_namespace ? account->tid : (__u32)task->pid;
	return bpf_seq_write(seq, &unchanged_record, sizeof(unchanged_record));
}

static struct thread_locked locked_record;

static __attribute__((noinline)) long write_locked(struct seq_file *seq, struct task_struct *task,
						   const struct account *account)
{
	if (!task || !account || account->live.site.state != WIRE_LOCK)
		return 0;
	locked_record.header.size = sizeof(locked_record);
	locked_record.header.kind = THREAD_LOCKED;
	locked_record.origin_ns = account->origin_ns;
	locked_record.since_ns = account->live.since_ns;
	locked_record.voluntary = task->nvcsw - account->origin_voluntary;
	locked_record.tid = pid_namespace ? account->tid : (__u32)task->pid;
	return bpf_seq_write(seq, &locked_record, sizeof(locked_record));
}

/* By CPU, the snapshot in which its clocks were looked at; CPUs beyond share a place. */
static __u64 looked_ns[CLOCK_CPUS];

static __always_inline void look_at_clocks(const struct task_struct *task, __u64 instant_ns)
{
	__u32 cpu = task_cpu(task) % CLOCK_CPUS;
	const struct rq *rq;

	if (!bpf_core_field_exists(((struct cfs_rq *)0)->rq) ||
	    (instant_ns && looked_ns[cpu] == instant_ns))
		return;
	looked_ns[cpu] = instant_ns;
	rq = run_queue_of(task);
	if (!steal_seen && bpf_core_field_exists(rq->prev_steal_time_rq) &&
	    FOLLOW(rq, prev_steal_time_rq))
		steal_seen = true;
	if (!irq_seen && bpf_core_field_exists(rq->prev_irq_time) && FOLLOW(rq, prev_irq_time))
		irq_seen = true;
}

/* Unless a hook has sent it. */
static __attribute__((noinline)) long write_blame(struct seq_file *seq, struct account *account,
						  __u64 instant_ns)
{
	struct blame *blame;
	__u32 count, size;

	if (!account)
		return 0;
	blame = blame_of(account);
	/* adding nothing is a full barrier */
	if (blame->frozen_ns < account->read_ns ||
	    __sync_fetch_and_add(&blame->frozen_ns, 0) == instant_ns)
		return 0;
	blame_fill(&blame_record, account, blame, instant_ns);
	if (__sync_fetch_and_add(&blame->frozen_ns, 0) == instant_ns)
		return 0;
	count = blame_record.blame.count;
	if (!count || count > BLAME_CULPRITS + 1)
		return 0;
	size = sizeof(blame_record.blame) + count * sizeof(struct wire_culprit);
	blame_record.blame.header.size = size;
	return bpf_seq_write(seq, &blame_record, size);
}

/* The thread has left the watched cgroup: this snapshot is the last that has a record of it. */
static __always_inline bool leaves_cgroup(struct task_struct *task, const struct account *account)
{
	if (!watch_cgroup)
		return false;
	if (watch_beside)
		return skip_beside && !account->is_beside && !is_of_target(task);
	return !is_watched(task);
}

static __always_inline void leave_cgroup(struct task_struct *task, struct account *account)
{
	account_reported(account);
	if (watch_beside)
		account->is_beside = true;
	else
		account_delete(task);
}

/*
 * Threads come into the watched cgroup and leave it. One that has come in counts from now on, in an
 * account of its own: NULL.
 */
static __always_inline struct account *look_beside(struct task_struct *task,
						   struct account *account)
{
	bool is_beside = !is_of_target(task);

	if (account->is_beside == is_beside)
		return account;
	account_reported(account);
	if (skip_beside && !is_beside) {
		account_delete(task);
		return NULL;
	}
	account->is_beside = is_beside;
	return account;
}

static struct wire_reason reason_record;

/* The reasons that are in its account, as they are now. */
static __attribute__((noinline)) long write_reasons(struct seq_file *seq, struct task_struct *task,
						    const struct account *account, __u64 instant_ns)
{
	if (!task || !account)
		return 0;
	reason_record.header.size = sizeof(reason_record);
	reason_record.header.kind = WIRE_REASON;
	reason_record.header.time_ns = instant_ns;
	reason_record.origin_ns = account->origin_ns;
	reason_record.tid = pid_namespace ? account->tid : (__u32)task->pid;
	reason_record.pid = pid_namespace ? account->pid : (__u32)task->tgid;
	for (__u32 i = 0; i < ACCOUNT_REASONS; i++) {
		const struct account_reason *reason = &account->reasons[i];

		if (!reason->count)
			continue;
		reason_record.site = reason->site;
		reason_record.total_ns = reason->ns;
		reason_record.count = reason->count;
		if (bpf_seq_write(seq, &reason_record, sizeof(reason_record)))
			return 1;
	}
	return 0;
}

static struct profile_away away_record;

/* A wait that goes on is reported from this age on, and again when it is a third older. */
#define PROFILE_OPEN_NS 250000000ULL

/*
 * What goes on is reported as far as it goes: the time of a state is divided by what is reported of
 * it, so that a long wait would be shared out among those that have ended. As write_seed(): nothing
 * is taken as read before all is written.
 */
static __attribute__((noinline)) long write_profile(struct seq_file *seq, struct task_struct *task)
{
	struct profile *profile = profile_make(task);
	__u64 age_ns, open_ns;
	long result;

	if (!profile || !profile->is_taken || !profile->left_ns ||
	    record.site.state < WIRE_RUNNABLE || profile->left_ns > record.since_ns ||
	    record.end_ns <= profile->left_ns || record.end_ns <= profile->sent_ns)
		return 0;
	age_ns = record.end_ns - profile->left_ns;
	open_ns = record.end_ns - (profile->sent_ns ?: profile->left_ns);
	if (!is_last && (age_ns < PROFILE_OPEN_NS || open_ns < age_ns / 4))
		return 0;
	__builtin_memset(&away_record, 0, sizeof(away_record));
	profile_fill(&away_record, task, profile,
		     record.site.state == WIRE_RUNNABLE ? record.since_ns : record.end_ns,
		     record.end_ns);
	result = bpf_seq_write(seq, &away_record, sizeof(away_record));
	if (!result)
		profile->sent_ns = record.end_ns;
	return result;
}

SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	__u64 instant_ns = snapshot_ns;
	struct account *account;
	bool leaves;
	__u32 hash;

	if (!task || task->exit_state)
		return 0;
	if (!steal_seen || !irq_seen)
		look_at_clocks(task, instant_ns);
	account = account_of(task);
	if (locked_only) {
		write_locked(seq, task, account);
		return 0;
	}
	if (parked_only) {
		write_parked(seq, task, account, instant_ns);
		return 0;
	}
	leaves = account && leaves_cgroup(task, account);
	if (account && watch_beside && watch_cgroup && !leaves)
		account = look_beside(task, account);
	if (!account) {
		if (is_watched(task))
			seed(task);
		return 0;
	}
	if (seeding_only)
		return 0;
	if (is_skipped(account)) {
		site_correct_open(task, account);
		return 0;
	}
	if (account->origin_ns >= instant_ns || account->live.site.state >= WIRE_STATES) {
		if (leaves)
			leave_cgroup(task, account);
		return 0;
	}
	/* changed by exec in a thread that was not the first */
	if (pid_namespace || blame_on) {
		account->tid = tid_of(task);
		account->pid = pid_of(task);
	}
	bool corrected = site_correct_open(task, account);

	if (corrected && profile_states)
		profile_correct(task, account->live.site);
	look_at_relations(task, instant_ns);
	hash = hash_of(task, account);
	/* spans and profiles have more to say of a thread that waits */
	if (!corrected && !leaves && !span_threshold_ns && !profile_states &&
	    is_unchanged(task, account, hash)) {
		if (write_unchanged(seq, task, account, instant_ns) ||
		    (reasons_all && write_reasons(seq, task, account, instant_ns)) ||
		    (blame_on && write_blame(seq, account, instant_ns)))
			return 0;
		account->read_ns = instant_ns;
		account_reported(account);
		return 0;
	}
	if (!read_account(task, account, instant_ns) &&
	    !read_account_again(task, account, instant_ns))
		return 0;
	record_fill_task(&record, task, account);
	fill_relations();
	if (account->was_frozen || task->__state & TASK_FROZEN)
		freeze_look(task, account, &record, account->read_ns);
	if (leaves)
		record.flags |= WIRE_FLAG_LEFT;
	if (bpf_seq_write(seq, &record, sizeof(record)) ||
	    (reasons_all && write_reasons(seq, task, account, instant_ns)) ||
	    (blame_on && write_blame(seq, account, instant_ns)) ||
	    (span_threshold_ns && write_worker(seq, task, account)) ||
	    (profile_states && write_profile(seq, task)))
		return 0;
	account->read_ns = instant_ns;
	account->sent_hash = hash;
	if (leaves)
		leave_cgroup(task, account);
	else
		account_reported(account);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
