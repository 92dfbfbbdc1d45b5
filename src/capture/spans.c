// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/spans.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "capture/probe_budget.h"
#include "capture/span_evidence.h"
#include "capture/span_followers.h"
#include "capture/span_jobs.h"
#include "capture/span_loops.h"
#include "capture/span_probes.h"
#include "capture/span_queue.h"
#include "capture/span_seeds.h"
#include "capture/span_stall.h"
#include "capture/span_stacks.h"
#include "capture/span_tasks.h"
#include "capture/syscalls.h"
#include "dwell.skel.h"

_Static_assert((int)SPAN_POLL == (int)WIRE_SPAN_POLL && (int)SPAN_POOL == (int)WIRE_SPAN_POOL &&
		       (int)SPAN_TURN == (int)WIRE_SPAN_TURN &&
		       (int)SPAN_ROOT == (int)WIRE_SPAN_ROOT,
	       "one is sent as the other");

/*
 * How long records wait for stacks before the next ones are read, in all and for a single one. What
 * has not come by then comes later: nothing is lost, but with the last. The last get as long as a
 * reader needs where many others want its CPU; else they come in milliseconds.
 */
#define SETTLE_SINGLE_NS (20 * NS_PER_MS)
#define SETTLE_LAST_NS	 (3 * NS_PER_S)

struct spans {
	const struct span_options *options;
	struct dwell_bpf *bpf;
	struct span_probes probes;
	struct probe_budget *budget; /* NULL: the probes stay attached */
	uint64_t snapshots;	     /* so far */
	struct span_stacks stacks;
	struct span_seeds seeds;
	struct span_queue queue;
	struct span_tasks tasks;
	struct span_evidences evidences;
	struct span_loops loops;
	struct span_followers followers;
	struct span_jobs jobs;
	bool found_parked; /* one who waits for its turn, since spans_take_parked() */
	/* the wait that was looked at last, by the place of its stack */
	struct present {
		uint64_t block_ns;
		uint64_t pointer; /* of its stack */
		uint32_t tid, stack;
		bool rooted;  /* a block_on() is on it */
		bool outside; /* of the thread's loop, or where it waits for its turn at that */
	} present[MAX_SPAN_STACKS];
};

int spans_new(struct spans **ret_spans, const struct span_options *options, struct error *error)
{
	struct spans *spans = calloc(1, sizeof(*spans));
	int result;

	if (!spans)
		return error_set(error, ENOMEM, "out of memory");
	spans->options = options;
	result = span_stacks_start(&spans->stacks, &options->stacks, &options->pid, 1, error);
	if (result < 0) {
		spans_free(spans);
		return result;
	}
	*ret_spans = spans;
	return 0;
}

int spans_attach(struct spans *spans, struct dwell_bpf *bpf, struct record_sink sink,
		 struct error *error)
{
	int result;

	spans->bpf = bpf;
	spans->seeds.verdicts = bpf_map__fd(bpf->maps.span_verdicts);
	span_stacks_await_preload(&spans->stacks, bpf);
	result = span_probes_attach(&spans->probes, bpf, spans->options, sink);
	return result < 0 ? error_set(error, -result, "cannot look into process %u: %s",
				      spans->options->pid, strerror(-result))
			  : 0;
}

void spans_free(struct spans *spans)
{
	if (!spans)
		return;
	probe_budget_stop(spans->budget);
	span_probes_detach(&spans->probes);
	span_queue_release(&spans->queue);
	span_seeds_release(&spans->seeds);
	span_tasks_release(&spans->tasks);
	span_stacks_release(&spans->stacks);
	free(spans);
}

static bool is_for_lock(struct wire_wait_site site)
{
	return site.detail == WIRE_DETAIL_FUTEX_LOCK;
}

static enum span_following follows(struct spans *spans, uint32_t tid, uint32_t stack,
				   struct wire_wait_site site)
{
	return syscalls_is_futex(site.syscall)
		       ? span_followers_judge(&spans->followers, &spans->stacks, stack, tid,
					      is_for_lock(site))
		       : FOLLOWS_NOT;
}

