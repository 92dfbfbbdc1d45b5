// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/watch.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/priority.h"
#include "base/print.h"
#include "base/sandbox.h"
#include "base/wait_status.h"
#include "session/snapshot.h"

/* Part of an interval that dwell may wait for a CPU without being late. */
#define LATE_SHARE 20

static void adapt_priority(const struct interval *interval)
{
	uint64_t length_ns = interval->end_ns - interval->start_ns;

	priority_adapt(session_has_pace(interval->session) &&
		       interval->self_runnable_ns > length_ns / LATE_SHARE);
}

/* What the command has started ends with it, also where that has another parent by now. */
static int note_started(struct watch *watch, const struct interval *interval)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];

		if (row->tid && row->tid == row->pid && !row->exited &&
		    row->pid != (uint32_t)watch->child.pid)
			result = child_add_started(&watch->child, row->pid, row->start_ns);
	}
	return result;
}

/* Sink of the source's records. */
static int take_record(void *data, const struct wire_header *record)
{
	struct watch *watch = data;
	struct interval *interval;
	int result = 0;

	if (watch->recorder)
		result = recorder_record(watch->recorder, record, &watch->sink_error);
	if (result >= 0 && watch->audience.record)
		result = watch->audience.record(watch->audience.data, record, &watch->sink_error);
	if (result >= 0 && record->kind == WIRE_CHILD && watch->audience.child)
		result = watch->audience.child(watch->audience.data,
					       (const struct wire_child *)record,
					       &watch->sink_error);
	if (result >= 0)
		result = intervals_feed(watch->intervals, record, &interval);
	if (result <= 0)
		return result;
	/*
	 * No descriptor reports the end of a single thread on kernels before 6.9. The end of a
	 * command comes by its own, and with it the status: on a busy machine after an interval
	 * without it. Where a record was torn, no row is no end.
	 */
	if (watch->options->targets.count && !interval->row_count && !watch->child.pid &&
	    !(interval->losses.torn && targets_alive(&watch->options->targets))) {
		watch->loop.stop = true;
		if (!watch->shown && targets_alive(&watch->options->targets))
			return error_set(&watch->sink_error, ESRCH,
					 "the target is there, but none of its threads can be seen "
					 "from here: some hosts hide a process of theirs");
	}
	adapt_priority(interval);
	/* the command is all that is watched */
	if (interval->final && watch->child.pid && watch->options->targets.count == 1)
		result = note_started(watch, interval);
	if (result < 0)
		return error_set(&watch->sink_error, -result, "out of memory");
	result = watch->audience.interval(watch->audience.data, interval, &watch->sink_error);
	watch->shown++;
	return result < 0 ? result : 0;
}

/* What the audience or the recorder had to say is the reason; the source only passed it on. */
static int explain(struct watch *watch, int result, struct error *error)
{
	if (audience_explains(result, &watch->sink_error))
		*error = watch->sink_error;
	return result;
}

static int snapshot(struct watch *watch, bool final, struct error *error)
{
	int result = snapshot_take(watch->source, watch->intervals, final, error);

	return explain(watch, result, error);
}

/* The interval before was so late that this one would be a fragment: it goes on to the next beat.
 */
static bool is_fragment(const struct watch *watch)
{
	return watch->shown &&
	       clock_monotonic_ns() - source_instant_ns(watch->source) < watch->loop.timer_ns / 2;
}

static int on_interval(void *data, struct error *error)
{
	struct watch *watch = data;

	if (is_fragment(watch))
		return 0;
	if (watch->options->count && watch->shown + 1 >= watch->options->count)
		watch->loop.stop = true;
	/* the last one, of which another timer is about to say the same */
	if (watch->end_ns && clock_monotonic_ns() >= watch->end_ns)
		watch->loop.stop = true;
	return snapshot(watch, watch->loop.stop, error);
}

