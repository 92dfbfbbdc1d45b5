// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/profiler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/identities.h"
#include "base/limits.h"
#include "capture/cpu_samples.h"
#include "capture/proc_threads.h"
#include "capture/span_queue.h"
#include "capture/span_stacks.h"
#include "dwell.skel.h"

_Static_assert((int)PROFILE_INVERSE_ONE == WIRE_SPENT_CERTAIN, "one is sent as the other");

/* As in spans.c: how long records wait for their stacks. */
#define SETTLE_SINGLE_NS (20 * NS_PER_MS)
#define SETTLE_LAST_NS	 (10 * NS_PER_S)

/* Stacks that wait to be asked for: each look at what has come costs some system calls. */
#define PUMP_AT 32

/* In a second. */
#define WINDOWS (NS_PER_S / PROFILE_WINDOW_NS)

/*
 * What waits is walked over this often, or for this part of the time. After some walks without any
 * long wait, less and less often: where all waits are short, each is a disturbance for nothing.
 */
#define WALK_LEAST_NS (15 * NS_PER_MS)
#define WALK_SHARE    100
#define QUIET_WALKS   16
#define WALK_MOST_NS  (100 * NS_PER_MS)

/*
 * What hooks have sent is taken that often. It has no hurry, and each time those pay whose CPUs
 * dwell and its helper take: at each walk it cost a saturated Tokio service 7 % of its requests.
 */
#define TAKE_EVERY_NS (100 * NS_PER_MS)

/* Stacks of waits that have ended, or are not their thread's last, until their ends are taken. */
#define EARLIER_STACKS 4096

struct profiler {
	const struct profile_options *options;
	struct dwell_bpf *bpf;
	struct cpu_samples samples;
	struct span_stacks stacks;
	struct span_queue queue;
	struct identities tids; /* (tid, 0): their places in `last` */
	struct last_stack {	/* of each thread, where it left its CPU at left_ns */
		uint64_t left_ns;
		uint32_t tid;
		uint32_t stack;
		uint32_t flags; /* of struct wire_spent */
	} * last;
	size_t last_room;
	/* the walk is ahead of the hooks by what was not taken yet; at earlier_of() */
	struct last_stack earlier[EARLIER_STACKS];
	/* the one process or thread that is watched; id 0: there are others */
	struct target only;
	int timer;
	uint64_t walk_began_ns, walk_cost_ns, period_ns, took_ns;
	uint64_t walk_began_cpu_ns; /* of this thread */
	int cpus;
	unsigned int quiet_walks;
	uint64_t patience_ns; /* until then, records wait for room for their stacks */
};

/*
 * With the first of the processes that are watched: from the first sample on, their code has names.
 */
static int start_stacks(struct profiler *profiler, const struct targets *targets,
			struct error *error)
{
	cleanup_proc_threads struct proc_threads threads = {0};
	uint32_t pids[SPAN_STACKS_PRELOADED];
	size_t count = 0;

	/* a command that has not begun yet has no code */
	if (!targets->command && !targets_everything(targets) &&
	    proc_threads_list(&threads, targets, false) < 0)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < threads.count && count < SPAN_STACKS_PRELOADED; i++) {
		size_t at = 0;

		while (at < count && pids[at] != threads.items[i].pid)
			at++;
		pids[at] = threads.items[i].pid;
		count += at == count;
	}
	return span_stacks_start(&profiler->stacks, &profiler->options->stacks, pids, count, error);
}

int profiler_new(struct profiler **ret_profiler, const struct profile_options *options,
		 const struct targets *targets, struct error *error)
{
	struct profiler *profiler = calloc(1, sizeof(*profiler));
	int result;

	if (!profiler)
		return error_set(error, ENOMEM, "out of memory");
	profiler->options = options;
	if (targets->count == 1 && !targets->children && !targets->cgroup_id)
		profiler->only = targets->items[0];
	profiler->timer = -1;
	profiler->cpus = get_nprocs();
	result = start_stacks(profiler, targets, error);
	if (result < 0) {
		profiler_free(profiler);
		return result;
	}
	*ret_profiler = profiler;
	return 0;
}

void profiler_configure(struct dwell_bpf *bpf, const struct profile_options *options)
{
	__u32 cpus = (__u32)get_nprocs_conf();

	bpf->rodata->profile_states = options->states;
	bpf->rodata->profile_stacks =
		options->rate < WINDOWS ? 1 : (__u32)(options->rate / WINDOWS);
	bpf->rodata->profile_iterator_place = cpus;
	bpf_map__set_max_entries(bpf->maps.span_samples, cpus + 1);
	bpf_map__set_max_entries(bpf->maps.events, PROFILE_RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.pythons,
				 PYTHON_PROGRAMS + cpus * PYTHON_PROGRAMS_OF_CPU);
	bpf_program__set_autoload(bpf->progs.profile_walk, true);
	bpf_program__set_autoattach(bpf->progs.profile_walk, false);
	bpf_program__set_autoload(bpf->progs.on_profile_sample,
				  options->states & 1U << WIRE_ON_CPU);
}