static void send_park(struct spans *spans, uint32_t tid, uint64_t stack)
{
	const struct loop_park park = {.tid = tid, .stack = stack};
	const __u8 value = 1;

	bpf_map_update_elem(bpf_map__fd(spans->bpf->maps.loop_parks), &park, &value, BPF_ANY);
}

static void note_park(struct spans *spans, struct span_evidence *evidence,
		      const struct span_stack *raw)
{
	evidence->parks |= 1U << raw->site.state;
	send_park(spans, raw->worker_tid, evidence->park_stacks[raw->site.state]);
}

/*
 * In some loops (Asio's) one thread waits for events and the others for that one. So a wait for a
 * condition ends the turn if the function that calls it also waits for events, in several threads
 * or for who ends the wait. A compiler may have put a handler's code into that function, so its
 * waits for mutexes do not. Or a function beside it waits: capture/span_followers.h. The kernel
 * side knows the place from then on, where it is certain.
 */
static void take_loop_park(struct spans *spans, struct span_evidence *evidence,
			   const struct span_stack *raw, const struct span_found *found)
{
	uint32_t bit = 1U << raw->site.state;
	const struct loop_function *loop;
	enum span_following following;

	if (!spans->options->turns || !syscalls_is_futex(raw->site.syscall))
		return;
	loop = is_for_lock(raw->site) ? NULL : span_loops_find(&spans->loops, &found->signs);
	if (raw->of == SPAN_STACK_WAKER) {
		if (loop && evidence->parks_maybe & bit)
			note_park(spans, evidence, raw);
		return;
	}
	evidence->parks_maybe = loop ? evidence->parks_maybe | bit : evidence->parks_maybe & ~bit;
	evidence->park_stacks[raw->site.state] = raw->frame.stack;
	if (span_loops_takes_turns(loop, &found->signs)) {
		span_followers_know(&spans->followers, raw->worker_tid);
		note_park(spans, evidence, raw);
		return;
	}
	following = follows(spans, raw->worker_tid, found->id, raw->site);
	if (following == FOLLOWS && !is_for_lock(raw->site))
		note_park(spans, evidence, raw);
	else if (following != FOLLOWS_NOT)
		evidence->parks |= bit;
}

/* Where a thread only asks, as the kernel side knows from then on. */
static void take_answer(struct spans *spans, const struct span_stack *raw,
			const struct span_found *found)
{
	const struct loop_park place = {.stack = raw->frame.stack, .tid = raw->worker_tid};
	const __u8 value = 1;

	if (!found->signs.asks)
		return;
	bpf_map_update_elem(bpf_map__fd(spans->bpf->maps.loop_answers), &place, &value, BPF_ANY);
	spans->bpf->bss->span_answers = 1;
}

/* From where a thread has waited for events. Who only asks there has no loop. */
static void take_loop_wait(struct spans *spans, const struct span_stack *raw,
			   const struct span_found *found)
{
	struct span_calls calls;

	span_seeds_know(&spans->seeds, raw->worker_tid, raw->thread_start_ns);
	span_calls_read(&calls, &spans->stacks, found->id);
	span_loops_note_wait(&spans->loops, &calls, raw->worker_tid, found->signs.asks);
	if (raw->of == SPAN_STACK_LOOP)
		span_followers_note(&spans->followers, found->id, raw->worker_tid, raw->span_ns);
	take_answer(spans, raw, found);
}

/* Whether what a thread does is outside of its loop, by its stack. */
static bool is_outside_loop(struct spans *spans, uint32_t tid, uint32_t stack, bool is_named)
{
	struct span_calls calls;

	span_calls_read(&calls, &spans->stacks, stack);
	return span_loops_is_outside(&spans->loops, &calls, tid, is_named);
}

static void take_job(struct spans *spans, const struct span_stack *raw,
		     const struct span_found *found)
{
	struct loop_park place;
	const __u8 value = 1;

	if (span_jobs_take(&spans->jobs, &spans->stacks, raw, found, &place))
		bpf_map_update_elem(bpf_map__fd(spans->bpf->maps.loop_handlers), &place, &value,
				    BPF_ANY);
}