/* Reports the time since the last interval too, no matter what ends the run. */
int watch_stop(struct watch *watch, struct error *error)
{
	watch->loop.stop = true;
	return snapshot(watch, true, error);
}

int watch_catch_up(struct watch *watch, struct error *error)
{
	uint64_t age_ns = clock_monotonic_ns() - source_instant_ns(watch->source);

	if (watch->shown && age_ns < WATCH_FRESH_NS)
		return 0;
	return snapshot(watch, false, error);
}

static int on_end(void *data, struct error *error)
{
	return watch_stop(data, error);
}

/*
 * A watched command decides about its own end: Ctrl-C reaches it from the terminal, other signals
 * we hand on; the second one ends it for good.
 */
static int on_signal(void *data, struct error *error)
{
	struct watch *watch = data;

	watch->signalled = !watch->child.pid || watch->interrupted;
	if (watch->signalled)
		return watch_stop(watch, error);
	watch->interrupted = true;
	if (!watch->loop.signal_from_terminal)
		kill(watch->child.pid, watch->loop.signal);
	return 0;
}

static int on_work(void *data, struct error *error)
{
	struct watch *watch = data;

	return explain(watch, source_work(watch->source, error), error);
}

static int on_target_end(void *data, struct error *error)
{
	struct watch *watch = data;

	return targets_alive(&watch->options->targets) ? 0 : watch_stop(watch, error);
}

static int on_child_end(void *data, struct error *error)
{
	struct watch *watch = data;
	struct wire_child child = {.header = {.size = sizeof(child), .kind = WIRE_CHILD}};
	uint64_t duration_ns = 0;
	int status = 0, result = watch_stop(watch, error);

	if (result >= 0)
		result = child_reap(&watch->child, &status, &duration_ns);
	if (result < 0)
		return result;
	child.header.time_ns = clock_monotonic_ns();
	child.duration_ns = duration_ns;
	child.wait_status = (uint32_t)status;
	snprintf(child.name, sizeof(child.name), "%s", watch->options->command[0]);
	return explain(watch, take_record(watch, &child.header), error);
}

static int add_sources(struct watch *watch, struct error *error)
{
	struct targets *targets = &watch->options->targets;
	int descriptors[SOURCE_DESCRIPTORS];
	int count = source_descriptors(watch->source, descriptors);
	int result = 0;

	for (int i = 0; result >= 0 && i < count; i++)
		result = loop_add(&watch->loop, descriptors[i], on_work, watch, error);
	if (result >= 0 && watch->child.pid)
		result = loop_add(&watch->loop, watch->child.pidfd, on_child_end, watch, error);
	else if (result >= 0 && targets->count)
		result =
			loop_add(&watch->loop, targets_watch(targets), on_target_end, watch, error);
	return result;
}

/* From the baseline on, which may have taken a while. */
static int add_timers(struct watch *watch, struct error *error)
{
	const struct watch_options *options = watch->options;
	uint64_t start_ns = source_instant_ns(watch->source);
	uint64_t first_ns = options->first_ns && options->first_ns < options->interval_ns
				    ? options->first_ns
				    : options->interval_ns;
	int result = loop_add_timer(&watch->loop, start_ns + first_ns - options->interval_ns,
				    options->interval_ns, on_interval, watch, error);

	/* a duration need not be a multiple of the interval */
	if (result < 0 || !options->duration_ns)
		return result;
	watch->end_ns = start_ns + options->duration_ns;
	return loop_add_timer(&watch->loop, start_ns, options->duration_ns, on_end, watch, error);
}

/* The command exists when the source begins, and waits until it is watched. */
static int prepare_child(struct watch *watch, struct error *error)
{
	int result;

	watch->child.prints_to_stderr = watch->options->command_to_stderr;
	result = child_prepare(&watch->child, watch->options->command, error);
	if (result < 0)
		return result;
	watch->options->targets.children = watch->options->targets.command = true;
	return targets_add_process(&watch->options->targets, (uint32_t)watch->child.pid, error);
}

