/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user space sets in the BPF programs before it loads them: how system calls and kernel
 * functions map to states, and which threads to watch. Not stored anywhere, so free to change.
 */
#ifndef DWELL_BPF_CONFIG_H
#define DWELL_BPF_CONFIG_H

#include <linux/types.h>

#include "bpf/python.h"
#include "bpf/wire.h"

/*
 * What blocking in a system call means. Filled from the table in capture/syscalls.c, the one list
 * of system calls, by number of the architecture.
 */
enum syscall_class {
	SYSCALL_OTHER = 0,  /* sleep; disk if uninterruptible in a file system function */
	SYSCALL_WAIT,	    /* waits for work: epoll_wait, accept, … */
	SYSCALL_POLL,	    /* the same: poll, ppoll; of no descriptor, with a timeout, sleep */
	SYSCALL_SELECT,	    /* the same: select, pselect6 */
	SYSCALL_CHILD,	    /* the same: wait4, waitid */
	SYSCALL_SLEEP,	    /* timed sleep */
	SYSCALL_DESCRIPTOR, /* first argument is a descriptor; its kind decides */
	SYSCALL_WRITE,	    /* the same; what is full has a reader, so this waits for no work */
	SYSCALL_FILE,	    /* works on files: disk when uninterruptible, else the stack decides */
	SYSCALL_SPLICE,	    /* two descriptors: disk when uninterruptible, else the stack decides */
	SYSCALL_IPC,	    /* message queues */
	SYSCALL_LOCK,	    /* System V semaphores: first argument is their number */
	SYSCALL_FLOCK,	    /* flock: a lock on the file of the first argument */
	SYSCALL_FCNTL,	    /* lock for the F_*SETLKW commands */
	SYSCALL_FUTEX,	    /* the operation decides */
	SYSCALL_FUTEX_WAIT, /* futex_wait(): as FUTEX_WAIT, with its value in the second argument */
	SYSCALL_VFORK,	    /* fork family: uninterruptible while a vfork child has its memory */
	SYSCALL_RESTART,    /* goes on with what was interrupted */
	SYSCALL_YIELD,
};

#define SYSCALL_TABLE_SIZE 512

/*
 * Whether a poll() or ppoll() ends by itself, by its third argument: milliseconds or a timespec's
 * address. (The other negative numbers, which say the same as -1, are used by none.)
 */
static inline int syscall_poll_is_timed(__u64 timeout)
{
	return timeout && (__u32)timeout != ~0U;
}

/*
 * A kernel function that shows why a thread waits that its system call says little of: return
 * addresses in [start, end). Sorted by start; unused entries at the end have start = ~0.
 */
struct wait_function {
	__u64 start;
	__u64 end;
	__u8 state;   /* enum wire_state */
	__u8 detail;  /* enum wire_detail */
	__u8 decides; /* 1: wins over functions called by it, else the innermost match wins */
	__u8 pad[5];
};

#define WAIT_FUNCTIONS_LOG2 8
#define WAIT_FUNCTIONS	    (1 << WAIT_FUNCTIONS_LOG2)

/* Structures of the kernel that programs find by an address: bpf/follow.bpf.h. */
#define CAST_TYPES_OF(X)                                                                           \
	X(hlist_head)                                                                              \
	X(file)                                                                                    \
	X(socket)                                                                                  \
	X(sock_common)                                                                             \
	X(files_struct)                                                                            \
	X(fdtable)                                                                                 \
	X(upid)

enum cast_type {
#define CAST_OF(type) CAST_##type,
	CAST_TYPES_OF(CAST_OF)
#undef CAST_OF
		CAST_TYPES
};

#define CAST_CALL 0x7fffffff /* instead of the number of bpf_rdonly_cast() */

/* Key of the `targets` map. */
struct target_key {
	__u32 id;
	__u32 kind; /* enum target_kind */
};

enum target_kind {
	TARGET_PROCESS = 1,
	TARGET_THREAD = 2,
};

/* Key and value of the `reasons` map; `sent_ns`: the snapshot that has sent it from elsewhere. */
struct reason_key {
	__u32 tid;
	struct wire_wait_site site;
};

struct reason_total {
	__u64 origin_ns; /* of the account: another thread's with the same tid is another */
	__u64 ns;
	__u32 count;
	__u32 pid;
	__u64 sent_ns;
};