/* Stacks of a span's block and of its waker come before its end. */
static int on_stack(struct spans *spans, const struct span_stack *raw,
		    const struct span_found *found, struct record_sink sink)
{
	struct wire_sample sample = {
		.header = {.size = sizeof(sample),
			   .kind = WIRE_SAMPLE,
			   .time_ns = raw->header.time_ns},
		.span_ns = raw->span_ns,
		.weight_ns = raw->weight_ns,
		.tid = raw->worker_tid,
		.pid = spans->options->pid,
		.stack = found->id,
	};
	struct span_evidence *evidence;

	if (raw->of == SPAN_STACK_SEED || raw->of == SPAN_STACK_LOOP) {
		const struct seed_look look = {.start_ns = raw->thread_start_ns,
					       .tid = raw->tid,
					       .waits_for_events = raw->of == SPAN_STACK_LOOP,
					       .is_in_turn = raw->of == SPAN_STACK_SEED};

		if (raw->of == SPAN_STACK_LOOP && found->is_read)
			span_loops_note(&spans->loops, &found->signs, raw->worker_tid,
					raw->span_ns);
		if (raw->of == SPAN_STACK_LOOP && found->is_read)
			take_loop_wait(spans, raw, found);
		if (raw->of == SPAN_STACK_LOOP && !span_turns_are_judged(spans->options))
			return 0;
		return span_seeds_take(&spans->seeds, spans->options, &look, found);
	}
	if (raw->of == SPAN_STACK_JOB || raw->of == SPAN_STACK_POLL) {
		take_job(spans, raw, found);
		if (raw->of == SPAN_STACK_POLL && found->is_read)
			take_loop_wait(spans, raw, found);
		return 0;
	}
	if (raw->of == SPAN_STACK_INNER) {
		if (found->is_read)
			take_answer(spans, raw, found);
		return 0;
	}
	evidence = span_evidences_of(&spans->evidences, raw->worker_tid, raw->span_ns);
	if (evidence && raw->of != SPAN_STACK_WAKER)
		span_evidence_note_stack(evidence, &found->signs);
	if (evidence && raw->of != SPAN_STACK_WAKER && found->id)
		span_evidence_note_id(evidence, found->id);
	if (raw->of == SPAN_STACK_SAMPLE)
		return sink_send(sink, &sample.header);
	if (!evidence || raw->site.state >= WIRE_STATES)
		return 0;
	take_loop_park(spans, evidence, raw, found);
	span_evidence_note_wait(evidence, raw, &found->signs, found->id);
	return 0;
}

/* NULL: the span has begun at none. */
static const struct span_probe *probe_of(const struct spans *spans, uint64_t cookie)
{
	size_t number = cookie >> 8;

	return number && number <= spans->options->probe_count ? &spans->options->probes[number - 1]
							       : NULL;
}

/* The type of tasks that a probe's function polls. */
static int tell_type(struct spans *spans, uint64_t cookie, uint64_t time_ns, uint32_t *ret_id,
		     struct record_sink sink)
{
	const struct span_probe *probe = probe_of(spans, cookie);
	const char *type = probe ? probe->type : NULL;

	*ret_id = 0;
	return type ? span_stacks_name(&spans->stacks, type, true, time_ns, ret_id, sink) : 0;
}

/* Whether it was outside of block_on(): where it has been there before, unless a stack says no. */
static bool is_rootless(struct spans *spans, uint32_t tid, const struct span_evidence *evidence)
{
	if (evidence->rooted)
		return false;
	if (evidence->rootless)
		span_seeds_doubt(&spans->seeds, tid);
	return evidence->rootless || span_seeds_doubted(&spans->seeds, tid);
}

/*
 * Of a loop that only asks for events: whether it was not seen in the loop's function all the time.
 * A program may ask like that beside its own work, and rest in between, and call a loop to do so.
 */
static bool is_outside_busy_loop(const struct spans *spans, const struct span_end *end,
				 const struct span_evidence *evidence)
{
	/* of the wait that it was found in, the stack was read then */
	bool was_in_loop = span_is_seeded(end->cookie) && !evidence->stacks[0];

	return end->is_busy && !*spans->options->prefix &&
	       ((!evidence->looped && !was_in_loop) || evidence->loopless);
}

