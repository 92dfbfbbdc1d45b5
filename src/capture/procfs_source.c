// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads by looking at /proc again and again: works without privileges on one's own processes.
 * Time on a CPU and time waiting for one are the scheduler's counters (schedstat); what remains is
 * blocked time, and goes to the states seen before and after it.
 */
#define _GNU_SOURCE /* gettid */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/least.h"
#include "base/privilege.h"
#include "base/proc_stat.h"
#include "capture/kernel_waits.h"
#include "capture/proc_threads.h"
#include "capture/source_ops.h"
#include "capture/syscalls.h"

#define SAMPLE_NS (10 * NS_PER_MS)
/* A pass over all threads may take this share of the time between passes, or they come less often.
 */
#define COST_SHARE 20 /* one part of */
/* New threads are looked for once in so many passes. */
#define LIST_EVERY 10

struct sampled {
	struct wire_thread record; /* totals up to `time_ns` */
	struct proc_id id;
	uint64_t time_ns;	  /* of the last look */
	uint64_t run_ns, wait_ns; /* schedstat then */
	uint64_t prepaid_ns;	  /* reported as waiting for a CPU before the counter moved */
	struct wire_wait_site site;
	uint64_t where_since_ns;
	__u8 blocked; /* the state it was last seen blocked in; WIRE_ON_CPU = never */
	bool seen;    /* in this list */
};

struct sampler {
	struct targets *targets;
	bool own_only;
	uint8_t classes[SYSCALL_TABLE_SIZE];
	struct proc_threads list;
	struct sampled *threads; /* by tid */
	size_t count, room;
	struct sampled *gone; /* since the last snapshot, which reports what was seen of them */
	size_t gone_count, gone_room;
	struct proc_process process;
	struct wire_session session; /* to report another sample_ns */
	int timer_fd;
	uint32_t own_tid;
	unsigned int passes;
};

static void sampler_close(void *data)
{
	struct sampler *sampler = data;

	if (!sampler)
		return;
	if (sampler->timer_fd >= 0)
		close(sampler->timer_fd);
	proc_threads_release(&sampler->list);
	free(sampler->threads);
	free(sampler->gone);
	free(sampler);
}

static void set_period(struct sampler *sampler, uint64_t period_ns)
{
	struct itimerspec spec = {.it_value = clock_timespec(period_ns),
				  .it_interval = clock_timespec(period_ns)};

	sampler->session.sample_ns = period_ns;
	timerfd_settime(sampler->timer_fd, 0, &spec, NULL);
}

static bool read_schedstat(struct proc_id id, uint64_t *ret_run_ns, uint64_t *ret_wait_ns)
{
	char text[128];

	return proc_read(id, "schedstat", text, sizeof(text)) &&
	       sscanf(text, "%" SCNu64 " %" SCNu64, ret_run_ns, ret_wait_ns) == 2;
}

static struct wire_wait_site place(__u8 state, __u8 detail, long syscall)
{
	return (struct wire_wait_site){state, detail, (__s16)syscall};
}

/*
 * By the innermost kernel function that is none of the scheduler's, the only one that /proc shows;
 * `guess` where that is on the way of unlike waits.
 */
static struct wire_wait_site classify_function(struct proc_id id, struct wire_wait_site guess)
{
	char name[128];

	if (!proc_read(id, "wchan", name, sizeof(name)))
		return guess;
	/* what streams of the Internet wait in; those of Unix have a function of their own */
	if (guess.detail == WIRE_DETAIL_SOCKET && !strcmp(name, "wait_woken"))
		return place(WIRE_NET, WIRE_DETAIL_SOCKET, guess.syscall);
	kernel_waits_find(name, &guess.state, &guess.detail);
	return guess;
}