#define MAX_REASONS 8192 /* at least: capture/reasons.h */

/*
 * Where in a program a futex is waited for: what the code at an address says about it. User space
 * finds out, by the symbols of the mapped file (capture/wait_sites.c), when a hook asks for one it
 * does not know.
 */
enum site_verdict {
	SITE_UNKNOWN = 0,
	SITE_OPERATION, /* nothing: the futex operation decides */
	SITE_LOCK,	/* acquires a lock */
	SITE_CONDITION, /* waits for work: a condition variable, a parked thread */
	SITE_CALLER,	/* a wrapper: who called it decides */
	SITE_UNNAMED,	/* nothing on the way has a name: the value it waits with may decide */
	SITE_OPAQUE,	/* and that says nothing either */
	SITE_SEMAPHORE, /* waits for work, but where its caller makes a lock of it, or a sleep */
	SITE_SLEEP,	/* until a time, by a call that could wait for more */
	SITE_VERDICTS,
};

/* Behind a SITE_SEMAPHORE. */
static inline enum site_verdict site_of_caller(enum site_verdict verdict)
{
	return verdict == SITE_LOCK || verdict == SITE_SLEEP ? verdict : SITE_CONDITION;
}

/* What a program waits by for its locks, beside what all do: it is known by the file's name. */
enum own_locks {
	OWN_LOCKS_NONE = 1,
	OWN_LOCKS_EVENTS = 2,	/* PostgreSQL: for events */
	OWN_LOCKS_DATABASE = 3, /* MySQL, MariaDB: condition variables */
	OWN_LOCKS_PYTHON = 4,	/* CPython's interpreter lock: condition variables */
	OWN_LOCKS_JAVA = 5,	/* HotSpot's monitors (`synchronized`): condition variables */
};

struct site_key {
	__u64 address;
	__u64 process_start_ns; /* of its leader: a reused pid is another process */
	__u32 pid;
	__u32 exec_id; /* programs the process has run */
};

/* `frame_*` for SITE_CALLER: symbol/object.h, struct frame_rule. */
struct site {
	__u8 verdict;	 /* enum site_verdict */
	__u8 frame_base; /* 0: stack pointer, 1: frame pointer */
	__u8 pad[2];
	__s32 cfa_offset;
	__s32 return_offset; /* 0: in `link` */
	__s32 frame_offset;  /* 0: unchanged */
};

/* Of a thread in user mode. Addresses are those of the instruction after the call. */
struct site_frame {
	__u64 address;
	__u64 stack;
	__u64 frame;
	__u64 link; /* where the return address may be: lr; rdi, where vfork() keeps it */
};

/*
 * In wire_header.kind, of records that never leave the source bpf. Bit 15 is not free: in a
 * recording it marks a difference (capture/delta.c).
 */
#define KIND_INTERNAL 0x4000

/* A question from the hooks, in the ring between records; never stored. */
#define SITE_QUESTION (KIND_INTERNAL | 1)

/* Room for the frames of a C library, and of what a program has around them. */
#define SITE_STACK_BYTES 512

/* What a thread waits for, beside where. */
struct site_futex {
	__u64 address;
	__u32 value; /* that it is expected to have */
	__u32 is_bitset;
};

struct site_question {
	struct wire_header header;
	struct site_key key;	 /* `address`: of the call */
	struct site_frame frame; /* there */
	struct site_futex futex;
	__u64 since_ns;
	__u32 tid;
	__u16 is_of_events; /* not of a futex */
	__u16 own_locks;    /* of the program */
	/*
	 * the thread's stack from frame.stack on, as it was: it may be gone before it can be read;
	 * how much of it, 0 if it is to be read, for then the record ends here
	 */
	__u32 stack_bytes;
	__u32 pad;
	__u8 stack[SITE_STACK_BYTES];
};

#define LOCK_WORDS 5 /* of 32 bits, from a futex on */

/* What lies around a futex; zeros: it could not be read. */
struct site_words {
	__u32 before; /* in front of it */
	__u32 lock[LOCK_WORDS];
};

/*
 * A mutex of glibc that has an owner: futex, depth, owner, its users (the owner, and waiters of
 * condition variables), kind (nptl/bits/struct_mutex.h, on 64-bit machines). Others have the same
 * values in the futex, but not all of this behind it.
 */