/* Whether what seemed to be a turn of a loop was what a program did between two calls. */
static bool is_no_turn(struct spans *spans, const struct span_end *end,
		       const struct span_evidence *evidence)
{
	bool is_outside = is_outside_busy_loop(spans, end, evidence);
	uint32_t tid = end->tid;

	for (size_t i = 0; i < SPAN_STACKS_KEPT && evidence->stacks[i]; i++)
		is_outside |= is_outside_loop(spans, tid, evidence->stacks[i], evidence->looped);
	return is_outside || span_loops_is_asking(&spans->loops, tid);
}

static int on_end(struct spans *spans, const struct span_end *end, struct record_sink sink)
{
	struct span_evidence evidence = span_evidences_remove(&spans->evidences, end);
	const struct span_probe *probe = probe_of(spans, end->cookie);
	struct wire_stall stall;
	int result;

	if (!span_stall_fill(&stall, end, &evidence, spans->options->threshold_ns) ||
	    (stall.kind == WIRE_SPAN_TURN && is_no_turn(spans, end, &evidence)) ||
	    (stall.kind == WIRE_SPAN_TURN && span_followers_has_jobs(&spans->followers, end->tid) &&
	     !span_stall_keep_waits(&stall, spans->options->threshold_ns)) ||
	    (stall.kind == WIRE_SPAN_ROOT && is_rootless(spans, end->tid, &evidence))) {
		span_seeds_note(&spans->seeds, end->tid, 0);
		return 0;
	}
	span_seeds_note(&spans->seeds, end->tid, stall.duration_ns - stall.inner_ns);
	if (probe && probe->is_task)
		stall.flags |= WIRE_STALL_TASK;
	if (span_end_is_unprobed(end) && span_evidences_launched(&spans->evidences, end))
		stall.flags |= WIRE_STALL_IN_PLACE;
	if (span_is_seeded(end->cookie) && !stall.stack)
		stall.stack = span_seeds_stack(&spans->seeds, end->tid, 0);
	result = tell_type(spans, end->cookie, end->header.time_ns, &stall.type, sink);
	return result < 0 ? result : sink_send(sink, &stall.header);
}

/*
 * The stack of a wait that goes on, from where it is kept until it is known whether the span is
 * worth reporting. The worker may come back and take another while we read. The time is written
 * first: if a second look finds the same one, the first copy is whole.
 */
static int read_present(struct spans *spans, const struct span_worker *raw,
			struct span_stack copies[2])
{
	int fd = bpf_map__fd(spans->bpf->maps.span_stacks);
	__u32 index = raw->stack - 1;

	for (int i = 0; i < 2; i++)
		if (bpf_map_lookup_elem(fd, &index, &copies[i]) < 0 ||
		    copies[i].header.time_ns != raw->block_ns)
			return -EAGAIN;
	return 0;
}

/* Where the stack of a worker that has been in a span for too long is kept; NULL: it has none. */
static struct present *present_of(struct spans *spans, const struct span_worker *raw)
{
	uint64_t elapsed_ns = raw->header.time_ns - raw->open_ns;

	return raw->stack && raw->stack <= MAX_SPAN_STACKS && raw->open_ns &&
			       raw->open_ns <= raw->header.time_ns &&
			       elapsed_ns >= spans->options->threshold_ns
		       ? &spans->present[raw->stack - 1]
		       : NULL;
}

static bool is_present(const struct present *present, const struct span_worker *raw)
{
	return present && present->tid == raw->tid && present->block_ns == raw->block_ns;
}

/* Of a loop that others have, too: whether nothing shows that the present turn is a stall. */
static bool is_uncertain(const struct spans *spans, const struct span_worker *raw, uint32_t stack)
{
	uint64_t ns = raw->header.time_ns - raw->since_ns;

	if (span_followers_has_jobs(&spans->followers, raw->tid) &&
	    (raw->site.state <= WIRE_RUNNABLE || ns < spans->options->threshold_ns))
		return true;
	return !stack && syscalls_is_futex(raw->site.syscall) &&
	       span_followers_may_follow(&spans->followers, raw->tid);
}