/*
 * What is attached stays attached: from here on dwell asks BPF maps and iterators, taskstats and
 * /proc, of all users and namespaces, signals its command, gives files their names, which may be in
 * a directory of another user, and changes its own priority. It starts nothing any more.
 */
static void drop_rights(void)
{
	static const int kept[] = {CAP_BPF,	   CAP_PERFMON,		CAP_NET_ADMIN,
				   CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
				   CAP_KILL,	   CAP_SYS_NICE};

	sandbox_keep_to_read(kept, ARRAY_SIZE(kept));
}

int watch_open(struct watch *watch, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct source_options options = {.choice = watch->options->source,
					 .interval_ns = watch->options->interval_ns,
					 .spans = watch->spans,
					 .profile = watch->profile,
					 .blame = watch->options->blame,
					 .reasons = watch->options->reasons,
					 .beside = watch->options->caused ? BESIDE_SENT
									  : BESIDE_FOLLOWED};
	struct record_sink sink = {take_record, watch};
	int result;

	priority_prefer();
	watch->intervals = intervals_new();
	if (!watch->intervals)
		return error_set(error, ENOMEM, "out of memory");
	intervals_set_live(watch->intervals);
	if (watch->options->only_lost_blame)
		intervals_keep_lost_blame(watch->intervals);
	result = loop_init(&watch->loop, error);
	if (result >= 0 && watch->options->command && !watch->child.pid)
		result = prepare_child(watch, error);
	if (result >= 0)
		result = explain(watch,
				 source_open(&watch->source, &options, &watch->options->targets,
					     sink, error),
				 error);
	/* from here on there is something to show at the end; before, a signal ends dwell at once
	 */
	if (result >= 0)
		result = loop_add_signals(&watch->loop, signals, ARRAY_SIZE(signals), on_signal,
					  watch, error);
	if (result >= 0)
		drop_rights();
	return result;
}

int watch_run(struct watch *watch, struct error *error)
{
	int result = add_sources(watch, error);

	if (result >= 0)
		result = snapshot(watch, false, error); /* the baseline */
	if (result >= 0)
		result = add_timers(watch, error);
	if (result >= 0 && watch->child.pid)
		result = child_start(&watch->child, watch->options->command[0], error);
	return result < 0 ? result : loop_run(&watch->loop, error);
}

void watch_report_source(const struct watch *watch, const char *program)
{
	const struct session_info *session = intervals_session(watch->intervals);

	if (watch->options->source != SOURCE_AUTO || session->wire.source == WIRE_SOURCE_BPF)
		return;
	for (size_t i = 0; i < session->missing_count; i++)
		if (!strcmp(session->missing[i].source, "bpf"))
			print_text(stderr, "dwell %s: sampling /proc instead%s: %s\n", program,
				   session_misses(session, "processes")
					   ? ", of this user's processes alone"
					   : "",
				   session->missing[i].why);
}

bool watch_targets_gone(struct watch *watch)
{
	struct targets *targets = &watch->options->targets;

	return targets->count && !targets_alive(targets);
}

void watch_report_end(struct watch *watch, const char *program)
{
	if (!watch->options->command && !watch->signalled && watch_targets_gone(watch))
		print_text(stderr, "dwell %s: %s ended\n", program,
			   watch->options->targets.count == 1 ? "the target has"
							      : "the targets have");
}

void watch_report_failure(const struct wire_child *child, const char *program)
{
	char status[WAIT_STATUS_BYTES];

	if (!child->wait_status)
		return;
	wait_status_format(status, (int)child->wait_status);
	print_text(stderr, "dwell %s: the command ended: %s\n", program, status);
}

void watch_close_source(struct watch *watch)
{
	source_close(watch->source);
	watch->source = NULL;
}

void watch_release(struct watch *watch)
{
	source_close(watch->source);
	intervals_free(watch->intervals);
	loop_release(&watch->loop);
	child_release(&watch->child);
}
