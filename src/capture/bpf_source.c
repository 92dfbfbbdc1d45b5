// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A measurement in the kernel: threads seeded, events and snapshots read. The one place that holds
 * BPF descriptors. Everything in the kernel goes away with the process that
 * holds the session, however it ends.
 */
#include "capture/source_ops.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/machine_time.h"
#include "capture/blame_names.h"
#include "capture/bpf_programs.h"
#include "capture/culprit_groups.h"
#include "capture/features.h"
#include "capture/kept_threads.h"
#include "capture/kernel_waits.h"
#include "capture/lock_holders.h"
#include "capture/reasons.h"
#include "capture/wait_sites.h"
#include "capture/verified.h"
#include "dwell.skel.h"

#define READ_BYTES (256 * 1024)

/*
 * The instant of a snapshot is announced this long before it comes, so that every CPU has seen it
 * by then, and reading begins this long after it, so that hooks that began before it are done.
 */
#define SNAPSHOT_LEAD_NS  (40 * NS_PER_US)
#define SNAPSHOT_GRACE_NS (20 * NS_PER_US)

struct session {
	struct dwell_bpf *bpf;
	struct targets *targets; /* not owned */
	struct ring_buffer *ring;
	struct wait_sites *wait_sites;
	int answers_fd; /* of wait_sites, waited for with the ring; -1: no longer */
	size_t hostile_reported;
	struct spans *spans;	   /* NULL: not asked for */
	struct profiler *profiler; /* the same */
	struct features features;
	int wait_functions;	 /* kernel functions known by address; 0: kernel waits are not
				    distinguished */
	struct record_sink sink; /* during drain() */
	char *buffer;
	struct reasons reasons;
	struct blame_names blame_names;
	struct culprit_groups culprit_groups;
	struct lock_holders lock_holders;
	struct kept_threads kept;
	bool joined; /* threads came into the watched cgroup since the last walk */
	bool made;   /* a cgroup is being made that may be it, whose path is not there yet */
};

static bool is_internal(const struct wire_header *record)
{
	return record->kind & KIND_INTERNAL;
}

static int pass_blame(struct session *session, const struct wire_blame *record,
		      struct record_sink sink)
{
	int result = targets_everything(session->targets)
			     ? 0
			     : culprit_groups_send(&session->culprit_groups, record, sink);

	return result < 0 ? result : blame_names_pass(&session->blame_names, record, sink);
}

static int pass(struct session *session, const struct wire_header *record, struct record_sink sink)
{
	if (record->kind == THREAD_LOCKED) {
		lock_holders_note_again(&session->lock_holders, (const void *)record);
		return 0;
	}
	if (is_internal(record) && session->profiler)
		return profiler_take(session->profiler, record, sink);
	if (is_internal(record))
		return session->spans ? spans_take(session->spans, record, sink) : 0;
	if (record->kind == WIRE_THREAD && session->bpf->rodata->blame_on)
		lock_holders_note(&session->lock_holders, (const void *)record);
	if (record->kind == WIRE_BLAME)
		return pass_blame(session, (const void *)record, sink);
	return sink_send(sink, record);
}

/* Records are whole, but a read may end in the middle of one. */
static int feed(struct session *session, size_t *used, struct record_sink sink)
{
	size_t at = 0;

	while (*used - at >= sizeof(struct wire_header)) {
		const struct wire_header *record =
			(const struct wire_header *)(session->buffer + at);
		size_t size = record->size;
		int result;

		if (size < sizeof(*record) || size > READ_BYTES / 2 || size % 8)
			return -EBADMSG;
		if (size > *used - at)
			break;
		result = kept_threads_take(&session->kept, &record);
		if (result >= 0)
			result = pass(session, record, sink);
		if (result < 0)
			return result;
		at += size;
	}
	memmove(session->buffer, session->buffer + at, *used - at);
	*used -= at;
	return 0;
}