/* Whether it waits for its turn at a loop: then the kernel side knows the place. */
static bool is_parked(struct spans *spans, const struct span_worker *raw,
		      const struct present *present, const struct span_signs *signs)
{
	const struct loop_function *loop =
		syscalls_is_futex(raw->site.syscall) && !is_for_lock(raw->site)
			? span_loops_find(&spans->loops, signs)
			: NULL;
	enum span_following following = FOLLOWS;

	if (span_loops_takes_turns(loop, signs))
		span_followers_know(&spans->followers, raw->tid);
	else
		following = follows(spans, raw->tid, present->stack, raw->site);
	if (following == FOLLOWS && !is_for_lock(raw->site))
		send_park(spans, raw->tid, present->pointer);
	spans->found_parked |= following == FOLLOWS;
	return following != FOLLOWS_NOT;
}

bool spans_take_parked(struct spans *spans)
{
	bool found = spans->found_parked;

	spans->found_parked = false;
	return found;
}

/* One that waits in a library for an answer was taken for a loop. */
static bool is_no_worker(const struct spans *spans, const struct wire_worker *worker)
{
	if (worker->kind != WIRE_SPAN_TURN || *spans->options->prefix)
		return false;
	return span_loops_is_asking(&spans->loops, worker->tid) ||
	       (!worker->spans && !worker->open_ns && span_seeds_asks(&spans->seeds, worker->tid));
}

static int on_worker(struct spans *spans, const struct span_worker *raw,
		     const struct span_found *found, struct record_sink sink)
{
	struct present *present = present_of(spans, raw);
	/* where the user has not named it */
	bool is_doubted = raw->is_busy && !*spans->options->prefix;
	struct wire_worker worker = {
		.header = {.size = sizeof(worker),
			   .kind = WIRE_WORKER,
			   .time_ns = raw->header.time_ns},
		.start_ns = raw->start_ns,
		.spans = raw->spans,
		.stalls = raw->stalls,
		.longest_ns = raw->longest_ns,
		.open_ns = raw->open_ns,
		.since_ns = raw->since_ns,
		.tid = raw->tid,
		.pid = raw->pid,
		.site = raw->site,
		/* one that has polled is a worker, also while it runs a closure of the pool */
		.kind = raw->kind == SPAN_POOL && raw->spans ? SPAN_POLL : (__u8)raw->kind,
		.open_kind = (__u8)SPAN_COOKIE_KIND(raw->open_cookie),
		.open_flags =
			raw->open_ns && span_is_seeded(raw->open_cookie) ? WIRE_STALL_SEEDED : 0,
		.found_by = span_seeds_found_by(&spans->seeds, spans->options, raw),
	};
	int result = tell_type(spans, raw->open_ns ? raw->open_cookie : 0, raw->header.time_ns,
			       &worker.open_type, sink);

	memcpy(worker.comm, raw->comm, sizeof(worker.comm));
	if (is_present(present, raw) && found->is_read) {
		present->stack = found->id;
		present->rooted = found->signs.complete && !span_signs_are_rootless(&found->signs);
		present->outside = (is_doubted && !found->signs.loop) ||
				   is_outside_loop(spans, raw->tid, found->id, found->signs.loop) ||
				   is_parked(spans, raw, present, &found->signs);
		if (worker.open_kind == SPAN_ROOT && span_signs_are_rootless(&found->signs))
			span_seeds_doubt(&spans->seeds, raw->tid);
	}
	worker.stack = is_present(present, raw) ? present->stack : 0;
	if (raw->open_ns && !worker.stack)
		worker.stack = span_seeds_stack(&spans->seeds, raw->tid, raw->since_ns);
	if (worker.open_kind == SPAN_ROOT && span_seeds_doubted(&spans->seeds, raw->tid) &&
	    !(is_present(present, raw) && present->rooted))
		worker.open_ns = worker.stack = 0;
	if (worker.open_kind == WIRE_SPAN_TURN &&
	    ((is_present(present, raw) && present->outside) || (is_doubted && !worker.stack) ||
	     is_uncertain(spans, raw, worker.stack)))
		worker.open_ns = worker.stack = 0;
	span_seeds_correct(&spans->seeds, &worker);
	if (is_no_worker(spans, &worker))
		return result;
	return result < 0 ? result : sink_send(sink, &worker.header);
}

