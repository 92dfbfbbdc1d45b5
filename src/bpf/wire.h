/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that cross from the kernel side to the rest of dwell, and that a capture file stores
 * verbatim. Shared by the BPF programs and by user space; nothing here may include a file of ours.
 *
 * Rules: fixed-width fields, explicit padding, no pointers, zeroed before filling. Numbers of
 * kinds, states and details are append-only: a retired one leaves a hole.
 */
#ifndef DWELL_BPF_WIRE_H
#define DWELL_BPF_WIRE_H

#include <linux/types.h>

enum wire_kind {
	WIRE_SESSION = 1,  /* struct wire_session: what measures what, and where; comes first */
	WIRE_INTERVAL = 2, /* struct wire_interval: closes the interval of the records before it */
	WIRE_THREAD = 3,   /* struct wire_thread: cumulative totals at a snapshot */
	WIRE_EXIT = 4,	   /* struct wire_thread: final totals of a thread that ended */
	WIRE_DELAYS = 5,   /* struct wire_delays: the kernel's delay accounting of a thread */
	WIRE_CGROUP = 6,   /* struct wire_cgroup: path of a cgroup, before its first thread */
	WIRE_CHILD = 7,	   /* struct wire_child: the watched command has ended */
	WIRE_MISSING = 8,  /* struct wire_missing: what is not measured, and why */
	WIRE_REASON = 9,   /* struct wire_reason: how long a thread waited for one reason */
	WIRE_FRAME = 11,   /* struct wire_frame: a function at an address, before its first stack */
	WIRE_STACK = 12,   /* struct wire_stack: frames, before the records that refer to it */
	WIRE_WORKER = 13,  /* struct wire_worker: cumulative, after the worker's wire_thread */
	WIRE_STALL = 14,   /* struct wire_stall: a poll or turn above the threshold */
	WIRE_SAMPLE = 15,  /* struct wire_sample: what a worker ran in a stall that goes on */
	WIRE_RUNTIME = 16, /* struct wire_runtime: what runs the workers; cumulative losses */
	WIRE_BLAME = 18,   /* struct wire_blame: who ended or prolonged a thread's waits */
	WIRE_HOLDER = 19,  /* struct wire_holder: who has the lock that a thread waits for */
	WIRE_SPENT = 20,   /* struct wire_spent: time of a thread whose stack is known */
	WIRE_PROFILE = 21, /* struct wire_profile: how well stacks are known; cumulative */
	WIRE_POLLS = 22,   /* struct wire_polls: of one type of task; cumulative */
	WIRE_MEMBER = 23,  /* struct wire_member: the cgroup of a process that is no target */
	WIRE_RESTART = 10, /* a bare header: what follows does not continue what was before */
			   /* 17 is in recordings alone: capture/recording_layout.h */
};

/*
 * States that the kernel side distinguishes: name, number, JSON key, column header, what it means.
 * The time on a CPU is split into user and kernel by the model. No thread is ever seen in STOLEN
 * and IRQ: they are taken off its time on a CPU when a turn ends (bpf/turn.h).
 */
#define WIRE_WAITS(X)                                                                              \
	X(RUNNABLE, 1, "runnable", "RUNQ", "ready, waiting for a CPU")                             \
	X(DISK, 2, "disk", "DISK", "blocked on block I/O or in a file system")                     \
	X(NET, 3, "net", "NET", "blocked on an Internet socket")                                   \
	X(IPC, 4, "ipc", "IPC", "blocked on another thread through a pipe, socket or queue")       \
	X(LOCK, 5, "lock", "LOCK", "blocked acquiring a lock")                                     \
	X(SWAP, 6, "swap", "SWAP", "blocked bringing memory back: swap-in, reclaim, compaction")   \
	X(SLEEP, 7, "sleep", "SLP", "in a timed sleep, or waiting for kernel work")                \
	X(IDLE, 8, "idle", "IDLE", "waiting for work")                                             \
	X(STOPPED, 9, "stopped", "STOP", "stopped by a signal, a tracer or the freezer")           \
	X(STOLEN, 10, "stolen", "STEAL", "it had a CPU that the hypervisor took away")             \
	X(IRQ, 11, "irq", "IRQ", "it had a CPU that served an interrupt")                          \
	X(UNKNOWN, 12, "unknown", "UNKN", "blocked in what dwell does not recognize")