static inline int site_is_mutex(const __u32 lock[LOCK_WORDS])
{
	return lock[2] && lock[3] && lock[3] < 65536 && lock[4] < 0x400;
}

/*
 * By the value that FUTEX_WAIT expects: 2 is a contended lock of glibc, Go and others (Drepper,
 * "Futexes Are Tricky"), 0 a semaphore or a note. But musl's condition variables and its threads
 * that are joined have 2, too.
 */
static inline enum site_verdict site_of_value(__u32 value)
{
	return value == 0 ? SITE_CONDITION : value == 2 ? SITE_LOCK : SITE_OPAQUE;
}

/*
 * What a futex itself says where no name does. With FUTEX_WAIT_BITSET, condition variables of Rust
 * wait for a counter, those of glibc for 0: but small values may be a lock's too (Rust's Mutex 2,
 * Once 3 or 5, glibc's rwlock 1 to 3), the uppermost bits are those of Rust's RwLock or of a parked
 * thread, and writers of the RwLock wait for a counter behind such a word.
 */
static inline enum site_verdict site_of_futex(const struct site_futex *futex,
					      const struct site_words *around)
{
	__u32 value = futex->value, upper = 3U << 30;
	enum site_verdict verdict = site_of_value(value);

	if (!futex->is_bitset)
		return verdict == SITE_LOCK && !site_is_mutex(around->lock) ? SITE_OPAQUE : verdict;
	if (value & upper || around->before & upper || (value && value <= 5 && value != 4))
		return SITE_OPAQUE;
	return SITE_CONDITION;
}

/*
 * In a function of a name that says nothing: the operation decides, but not that FUTEX_WAIT with
 * another value than locks have is one (QEMU's events wait with -1).
 */
static inline enum site_verdict site_of_operation(const struct site_futex *futex)
{
	return futex->is_bitset ? SITE_CONDITION : site_of_value(futex->value);
}

/*
 * In a condition variable's function: glibc waits there for the mutex, too, before it returns, and
 * by another operation (FUTEX_WAIT; its conditions had that up to 2.24, with a counter).
 */
static inline int site_may_be_mutex(const struct site_futex *futex)
{
	return !futex->is_bitset && futex->value == 2;
}

/* For the wait that `tid` began at since_ns, by tid. */
struct site_answer {
	__u64 since_ns;
	__u32 verdict;
	__u32 pad;
};

#define MAX_SITES	 65536
#define MAX_SITE_ANSWERS 16384
#define SITE_CALLERS	 8 /* wrappers looked through, at most */

/* A header alone: threads have come into the watched cgroup that have no account. */
#define CGROUP_JOINED (KIND_INTERNAL | 7)
/* The same: a cgroup has been made where the watched one may have been. */
#define CGROUP_MADE (KIND_INTERNAL | 11)

/*
 * Instead of a wire_thread, from the iterator: the thread is in the state of the record before, and
 * all else is as it was, too. header.time_ns: the instant. User space keeps the records.
 */
#define THREAD_UNCHANGED (KIND_INTERNAL | 9)

struct thread_unchanged {
	struct wire_header header;
	__u64 start_ns;
	__u32 tid; /* as in the record */
	__u32 pad;
};

/*
 * From the iterator, where it is asked for these alone, after a snapshot: the thread waits for a
 * lock. With since_ns and voluntary as in the snapshot's record it has done so all the time.
 */
#define THREAD_LOCKED (KIND_INTERNAL | 10)

struct thread_locked {
	struct wire_header header;
	__u64 origin_ns, since_ns, voluntary; /* as in struct wire_thread */
	__u32 tid;
	__u32 pad;
};

/*
 * Spans: what a worker of an async runtime does between two points where it could have yielded. A
 * poll of a task, from its entry to its return; or a turn of an event loop, from the return of its
 * wait to the next wait. What lasts longer than the threshold is a stall. Sent in the ring, never
 * stored: capture/spans.c makes records of them.
 */
#define SPAN_END    (KIND_INTERNAL | 2) /* as wire_header.kind: struct span_end */
#define SPAN_STACK  (KIND_INTERNAL | 3) /* struct span_stack */
#define SPAN_WORKER (KIND_INTERNAL | 4) /* struct span_worker; from the iterator */
#define SPAN_SEED   (KIND_INTERNAL | 5) /* struct span_seed; from the iterator */
#define SPAN_LAUNCH (KIND_INTERNAL | 6) /* struct span_launch */

