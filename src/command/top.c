// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell top`: exact per-thread states, interval after interval. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/loop.h"
#include "capture/child.h"
#include "capture/source.h"
#include "command/command.h"
#include "command/top_options.h"
#include "model/interval.h"
#include "view/view.h"

struct top {
	struct top_options options;
	struct view view;
	struct output output;
	struct loop loop;
	struct source *source;
	struct intervals *intervals;
	struct child child;
	uint64_t printed; /* intervals */
	bool interrupted; /* once already */
};

static int flush(struct top *top, struct error *error)
{
	int result = output_flush(&top->output);

	if (result < 0)
		return error_set(
			error, -result,
			"cannot write to standard output: %s; stopped after %llu intervals",
			strerror(-result), (unsigned long long)top->printed);
	return 0;
}

/* Sink of the source's records. */
static int take_record(void *data, const struct wire_header *record)
{
	struct top *top = data;
	struct interval *interval;
	int result = intervals_feed(top->intervals, record, &interval);

	if (record->kind == WIRE_CHILD && top->view.ops->child)
		top->view.ops->child(&top->view, (const struct wire_child *)record);
	if (result <= 0)
		return result;
	interval_group(interval, top->options.by);
	rows_sort(interval->rows, interval->row_count, top->options.sort, interval->about);
	top->view.ops->interval(&top->view, interval);
	top->printed++;
	/* nobody tells of the end of a single thread on kernels before 6.9 */
	if (top->options.targets.count && !interval->row_count)
		top->loop.stop = true;
	return 0;
}

/* Long enough for a dying thread that lost its CPU to get it back, short enough to be no hang. */
#define MISSING_TIMEOUT_MS 50

static int await_missing(struct top *top, struct error *error)
{
	uint64_t deadline_ns = clock_monotonic_ns() + MISSING_TIMEOUT_MS * NS_PER_MS;
	int result;

	do
		result = source_await(top->source, MISSING_TIMEOUT_MS, error);
	while (result > 0 && intervals_missing(top->intervals) &&
	       clock_monotonic_ns() < deadline_ns);
	return result;
}

static int snapshot(struct top *top, bool final, struct error *error)
{
	int result = source_begin(top->source, error);

	if (result >= 0 && intervals_missing(top->intervals))
		result = await_missing(top, error);
	if (result >= 0)
		result = source_end(top->source, final, error);
	return result < 0 ? result : flush(top, error);
}

static int on_interval(void *data, struct error *error)
{
	struct top *top = data;

	if (top->options.count && top->printed + 1 >= top->options.count)
		top->loop.stop = true;
	return snapshot(top, top->loop.stop, error);
}

/* Whatever ends it, the time since the last interval is told too. */
static int on_end(void *data, struct error *error)
{
	struct top *top = data;

	top->loop.stop = true;
	return snapshot(top, true, error);
}

/*
 * A watched command decides about its own end: Ctrl-C reaches it from the terminal, other signals
 * we hand on; the second one ends it for good.
 */
static int on_signal(void *data, struct error *error)
{
	struct top *top = data;

	if (!top->child.pid || top->interrupted)
		return on_end(data, error);
	top->interrupted = true;
	if (!top->loop.signal_from_terminal)
		kill(top->child.pid, top->loop.signal);
	return 0;
}

static int on_work(void *data, struct error *error)
{
	struct top *top = data;

	return source_work(top->source, error);
}

static int on_target_end(void *data, struct error *error)
{
	struct top *top = data;

	return targets_alive(&top->options.targets) ? 0 : on_end(data, error);
}

static int on_child_end(void *data, struct error *error)
{
	struct top *top = data;
	struct wire_child child = {.header = {.size = sizeof(child), .kind = WIRE_CHILD}};
	uint64_t duration_ns = 0;
	int status = 0, result = on_end(data, error);

	if (result >= 0)
		result = child_reap(&top->child, &status, &duration_ns);
	if (result < 0)
		return result;
	child.duration_ns = duration_ns;
	child.wait_status = (uint32_t)status;
	snprintf(child.name, sizeof(child.name), "%s", top->options.command[0]);
	result = take_record(top, &child.header);
	return result < 0 ? result : flush(top, error);
}