enum wire_state {
	WIRE_ON_CPU = 0,
#define X(name, number, key, header, help) WIRE_##name = number,
	WIRE_WAITS(X)
#undef X
		WIRE_STATES,
};

/* What a thread waits on, beside the system call it waits in: name, number, text. */
#define WIRE_DETAILS(X)                                                                            \
	X(NONE, 0, "")                                                                             \
	/* runnable */                                                                             \
	X(WOKEN, 1, "woken")                                                                       \
	X(PREEMPTED, 2, "preempted")                                                               \
	X(YIELDED, 3, "yielded")                                                                   \
	X(NEW, 4, "new")                                                                           \
	X(THROTTLED, 5, "throttled")                                                               \
	/* the object behind a descriptor */                                                       \
	X(PIPE, 10, "pipe")                                                                        \
	X(UNIX, 11, "unix")                                                                        \
	X(INET, 12, "inet")                                                                        \
	X(NETLINK, 13, "netlink")                                                                  \
	X(SOCKET, 14, "socket")                                                                    \
	X(CHARDEV, 15, "chardev")                                                                  \
	X(EVENT, 16, "event")                                                                      \
	X(FILE, 17, "file")                                                                        \
	X(BLOCKDEV, 18, "blockdev")                                                                \
	X(DIRECTORY, 19, "dir")                                                                    \
	/* futex operations */                                                                     \
	X(FUTEX_LOCK, 30, "lock")                                                                  \
	X(FUTEX_COND, 31, "cond")                                                                  \
	X(FUTEX_PI, 32, "pi")                                                                      \
	/* waits for events, by the code that waits */                                             \
	X(EVENT_LOCK, 33, "lock")                                                                  \
	/* found on the kernel stack */                                                            \
	X(SWAP_IN, 40, "swap-in")                                                                  \
	X(RECLAIM, 41, "reclaim")                                                                  \
	X(COMPACTION, 42, "compaction")                                                            \
	X(MEMORY_LIMIT, 43, "memory-limit")                                                        \
	X(KERNEL_LOCK, 44, "kernel-lock")                                                          \
	X(JOURNAL, 45, "journal")                                                                  \
	X(WRITEBACK, 46, "writeback")                                                              \
	X(BLOCK_IO, 47, "block-io")                                                                \
	X(USERFAULT, 48, "userfaultfd")                                                            \
	X(COREDUMP, 49, "coredump")                                                                \
	X(GRACE_PERIOD, 50, "rcu")                                                                 \
	X(KERNEL_WORK, 51, "kernel-work")                                                          \
	X(SECCOMP, 52, "seccomp")                                                                  \
	X(LEASE, 53, "lease")                                                                      \
	X(TIMER, 54, "timer")                                                                      \
	X(CHILD, 55, "child")                                                                      \
	X(QUEUE, 56, "queue")                                                                      \
	X(FILE_LOCK, 57, "file-lock")                                                              \
	X(SEMAPHORE, 58, "semaphore")                                                              \
	X(FANOTIFY, 59, "fanotify")                                                                \
	/* stopped */                                                                              \
	X(SIGNAL, 60, "signal")                                                                    \
	X(TRACER, 61, "tracer")                                                                    \
	X(FREEZER, 62, "freezer")                                                                  \
	/* other */                                                                                \
	X(VFORK, 70, "vfork")                                                                      \
	X(KTHREAD, 71, "kernel thread")                                                            \
	X(NOT_PERMITTED, 72, "not permitted")                                                      \
	X(THREADS, 73, "threads")                                                                  \
	/* found on the kernel stack: of file systems without a block device */                    \
	X(FUSE, 80, "fuse")                                                                        \
	X(RPC, 81, "rpc")

enum wire_detail {
#define X(name, number, text) WIRE_DETAIL_##name = number,
	WIRE_DETAILS(X)
#undef X
};

/* Values of wire_wait_site.syscall that are no system call of the machine's native table. */
enum {
	WIRE_SYSCALL_NONE = -1,	  /* page fault, interrupt, or never entered user mode */
	WIRE_SYSCALL_COMPAT = -2, /* a 32-bit call on a 64-bit kernel: other numbers, not decoded */
	WIRE_SYSCALL_KERNEL = -3, /* a thread of the kernel's, which makes none */
};

/* What a thread does: one word, so that it is read and written whole. */
struct wire_wait_site {
	__u8 state;  /* enum wire_state */
	__u8 detail; /* enum wire_detail */
	__s16 syscall;
};