/* As classify_descriptor() in the kernel, by what the link in /proc/TID/fd says. */
static struct wire_wait_site classify_descriptor(struct proc_id id, unsigned long descriptor,
						 long syscall, bool uninterruptible)
{
	char path[96], link[256];
	struct stat status = {.st_mode = 0};
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%lu", id.tid, descriptor);
	length = readlink(path, link, sizeof(link) - 1);
	if (length <= 0)
		return place(WIRE_UNKNOWN, WIRE_DETAIL_NONE, syscall);
	link[length] = '\0';
	if (!strncmp(link, "pipe:", 5))
		return place(WIRE_IPC, WIRE_DETAIL_PIPE, syscall);
	/* Internet or Unix: the link does not say */
	if (!strncmp(link, "socket:", 7))
		return classify_function(id, place(WIRE_UNKNOWN, WIRE_DETAIL_SOCKET, syscall));
	if (!strncmp(link, "anon_inode:", 11))
		return place(WIRE_IDLE, WIRE_DETAIL_EVENT, syscall);
	/* also disks, and the files of /dev/shm, lie there */
	if (!strncmp(link, "/dev/", 5) && stat(path, &status) == 0 && S_ISCHR(status.st_mode))
		return place(WIRE_IDLE, WIRE_DETAIL_CHARDEV, syscall);
	if (!strncmp(link, "/dev/", 5) && S_ISBLK(status.st_mode))
		return place(WIRE_DISK, WIRE_DETAIL_BLOCKDEV, syscall);
	/* disks are waited for without signals; other files bring news */
	if (uninterruptible)
		return place(WIRE_DISK, WIRE_DETAIL_FILE, syscall);
	return classify_function(id, place(WIRE_UNKNOWN, WIRE_DETAIL_FILE, syscall));
}

/* By the value alone: no memory is read here. */
static struct wire_wait_site classify_futex(int operation, unsigned long value, long syscall)
{
	struct site_futex futex = {.value = (__u32)value, .is_bitset = true};
	static const struct site_words unread = {0};

	switch (operation) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return place(WIRE_LOCK, WIRE_DETAIL_FUTEX_PI, syscall);
	case FUTEX_WAIT_REQUEUE_PI:
		return place(WIRE_IDLE, WIRE_DETAIL_FUTEX_COND, syscall);
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		switch (operation == FUTEX_WAIT ? site_of_value(futex.value)
						: site_of_futex(&futex, &unread)) {
		case SITE_LOCK:
			return place(WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK, syscall);
		case SITE_CONDITION:
			return place(WIRE_IDLE, WIRE_DETAIL_FUTEX_COND, syscall);
		default:
			break;
		}
	}
	return place(WIRE_UNKNOWN, WIRE_DETAIL_NONE, syscall);
}