/* Of a thread that has a loop, and waits: whether a handler of it does. */
static bool is_in_turn(struct wire_wait_site site, const struct span_signs *signs)
{
	return site.state != WIRE_STOPPED && !syscalls_waits_for_descriptors(site.syscall) &&
	       !(syscalls_is_futex(site.syscall) && signs->loop_waits);
}

/* With its stack, where it has come with one. */
static int process(void *data, const struct wire_header *record, const struct span_found *found,
		   struct record_sink sink)
{
	struct spans *spans = data;
	const struct span_seed *seed = (const struct span_seed *)record;

	switch (record->kind) {
	case SPAN_STACK:
		return on_stack(spans, (const struct span_stack *)record, found, sink);
	case SPAN_END:
		return on_end(spans, (const struct span_end *)record, sink);
	case SPAN_WORKER:
		return on_worker(spans, (const struct span_worker *)record, found, sink);
	case SPAN_LAUNCH:
		span_evidences_note_launch(&spans->evidences, (const struct span_launch *)record);
		return 0;
	case SPAN_SEED:
		if (spans->options->turns && found->is_read && span_seed_waits_for_events(seed))
			span_loops_note(&spans->loops, &found->signs, seed->tid, 0);
		return span_seeds_take(
			&spans->seeds, spans->options,
			&(struct seed_look){.start_ns = seed->start_ns,
					    .since_ns = seed->since_ns,
					    .tid = seed->tid,
					    .waits_for_events = span_seed_waits_for_events(seed),
					    .is_in_turn = is_in_turn(seed->site, &found->signs)},
			found);
	}
	return 0;
}

static int pump(struct spans *spans, uint64_t deadline_ns, uint64_t single_ns,
		struct record_sink sink)
{
	return span_queue_pump(&spans->queue, &spans->stacks, deadline_ns, single_ns, process,
			       spans, sink);
}

/* *question NULL: it is not to be asked for. 0 or -ENOMEM. */
static int ask_for(struct spans *spans, const struct span_stack *raw, bool asleep,
		   uint64_t switches, struct span_question **question)
{
	if (span_stacks_ended(&spans->stacks)) {
		spans->stacks.lost += span_stack_counts(raw->of);
		return 0;
	}
	*question = span_question_new(raw, asleep, switches);
	return *question ? 0 : -ENOMEM;
}

static int ask_about_seed(struct spans *spans, const struct span_seed *raw,
			  struct span_question **question)
{
	struct span_stack stack;
	int result = span_seeds_meet(&spans->seeds, spans->options, raw);

	if (result <= 0)
		return result;
	memset(&stack, 0, offsetof(struct span_stack, user));
	stack.header.time_ns = raw->header.time_ns;
	stack.tid = stack.worker_tid = raw->tid;
	stack.pid = spans->options->pid;
	stack.exec_id = raw->exec_id;
	stack.process_start_ns = raw->process_start_ns;
	stack.thread_pointer = raw->thread_pointer;
	stack.of = SPAN_STACK_SEED;
	stack.site = raw->site;
	stack.frame = raw->frame;
	return ask_for(spans, &stack, true, raw->switches, question);
}

/* Where a worker waits that has been in a span for too long, once for each wait. */
static int ask_about_worker(struct spans *spans, const struct span_worker *raw,
			    struct span_question **question)
{
	struct present *present = present_of(spans, raw);
	struct span_stack *copies;
	int result = 0;

	if (!present || is_present(present, raw))
		return 0;
	*present = (struct present){.tid = raw->tid, .block_ns = raw->block_ns};
	copies = malloc(2 * sizeof(*copies));
	if (!copies)
		return -ENOMEM;
	if (read_present(spans, raw, copies) >= 0) {
		present->pointer = copies->frame.stack;
		result = ask_for(spans, copies, false, 0, question);
	}
	free(copies);
	return result;
}

/* What is kept of a record: not the copy of the stack, which has been sent. */
static size_t kept_bytes(const struct wire_header *record)
{
	return record->kind == SPAN_STACK ? offsetof(struct span_stack, user) : record->size;
}