static void set_timer(struct profiler *profiler, uint64_t period_ns)
{
	const struct itimerspec after = {
		.it_value = {(time_t)(period_ns / NS_PER_S), (long)(period_ns % NS_PER_S)}};

	profiler->period_ns = period_ns;
	profiler->bpf->bss->profile_walk_ns = period_ns;
	timerfd_settime(profiler->timer, 0, &after, NULL);
}

int profiler_timer(const struct profiler *profiler)
{
	return profiler->timer;
}

bool profiler_begin_walk(struct profiler *profiler, bool *ret_take)
{
	double wanted, met;
	uint64_t times;

	if (!profiler || read(profiler->timer, &times, sizeof(times)) < 0)
		return false;
	met = (double)profiler->bpf->bss->profile_met;
	wanted = (double)profiler->options->rate * profiler->cpus * (double)profiler->period_ns /
		 (double)NS_PER_S;
	profiler->bpf->bss->profile_walk_chance =
		wanted >= met ? UINT32_MAX : (uint32_t)(wanted / met * UINT32_MAX);
	profiler->bpf->bss->profile_met = 0;
	profiler->walk_began_ns = clock_monotonic_ns();
	profiler->walk_began_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	*ret_take = profiler->walk_began_ns - profiler->took_ns >= TAKE_EVERY_NS;
	if (*ret_take) {
		profiler->took_ns = profiler->walk_began_ns;
		cpu_samples_follow(&profiler->samples);
		cpu_samples_vary(&profiler->samples);
	}
	return true;
}

void profiler_end_walk(struct profiler *profiler)
{
	uint64_t took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - profiler->walk_began_cpu_ns;
	uint64_t longer_ns = profiler->period_ns + profiler->period_ns / 4, period_ns;
	struct dwell_bpf__bss *shared = profiler->bpf->bss;

	/* the least of late: now and then the CPU has slept, or a hypervisor has taken it */
	profiler->walk_cost_ns += profiler->walk_cost_ns / 8;
	if (profiler->walk_cost_ns > took_ns || !profiler->walk_cost_ns)
		profiler->walk_cost_ns = took_ns;
	period_ns = profiler->walk_cost_ns * WALK_SHARE;
	if (period_ns < WALK_LEAST_NS)
		period_ns = WALK_LEAST_NS;
	shared->profile_settled_ns = period_ns / 2;
	if (longer_ns > WALK_MOST_NS)
		longer_ns = WALK_MOST_NS;
	profiler->quiet_walks++;
	if (shared->profile_met || shared->profile_long)
		profiler->quiet_walks = 0;
	shared->profile_long = 0;
	if (profiler->quiet_walks > QUIET_WALKS && period_ns < longer_ns)
		period_ns = longer_ns;
	set_timer(profiler, period_ns);
}

/* Many times a second: over what is watched alone, where that is one and the kernel can (6.1 on).
 */
static int attach_walk(struct profiler *profiler)
{
	bool is_thread = profiler->only.kind == TARGET_THREAD;
	union bpf_iter_link_info info = {.task = {.tid = is_thread ? profiler->only.id : 0,
						  .pid = is_thread ? 0 : profiler->only.id}};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_program *program = profiler->bpf->progs.profile_walk;
	struct bpf_link **link = &profiler->bpf->links.profile_walk;

	if (profiler->only.id)
		*link = bpf_program__attach_iter(program, &options);
	if (!*link)
		*link = bpf_program__attach_iter(program, NULL);
	return *link ? 0 : -errno;
}

int profiler_attach(struct profiler *profiler, struct dwell_bpf *bpf, struct record_sink sink,
		    struct error *error)
{
	int result;

	profiler->bpf = bpf;
	/* else what waits would not any more when its turn comes to be read */
	span_stacks_await_preload(&profiler->stacks, bpf);
	profiler->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (profiler->timer < 0)
		return error_set(error, errno, "cannot create a timer: %s", limits_strerror(errno));
	result = attach_walk(profiler);
	if (result < 0)
		return error_set(error, -result, "cannot walk over what waits: %s",
				 limits_strerror(-result));
	profiler->bpf->bss->profile_settled_ns = WALK_LEAST_NS / 2;
	set_timer(profiler, WALK_LEAST_NS);
	if (profiler->options->states & 1U << WIRE_ON_CPU)
		result = cpu_samples_attach(&profiler->samples, bpf->progs.on_profile_sample,
					    profiler->options->frequency, sink);
	return result < 0 ? error_set(error, -result, "cannot sample the CPUs: %s",
				      limits_strerror(-result))
			  : 0;
}

