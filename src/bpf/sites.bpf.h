/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a futex is a lock or a wait for work: glibc uses different operations, others do
 * not (Rust's mutexes, Go's parked threads), but the code that waits does. The hooks look up the
 * address the thread waits at, and if it is a wrapper, those of its callers, by frame rules that
 * user space has read from the file's unwind tables.
 *
 * The hooks ask for an unexplained address through the ring; until the answer the futex itself
 * decides, where it can, else the wait is not known. The answer also corrects a wait that goes on,
 * from the last snapshot on that has reported it. A thread that has been parked since before dwell
 * began is mostly right from the first interval: what is reported first comes after the answer.
 *
 * A lock may be a wait for events as well: PostgreSQL's backends wait in epoll_wait() for work, and
 * for a row that another one has locked; or for a condition variable, as MySQL's for tables, and
 * CPython's interpreter lock. Of these programs alone, so that all others' waits cost nothing, the
 * code is looked up there, too.
 */
#ifndef DWELL_BPF_SITES_BPF_H
#define DWELL_BPF_SITES_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/config.h"
#include "bpf/record.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_SITES);
	__type(key, struct site_key);
	__type(value, struct site);
} sites __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_SITE_ANSWERS);
	__type(key, __u32);
	__type(value, struct site_answer);
} site_answers __weak SEC(".maps");

/* Bits of a return address that are of the address: others may be a signature (arm64). */
const volatile __u64 code_address_mask __weak = ~0ULL;

struct site_walk {
	struct site_key key;
	struct site_frame frame;
	struct site_futex futex;
};

/*
 * Follows the callers of the current thread's wait. SITE_UNKNOWN: walk->frame is not
 * explained yet. Global for the verifier's sake, as in classify.bpf.h.
 */
__weak __attribute__((noinline)) int site_walk(struct site_walk *walk)
{
	bool is_semaphore = false;
	struct site_key key; /* on the stack: kernels up to 6.1 at least take no other for a map */

	if (!walk)
		return SITE_OPERATION;
	key = walk->key;
	for (int i = 0; i <= SITE_CALLERS; i++) {
		struct site *site;
		__u64 cfa, frame;

		key.address = walk->frame.address;
		site = bpf_map_lookup_elem(&sites, &key);
		if (!site)
			return SITE_UNKNOWN;
		if (site->verdict == SITE_SEMAPHORE)
			is_semaphore = true;
		else if (site->verdict != SITE_CALLER)
			return is_semaphore ? site_of_caller(site->verdict) : site->verdict;
		cfa = (site->frame_base ? walk->frame.frame : walk->frame.stack) +
		      (__s64)site->cfa_offset;
		if (!site->return_offset)
			walk->frame.address = walk->frame.link;
		else if (bpf_probe_read_user(&walk->frame.address, sizeof(walk->frame.address),
					     (void *)(cfa + (__s64)site->return_offset)))
			return is_semaphore ? SITE_CONDITION : SITE_UNNAMED;
		walk->frame.address &= code_address_mask;
		if (site->frame_offset) {
			if (bpf_probe_read_user(&frame, sizeof(frame),
						(void *)(cfa + (__s64)site->frame_offset)))
				return is_semaphore ? SITE_CONDITION : SITE_UNNAMED;
			walk->frame.frame = frame;
		}
		walk->frame.stack = cfa;
	}
	return is_semaphore ? SITE_CONDITION : SITE_UNNAMED;
}

/*
 * The kind, and how many programs the thread has run, modulo 32: in a byte that lies beside what
 * every switch touches.
 */
#define OWN_LOCKS_BITS 3
#define OWN_LOCKS_MASK 7

static __always_inline __u8 own_locks_mark(const struct task_struct *task, __u8 kind)
{
	return (__u8)(task->self_exec_id << OWN_LOCKS_BITS) | kind;
}