enum span_kind {
	SPAN_NONE = 0,
	SPAN_POLL, /* of an async task */
	SPAN_POOL, /* of a closure that was handed to the blocking pool: may block, no span */
	SPAN_TURN,
	SPAN_ROOT, /* what the thread of a block_on() does between its waits and polls of tasks */
	SPAN_LIFE, /* of a worker thread: no span, but it may be in place of one that blocks */
	SPAN_CLOSURE, /* one of the last two: where tasks are polled in it, it is a worker's life */
};

/* bpf_cookie of a probe. `number` is user space's: what kind of task the probed function polls. */
#define SPAN_COOKIE(kind, number) ((__u64)(number) << 8 | (kind))
#define SPAN_COOKIE_KIND(cookie)  ((cookie)&0xff)

/* A poll that was running before it was probed: its return cannot be seen. */
#define SPAN_COOKIE_SEEDED SPAN_COOKIE(SPAN_POLL, 0xffffffffU)
/* Such a turn, which ends as all do. */
#define SPAN_COOKIE_SEEDED_TURN SPAN_COOKIE(SPAN_TURN, 0xffffffffU)
/* Found while the probes were off (bpf/span_unprobed.bpf.h): a time on the CPU, a wait. */
#define SPAN_COOKIE_RUN	 SPAN_COOKIE(SPAN_POLL, 0xfffffffeU)
#define SPAN_COOKIE_WAIT SPAN_COOKIE(SPAN_POLL, 0xfffffffdU)

/*
 * Waits that end a turn, as bpf_cookie: a thread's loop is where it waits by the highest. A loop on
 * epoll may hand its changes to the kernel by io_uring_enter(), which waits until they are made.
 */
enum span_wait {
	SPAN_WAIT_NONE = 0,
	SPAN_WAIT_POLL, /* poll, select */
	SPAN_WAIT_URING,
	SPAN_WAIT_EPOLL,
};

/* Where a thread of an event loop waits for its turn to wait for events; key of `loop_parks`. */
struct loop_park {
	__u64 stack; /* pointer, in user mode */
	__u32 tid;
	__u32 pad;
};

#define LOOP_PARKS_MAX 4096

/* Where a handler of a loop on poll() waits for a condition: keys of `loop_handlers`. */
#define LOOP_HANDLERS_MAX 1024

/* Where a thread waits for an answer, and for no events of a loop: keys of `loop_answers`. */
#define LOOP_ANSWERS_MAX 1024

/* Of the probes of polls, on one CPU. */
struct span_poll_counts {
	__u64 polls;		     /* that have begun */
	__u64 timed[2], timed_ns[2]; /* of our programs at their beginnings and ends */
};

/*
 * Of one probed function, on one CPU. Where two threads take turns on it within the same few
 * instructions `longest_ns` may be the shorter one's; what is counted is exact.
 */
struct span_site {
	__u64 polls; /* that have ended */
	__u64 busy_ns;
	__u64 stalls;
	/* since the snapshot before: of odd epochs (span_epoch), and of even ones */
	__u64 longest_ns[2];
	__u32 epochs[2]; /* whose these are */
};

/* Numbers of probes from this one on have one sum, that of number 0. */
#define SPAN_SITES_MAX 4096

#define SPAN_SLOTS     4 /* places of a stack where polls begin */

/* A worker seems to be in one poll for long: a watch of its stack would make it certain. */
enum { SPAN_ALARM_RUN = 1, SPAN_ALARM_OVER };

struct span_alarm {
	__u32 tid;
	__u32 what;		 /* SPAN_ALARM_* */
	__u64 slots[SPAN_SLOTS]; /* where the next poll writes the address it returns to; 0: none */
};

#define SPAN_PARKS	   8 /* and where a worker waits outside of them */
#define SPAN_LEVELS	   4 /* one in another, as with a nested block_on() */
#define SPAN_KERNEL_FRAMES 32
#define SPAN_RETURNS	   4
#define SPAN_USER_BYTES	   32768
#define SPAN_RED_ZONE	   128 /* below the stack pointer, of leaf functions (x86-64 psABI, 3.2.2) */
#define SPAN_WAITS	   4   /* kept of a span: the longest of each of so many states */
#define SPAN_BLOCKS	   (SPAN_WAITS + 1)  /* with the present one */
#define SPAN_STACKS	   (2 * SPAN_BLOCKS) /* a worker: of its blocks, and of who ended them */
#define MAX_SPAN_STACKS	   2560		     /* at once, of all workers */
#define MAX_WORKERS	   MAX_SPAN_STACKS   /* of which evidence is kept until their spans end */