struct wire_header {
	__u32 size;    /* of the whole record, bytes */
	__u16 kind;    /* enum wire_kind */
	__u16 cpu;     /* where it was written */
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

/*
 * Scheduling latency (time in `runnable` until the thread got a CPU) in log2 buckets: bucket i
 * counts waits of [2^i, 2^(i+1)) ns; the first also holds 0, the last everything from 2.1 s up.
 */
#define WIRE_LATENCY_BUCKETS 32

/* Cumulative since wire_thread.origin_ns. The 32-bit counters wrap: subtract them modulo 2^32. */
struct wire_totals {
	__u64 ns[WIRE_STATES];
	__u64 latency_max_ns; /* longest wait that ended since the snapshot before */
	__u32 latency[WIRE_LATENCY_BUCKETS];
	__u32 woken;	 /* times made runnable by a wakeup */
	__u32 preempted; /* times it lost its CPU while it could have gone on, or gave it up */
	__u32 throttled; /* of those: with the CPU budget of its cgroup, or of its policy, used up
			  */
	__u32 pad;
};

#define WIRE_FLAG_KERNEL_THREAD 1U
/* Of this thread the states are not known, although the session measures them. */
#define WIRE_FLAG_NO_DISK 2U
#define WIRE_FLAG_NO_SWAP 4U
#define WIRE_FLAG_LEFT                                                                             \
	32U /* its last record: it left the watched cgroup, or is not in procfs any more */
#define WIRE_FLAG_NO_WAITS 16U /* what it waits for may not be read: in WIRE_UNKNOWN */
#define WIRE_FLAG_BESIDE   8U  /* no target; accounted for because targets may make it wait */

/*
 * One thread. Always sum(totals.ns) == end_ns - origin_ns: the state the thread is in at end_ns
 * has been counted up to there.
 */
struct wire_thread {
	struct wire_header header;
	__u64 start_ns;	 /* CLOCK_BOOTTIME, as field 22 of /proc/PID/stat; with tid the identity */
	__u64 origin_ns; /* accounting of this task began; distinguishes tasks that traded tids in
			    exec */
	__u64 end_ns;	 /* accounting closed */
	__u64 since_ns;	 /* it entered the present state */
	__u64 cgroup_id; /* cgroup v2; 0 = unknown */
	__u64 utime_ns;	 /* the kernel's own split of CPU time since the thread's start */
	__u64 stime_ns;
	__u64 voluntary; /* context switches since origin_ns, by the kernel's own count */
	__u64 involuntary;
	__u64 migrations;
	struct wire_totals totals;
	__u32 tid; /* as the initial pid namespace numbers them */
	__u32 pid;
	__u32 parent_pid;
	__s32 exit_code; /* WIRE_EXIT: wait(2) status */
	struct wire_wait_site site;
	__u32 cpu;    /* last run there */
	__u16 policy; /* SCHED_* */
	__s16 nice;
	__u32 flags;   /* WIRE_FLAG_* */
	__u8 comm[16]; /* any bytes but NUL: comes from the process under study */
	__u8 process[16];
};

/* Since the session began. What is counted here is missing from, or blurred in, the figures. */
struct wire_losses {
	__u64 threads;	   /* no memory to account a thread, or it was found late */
	__u64 exits;	   /* final totals that found the ring or netlink buffer full */
	__u64 transitions; /* a wakeup or switch not seen: time after it counts as the state before
			    */
	__u64 torn;	   /* a thread that could not be read consistently */
	__u64 clamped;	   /* turns whose clocks contradicted each other by more than a switch */
};

struct wire_interval {
	struct wire_header header;
	__u64 start_ns; /* CLOCK_MONOTONIC */
	__u64 end_ns;
	__u64 start_realtime_ns; /* CLOCK_REALTIME at start_ns */
	struct wire_losses losses;
	__u32 threads; /* wire_thread records of kind WIRE_THREAD in it */
	__u32 final;   /* 1: the last one, cut short by the end of the session */
	/* what dwell itself cost since the interval before */
	__u64 self_cpu_ns;
	__u64 snapshot_ns; /* announcing the instant and reading all threads, wall clock */
	/* of all CPUs since the interval before, by /proc/stat's ticks; WIRE_SESSION_MACHINE */
	__u64 machine_stolen_ns;
	__u64 machine_busy_ns; /* all but idle, stolen time included */
	/* WIRE_SESSION_PACE: how long dwell itself waited for a CPU since the interval before; how
	 * much longer the interval is than asked for */
	__u64 self_runnable_ns;
	__u64 overrun_ns;
};

enum wire_source {
	WIRE_SOURCE_BPF = 1,
	WIRE_SOURCE_TASKSTATS = 2,
	WIRE_SOURCE_PROCFS = 3,
};

/* What a session's source measures beside the states; what it does not is null, not zero. */
enum wire_metric {
	WIRE_METRIC_STATE = 1 << 0,    /* state, reason and since when */
	WIRE_METRIC_SWITCHES = 1 << 1, /* voluntary and involuntary */
	WIRE_METRIC_WAKEUPS = 1 << 2,  /* woken, preempted, throttled */
	WIRE_METRIC_MIGRATIONS = 1 << 3,
	WIRE_METRIC_LATENCY = 1 << 4, /* histogram of waits for a CPU */
	WIRE_METRIC_CPU = 1 << 5,     /* the last CPU, policy and nice */
};

#define WIRE_SESSION_PRECISE_SPLIT 1U  /* user and kernel time measured, not sampled by the tick */
#define WIRE_SESSION_DELAYS	   2U  /* taskstats is read too */
#define WIRE_SESSION_TARGETED	   4U  /* not the whole machine was asked for */
#define WIRE_SESSION_MACHINE	   8U  /* intervals say how much of the machine was stolen */
#define WIRE_SESSION_PACE	   16U /* intervals say whether dwell itself was late */
#define WIRE_SESSION_VERIFIED	   32U /* `dwell verify` has passed with this dwell and kernel */
#define WIRE_SESSION_BLAME	   64U /* intervals have WIRE_BLAME */
#define WIRE_SESSION_CAUSED	   128U /* what targets cause: all threads are there, WIRE_FLAG_BESIDE */
#define WIRE_SESSION_NAMESPACE	   256U /* threads beyond its pid namespace are only culprits */

struct wire_session {
	struct wire_header header;
	__u32 source;	 /* enum wire_source */
	__u32 flags;	 /* WIRE_SESSION_* */
	__u32 states;	 /* measured: 1 << enum wire_state */
	__u32 metrics;	 /* enum wire_metric */
	__u64 sample_ns; /* states that are sampled: how often; 0 = exact or counters */
	__u64 interval_ns;
	__u64 memory_bytes;
	__u32 cpus;
	__u32 word_bits;
	char host[64];
	char kernel[64];
	char machine[16]; /* as uname -m */
	__u8 boot[16];	  /* id of the machine's boot; all zeros: not known */
};

/* What `source` would report and why it does not; a later one of the same source replaces it.
 */
struct wire_missing {
	struct wire_header header;
	char source[24];
	char why[232]; /* empty: it is there again */
};

struct wire_cgroup {
	struct wire_header header;
	__u64 id;    /* 0: forget all; those that are still met are sent again */
	char path[]; /* NUL-terminated, padded with NULs to a multiple of 8 */
};

struct wire_child {
	struct wire_header header;
	__u64 duration_ns;
	__u32 wait_status; /* wait(2) */
	__u32 pad;
	char name[256];
};

/*
 * Delay accounting (Documentation/accounting/delay-accounting.rst): name, index, JSON key, first
 * version of struct taskstats that has it, help. All but `cpu` need kernel.task_delayacct=1.
 */
#define WIRE_DELAY_KINDS(X)                                                                        \
	X(CPU, 0, "cpu", 1, "waiting for a CPU")                                                   \
	X(BLOCK_IO, 1, "block_io", 1, "synchronous block I/O")                                     \
	X(SWAP_IN, 2, "swap_in", 1, "swapping in pages")                                           \
	X(RECLAIM, 3, "reclaim", 7, "direct reclaim of memory")                                    \
	X(THRASHING, 4, "thrashing", 9, "bringing back pages evicted too early")                   \
	X(COMPACTION, 5, "compaction", 11, "memory compaction")                                    \
	X(COPY, 6, "write_protect_copy", 13, "copying pages on write")                             \
	X(IRQ, 7, "irq", 14, "interrupt handlers")

enum wire_delay_kind {
#define X(name, index, key, version, help) WIRE_DELAY_##name = index,
	WIRE_DELAY_KINDS(X)
#undef X
		WIRE_DELAYS_COUNT = 8,
};

struct wire_delay {
	__u64 count;
	__u64 total_ns;
};

/* As struct taskstats has it: cumulative since the thread's start. */
struct wire_delays {
	struct wire_header header;
	__u64 start_ns; /* with tid the identity, as in wire_thread */
	__u32 tid;
	__u32 version;	/* of the kernel's structure */
	__u32 measured; /* 1 << enum wire_delay_kind */
	__u32 pad;
	struct wire_delay delays[WIRE_DELAYS_COUNT];
	__u64 run_real_ns;    /* cpu_run_real_total: utime + stime */
	__u64 run_virtual_ns; /* cpu_run_virtual_total: the scheduler's own sum */
	__u64 minor_faults, major_faults;
	__u64 read_bytes, write_bytes; /* from and to storage; CONFIG_TASK_IO_ACCOUNTING */
};

/* Of one thread and reason, cumulative since reasons were asked for; ended waits only. */
struct wire_reason {
	struct wire_header header;
	__u64 origin_ns; /* with tid the identity, as in wire_thread */
	__u64 total_ns;
	__u32 tid;
	__u32 pid;
	struct wire_wait_site site;
	__u32 count;
};

/* Because of what a thread waited: number, key, help. */
#define WIRE_CULPRIT_KINDS(X)                                                                      \
	X(UNKNOWN, 0, "unknown", "not known, or the wait goes on")                                 \
	X(THREAD, 1, "thread", "another thread: it had the CPU, or ended the wait")                \
	X(THROTTLE, 2, "throttle", "a CPU limit: its own, or that of a cgroup")                    \
	X(IRQ, 3, "irq", "interrupts")                                                             \
	X(STEAL, 4, "steal", "the hypervisor")                                                     \
	X(IDLE, 5, "idle", "no one: its CPU was idle and had to wake up")                          \
	X(TIMER, 6, "timer", "time had to pass")                                                   \
	X(DEVICE, 7, "device", "a disk or the network")                                            \
	X(OTHERS, 8, "others", "threads with smaller shares, folded")

enum wire_culprit_kind {
#define X(name, number, key, help) WIRE_CULPRIT_##name = number,
	WIRE_CULPRIT_KINDS(X)
#undef X
		WIRE_CULPRIT_KINDS_COUNT = 9,
};

/* Of time before the snapshot that the interval begins with, when the wait had not ended yet. */
#define WIRE_CULPRIT_EARLIER 1U
/* `meanwhile` is known. */
#define WIRE_CULPRIT_MEANWHILE 2U
/* Of WIRE_SESSION_CAUSED: it is a target. */
#define WIRE_CULPRIT_TARGET 4U
/*
 * Of waits for a lock that a timer has ended and the thread has made again, up to the snapshot: of
 * WIRE_CULPRIT_UNKNOWN, for they are owed to who ends the last of them. Some of it may be of the
 * intervals before.
 */
#define WIRE_CULPRIT_OPEN 8U

/*
 * A share of the time that a thread spent in one state, and who it is owed to. `tid` to `pad` are
 * its key.
 */
struct wire_culprit {
	__u64 total_ns;
	__u32 count; /* waits of which it is a share */
	__u32 pid;
	/*
	 * WIRE_CULPRIT_THREAD; with pid 0 beyond our pid namespace, not for people. 0: several
	 * threads of the process, or with pid 0 of processes of that name. WIRE_CULPRIT_THROTTLE:
	 * with `start` the id of the cgroup whose limit it is, and comm its name; 0 and a name: of
	 * cgroups v1; neither: no cgroup's, or not known. WIRE_CULPRIT_DEVICE: comm is that of the
	 * disk, if it is known
	 */
	__u32 tid;
	__u32 start;			 /* of the thread: CLOCK_BOOTTIME >> 20, ns */
	struct wire_wait_site meanwhile; /* what it did in that time */
	__u8 state;			 /* of the victim: enum wire_state */
	__u8 kind;			 /* enum wire_culprit_kind */
	__u8 flags;			 /* WIRE_CULPRIT_* */
	__u8 pad;
	__u8 comm[16];
};

/* The cgroup v2 whose limit the culprit is; 0: none, or not known. */
static inline __u64 wire_limit_cgroup(const struct wire_culprit *culprit)
{
	return culprit->kind == WIRE_CULPRIT_THROTTLE ? culprit->tid | (__u64)culprit->start << 32
						      : 0;
}

/*
 * Of one thread, in the interval alone. What is missing from a state's time is owed to others where
 * `folded` has it, else not known.
 */
struct wire_blame {
	struct wire_header header; /* time_ns: as wire_thread.end_ns */
	__u64 origin_ns;	   /* with tid the identity, as in wire_thread */
	__u32 tid;
	__u32 pid;
	__u32 folded; /* 1 << enum wire_state */
	__u32 count;  /* of struct wire_culprit that follow */
};

/*
 * At the snapshot a thread was waiting for a lock for some time, and a little later, in the same
 * wait, this thread had it. Who had it before is not said.
 */
struct wire_holder {
	struct wire_header header; /* time_ns: the snapshot's instant */
	__u64 origin_ns;	   /* of who waits; with tid the identity, as in wire_thread */
	__u32 tid;
	__u32 holder_tid, holder_pid;
	__u32 pad;
	__u8 holder_comm[16];
};

/* At the snapshot a process was in a cgroup: of culprits of which there is no wire_thread. */
struct wire_member {
	struct wire_header header; /* time_ns: as that of the wire_blame */
	__u64 cgroup_id;
	__u32 pid;
	__u32 pad;
};

/* Whose code a function is; number, key, help. The first USER frame names a stall. */
#define WIRE_FRAME_KINDS(X)                                                                        \
	X(UNKNOWN, 0, "unknown", "no name, or none that is known")                                 \
	X(USER, 1, "user", "the program's own")                                                    \
	X(RUNTIME, 2, "runtime", "the async runtime's")                                            \
	X(STANDARD, 3, "standard", "the language's standard library")                              \
	X(DEPENDENCY, 4, "dependency", "a library built into the program")                         \
	X(SYSTEM, 5, "system", "a library of the system")                                          \
	X(KERNEL, 6, "kernel", "the kernel")

enum wire_frame_kind {
#define X(name, number, key, help) WIRE_FRAME_##name = number,
	WIRE_FRAME_KINDS(X)
#undef X
		WIRE_FRAME_KINDS_COUNT = 7,
};

#define WIRE_FRAME_INLINED  1U /* into the next one of the stack */
#define WIRE_FRAME_NAMED    2U /* `function` is a name, not module+0xoffset */
#define WIRE_FRAME_BUILD_ID 4U /* a text behind that of the module: its build id, in hex */

struct wire_frame {
	struct wire_header header;
	__u32 id; /* from 1 on */
	__u32 line;
	__u8 kind; /* enum wire_frame_kind */
	__u8 flags;
	__u16 function_bytes, file_bytes, module_bytes; /* with their NULs */
	char text[]; /* function, file, module, …, each with a NUL; padded to a multiple of 8 */
};

enum wire_stack_end {
	WIRE_STACK_COMPLETE = 1, /* down to the thread's start */
	WIRE_STACK_TRUNCATED,	 /* the caller of the last frame was not found */
	WIRE_STACK_FAILED,	 /* nothing but where it was */
};

struct wire_stack {
	struct wire_header header;
	__u32 id; /* from 1 on */
	__u32 count;
	__u32 end; /* enum wire_stack_end */
	__u32 pad;
	__u32 frames[]; /* ids, innermost first, the kernel's before the user's; padded with 0 */
};

/* What a worker's spans are. */
#define WIRE_SPAN_KINDS(X)                                                                         \
	X(POLL, 1, "poll", "a poll of an async task")                                              \
	X(POOL, 2, "pool", "a closure on the blocking pool")                                       \
	X(TURN, 3, "turn", "a turn of an event loop")                                              \
	X(ROOT, 4, "root", "a poll of the root future of block_on()")

enum wire_span_kind {
#define X(name, number, key, help) WIRE_SPAN_##name = number,
	WIRE_SPAN_KINDS(X)
#undef X
};

/* How a worker was found. */
#define WIRE_FOUND_BY(X)                                                                           \
	X(TYPE, 1, "type", "it polls tasks of the runtime, or waits for events")                   \
	X(STACK, 2, "stack", "the runtime's worker loop is on its stack")                          \
	X(NAME, 3, "name", "its name is one the runtime gives")                                    \
	X(PREFIX, 4, "prefix", "--workers")                                                        \
	X(GROUP, 5, "group", "the largest group of threads with one name")

enum wire_found_by {
#define X(name, number, key, help) WIRE_FOUND_BY_##name = number,
	WIRE_FOUND_BY(X)
#undef X
};

/* The thread is one that waits for events, too. */
#define WIRE_STALL_OF_LOOP 1U
/* It had begun when it was first looked at: it is a poll of a task, and longer than it seems. */
#define WIRE_STALL_SEEDED 2U
/* Another worker was started in its place: the program had announced that it would block. */
#define WIRE_STALL_IN_PLACE 4U
/* Of a task for certain, though its type is not known. */
#define WIRE_STALL_TASK 8U
/* Found while the probes were off: it was at least that long. */
#define WIRE_STALL_UNPROBED 16U
/* `culprit` is the cgroup whose CPU limit was reached: wire_peer_cgroup(), and its name */
#define WIRE_STALL_LIMIT 32U

struct wire_worker {
	struct wire_header header;
	__u64 start_ns; /* with tid the identity, as in wire_thread */
	__u64 spans;
	__u64 stalls;
	__u64 longest_ns; /* span that ended since the snapshot before */
	__u64 open_ns;	  /* start of the span that goes on; 0: none */
	__u64 since_ns;	  /* it has been in `site` */
	__u32 tid, pid;
	struct wire_wait_site site;
	__u32 open_type; /* frame: the type of task that is polled; 0: not known */
	__u8 kind;	 /* enum wire_span_kind */
	__u8 found_by;	 /* enum wire_found_by */
	__u8 open_kind;	 /* of the span that goes on */
	__u8 open_flags; /* WIRE_STALL_* of that */
	__u32 stack;	 /* where it waits, in a span above the threshold; 0: not known */
	char comm[16];
};

struct wire_peer {
	__u32 tid, pid; /* tid 0: not known */
	char comm[16];
};

/* How long a worker was off its CPU in one state, and the longest time of that. */
struct wire_stall_wait {
	__u64 ns; /* the longest; 0: there is none */
	struct wire_wait_site site;
	__u32 stack;	   /* 0: not known */
	__u32 waker_stack; /* likewise */
	__u32 pad;
	struct wire_peer waker; /* ended it */
};

#define WIRE_STALL_WAITS 3 /* besides the one that weighs most */

/* A span of more than the threshold, not counting inner spans that are reported themselves. */
struct wire_stall {
	struct wire_header header;
	__u64 start_ns;
	__u64 duration_ns;
	__u64 inner_ns;		      /* of it in spans inside */
	__u64 states_ns[WIRE_STATES]; /* of duration_ns */
	__u64 task;		      /* identifies the task for as long as it lives; 0: none */
	__u64 longest_ns;	      /* off-CPU interval in it: a wait rather than a preemption */
	__u64 culprit_ns;	      /* the longest wait for a CPU */
	__u32 tid, pid;
	struct wire_wait_site longest; /* what it did in that */
	__u32 stack;		       /* and where; 0: not known */
	__u32 waker_stack;	       /* of who ended it; 0: not known */
	__u32 type;		       /* frame: the type of the task; 0: not known */
	__u32 kind;		       /* enum wire_span_kind */
	__u32 flags;		       /* WIRE_STALL_* */
	struct wire_peer waker;
	struct wire_peer culprit;			/* had the CPU in that wait */
	struct wire_stall_wait waits[WIRE_STALL_WAITS]; /* of other states than `longest` */
};

/* The cgroup v2 whose CPU limit made the worker wait; 0: none, or not known. */
static inline __u64 wire_peer_cgroup(const struct wire_peer *limit)
{
	return limit->tid | (__u64)limit->pid << 32;
}

/*
 * Whether a state took so much of a stall's own time that it is a part with a cause of its own.
 * Less goes with what took most.
 */
static inline _Bool wire_is_part(__s64 state_ns, __u64 own_ns)
{
	return state_ns > 0 && (__u64)state_ns >= own_ns / 8;
}

struct wire_sample {
	struct wire_header header;
	__u64 span_ns;	 /* start of the span; its wire_stall comes later, or never */
	__u64 weight_ns; /* CPU time it stands for */
	__u32 tid, pid;
	__u32 stack;
	__u32 pad;
};

/* The stack has no part in the kernel. */
#define WIRE_SPENT_IN_USER_MODE 1U
/* The wait began before: that part has been sent. */
#define WIRE_SPENT_MORE	   2U

#define WIRE_SPENT_CERTAIN 256 /* of `inverse` */

/*
 * A time off the CPU, up to header.time_ns, which is one of those that were chosen; or, with
 * site.state WIRE_ON_CPU, an instant on one.
 */
struct wire_spent {
	struct wire_header header;
	__u64 start_ns; /* of the thread; with tid the identity, as in wire_thread */
	__u64 left_ns;	/* it left its CPU */
	__u64 ready_ns; /* from then on it waited for a CPU */
	__u32 tid, pid;
	struct wire_wait_site site; /* what it left its CPU for */
	__u32 inverse;		    /* of the probability of being chosen, in 1/256 */
	__u32 stack;		    /* 0: not known */
	__u32 flags;		    /* WIRE_SPENT_* */
};

struct wire_profile {
	struct wire_header header;
	__u64 stacks_complete, stacks_truncated, stacks_failed;
	__u64 frames, frames_named, frames_with_lines;
	__u64 lost;	 /* times and stacks that found the ring full, or no room */
	__u32 states;	 /* 1 << enum wire_state, of which stacks are taken */
	__u32 frequency; /* of samples on a CPU, Hz; 0: there are none */
};

struct wire_runtime {
	struct wire_header header;
	__u64 threshold_ns;
	__u64 stacks_complete, stacks_truncated, stacks_failed;
	__u64 frames, frames_named;
	__u64 lost; /* stalls and stacks that found the ring full, or no room */
	__u32 pid;
	__u32 probes; /* attached */
	char name[16];
	char process[16];
	/* since the probes were first attached; observed_ns 0: nothing is known of that */
	__u64 observed_ns;
	__u64 probed_ns;     /* of it, with probes on what polls tasks */
	__u64 probe_cost_ns; /* of the CPU time; 0: not measured */
	__u64 cpu_ns;	     /* of the process then */
	__u32 budget;	     /* what dwell may cost it, of its CPU time, in 1/10,000 */
	__u32 pad;
};

/*
 * What probes have seen of one type of task; those of types that found no room are one sum. After
 * the WIRE_RUNTIME of the same snapshot, where something has changed; that sum comes always.
 */
struct wire_polls {
	struct wire_header header;
	__u64 polls;	  /* that have ended */
	__u64 busy_ns;	  /* their time, without polls inside them */
	__u64 longest_ns; /* that ended since the snapshot before */
	__u64 stalls;	  /* above the threshold */
	__u32 type;	  /* frame: its name, or the function that polls it; 0: the sum */
	__u32 pad;
};

_Static_assert(sizeof(struct wire_wait_site) == 4, "read and written as one word");
_Static_assert(sizeof(struct wire_header) == 16, "stored verbatim");
_Static_assert(sizeof(struct wire_totals) == 152 + 8 * WIRE_STATES, "stored verbatim");
_Static_assert(sizeof(struct wire_thread) == 312 + 8 * WIRE_STATES, "stored verbatim");
_Static_assert(sizeof(struct wire_interval) == 136, "stored verbatim");
_Static_assert(sizeof(struct wire_session) == 224, "stored verbatim");
_Static_assert(sizeof(struct wire_missing) == 272, "stored verbatim");
_Static_assert(sizeof(struct wire_cgroup) == 24, "stored verbatim");
_Static_assert(sizeof(struct wire_child) == 288, "stored verbatim");
_Static_assert(sizeof(struct wire_delays) == 216, "stored verbatim");
_Static_assert(sizeof(struct wire_reason) == 48, "stored verbatim");
_Static_assert(sizeof(struct wire_culprit) == 48, "stored verbatim");
_Static_assert(sizeof(struct wire_blame) == 40, "stored verbatim");
_Static_assert(sizeof(struct wire_frame) == 32, "stored verbatim");
_Static_assert(sizeof(struct wire_stack) == 32, "stored verbatim");
_Static_assert(sizeof(struct wire_worker) == 104, "stored verbatim");
_Static_assert(sizeof(struct wire_stall) == 288 + 8 * WIRE_STATES, "stored verbatim");
_Static_assert(sizeof(struct wire_sample) == 48, "stored verbatim");
_Static_assert(sizeof(struct wire_runtime) == 152, "stored verbatim");
_Static_assert(sizeof(struct wire_polls) == 56, "stored verbatim");
_Static_assert(sizeof(struct wire_spent) == 64, "stored verbatim");
_Static_assert(sizeof(struct wire_profile) == 80, "stored verbatim");
_Static_assert(sizeof(struct wire_thread) % 8 == 0, "records follow each other without gaps");

#endif
