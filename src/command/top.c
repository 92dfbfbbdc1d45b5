// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell top`: exact per-thread states, interval after interval. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "command/command.h"
#include "session/replay.h"
#include "command/top_options.h"
#include "command/top_progress.h"
#include "command/top_tui.h"
#include "command/tui.h"
#include "model/blame_sum.h"
#include "model/findings.h"
#include "session/watch.h"

struct top {
	struct top_options options;
	struct view view;
	struct output output;
	struct findings findings;
	uint64_t printed; /* intervals */
	struct top_progress progress;
};

static int flush(struct top *top, struct error *error)
{
	int result = command_write(&top->output, error);
	size_t used = strlen(error->text);

	if (result < 0 && used)
		snprintf(error->text + used, sizeof(error->text) - used,
			 "; stopped after %llu interval%s", (unsigned long long)top->printed,
			 text_plural(top->printed));
	return result;
}

static int show_interval(void *data, struct interval *interval, struct error *error)
{
	struct top *top = data;
	bool wanted = top->view.format || top->options.blame;

	top_progress_interval(&top->progress, interval);
	if (wanted && findings_find(&top->findings, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (wanted)
		interval->findings = &top->findings;
	interval_group_blame(interval, top->options.by);
	interval_group(interval, top->options.by);
	if (view_interval(&top->view, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	top->printed++;
	return flush(top, error);
}

static int show_child(void *data, const struct wire_child *child, struct error *error)
{
	struct top *top = data;

	view_child(&top->view, child);
	return flush(top, error);
}

static int begin(struct top *top, struct error *error)
{
	top->view = (struct view){
		.format = top->options.output.format,
		.fields = top->options.output.fields,
		.out = &top->output,
		.by = top->options.by,
		.order = top->options.output.order,
		.sort = top->options.sort,
		.blame = top->options.blame,
		.findings = true,
		.show_idle = top->options.show_idle,
	};
	if (output_init(&top->output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (view_begin(&top->view, error) < 0)
		return -1;
	/* from here on a reader that went away is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int show_live(struct top *top, struct audience audience, struct error *error)
{
	struct watch watch = WATCH_NONE;
	struct recorder *recorder = NULL;
	int result = 0;

	watch.options = &top->options.watch;
	watch.audience = audience;
	if (top->options.record)
		result = recorder_open(&recorder, top->options.record, top->options.force, error);
	watch.recorder = recorder;
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0)
		result = begin(top, error);
	if (result >= 0) {
		watch_report_source(&watch, "top");
		result = top_progress_begin(&top->progress, &watch, error);
	}
	if (result >= 0)
		result = watch_run(&watch, error);
	top_progress_end(&top->progress);
	watch_release(&watch);
	recorder_close(recorder);
	return result;
}

static int show_recording(struct top *top, struct audience audience, struct error *error)
{
	struct replay replay = {.audience = audience,
				.count = top->options.watch.count,
				.duration_ns = top->options.watch.duration_ns};
	const struct recording_choice choice = {
		.paths = &top->options.from, .count = 1, .window = top->options.window};
	int result = replay_choose(&replay, &choice, error);

	if (result >= 0 && top->options.blame == BLAME_NONE)
		intervals_ignore_blame(replay.intervals);
	if (result >= 0)
		result = begin(top, error);
	if (result >= 0)
		result = replay_run(&replay, error);
	if (result >= 0 && top->view.format && top->options.blame != BLAME_NONE && replay.shown &&
	    !session_has_blame(intervals_session(replay.intervals)))
		print_text(stderr,
			   "dwell top: %s: because of whom threads waited is not recorded\n",
			   top->options.from);
	if (result >= 0 && replay_remark(&replay))
		print_text(stderr, "dwell top: %s\n", replay_remark(&replay));
	replay_release(&replay);
	return result;
}

/* On a terminal, the screen; a command shares it, and would write over it. */
static int show(struct top *top, struct error *error)
{
	struct audience audience = {.data = top, .interval = show_interval, .child = show_child};
	struct top_options *options = &top->options;

	if (!options->output.given)
		options->output.screen = !options->watch.command && !options->watch.count &&
					 !options->watch.duration_ns && tui_can_open("top");
	if (options->output.screen)
		return options->from ? top_tui_replay(options, error)
				     : top_tui_live(options, error);
	return options->from ? show_recording(top, audience, error)
			     : show_live(top, audience, error);
}

static int top_run(int argc, char **argv)
{
	struct top top = {.output.fd = -1};
	struct error error = {""};
	int result = 0, code = top_options_parse(&top.options, argc, argv);

	if (code == EXIT_DONE) {
		result = show(&top, &error);
		view_end(&top.view);
		output_release(&top.output);
	}
	targets_release(&top.options.watch.targets);
	if (code != EXIT_DONE)
		return code;
	return result < 0 ? command_fail("top", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_top = {
	.name = "top",
	.summary = "exact per-thread states: where every thread's time goes",
	.line = &top_line,
	.outputs = {"record"},
	.argument = ARGUMENT_PROCESS,
	.has_screen = true,
	.run = top_run,
};
