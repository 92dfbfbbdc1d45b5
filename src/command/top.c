// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell top`: exact per-thread states, interval after interval. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/loop.h"
#include "capture/cgroup.h"
#include "capture/child.h"
#include "capture/session.h"
#include "command/command.h"
#include "command/top_options.h"
#include "model/interval.h"
#include "view/view.h"

struct top {
	struct top_options options;
	struct view view;
	struct output output;
	struct loop loop;
	struct session *session;
	struct intervals *intervals;
	struct cgroup_paths *cgroups;
	struct child child;
	struct unavailable unavailable[3];
	uint64_t printed; /* intervals */
	uint64_t cpu_ns;  /* own, at the last interval */
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

/* Sink of the session's records. */
static int take_record(void *data, const struct wire_header *record)
{
	struct top *top = data;
	struct interval *interval;
	int result = intervals_feed(top->intervals, record, &interval);

	if (result <= 0)
		return result;
	interval_group(interval, top->options.by);
	rows_sort(interval->rows, interval->row_count, top->options.sort, &top->view.names);
	top->view.ops->interval(&top->view, interval);
	top->printed++;
	/* nobody tells of the end of a single thread on kernels before 6.9 */
	if (top->options.targets.count && !interval->row_count)
		top->loop.stop = true;
	return 0;
}

/* Long enough for a dying thread that lost its CPU to get it back, short enough to be no hang. */
#define MISSING_TIMEOUT_MS 50

static int await_missing(struct top *top, struct record_sink sink, struct error *error)
{
	uint64_t deadline_ns = clock_monotonic_ns() + MISSING_TIMEOUT_MS * NS_PER_MS;
	int result;

	do
		result = session_await_ends(top->session, MISSING_TIMEOUT_MS, sink, error);
	while (result > 0 && intervals_missing(top->intervals) &&
	       clock_monotonic_ns() < deadline_ns);
	return result;
}

static int snapshot(struct top *top, bool final, struct error *error)
{
	struct record_sink sink = {take_record, top};
	uint64_t start_ns = clock_monotonic_ns(), cpu_ns;
	int result = session_snapshot_begin(top->session, sink, error);

	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	top->view.cost.snapshot_ns = clock_monotonic_ns() - start_ns;
	top->view.cost.cpu_ns = cpu_ns - top->cpu_ns;
	top->cpu_ns = cpu_ns;
	if (result >= 0 && intervals_missing(top->intervals))
		result = await_missing(top, sink, error);
	if (result >= 0)
		result = session_snapshot_end(top->session, final, sink, error);
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

static int on_events(void *data, struct error *error)
{
	struct top *top = data;
	struct record_sink sink = {take_record, top};

	return session_drain(top->session, sink, error);
}

static int on_target_end(void *data, struct error *error)
{
	struct top *top = data;

	return targets_alive(&top->options.targets) ? 0 : on_end(data, error);
}

static int on_child_end(void *data, struct error *error)
{
	struct top *top = data;
	struct child_outcome outcome = {.name = top->options.command[0]};
	int result = on_end(data, error);

	if (result >= 0)
		result = child_reap(&top->child, &outcome.wait_status, &outcome.duration_ns);
	if (result >= 0 && top->view.ops->child)
		top->view.ops->child(&top->view, &outcome);
	return result < 0 ? result : flush(top, error);
}

static int add_sources(struct top *top, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct targets *targets = &top->options.targets;
	int result =
		loop_add_signals(&top->loop, signals, ARRAY_SIZE(signals), on_signal, top, error);

	if (result >= 0)
		result =
			loop_add(&top->loop, session_event_fd(top->session), on_events, top, error);
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

static const char *cgroup_path(void *data, uint64_t id)
{
	return cgroup_paths_find(data, id);
}

static void describe_missing(struct top *top, const char *source, const char *why)
{
	top->unavailable[top->view.quality.unavailable_count++] = (struct unavailable){source, why};
}

static void describe(struct top *top)
{
	const struct session_facts *facts = session_facts(top->session);

	top->view = (struct view){
		.ops = top->options.format,
		.out = &top->output,
		.by = top->options.by,
		.top = top->options.top,
		.show_idle = top->options.show_idle || top->options.targets.count,
		.names = {cgroup_path, top->cgroups},
		.quality = {.source = "bpf",
			    .precise_cpu_split = facts->features.precise_cpu_split,
			    .unavailable = top->unavailable},
	};
	describe_missing(top, "taskstats", "this version does not read it, so `delays` is null");
	if (!facts->wait_functions)
		describe_missing(top, "kallsyms",
				 "the kernel hides its addresses (kptr_restrict or no CAP_SYSLOG): "
				 "page faults, reclaim and kernel locks are not told apart");
	if (!facts->features.others_memory)
		describe_missing(top, "maps",
				 "other users' memory maps cannot be read (no CAP_SYS_PTRACE): "
				 "their futex waits are told apart by operation only");
}

static int open_all(struct top *top, struct error *error)
{
	int result = output_init(&top->output, STDOUT_FILENO);

	top->intervals = intervals_new();
	top->cgroups = cgroup_paths_new();
	if (result < 0 || !top->intervals || !top->cgroups)
		return error_set(error, ENOMEM, "out of memory");
	result = loop_init(&top->loop, error);
	if (result >= 0 && top->options.command)
		result = prepare_child(top, error);
	if (result >= 0)
		result = session_open(&top->session, &top->options.targets, error);
	return result;
}

static int run(struct top *top, struct error *error)
{
	int result = open_all(top, error);

	if (result < 0)
		return result;
	describe(top);
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
	session_close(top->session);
	intervals_free(top->intervals);
	cgroup_paths_free(top->cgroups);
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