void profiler_free(struct profiler *profiler)
{
	if (!profiler)
		return;
	if (profiler->timer >= 0)
		close(profiler->timer);
	cpu_samples_release(&profiler->samples);
	span_queue_release(&profiler->queue);
	span_stacks_release(&profiler->stacks);
	identities_release(&profiler->tids);
	free(profiler->last);
	free(profiler);
}

/* NULL: no memory. */
static struct last_stack *last_of(struct profiler *profiler, uint32_t tid)
{
	size_t known = profiler->tids.count, index = identities_add(&profiler->tids, tid, 0);

	if (index == IDENTITY_NONE || array_reserve(&profiler->last, &profiler->last_room,
						    index + 1, sizeof(*profiler->last)) < 0)
		return NULL;
	if (index == known)
		profiler->last[index] = (struct last_stack){0};
	return &profiler->last[index];
}

static struct last_stack *earlier_of(struct profiler *profiler, uint32_t tid, uint64_t left_ns)
{
	uint64_t mixed = (left_ns ^ (uint64_t)tid << 32) * 0x9e3779b97f4a7c15ULL;

	return &profiler->earlier[mixed >> 52];
}

_Static_assert(EARLIER_STACKS == 1 << (64 - 52), "the upper bits are a place among them");

static int keep_stack(struct profiler *profiler, struct last_stack stack)
{
	struct last_stack *last = last_of(profiler, stack.tid), earlier = stack;

	if (!last)
		return -ENOMEM;
	/* one that was not read is no better than the one that may be there */
	if (last->left_ns == stack.left_ns) {
		*last = stack.stack ? stack : *last;
		return 0;
	}
	if (last->left_ns < stack.left_ns) {
		earlier = *last;
		*last = stack;
	}
	if (earlier.stack)
		*earlier_of(profiler, earlier.tid, earlier.left_ns) = earlier;
	return 0;
}

static int on_stack(struct profiler *profiler, const struct span_stack *raw,
		    const struct span_found *found, struct record_sink sink)
{
	uint32_t flags = raw->kernel_count ? 0 : WIRE_SPENT_IN_USER_MODE;
	struct wire_spent spent = {
		.header = {.size = sizeof(spent),
			   .kind = WIRE_SPENT,
			   .time_ns = raw->header.time_ns},
		.left_ns = raw->header.time_ns,
		.ready_ns = raw->header.time_ns,
		.start_ns = raw->thread_start_ns,
		.tid = raw->tid,
		.pid = raw->pid,
		.site = raw->site,
		.inverse = WIRE_SPENT_CERTAIN,
		.stack = found->id,
		.flags = flags,
	};

	if (raw->of == SPAN_STACK_CPU)
		return sink_send(sink, &spent.header);
	return keep_stack(profiler,
			  (struct last_stack){raw->header.time_ns, raw->tid, found->id, flags});
}

static int on_away(struct profiler *profiler, const struct profile_away *away,
		   struct record_sink sink)
{
	const struct last_stack *last = last_of(profiler, away->tid);
	const struct last_stack *stack = last && last->left_ns == away->left_ns
						 ? last
						 : earlier_of(profiler, away->tid, away->left_ns);
	bool is_known = stack->left_ns == away->left_ns && stack->tid == away->tid;
	struct wire_spent spent = {
		.header = {.size = sizeof(spent),
			   .kind = WIRE_SPENT,
			   .time_ns = away->header.time_ns},
		.left_ns = away->from_ns,
		.ready_ns = away->ready_ns,
		.start_ns = away->start_ns,
		.tid = away->tid,
		.pid = away->pid,
		.site = away->site,
		.inverse = away->inverse,
		.stack = is_known ? stack->stack : 0,
		.flags = (is_known ? stack->flags : 0) |
			 (away->from_ns > away->left_ns ? WIRE_SPENT_MORE : 0),
	};

	return last ? sink_send(sink, &spent.header) : -ENOMEM;
}

/* With its stack, where it has come with one. */
static int process(void *data, const struct wire_header *record, const struct span_found *found,
		   struct record_sink sink)
{
	struct profiler *profiler = data;