int spans_take(struct spans *spans, const struct wire_header *record, struct record_sink sink)
{
	const struct span_found nothing = {0};
	struct span_question *question = NULL;
	bool asked;
	int result = 0;

	/* not attached yet: of threads that were there before */
	if (!spans->bpf)
		return 0;
	if (record->kind == SPAN_STACK)
		result = ask_for(spans, (const struct span_stack *)record, false, 0, &question);
	else if (record->kind == SPAN_SEED)
		result = ask_about_seed(spans, (const struct span_seed *)record, &question);
	else if (record->kind == SPAN_WORKER)
		result = ask_about_worker(spans, (const struct span_worker *)record, &question);
	if (result < 0)
		return result;
	if (!question && !spans->queue.first)
		return process(spans, record, &nothing, sink);
	asked = question != NULL;
	result = span_queue_add(&spans->queue, record, kept_bytes(record), question);
	if (result == -ENOSPC) {
		/* in its order, all of them without the stacks that have not come */
		spans->stacks.lost += span_queue_give_up(&spans->queue) + asked;
		result = pump(spans, 0, 0, sink);
		return result < 0 ? result : process(spans, record, &nothing, sink);
	}
	if (result >= 0)
		result = pump(spans, 0, 0, sink);
	return result < 0 ? result : 0;
}

int spans_settle(struct spans *spans, bool last, uint64_t deadline_ns, struct record_sink sink)
{
	int result = pump(spans, last ? clock_monotonic_ns() + SETTLE_LAST_NS : deadline_ns,
			  last ? SETTLE_LAST_NS : SETTLE_SINGLE_NS, sink);

	if (result == 0 && last) {
		spans->stacks.lost += span_queue_give_up(&spans->queue);
		result = pump(spans, 0, 0, sink);
	}
	return result < 0 ? result : 0;
}

/* Not at the first snapshot: the thread is to have no more rights than the process keeps. */
static void fill_use(struct spans *spans, struct wire_runtime *record)
{
	struct probe_use use;

	spans->snapshots++;
	cpu_samples_follow(&spans->probes.samples);
	if (spans->snapshots == 2 && span_probes_may_change(&spans->probes))
		spans->budget = probe_budget_start(&spans->probes, spans->options->budget);
	use = probe_budget_use(spans->budget);
	record->observed_ns = use.observed_ns;
	record->probed_ns = use.probed_ns;
	record->probe_cost_ns = use.cost_ns;
	record->cpu_ns = use.cpu_ns;
	record->budget = (__u32)(spans->options->budget * 10000);
}

int spans_tell(struct spans *spans, uint64_t instant_ns, struct record_sink sink)
{
	struct symbolizer_counts counts = span_stacks_counts(&spans->stacks);
	struct wire_runtime record = {
		.header = {.size = sizeof(record), .kind = WIRE_RUNTIME, .time_ns = instant_ns},
		.threshold_ns = spans->options->threshold_ns,
		.stacks_complete = spans->stacks.complete,
		.stacks_truncated = spans->stacks.truncated,
		.stacks_failed = spans->stacks.failed,
		.frames = counts.addresses,
		.frames_named = counts.named,
		.lost = spans->stacks.lost + spans->bpf->bss->spans_lost +
			spans->bpf->bss->span_stacks_lacking,
		.pid = spans->options->pid,
		.probes = (__u32)spans->probes.attached,
	};

	int result = span_stacks_report(&spans->stacks, sink);

	if (result >= 0)
		result = span_probes_report(&spans->probes, sink);
	if (result < 0)
		return result;
	fill_use(spans, &record);
	span_seeds_settle(&spans->seeds, spans->options);
	snprintf(record.name, sizeof(record.name), "%s", spans->options->runtime);
	snprintf(record.process, sizeof(record.process), "%.15s", spans->options->process);
	result = sink_send(sink, &record.header);
	if (result >= 0 && spans->probes.attached)
		result = span_tasks_tell(&spans->tasks, spans->bpf, spans->options, &spans->stacks,
					 instant_ns, sink);
	return result;
}

uint64_t spans_helper_cpu_ns(const struct spans *spans)
{
	return spans ? helper_cpu_ns(spans->stacks.helper) : 0;
}