/*
 * By how the name of the program's file begins: PostgreSQL's, EnterpriseDB's, MySQL's, MariaDB's,
 * python3.11; or by all of it: java.
 */
static __noinline int look_for_own_locks(struct task_struct *task, struct account *account)
{
	const unsigned char *name;
	enum own_locks kind = OWN_LOCKS_NONE;
	union {
		char text[16];
		__u64 word;
	} begin = {}, postgres = {.text = "postgres"}, edb = {.text = "edb-post"},
	  mysql = {.text = "mysqld"}, mariadb = {.text = "mariadbd"}, python = {.text = "python"},
	  java = {.text = "java"};

	if (!task || !account)
		return 0;
	name = BPF_CORE_READ(task, mm, exe_file, f_path.dentry, d_name.name);
	bpf_probe_read_kernel_str(begin.text, 9, name); /* what is behind its end is not read */
	if (begin.word == postgres.word || begin.word == edb.word)
		kind = OWN_LOCKS_EVENTS;
	else if (begin.word == mysql.word || begin.word == mariadb.word)
		kind = OWN_LOCKS_DATABASE;
	else if (begin.word << 16 == python.word << 16) /* six letters */
		kind = OWN_LOCKS_PYTHON;
	else if (begin.word == java.word)
		kind = OWN_LOCKS_JAVA;
	account->own_locks = own_locks_mark(task, kind);
	return 0;
}

static __always_inline __u8 own_locks(struct task_struct *task, struct account *account)
{
	__u8 mark = account->own_locks;

	if (!mark || (mark ^ own_locks_mark(task, 0)) >> OWN_LOCKS_BITS)
		look_for_own_locks(task, account);
	return account->own_locks & OWN_LOCKS_MASK;
}

/* It waits for events, and may do so for a lock. */
static __always_inline bool is_event_wait(struct task_struct *task, struct account *account,
					  struct wire_wait_site site)
{
	return site.state == WIRE_IDLE && site.detail == WIRE_DETAIL_NONE &&
	       own_locks(task, account) == OWN_LOCKS_EVENTS &&
	       class_of(site.syscall) == SYSCALL_WAIT;
}

static __always_inline bool is_futex_wait(struct wire_wait_site site)
{
	return site.detail == WIRE_DETAIL_FUTEX_LOCK || site.detail == WIRE_DETAIL_FUTEX_COND;
}

/* Of the current thread. */
static __always_inline __u32 site_by_futex(const struct site_futex *futex)
{
	struct site_words around;

	if (bpf_probe_read_user(&around, sizeof(around), (void *)(futex->address - 4)))
		__builtin_memset(&around, 0, sizeof(around)); /* nothing is mapped there */
	return site_of_futex(futex, &around);
}

/*
 * As the caller says, if anything; but in a condition's function, where the futex is a mutex, a
 * lock. Not inlined: verifiers up to 6.1 have no room on the stack of the hooks.
 */
__weak __attribute__((noinline)) __u32 site_by_caller(__u32 verdict, const struct site_futex *futex)
{
	bool is_silent = verdict == SITE_UNKNOWN || verdict == SITE_UNNAMED;

	if (!futex)
		return verdict;
	if (verdict == SITE_OPERATION)
		return site_of_operation(futex);
	if (is_silent || (verdict == SITE_CONDITION && site_may_be_mutex(futex))) {
		__u32 found = site_by_futex(futex);

		return is_silent || found == SITE_LOCK ? found : verdict;
	}
	return verdict;
}