enum span_stack_of {
	SPAN_STACK_BLOCK = 1, /* a time off its CPU, at its beginning */
	SPAN_STACK_WAKER,     /* of the thread that ended it, then */
	SPAN_STACK_SAMPLE,    /* while it ran */
	SPAN_STACK_SEED,      /* of a thread that ran, of which nothing is known yet */
	SPAN_STACK_LOOP,      /* of one that is about to wait for events */
	SPAN_STACK_JOB,	  /* of one that waits for what may be a job, and was in poll() before */
	SPAN_STACK_POLL,  /* of the same, back in poll() */
	SPAN_STACK_INNER, /* of one that is about to wait in poll(), and has a loop elsewhere */
	/* of `dwell profile` */
	SPAN_STACK_CPU,	   /* while it ran */
	SPAN_STACK_AWAY,   /* where it left its CPU, at header.time_ns */
	SPAN_STACK_ASLEEP, /* the same, which it did some time ago: its memory is not copied */
};

/*
 * Where a thread's stack ended when it was unwound: what lies above the outermost frame (the
 * thread's own memory, its arguments) is most of a copy, and seldom in a cache. By tid; of another
 * thread or program by that number it says nothing.
 */
struct stack_end {
	__u64 thread_start_ns;
	__u64 end; /* address behind the last word that was needed */
	__u32 exec_id;
	__u32 pad;
};

/* The kernel's lists for each CPU keep so many free ones back from others. */
#define STACK_ENDS	  4096
#define STACK_ENDS_OF_CPU 128

/* Cut off behind the bytes there are. */
struct span_stack {
	struct wire_header header;
	/* start of the span it belongs to; of SPAN_STACK_SEED: of the thread; of SPAN_STACK_LOOP,
	 * _POLL and _INNER: the kernel's epoll file, of the latter two 0 where they wait for none
	 */
	__u64 span_ns;
	__u64 weight_ns; /* time it stands for */
	/* of SPAN_STACK_ASLEEP and _AWAY: while they are the same, so is its stack; 0: not known */
	__u64 switches;
	__u64 thread_start_ns;
	__u64 process_start_ns; /* of its leader: a reused pid is another process */
	__u32 pid;
	__u32 exec_id; /* programs the process has run */
	__u32 worker_tid;
	__u32 tid; /* whose stack it is */
	__u32 of;  /* enum span_stack_of */
	struct wire_wait_site site;
	struct site_frame frame; /* in user mode */
	/* where functions with a return probe really return to, innermost first */
	__u64 returns[SPAN_RETURNS];
	__u64 kernel[SPAN_KERNEL_FRAMES];
	__u32 kernel_count;
	__u32 in_user_mode; /* frame.address is where it was, not where a call returns to */
	__u32 user_bytes;
	__u32 python_count;
	__u64 user_end;				   /* the stack's, where it was known; else 0 */
	__u64 thread_pointer;			   /* of SPAN_STACK_ASLEEP, _AWAY and _SEED */
	struct python_place python[PYTHON_FRAMES]; /* innermost first */
	__u8 user[SPAN_USER_BYTES];		   /* memory from frame.stack - SPAN_RED_ZONE on */
};

struct span_thread {
	__u32 tid, pid;
	char comm[16];
};

struct span_end {
	struct wire_header header;
	__u64 start_ns;
	__u64 inner_ns;		      /* of it in spans inside */
	__u64 states_ns[WIRE_STATES]; /* two's complement: span_totals() */
	__u64 task;   /* address of what was polled; with the process it is an identity, for a while
		       */
	__u64 cookie; /* of the probe */
	__u64 culprit_ns;
	__u32 tid, pid;
	__u32 wait;	/* enum span_wait: where the thread waits for events, if it does */
	__u32 heaviest; /* of `waits`: says most; SPAN_BLOCKS: there is none */
	/* had the CPU while this one waited for it, tid 0: none; or, if that is not 0, the cgroup
	 * whose limit was reached: its id, 0 for one of cgroups v1, and its name */
	struct span_thread culprit;
	__u32 culprit_is_limit;
	__u32 in_poll; /* SPAN_COOKIE_WAIT: the frame of a poll was on the stack */
	__u32 is_busy; /* of a loop that has never waited for events, only asked */
	__u32 pad;
	struct span_wait_kept {
		__u64 ns; /* 0: none is kept here */
		struct wire_wait_site site;
		__u32 pad;
		struct span_thread waker; /* ended it; tid 0: not known */
	} waits[SPAN_BLOCKS];		  /* each the longest in its state; in no order */
};