/* One pass of an iterator over all threads. */
static int iterate(struct session *session, const struct bpf_link *link, struct record_sink sink,
		   struct error *error)
{
	cleanup_close int fd = bpf_iter_create(bpf_link__fd(link));
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		return error_set(error, errno, "cannot open the task iterator: %s",
				 limits_strerror(errno));
	for (;;) {
		got = read(fd, session->buffer + used, READ_BYTES - used);
		if (got == 0)
			return 0;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return error_set(error, errno, "cannot read the task iterator: %s",
					 limits_strerror(errno));
		used += (size_t)got;
		got = feed(session, &used, sink);
		if (got < 0)
			return error_set(error, (int)-got, "cannot take a thread record: %s",
					 strerror((int)-got));
	}
}

static int walk(struct session *session, struct record_sink sink, struct error *error)
{
	int result;

	session->joined = false;
	result = iterate(session, session->bpf->links.snapshot, sink, error);
	if (result >= 0 && kept_threads_walked(&session->kept) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return result;
}

/* Of some process at least. */
static bool has_reasons(const struct session *session)
{
	return session->bpf->rodata->reasons_all || session->bpf->bss->reasons_pid;
}

/* Those born into it before its id was known here get accounts as if they had joined. */
static void follow_cgroup(struct session *session)
{
	if (!targets_follow_cgroup(session->targets))
		return;
	session->made = false;
	session->bpf->bss->watch_cgroup_id = session->targets->cgroup_id;
	session->joined = true;
}

static int ring_record(void *data, void *record, size_t size)
{
	struct session *session = data;
	const struct wire_header *header = record;

	if (size < sizeof(*header) || header->size != size)
		return -EBADMSG;
	if (header->kind == SITE_QUESTION) {
		wait_sites_ask(session->wait_sites, record);
		return 0;
	}
	if (header->kind == CGROUP_JOINED) {
		session->joined = true;
		return 0;
	}
	if (header->kind == CGROUP_MADE) {
		session->made = true;
		follow_cgroup(session);
		return 0;
	}
	if (header->kind == WIRE_EXIT && has_reasons(session)) {
		const struct wire_thread *thread = record;

		reasons_note_end(&session->reasons, thread->tid, thread->origin_ns);
	}
	return pass(session, header, session->sink);
}

static int drop(void *data, const struct wire_header *record)
{
	(void)data;
	(void)record;
	return 0;
}

/* Accounts for all targets there are; what is forked from now on gets one in the fork. */
static int seed(struct session *session, struct error *error)
{
	struct record_sink nowhere = {.record = drop};
	int result = walk(session, nowhere, error);

	if (result < 0)
		return error_wrap(error, result, "finding the threads there are");
	session->bpf->bss->seeded = true;
	return 0;
}

static void bpf_close(void *data)
{
	struct session *session = data;

	if (!session)
		return;
	ring_buffer__free(session->ring);
	wait_sites_free(session->wait_sites);
	spans_free(session->spans);
	profiler_free(session->profiler);
	dwell_bpf__destroy(session->bpf);
	reasons_release(&session->reasons);
	kept_threads_release(&session->kept);
	free(session->buffer);
	free(session);
}

static void cleanup_session_pointer(struct session **session)
{
	bpf_close(*session);
}

/* There is something to do when it is readable. */
static int await(const struct session *session, int fd, struct error *error)
{
	struct epoll_event readable = {.events = EPOLLIN};

	return epoll_ctl(ring_buffer__epoll_fd(session->ring), EPOLL_CTL_ADD, fd, &readable) < 0
		       ? error_set(error, errno, "cannot wait for a descriptor: %s",
				   limits_strerror(errno))
		       : 0;
}

/* Answers that come late are about waits that may go on: they are taken when they come. */
static int await_answers(struct session *session, struct error *error)
{
	session->answers_fd = wait_sites_descriptor(session->wait_sites);
	return session->answers_fd >= 0 ? await(session, session->answers_fd, error) : 0;
}

static void cleanup_search(struct kernel_waits_search *search)
{
	kernel_waits_end(search);
}

static int begin(struct session **ret_session, const struct source_options *options,
		 struct targets *targets, struct record_sink sink, struct error *error)
{
	cleanup(cleanup_session_pointer) struct session *session = calloc(1, sizeof(*session));
	cleanup(cleanup_search) struct kernel_waits_search waits = {.has_thread = false};
	cleanup(kernel_btf_close) struct kernel_btf kernel = {0};
	int result;

	if (!session)
		return error_set(error, ENOMEM, "out of memory");
	session->targets = targets;
	session->buffer = malloc(READ_BYTES);
	if (!session->buffer)
		return error_set(error, ENOMEM, "out of memory");
	result = features_permitted(error);
	if (result < 0)
		return result;
	session->wait_sites = wait_sites_new(error);
	if (!session->wait_sites)
		return -EAGAIN;
	if (options->spans) {
		result = spans_new(&session->spans, options->spans, error);
		if (result < 0)
			return result;
	}
	if (options->profile) {
		result = profiler_new(&session->profiler, options->profile, targets, error);
		if (result < 0)
			return result;
	}
	/* after the helpers have been forked */
	kernel_waits_begin(&waits);
	result = kernel_btf_open(&kernel, KERNEL_BTF, error);
	if (result >= 0)
		result = features_probe(&session->features, &kernel, error);
	if (result < 0)
		return result;
	result = bpf_programs_start(&session->bpf, &session->features, &kernel, options, targets,
				    &waits, error);
	if (result < 0)
		return result;
	session->wait_functions = result;
	session->reasons.map = bpf_map__fd(session->bpf->maps.reasons);
	session->ring = ring_buffer__new(bpf_map__fd(session->bpf->maps.events), ring_record,
					 session, NULL);
	if (!session->ring)
		return error_set(error, errno, "cannot map the event ring: %s",
				 limits_strerror(errno));
	result = await_answers(session, error);
	if (result < 0)
		return result;
	wait_sites_use(session->wait_sites, bpf_map__fd(session->bpf->maps.sites),
		       bpf_map__fd(session->bpf->maps.site_answers));
	if (options->spans)
		wait_sites_preload(session->wait_sites, options->spans->pid);
	result = seed(session, error);
	/* threads have their accounts before the first span begins */
	if (result >= 0 && options->spans)
		result = spans_attach(session->spans, session->bpf, sink, error);
	if (result >= 0 && options->profile)
		result = profiler_attach(session->profiler, session->bpf, sink, error);
	if (result >= 0 && options->profile)
		result = await(session, profiler_timer(session->profiler), error);
	if (result < 0)
		return result;
	*ret_session = session;
	session = NULL;
	return 0;
}

/* For answers of helpers, in one snapshot or one look at the events. */
#define ANSWERS_NS (100 * NS_PER_MS)

/* Waits for stacks that have been asked for. */
static int settle(struct session *session, bool last, uint64_t deadline_ns, struct record_sink sink)
{
	if (session->profiler)
		return profiler_settle(session->profiler, last, deadline_ns, sink);
	return session->spans ? spans_settle(session->spans, last, deadline_ns, sink) : 0;
}

static int drain(struct session *session, uint64_t deadline_ns, struct record_sink sink,
		 struct error *error)
{
	int result, settled;

	session->sink = sink;
	profiler_be_patient(session->profiler, deadline_ns);
	result = ring_buffer__consume(session->ring);
	if (result < 0)
		return error_set(error, -result, "cannot read the event ring: %s",
				 strerror(-result));
	wait_sites_answer(session->wait_sites, deadline_ns);
	/* the end of its keeper would be readable for ever */
	if (session->answers_fd >= 0 && wait_sites_gone(session->wait_sites)) {
		epoll_ctl(ring_buffer__epoll_fd(session->ring), EPOLL_CTL_DEL, session->answers_fd,
			  NULL);
		session->answers_fd = -1;
	}
	/* of a profile only what has come: it has no hurry, and each look costs system calls */
	settled = settle(session, false, session->profiler ? 0 : deadline_ns, sink);
	return settled < 0
		       ? error_set(error, -settled, "cannot take a record: %s", strerror(-settled))
		       : result;
}

/* Sets the instant and returns when it has passed everywhere. Waits some 60 us, awake. */
static uint64_t announce_instant(struct session *session)
{
	uint64_t instant_ns;

	do {
		instant_ns = clock_monotonic_ns() + SNAPSHOT_LEAD_NS;
		__atomic_store_n(&session->bpf->bss->snapshot_ns, instant_ns, __ATOMIC_SEQ_CST);
		/* announced too late (we lost our CPU in between): choose another */
	} while (clock_monotonic_ns() >= instant_ns - SNAPSHOT_LEAD_NS / 2);
	while (clock_monotonic_ns() < instant_ns + SNAPSHOT_GRACE_NS)
		;
	return instant_ns;
}

/* At the first, and when no one is asked about any more. */
static int report_hostile(struct session *session, struct record_sink sink)
{
	size_t count = wait_sites_hostile(session->wait_sites), before = session->hostile_reported;

	if (wait_sites_gone(session->wait_sites))
		count = SIZE_MAX;
	session->hostile_reported = count;
	if (before != SIZE_MAX && count == SIZE_MAX)
		return sink_missing(sink, "futex-places",
				    "dwell's helper has ended: dwell classifies futex waits by "
				    "operation only");
	if (before < WAIT_SITES_HOSTILE_MAX && count >= WAIT_SITES_HOSTILE_MAX)
		return sink_missing(sink, "futex-places",
				    "reading the files or memory of too many programs made "
				    "dwell's helper hang or die: dwell classifies futex waits by "
				    "operation only");
	if (!before && count)
		return sink_missing(sink, "futex-places",
				    "reading a program's files or memory made dwell's helper hang "
				    "or die: dwell classifies its futex waits by operation only");
	return 0;
}

/* Who has the locks that threads wait for. Another walk costs little: it reads next to nothing. */
static int name_holders(struct session *session, uint64_t instant_ns, struct record_sink sink,
			struct error *error)
{
	int result = 0;

	if (lock_holders_look_again(&session->lock_holders, session->wait_sites, instant_ns)) {
		session->bpf->bss->locked_only = true;
		result = iterate(session, session->bpf->links.snapshot, sink, error);
		session->bpf->bss->locked_only = false;
	}
	return result < 0 ? result : lock_holders_send(&session->lock_holders, instant_ns, sink);
}

/*
 * The last stalls of loops whose threads wait for each other: where one waits, its stack has just
 * said. Before the last snapshot the next one ends them.
 */
static int end_parked(struct session *session, uint64_t deadline_ns, struct record_sink sink,
		      struct error *error)
{
	int result;

	if (!session->spans || !spans_take_parked(session->spans))
		return 0;
	session->bpf->bss->parked_only = true;
	result = iterate(session, session->bpf->links.snapshot, sink, error);
	session->bpf->bss->parked_only = false;
	if (result >= 0)
		result = drain(session, deadline_ns, sink, error);
	return result < 0 ? result : settle(session, true, deadline_ns, sink);
}

static int bpf_snapshot(void *data, bool final, uint64_t *ret_instant_ns, struct record_sink sink,
			struct error *error)
{
	struct session *session = data;
	uint64_t deadline_ns = clock_monotonic_ns() + ANSWERS_NS;
	int result = drain(session, deadline_ns, sink, error); /* what the walk will ask for */

	if (result < 0)
		return result;
	blame_names_clear(&session->blame_names);
	lock_holders_begin(&session->lock_holders);
	bpf_programs_forget_ended(session->bpf, session->targets);
	follow_cgroup(session);
	session->made = false;
	*ret_instant_ns = announce_instant(session);
	session->bpf->bss->is_last = final;
	result = walk(session, sink, error);
	if (result < 0)
		return result;
	wait_sites_forget(session->wait_sites);
	lock_holders_ask(&session->lock_holders, session->wait_sites, *ret_instant_ns);
	result = report_hostile(session, sink);
	if (result >= 0)
		result = drain(session, deadline_ns, sink, error);
	if (result >= 0)
		result = name_holders(session, *ret_instant_ns, sink, error);
	if (result >= 0 && has_reasons(session))
		result = reasons_send(&session->reasons, session->bpf->bss->reasons_kept,
				      session->bpf->bss->reasons_refused, *ret_instant_ns, sink);
	if (result >= 0)
		result = settle(session, final, deadline_ns, sink);
	if (result >= 0 && final)
		result = end_parked(session, deadline_ns, sink, error);
	if (result >= 0 && session->spans)
		result = spans_tell(session->spans, *ret_instant_ns, sink);
	if (result >= 0 && session->profiler)
		result = profiler_send(session->profiler, *ret_instant_ns, sink);
	/* blame of threads that end comes before the next snapshot, and is of its interval */
	culprit_groups_clear(&session->culprit_groups);
	return result;
}

static void bpf_look_at(void *data, uint32_t pid)
{
	struct session *session = data;

	if (session->bpf->rodata->reasons_all || session->bpf->bss->reasons_pid == pid)
		return;
	session->bpf->bss->reasons_pid = 0;
	reasons_clear(&session->reasons);
	session->bpf->bss->reasons_pid = pid;
}

static int bpf_await(void *data, int timeout_ms, struct record_sink sink, struct error *error)
{
	struct session *session = data;
	struct epoll_event event;
	int ready, result;

	session->bpf->bss->ends_awaited = true;
	/* what was sent before hooks knew to wake us */
	result = drain(session, clock_monotonic_ns() + ANSWERS_NS, sink, error);
	if (result == 0) {
		ready = epoll_wait(ring_buffer__epoll_fd(session->ring), &event, 1, timeout_ms);
		result = drain(session, clock_monotonic_ns() + ANSWERS_NS, sink, error);
		if (result >= 0)
			result = ready > 0;
	} else if (result > 0) {
		result = 1;
	}
	session->bpf->bss->ends_awaited = false;
	return result;
}

static uint64_t bpf_leaving(const void *data)
{
	const struct session *session = data;

	return __atomic_load_n(&session->bpf->bss->leaving, __ATOMIC_SEQ_CST);
}

/* Stolen and interrupted time are measured where some CPU's clock has ever left some out. */
static uint32_t bpf_states(const void *data)
{
	const struct session *session = data;
	uint32_t states = (1U << WIRE_STATES) - 1;

	if (!session->bpf->bss->steal_seen)
		states &= ~(1U << WIRE_STOLEN);
	if (!session->bpf->bss->irq_seen)
		states &= ~(1U << WIRE_IRQ);
	return states;
}

static struct wire_losses bpf_losses(const void *data)
{
	const struct session *session = data;
	volatile struct wire_losses *losses = (volatile void *)&session->bpf->bss->losses;

	return (struct wire_losses){.threads = losses->threads,
				    .exits = losses->exits,
				    .transitions = losses->transitions,
				    .torn = losses->torn,
				    .clamped = losses->clamped};
}

static bool has_steal(void)
{
	struct machine_time machine;

	return machine_time_read(&machine, MACHINE_TIME) >= 0 && machine.stolen_ns;
}

/* The link asks for the right that files of the program take; memory maps may be open to more. */
static bool may_name_all(const struct targets *targets)
{
	char path[64], program[1];

	for (unsigned int i = 0; i < targets->count; i++) {
		snprintf(path, sizeof(path), "/proc/%u/exe", targets->items[i].id);
		if (readlink(path, program, sizeof(program)) < 0 &&
		    (errno == EACCES || errno == EPERM))
			return false;
	}
	return targets->count;
}

static int bpf_open(void **ret_data, const struct source_options *options, struct targets *targets,
		    struct wire_session *record, struct record_sink sink, struct error *error)
{
	struct session *session = NULL;
	struct verified verified;
	int result = begin(&session, options, targets, sink, error);

	heap_for_long_runs();
	if (result < 0)
		return result;
	*ret_data = session;
	record->source = WIRE_SOURCE_BPF;
	record->states = bpf_states(session);
	record->metrics = ~0U;
	if (session->features.precise_cpu_split)
		record->flags |= WIRE_SESSION_PRECISE_SPLIT;
	if (options->blame)
		record->flags |= WIRE_SESSION_BLAME;
	if (bpf_programs_beside(options, targets) == BESIDE_SENT)
		record->flags |= WIRE_SESSION_CAUSED;
	if (verified_read(&verified, VERIFIED_PATH) >= 0 && verified_is_of_here(&verified) &&
	    !strcmp(verified.verdict, "pass"))
		record->flags |= WIRE_SESSION_VERIFIED;
	if (result >= 0 && !session->features.omitted.stolen && has_steal())
		result = sink_missing(sink, "steal",
				      "the kernel charges threads for time that the hypervisor "
				      "takes (no CONFIG_PARAVIRT_TIME_ACCOUNTING): it counts as "
				      "user and kernel time");
	if (result >= 0 && !session->wait_functions)
		result = sink_missing(sink, "kallsyms",
				      features_kallsyms_masked()
					      ? "/proc/kallsyms is masked or absent here, as in "
						"containers: page faults, reclaim and kernel locks "
						"are not distinguished"
					      : "the kernel hides its addresses (kptr_restrict or "
						"no CAP_SYSLOG): page faults, reclaim and kernel "
						"locks are not distinguished");
	if (result >= 0 && !session->features.others_memory)
		result = sink_missing(sink, "maps",
				      "other users' memory maps cannot be read (no "
				      "CAP_SYS_PTRACE): only the operation distinguishes "
				      "their futex waits");
	if (result >= 0 && options->profile && !session->features.others_memory &&
	    !may_name_all(targets))
		result = sink_missing(sink, "names",
				      "other users' programs may not be read (no "
				      "CAP_SYS_PTRACE): their code has no names, and their stacks "
				      "are not complete");
	return result;
}

static int bpf_descriptor(const void *data)
{
	const struct session *session = data;

	return ring_buffer__epoll_fd(session->ring);
}

static int bpf_work(void *data, struct record_sink sink, struct error *error)
{
	struct session *session = data;
	bool takes = true, walks = profiler_begin_walk(session->profiler, &takes);
	int result = 0;

	if (session->made)
		follow_cgroup(session);
	if (takes)
		result = drain(session, clock_monotonic_ns() + ANSWERS_NS, sink, error);
	if (result >= 0 && walks) {
		profiler_be_patient(session->profiler, clock_monotonic_ns() + ANSWERS_NS);
		result = iterate(session, session->bpf->links.profile_walk, sink, error);
		profiler_end_walk(session->profiler);
		/* at once: what waits may not do so for long */
		if (result >= 0)
			result = settle(session, false, 0, sink);
	}
	if (result < 0 || !session->joined)
		return result;
	session->bpf->bss->seeding_only = true;
	result = walk(session, sink, error);
	session->bpf->bss->seeding_only = false;
	return result;
}

static uint64_t bpf_helpers_cpu_ns(const void *data)
{
	const struct session *session = data;

	return wait_sites_cpu_ns(session->wait_sites) + spans_helper_cpu_ns(session->spans) +
	       profiler_helper_cpu_ns(session->profiler);
}

static void bpf_hooks(const void *data, struct hook_stats *stats)
{
	const struct session *session = data;

	hook_stats_add(stats, session->bpf->obj);
}

const struct source_ops source_bpf = {
	.choice = SOURCE_BPF,
	.open = bpf_open,
	.close = bpf_close,
	.snapshot = bpf_snapshot,
	.await = bpf_await,
	.leaving = bpf_leaving,
	.losses = bpf_losses,
	.states = bpf_states,
	.descriptor = bpf_descriptor,
	.work = bpf_work,
	.helpers_cpu_ns = bpf_helpers_cpu_ns,
	.hooks = bpf_hooks,
	.look_at = bpf_look_at,
};