static __always_inline struct wire_wait_site site_where(struct wire_wait_site guess, __u32 verdict)
{
	/* of waits for events, nothing but a lock is looked for */
	if (!is_futex_wait(guess) && guess.state == WIRE_IDLE)
		return verdict == SITE_LOCK
			       ? wait_site(WIRE_LOCK, WIRE_DETAIL_EVENT_LOCK, guess.syscall)
			       : guess;
	if (verdict == SITE_LOCK)
		return wait_site(WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK, guess.syscall);
	if (verdict == SITE_CONDITION)
		return wait_site(WIRE_IDLE, WIRE_DETAIL_FUTEX_COND, guess.syscall);
	if (verdict == SITE_SLEEP)
		return wait_site(WIRE_SLEEP, WIRE_DETAIL_TIMER, guess.syscall);
	if (verdict == SITE_OPAQUE)
		return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_NONE, guess.syscall);
	return guess;
}

static __always_inline struct site_walk site_walk_begin(struct task_struct *task,
							struct wire_wait_site guess)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool is_plain = class_of(guess.syscall) == SYSCALL_FUTEX_WAIT;
	struct site_walk walk = {
		.key = {.process_start_ns = process_start_of(task),
			.pid = pid_of(task),
			.exec_id = task->self_exec_id},
		.frame = arch_user_frame(regs),
		.futex = {.address = arch_argument_0(regs),
			  .value =
				  (__u32)(is_plain ? arch_argument_1(regs) : arch_argument_2(regs)),
			  .is_bitset = guess.detail == WIRE_DETAIL_FUTEX_COND},
	};

	return walk;
}

/*
 * Some times a thread and snapshot: a site that cannot be explained costs little. They are counted
 * in the lowest bits of `asked`; the others say for which snapshot.
 */
#define SITE_QUESTIONS	8
#define SITE_COUNT_MASK 15U

static __always_inline bool site_may_ask(struct account *account, __u64 since_ns)
{
	__u32 snapshot = ((__u32)(snapshot_ns >> 16) + 1) * (SITE_COUNT_MASK + 1);
	__u32 asked = account->asked;

	if ((asked & ~SITE_COUNT_MASK) != snapshot)
		asked = snapshot;
	if ((asked & SITE_COUNT_MASK) >= SITE_QUESTIONS)
		return false;
	account->asked = asked + 1;
	account->asked_since = (__u32)since_ns;
	return true;
}

/* All but its size and the stack. */
static __always_inline void site_fill(struct site_question *question, struct task_struct *task,
				      struct account *account, const struct site_walk *walk,
				      bool is_of_events, __u64 since_ns)
{
	question->header.kind = SITE_QUESTION;
	question->header.cpu = 0;
	question->header.time_ns = since_ns;
	question->key = walk->key;
	/* from the call on, not from the first caller that is not known: those before it count */
	question->frame = user_frame_of(task);
	question->key.address = question->frame.address;
	question->futex = walk->futex;
	question->since_ns = since_ns;
	question->tid = tid_of(task);
	question->is_of_events = is_of_events;
	question->own_locks = own_locks(task, account);
	question->stack_bytes = 0;
	question->pad = 0;
}

/* Of the current thread. */
static __always_inline void site_ask(struct task_struct *task, struct account *account,
				     const struct site_walk *walk, bool is_of_events,
				     __u64 since_ns)
{
	struct site_question *question;

	if (!site_may_ask(account, since_ns))
		return;
	question = bpf_ringbuf_reserve(&events, sizeof(*question), 0);
	if (!question)
		return;
	site_fill(question, task, account, walk, is_of_events, since_ns);
	question->header.size = sizeof(*question);
	if (!bpf_probe_read_user(question->stack, sizeof(question->stack),
				 (void *)question->frame.stack))
		question->stack_bytes = sizeof(question->stack);
	/* ends of threads may lie before it, which do not wake; the wait may be over soon */
	bpf_ringbuf_submit(question, BPF_RB_FORCE_WAKEUP);
}

/* In sched_switch, for the current thread. */
static __always_inline struct wire_wait_site site_refine(struct task_struct *task,
							 struct account *account,
							 struct wire_wait_site guess, __u64 now_ns)
{
	bool is_of_events = is_event_wait(task, account, guess);
	struct site_walk walk;
	__u32 verdict;