struct span_worker {
	struct wire_header header;
	__u64 start_ns; /* of the thread: wire_thread.start_ns */
	__u64 spans;
	__u64 stalls;
	__u64 longest_ns; /* since the snapshot before */
	__u64 open_ns;	  /* start of the span that goes on; 0: none */
	__u64 open_cookie;
	__u64 since_ns; /* it has been in `site` */
	__u64 block_ns; /* time of the stack, if it is that of this wait */
	__u32 tid, pid;
	__u32 kind; /* enum span_kind of its last */
	struct wire_wait_site site;
	char comm[16];
	__u32 stack;   /* index in span_stacks + 1: where it waits; 0: it does not, or there is none
			*/
	__u32 is_busy; /* as in struct span_end */
};

/* A thread that is off its CPU, of which it is not known whether it is a worker. */
struct span_seed {
	struct wire_header header;
	__u64 start_ns; /* of the thread */
	__u64 since_ns; /* it has been in `site` */
	__u64 switches; /* so far: while they are the same, its stack is */
	__u64 process_start_ns;
	__u64 thread_pointer;
	__u32 exec_id;
	__u32 pad;
	__u32 tid;
	struct wire_wait_site site;
	struct site_frame frame;
	char comm[16];
};

/* A thread has become a worker because another one, in a span, is going to block: block_in_place().
 */
struct span_launch {
	struct wire_header header;
	__u64 span_ns; /* start of the other's span */
	__u32 tid;     /* the other */
	__u32 pad;
};

/* What user space found out about such a thread, by tid. The next snapshot applies it. */
struct span_verdict {
	__u64 start_ns; /* of the thread: its tid may be another's by now */
	__u64 since_ns; /* of its state then */
	__u32 kind;	/* enum span_kind */
	__u32 root;	/* it runs a root future too */
	__u32 in_poll;	/* of a task, or in a turn of its loop */
	__u32 pad;
};

/* What a worker was in when it was found. */
#define SPAN_PENDING_ROOT 1
#define SPAN_PENDING_POLL 2
#define SPAN_PENDING_TURN 3

/* From when it left its CPU until it had one again, or up to the last snapshot: dwell profile. */
#define PROFILE_AWAY	       (KIND_INTERNAL | 8)

#define PROFILE_WINDOW_NS      50000000 /* after which a CPU takes more or fewer stacks */
#define PROFILE_INVERSE_ONE    256	/* of a probability: taken for certain */
#define PROFILE_EVERY_LEAST_NS 50000	/* of profile_cpu.every_ns */
#define PROFILE_RING_BYTES     (16 << 20)
#define PROFILE_WAKEUP_BYTES   (PROFILE_RING_BYTES / 16)

struct profile_away {
	struct wire_header header;
	__u64 left_ns;	/* with the tid what the stack is of */
	__u64 from_ns;	/* what was before has been reported */
	__u64 ready_ns; /* from then on it waited for a CPU */
	__u64 start_ns; /* of the thread */
	__u32 tid, pid;
	struct wire_wait_site site; /* what it left its CPU for */
	__u32 inverse; /* of the probability that its stack was taken, in 1/PROFILE_INVERSE_ONE */
};

/* Samples of threads nothing is known of, in all. */
#define MAX_SEED_SAMPLES     256

#define CGROUP_LEVEL_UNKNOWN (~0U)
#define CGROUP_LEVELS	     64 /* that are looked at; deeper trees are not met in practice */

#define MAX_TARGETS	     1024
#define BLAME_HOLD_SLOTS     1024 /* by number of thread: blame_chain.bpf.h; a power of two */
/* Looked back for a watched parent, of what was there before; each costs the verifier time. */
#define MAX_ANCESTORS 128

#endif