static int add_sources(struct top *top, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct targets *targets = &top->options.targets;
	int descriptors[SOURCE_DESCRIPTORS];
	int count = source_descriptors(top->source, descriptors);
	int result =
		loop_add_signals(&top->loop, signals, ARRAY_SIZE(signals), on_signal, top, error);

	for (int i = 0; result >= 0 && i < count; i++)
		result = loop_add(&top->loop, descriptors[i], on_work, top, error);
	if (result >= 0 && top->child.pid)
		result = loop_add(&top->loop, top->child.pidfd, on_child_end, top, error);
	else if (result >= 0 && targets->count)
		result = loop_add(&top->loop, targets_watch(targets), on_target_end, top, error);
	return result;
}

static int add_timers(struct top *top, struct error *error)
{
	const struct top_options *options = &top->options;
	int result = loop_add_timer(&top->loop, options->interval_ns, on_interval, top, error);

	/* a duration need not be a multiple of the interval */
	if (result >= 0 && options->duration_ns)
		result = loop_add_timer(&top->loop, options->duration_ns, on_end, top, error);
	return result;
}

/* The command exists when the session seeds, and waits until it is watched. */
static int prepare_child(struct top *top, struct error *error)
{
	int result = child_prepare(&top->child, top->options.command, error);

	if (result < 0)
		return result;
	top->options.targets.children = true;
	return targets_add_process(&top->options.targets, (uint32_t)top->child.pid, error);
}

static int open_all(struct top *top, struct error *error)
{
	struct source_options options = {.interval_ns = top->options.interval_ns};
	struct record_sink sink = {take_record, top};
	int result = output_init(&top->output, STDOUT_FILENO);

	top->intervals = intervals_new();
	if (result < 0 || !top->intervals)
		return error_set(error, ENOMEM, "out of memory");
	top->view = (struct view){
		.ops = top->options.format,
		.out = &top->output,
		.by = top->options.by,
		.top = top->options.top,
	};
	result = loop_init(&top->loop, error);
	if (result >= 0 && top->options.command)
		result = prepare_child(top, error);
	if (result >= 0)
		result = source_open(&top->source, &options, &top->options.targets, sink, error);
	return result;
}

static int run(struct top *top, struct error *error)
{
	int result = open_all(top, error);

	if (result < 0)
		return result;
	/* with a target, everything it has is of interest */
	top->view.show_idle = top->options.show_idle || top->options.targets.count;
	if (top->view.ops->begin)
		top->view.ops->begin(&top->view);
	/* from here on a reader that went away is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	result = add_sources(top, error);
	if (result >= 0)
		result = snapshot(top, false, error); /* the baseline */
	if (result >= 0)
		result = add_timers(top, error);
	if (result >= 0 && top->child.pid)
		result = child_start(&top->child, top->options.command[0], error);
	return result < 0 ? result : loop_run(&top->loop, error);
}

static void release(struct top *top)
{
	source_close(top->source);
	intervals_free(top->intervals);
	loop_release(&top->loop);
	output_release(&top->output);
	child_release(&top->child);
	targets_release(&top->options.targets);
}

static int top_run(int argc, char **argv)
{
	struct top top = {.child = CHILD_NONE, .loop.epoll_fd = -1, .output.fd = -1};
	struct error error = {""};
	int code = top_options_parse(&top.options, argc, argv);
	int result;

	if (code != EXIT_DONE) {
		targets_release(&top.options.targets);
		return code;
	}
	result = run(&top, &error);
	release(&top);
	return result < 0 ? command_fail("top", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_top = {
	.name = "top",
	.summary = "exact per-thread states: where every thread's time goes",
	.run = top_run,
};