	if (!is_of_events && !is_futex_wait(guess))
		return guess;
	walk = site_walk_begin(task, guess);
	verdict = site_walk(&walk);
	if (verdict == SITE_UNKNOWN)
		site_ask(task, account, &walk, is_of_events, now_ns);
	if (is_of_events)
		return site_where(guess, verdict);
	return site_where(guess, site_by_caller(verdict, &walk.futex));
}

/* In the iterator, for a thread that just got its account: its callers are on another's stack. */
static __always_inline void site_ask_seeded(struct task_struct *task, struct account *account)
{
	bool is_of_events = is_event_wait(task, account, account->live.site);
	struct site_question *question;
	struct site_walk walk;

	if (!is_of_events && !is_futex_wait(account->live.site))
		return;
	walk = site_walk_begin(task, account->live.site);
	if (!site_may_ask(account, account->live.since_ns))
		return;
	/* very many at a time, of threads that sleep: without their stacks */
	question = bpf_ringbuf_reserve(&events, __builtin_offsetof(struct site_question, stack), 0);
	if (!question)
		return;
	site_fill(question, task, account, &walk, is_of_events, account->live.since_ns);
	question->header.size = __builtin_offsetof(struct site_question, stack);
	bpf_ringbuf_submit(question, BPF_RB_FORCE_WAKEUP);
}

/*
 * Puts an answer into the wait that asked for it; what snapshots have reported of the wait stays as
 * it was. At the end of the wait by the hook, before that by the iterator; the hooks do not lock,
 * but replace the word the iterator compares, or have not touched it. False: there is none.
 */
static __attribute__((noinline)) int site_take_answer(struct task_struct *task,
						      struct account *account)
{
	union {
		struct wire_wait_site site;
		__u32 word;
	} before, after;
	struct site_answer *answer;
	__u64 since_ns = account->live.since_ns, reported_ns = account->read_ns;
	__u32 tid = tid_of(task);

	barrier(); /* a snapshot that reads the wait later puts the answer in first */
	answer = bpf_map_lookup_elem(&site_answers, &tid);
	before.site = account->live.site;
	if (!answer || answer->since_ns != since_ns)
		return false;
	if (!is_futex_wait(before.site) && before.site.state != WIRE_UNKNOWN &&
	    !is_event_wait(task, account, before.site))
		return true;
	after.site = site_where(before.site, answer->verdict);
	if (after.word == before.word)
		return true;
	if (since_ns < reported_ns) {
		account->was.until_ns = reported_ns;
		account->was.site = before.site;
		/* full barrier: complete before the wait has another site */
		__sync_lock_test_and_set(&account->was.since_ns, since_ns);
	}
	__sync_val_compare_and_swap((__u32 *)&account->live.site, before.word, after.word);
	return true;
}

/* In the hooks that end a wait. True: the site may be another one than before. */
static __always_inline bool site_correct(struct task_struct *task, struct account *account)
{
	/* one compare for nearly all waits; the rest, exact, stays out of the hot path */
	if (account->asked_since != (__u32)account->live.since_ns)
		return false;
	site_take_answer(task, account);
	return true;
}

/* In the iterator, of a wait that may go on. True: the site is another one than before. */
static __always_inline bool site_correct_open(struct task_struct *task, struct account *account)
{
	__u32 since = account->asked_since;
	__u32 before = *(const volatile __u32 *)&account->live.site;

	if (since != (__u32)account->live.since_ns || since == account->was.answered ||
	    !site_take_answer(task, account))
		return false;
	account->was.answered = since;
	return before != *(const volatile __u32 *)&account->live.site;
}

/* From when on the wait counts as what it is. */
static __always_inline __u64 site_counts_from(const struct account *account)
{
	__u64 since_ns = account->live.since_ns;

	return account->was.since_ns == since_ns ? account->was.until_ns : since_ns;
}

#endif