static struct wire_wait_site classify_call(const struct sampler *sampler, struct proc_id id,
					   long syscall, const unsigned long arguments[5],
					   bool uninterruptible)
{
	__u8 class = syscall >= 0 && syscall < SYSCALL_TABLE_SIZE ? sampler->classes[syscall]
								  : SYSCALL_OTHER;
	struct wire_wait_site known;
	bool timed;

	switch (class) {
	case SYSCALL_POLL:
		timed = !arguments[1] && syscall_poll_is_timed(arguments[2]);
		return place(timed ? WIRE_SLEEP : WIRE_IDLE, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_SELECT:
		timed = !arguments[0] && arguments[4];
		return place(timed ? WIRE_SLEEP : WIRE_IDLE, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_WAIT:
	case SYSCALL_CHILD:
		return place(WIRE_IDLE, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_DESCRIPTOR:
		return classify_descriptor(id, arguments[0], syscall, uninterruptible);
	case SYSCALL_WRITE:
		known = classify_descriptor(id, arguments[0], syscall, uninterruptible);
		if (known.state != WIRE_IDLE)
			return known;
		return classify_function(id, place(WIRE_UNKNOWN, known.detail, syscall));
	case SYSCALL_IPC:
		return place(WIRE_IPC, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_LOCK:
	case SYSCALL_FLOCK:
		return place(WIRE_LOCK, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_FUTEX:
		return classify_futex(arguments[1] & FUTEX_CMD_MASK, arguments[2], syscall);
	case SYSCALL_FUTEX_WAIT:
		return classify_futex(FUTEX_WAIT, arguments[1], syscall);
	case SYSCALL_SLEEP:
		return place(WIRE_SLEEP, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_FCNTL:
		if (arguments[1] == F_SETLKW || arguments[1] == F_OFD_SETLKW)
			return place(WIRE_LOCK, WIRE_DETAIL_NONE, syscall);
		break;
	case SYSCALL_FILE:
	case SYSCALL_SPLICE:
		break;
	case SYSCALL_VFORK:
		if (uninterruptible)
			return place(WIRE_IDLE, WIRE_DETAIL_VFORK, syscall);
		break;
	}
	return classify_function(
		id, place(uninterruptible ? WIRE_DISK : WIRE_UNKNOWN, WIRE_DETAIL_NONE, syscall));
}

static struct wire_wait_site observe(const struct sampler *sampler, struct proc_id id,
				     const struct proc_stat *stat)
{
	struct proc_call call;
	bool uninterruptible = stat->state == 'D';

	/* looking, it finds itself running every time; in between it waits for the next look */
	if (id.tid == sampler->own_tid)
		return place(WIRE_IDLE, WIRE_DETAIL_EVENT, SYS_epoll_pwait);
	switch (stat->state) {
	case 'R':
		return place(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	case 'T':
		return place(WIRE_STOPPED, WIRE_DETAIL_SIGNAL, WIRE_SYSCALL_NONE);
	case 't':
		return place(WIRE_STOPPED, WIRE_DETAIL_TRACER, WIRE_SYSCALL_NONE);
	case 'I':
		return place(WIRE_IDLE, WIRE_DETAIL_KTHREAD, WIRE_SYSCALL_KERNEL);
	case 'S':
		if (stat->flags & PF_KTHREAD)
			return place(WIRE_IDLE, WIRE_DETAIL_KTHREAD, WIRE_SYSCALL_KERNEL);
	}
	if (!proc_call_read(id, &call))
		return place(WIRE_UNKNOWN, WIRE_DETAIL_NOT_PERMITTED, WIRE_SYSCALL_NONE);
	if (call.number == PROC_RUNNING) /* since the look at its state */
		return place(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	if (call.number < 0)
		return place(uninterruptible ? WIRE_DISK : WIRE_UNKNOWN, WIRE_DETAIL_NONE,
			     WIRE_SYSCALL_NONE);
	return classify_call(sampler, id, call.number, call.arguments, uninterruptible);
}

/* Blocked, or waiting for a CPU that the counter does not show yet: between two looks. */
static void share_out(struct sampled *thread, struct wire_wait_site now, uint64_t left_ns, bool ran)
{
	__u8 before = thread->site.state, after = now.state;
	__u64 *ns = thread->record.totals.ns;

	if (before == WIRE_ON_CPU && after == WIRE_ON_CPU && ran && thread->blocked) {
		/* one that blocks now and then has done so */
		ns[thread->blocked] += left_ns;
	} else if (before == WIRE_ON_CPU && after == WIRE_ON_CPU) {
		ns[WIRE_RUNNABLE] += left_ns;
		thread->prepaid_ns += left_ns;
	} else if (before == WIRE_ON_CPU) {
		ns[after] += left_ns;
	} else if (after == WIRE_ON_CPU) {
		ns[before] += left_ns;
	} else {
		ns[before] += left_ns / 2;
		ns[after] += left_ns - left_ns / 2;
	}
}

static void look(struct sampler *sampler, struct sampled *thread, const struct proc_stat *stat)
{
	uint64_t now_ns = clock_monotonic_ns(), left_ns = now_ns - thread->time_ns;
	uint64_t run_ns = thread->run_ns, wait_ns = thread->wait_ns, part_ns, waited_ns;
	struct wire_wait_site now = observe(sampler, thread->id, stat);
	bool ran;

	if (!read_schedstat(thread->id, &run_ns, &wait_ns))
		run_ns = stat->utime_ns + stat->stime_ns;
	part_ns = least(run_ns > thread->run_ns ? run_ns - thread->run_ns : 0, left_ns);
	thread->record.totals.ns[WIRE_ON_CPU] += part_ns;
	ran = part_ns > 0;
	left_ns -= part_ns;
	thread->run_ns += part_ns; /* what does not fit is reported at the next look */
	waited_ns = wait_ns > thread->wait_ns ? wait_ns - thread->wait_ns : 0;
	part_ns = least(waited_ns, thread->prepaid_ns);
	thread->prepaid_ns -= part_ns;
	thread->wait_ns += part_ns;
	waited_ns -= part_ns;
	part_ns = least(waited_ns, left_ns);
	thread->record.totals.ns[WIRE_RUNNABLE] += part_ns;
	thread->wait_ns += part_ns;
	left_ns -= part_ns;
	share_out(thread, now, left_ns, ran);
	if (now.state != WIRE_ON_CPU)
		thread->blocked = now.state;
	if (memcmp(&now, &thread->site, sizeof(now)) != 0)
		thread->where_since_ns = now_ns;
	thread->site = now;
	if (now.detail == WIRE_DETAIL_NOT_PERMITTED)
		thread->record.flags |= WIRE_FLAG_NO_WAITS;
	thread->time_ns = now_ns;
	thread->record.utime_ns = stat->utime_ns;
	thread->record.stime_ns = stat->stime_ns;
	thread->record.cpu = stat->cpu;
	memcpy(thread->record.comm, stat->comm, sizeof(thread->record.comm));
}

static int by_tid(const void *left, const void *right)
{
	const struct sampled *a = left, *b = right;

	return (a->id.tid > b->id.tid) - (a->id.tid < b->id.tid);
}

static struct sampled *find(struct sampler *sampler, uint32_t tid)
{
	struct sampled key = {.id.tid = tid};

	return sampler->count ? bsearch(&key, sampler->threads, sampler->count, sizeof(key), by_tid)
			      : NULL;
}

static int add(struct sampler *sampler, struct proc_id id, const struct proc_stat *stat)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct sampled *thread;

	if (array_reserve(&sampler->threads, &sampler->room, sampler->count + 1, sizeof(*thread)) <
	    0)
		return -ENOMEM;
	thread = &sampler->threads[sampler->count++];
	*thread = (struct sampled){.id = id, .time_ns = now_ns, .seen = true};
	proc_record_fill(&thread->record, id, stat, now_ns);
	/* accounting begins when it is found */
	thread->record.origin_ns = now_ns;
	if (!read_schedstat(id, &thread->run_ns, &thread->wait_ns))
		thread->run_ns = stat->utime_ns + stat->stime_ns;
	thread->site = observe(sampler, id, stat);
	thread->where_since_ns = now_ns;
	return 0;
}

static int note_gone(struct sampler *sampler, const struct sampled *thread)
{
	if (array_reserve(&sampler->gone, &sampler->gone_room, sampler->gone_count + 1,
			  sizeof(*sampler->gone)) < 0)
		return -ENOMEM;
	sampler->gone[sampler->gone_count++] = *thread;
	return 0;
}

/* Who is there: new ones get an account, and those that are gone lose theirs. */
static int refresh(struct sampler *sampler)
{
	size_t known = sampler->count, kept = 0;
	int result;

	targets_follow_cgroup(sampler->targets);
	result = proc_threads_list(&sampler->list, sampler->targets, sampler->own_only);
	for (size_t i = 0; i < known; i++)
		sampler->threads[i].seen = false;
	for (size_t i = 0; result >= 0 && i < sampler->list.count; i++) {
		struct proc_id id = sampler->list.items[i];
		size_t count = sampler->count;
		struct proc_stat stat;
		struct sampled *thread;

		sampler->count = known; /* the sorted part */
		thread = find(sampler, id.tid);
		sampler->count = count;
		if (!proc_stat_read(id.pid, id.tid, &stat) || stat.state == 'Z' ||
		    stat.state == 'X')
			continue;
		if (thread && thread->record.start_ns == stat.start_ns)
			thread->seen = true;
		else
			result = add(sampler, id, &stat);
	}
	for (size_t i = 0; i < sampler->count; i++) {
		if (sampler->threads[i].seen)
			sampler->threads[kept++] = sampler->threads[i];
		else if (result >= 0)
			result = note_gone(sampler, &sampler->threads[i]);
	}
	sampler->count = kept;
	if (kept)
		qsort(sampler->threads, kept, sizeof(*sampler->threads), by_tid);
	return result;
}

static int sampler_open(void **ret_data, const struct source_options *options,
			struct targets *targets, struct wire_session *session,
			struct record_sink sink, struct error *error)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int result;

	(void)options;
	if (!sampler)
		return error_set(error, ENOMEM, "out of memory");
	sampler->targets = targets;
	sampler->own_tid = (uint32_t)gettid();
	sampler->own_only =
		targets_everything(targets) && geteuid() != 0 && !privilege_has(CAP_SYS_PTRACE);
	syscalls_classify(sampler->classes);
	sampler->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	session->source = WIRE_SOURCE_PROCFS;
	/* what waits for memory looks as what waits for a disk */
	session->states =
		((1U << WIRE_STATES) - 1) & ~(1U << WIRE_SWAP | 1U << WIRE_STOLEN | 1U << WIRE_IRQ);
	session->metrics = WIRE_METRIC_STATE | WIRE_METRIC_CPU;
	session->sample_ns = SAMPLE_NS;
	result = sampler->timer_fd < 0 ? -errno : refresh(sampler);
	if (result >= 0 && sampler->own_only)
		result =
			sink_missing(sink, "processes",
				     "of other users are left out, as what they wait for cannot be "
				     "read: run as root (sudo dwell …), or name one: -p PID");
	if (result < 0) {
		sampler_close(sampler);
		return error_set(error, -result, "cannot sample /proc: %s", strerror(-result));
	}
	sampler->session = *session;
	set_period(sampler, SAMPLE_NS);
	*ret_data = sampler;
	return 0;
}

static void sample(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->count; i++) {
		struct sampled *thread = &sampler->threads[i];
		struct proc_stat stat;

		if (proc_stat_read(thread->id.pid, thread->id.tid, &stat) &&
		    stat.start_ns == thread->record.start_ns && stat.state != 'Z' &&
		    stat.state != 'X')
			look(sampler, thread, &stat);
	}
}

static int sampler_work(void *data, struct record_sink sink, struct error *error)
{
	struct sampler *sampler = data;
	uint64_t expired, start_ns = clock_monotonic_ns(), spent_ns, period_ns;
	int result = 0;

	if (read(sampler->timer_fd, &expired, sizeof(expired)) != sizeof(expired))
		return 0;
	if (++sampler->passes % LIST_EVERY == 0)
		result = refresh(sampler);
	sample(sampler);
	spent_ns = clock_monotonic_ns() - start_ns;
	period_ns = sampler->session.sample_ns;
	/* doubled and halved, so that it does not change all the time */
	if (spent_ns * COST_SHARE > period_ns && period_ns < NS_PER_S)
		period_ns *= 2;
	else if (spent_ns * COST_SHARE * 4 < period_ns && period_ns > SAMPLE_NS)
		period_ns /= 2;
	if (result >= 0 && period_ns != sampler->session.sample_ns) {
		set_period(sampler, period_ns);
		result = sink_send(sink, &sampler->session.header);
	}
	return result < 0 ? error_set(error, -result, "cannot sample /proc: %s", strerror(-result))
			  : 0;
}

/* The time since its own look, microseconds, is spent as it was seen. */
static void close_at(struct sampled *thread, uint64_t instant_ns)
{
	uint64_t gap_ns = instant_ns > thread->time_ns ? instant_ns - thread->time_ns : 0;

	thread->record.totals.ns[thread->site.state] += gap_ns;
	if (thread->site.state == WIRE_ON_CPU)
		thread->run_ns += gap_ns;
	thread->time_ns = instant_ns;
}

static int send_thread(struct sampler *sampler, const struct sampled *thread, uint64_t time_ns,
		       struct record_sink sink)
{
	struct wire_thread record = thread->record;

	record.header.time_ns = time_ns;
	record.end_ns = thread->time_ns;
	record.site = thread->site;
	record.since_ns = least(thread->where_since_ns, thread->time_ns);
	proc_process_fill(&record, &sampler->process);
	return sink_send(sink, &record.header);
}

/* Up to the last look at them; of those that were born and ended between two there is nothing. */
static int send_gone(struct sampler *sampler, uint64_t time_ns, struct record_sink sink)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < sampler->gone_count; i++) {
		sampler->gone[i].record.flags |= WIRE_FLAG_LEFT;
		result = send_thread(sampler, &sampler->gone[i], time_ns, sink);
	}
	sampler->gone_count = 0;
	return result;
}

static int sampler_snapshot(void *data, bool final __attribute__((unused)),
			    uint64_t *ret_instant_ns, struct record_sink sink, struct error *error)
{
	struct sampler *sampler = data;
	int result = refresh(sampler);

	sample(sampler);
	*ret_instant_ns = clock_monotonic_ns();
	if (result >= 0)
		result = send_gone(sampler, *ret_instant_ns, sink);
	for (size_t i = 0; result >= 0 && i < sampler->count; i++) {
		close_at(&sampler->threads[i], *ret_instant_ns);
		result = send_thread(sampler, &sampler->threads[i], *ret_instant_ns, sink);
	}
	return result < 0 ? error_set(error, -result, "cannot sample /proc: %s", strerror(-result))
			  : 0;
}

static struct wire_losses sampler_losses(const void *data)
{
	(void)data;
	return (struct wire_losses){0};
}

static int sampler_descriptor(const void *data)
{
	const struct sampler *sampler = data;

	return sampler->timer_fd;
}

const struct source_ops source_procfs = {
	.choice = SOURCE_PROCFS,
	.open = sampler_open,
	.close = sampler_close,
	.snapshot = sampler_snapshot,
	.losses = sampler_losses,
	.descriptor = sampler_descriptor,
	.work = sampler_work,
};