	switch (record->kind) {
	case SPAN_STACK:
		return on_stack(profiler, (const struct span_stack *)record, found, sink);
	case PROFILE_AWAY:
		return on_away(profiler, (const struct profile_away *)record, sink);
	}
	return 0;
}

static int pump(struct profiler *profiler, uint64_t deadline_ns, uint64_t single_ns,
		struct record_sink sink)
{
	return span_queue_pump(&profiler->queue, &profiler->stacks, deadline_ns, single_ns, process,
			       profiler, sink);
}

/* Threads of the kernel have nothing to copy. */
static bool is_asleep(const struct span_stack *raw)
{
	return raw->of == SPAN_STACK_ASLEEP && raw->frame.address;
}

/* Asked for at once, where no other waits for that; else with a copy of its stack. As
 * span_queue_add(). */
static int enqueue(struct profiler *profiler, const struct wire_header *record, size_t length,
		   bool has_stack)
{
	const struct span_stack *raw = (const struct span_stack *)record;
	struct span_question *question = NULL;
	uint64_t number = 0;

	if (has_stack && profiler->queue.count == SPAN_QUEUE_MAX)
		return -ENOSPC;
	if (has_stack && !profiler->queue.unasked_count)
		number = span_stacks_ask_raw(&profiler->stacks, raw, is_asleep(raw), raw->switches);
	if (number)
		return span_queue_add_asked(&profiler->queue, record, length, number);
	if (has_stack) {
		question = span_question_new(raw, is_asleep(raw), raw->switches);
		if (!question)
			return -ENOMEM;
	}
	return span_queue_add(&profiler->queue, record, length, question);
}

void profiler_be_patient(struct profiler *profiler, uint64_t deadline_ns)
{
	if (profiler)
		profiler->patience_ns = deadline_ns;
}

int profiler_take(struct profiler *profiler, const struct wire_header *record,
		  struct record_sink sink)
{
	bool has_stack = record->kind == SPAN_STACK && !span_stacks_ended(&profiler->stacks);
	/* what is looked at when it has been read */
	size_t length =
		record->kind == SPAN_STACK ? offsetof(struct span_stack, python) : record->size;
	int result = enqueue(profiler, record, length, has_stack);

	if (result == -ENOSPC) {
		int pumped = pump(profiler, profiler->patience_ns, UINT64_MAX, sink);

		if (pumped < 0)
			return pumped;
		result = enqueue(profiler, record, length, has_stack);
	}
	if (result == -ENOSPC && has_stack) {
		profiler->stacks.lost++;
		return 0;
	}
	if (result == -ENOSPC) {
		/* time is never lost: all before it goes without the stacks that have not come */
		profiler->stacks.lost += span_queue_give_up(&profiler->queue);
		result = pump(profiler, 0, 0, sink);
		if (result >= 0)
			result = enqueue(profiler, record, length, has_stack);
	}
	/* the rest when all that has come is taken: profiler_settle() */
	if (result >= 0 && profiler->queue.unasked_count >= PUMP_AT)
		result = pump(profiler, 0, 0, sink);
	return result < 0 ? result : 0;
}

int profiler_settle(struct profiler *profiler, bool last, uint64_t deadline_ns,
		    struct record_sink sink)
{
	int result = pump(profiler, last ? clock_monotonic_ns() + SETTLE_LAST_NS : deadline_ns,
			  last ? SETTLE_LAST_NS : SETTLE_SINGLE_NS, sink);

	if (result == 0 && last) {
		profiler->stacks.lost += span_queue_give_up(&profiler->queue);
		result = pump(profiler, 0, 0, sink);
	}
	return result < 0 ? result : 0;
}

int profiler_send(struct profiler *profiler, uint64_t instant_ns, struct record_sink sink)
{
	struct symbolizer_counts counts = span_stacks_counts(&profiler->stacks);
	struct wire_profile record = {
		.header = {.size = sizeof(record), .kind = WIRE_PROFILE, .time_ns = instant_ns},
		.stacks_complete = profiler->stacks.complete,
		.stacks_truncated = profiler->stacks.truncated,
		.stacks_failed = profiler->stacks.failed,
		.frames = counts.addresses,
		.frames_named = counts.named,
		.frames_with_lines = counts.with_lines,
		.lost = profiler->stacks.lost + profiler->bpf->bss->profile_lost,
		.states = profiler->options->states,
		.frequency = profiler->options->frequency,
	};
	int result = span_stacks_report(&profiler->stacks, sink);

	return result < 0 ? result : sink_send(sink, &record.header);
}

uint64_t profiler_helper_cpu_ns(const struct profiler *profiler)
{
	return profiler ? helper_cpu_ns(profiler->stacks.helper) : 0;
}
