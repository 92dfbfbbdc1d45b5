// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell blocked`: what blocks the workers of an async runtime. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/print.h"
#include "command/blocked_options.h"
#include "command/blocked_output.h"
#include "command/blocked_tui.h"
#include "command/command.h"
#include "model/starvation.h"
#include "session/replay.h"
#include "session/runtime_spans.h"
#include "session/watch.h"
#include "tui/terminal.h"

struct blocked {
	struct blocked_options options;
	struct stalls *stalls;
	struct starvation starvation;
	const struct session_info *session; /* NULL: no interval yet */
	struct blocked_tui tui;		    /* open if that is the format */
	bool quit;			    /* by a key */
	struct child child;		    /* the command, until it is watched */
	struct blocked_output output;
};

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct blocked *blocked = data;
	struct stall stall;
	int result = stalls_feed(blocked->stalls, record, &stall);

	if (result < 0)
		return error_set(error, -result, "cannot take a record: %s", strerror(-result));
	if (result == 1 && blocked->options.output.screen)
		blocked_tui_stall(&blocked->tui, &stall);
	return result == 1 ? blocked_output_stall(&blocked->output, blocked->stalls, &stall, error)
			   : 0;
}

static int take_interval(void *data, struct interval *interval, struct error *error)
{
	struct blocked *blocked = data;

	blocked->session = interval->session;
	stalls_add_interval(blocked->stalls, interval);
	if (starvation_add(&blocked->starvation, blocked->stalls, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return blocked->options.output.screen
		       ? blocked_tui_interval(&blocked->tui, interval, error)
		       : blocked_output_interval(&blocked->output, blocked->stalls, error);
}

static int end_output(struct blocked *blocked, struct error *error)
{
	struct blocked_summary summary = {.stalls = blocked->stalls,
					  .starvation = &blocked->starvation,
					  .session = blocked->session};

	starvation_end(&blocked->starvation);
	return blocked_output_end(&blocked->output, &summary, error);
}

static int watch_workers(struct blocked *blocked, struct error *error)
{
	const struct span_options *spans = &blocked->options.spans;
	struct watch watch = WATCH_NONE;
	struct recorder *recorder = NULL;
	int result = 0;

	watch.options = &blocked->options.watch;
	watch.audience = (struct audience){
		.data = blocked, .interval = take_interval, .record = take_record};
	watch.spans = spans;
	watch.child = blocked->child;
	blocked->child = (struct child)CHILD_NONE;
	if (blocked->options.record)
		result = recorder_open(&recorder, blocked->options.record, blocked->options.force,
				       error);
	watch.recorder = recorder;
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0 && blocked->options.verbose && !blocked->options.output.screen)
		print_text(stderr, "dwell blocked: watching %s %u\n", spans->process, spans->pid);
	if (result >= 0 && blocked->options.output.screen)
		result = blocked_tui_begin(&blocked->tui, &watch.loop, error);
	if (result >= 0)
		result = watch_run(&watch, error);
	blocked->quit = blocked->tui.tui.quit;
	blocked_tui_close(&blocked->tui);
	if (result >= 0 && blocked->options.output.screen && !blocked->quit &&
	    !targets_alive(&blocked->options.watch.targets))
		print_text(stdout, "dwell blocked: %s %u has ended\n", spans->process, spans->pid);
	if (result >= 0)
		result = end_output(blocked, error);
	watch_release(&watch);
	recorder_close(recorder);
	return result;
}

/* It exists, with its files mapped, but has not run an instruction: nothing of it is missed. */
static int start_command(struct blocked *blocked, struct error *error)
{
	struct watch_options *watch = &blocked->options.watch;
	int result = child_prepare_program(&blocked->child, watch->command, error);

	return result < 0
		       ? result
		       : targets_add_process(&watch->targets, (uint32_t)blocked->child.pid, error);
}

static int run_live(struct blocked *blocked, struct error *error)
{
	struct span_options *spans = &blocked->options.spans;
	const struct runtime_ops *runtime =
		blocked->options.no_uprobes ? &runtime_loop : blocked->options.runtime;
	struct runtime_plan plan = {0};
	int result = 0;

	if (blocked->options.watch.command)
		result = start_command(blocked, error);
	if (result < 0)
		return result;
	spans->pid = blocked->options.watch.targets.items[0].id;
	spans->symbols = blocked->options.symbols;
	target_process_name(spans->pid, spans->process);
	result = runtime_spans_make(spans, &plan, runtime, blocked->options.watch.command, error);
	if (result >= 0 && blocked->options.verbose && !blocked->options.output.screen)
		print_text(stderr, "dwell blocked: runtime %s: %s\n", plan.runtime->name, plan.why);
	if (result >= 0)
		result = watch_workers(blocked, error);
	if (result >= 0 && !blocked->quit)
		result = runtime_spans_check(spans, blocked->stalls, error);
	runtime_spans_release(spans, &plan);
	return result;
}

static int run_recording(struct blocked *blocked, struct error *error)
{
	struct replay replay = {
		.audience = {.data = blocked, .interval = take_interval, .record = take_record}};
	int damaged = 0, result = replay_open(&replay, blocked->options.from, error);

	if (result >= 0) {
		result = replay_run(&replay, error);
		damaged = result == -EBADMSG ? result : 0;
	}
	if (result >= 0 && !stalls_runtime(blocked->stalls)->pid)
		result = error_set(error, EINVAL,
				   "%s is a recording of `dwell record`: see it "
				   "with dwell top --from",
				   blocked->options.from);
	if (result >= 0 || damaged) {
		struct error why = *error;

		result = end_output(blocked, error);
		if (result >= 0 && blocked->options.output.screen)
			result = blocked_tui_show(&blocked->tui, damaged ? why.text : NULL, error);
		if (result >= 0 && damaged)
			*error = why;
	}
	blocked_tui_close(&blocked->tui);
	replay_release(&replay);
	return result < 0 ? result : damaged;
}

static int run(struct blocked *blocked, struct error *error)
{
	struct blocked_screen_options screen = {.window_ns = blocked->options.window_ns,
						.replay = blocked->options.from};
	int result = 0;

	/* a reader that went away is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	blocked->stalls = stalls_new(blocked->options.window_ns, runtime_stack_marks());
	if (!blocked->stalls)
		return error_set(error, ENOMEM, "out of memory");
	if (!blocked->options.output.given)
		blocked->options.output.screen =
			!blocked->options.headless && !blocked->options.watch.duration_ns &&
			!blocked->options.watch.command && terminal_usable();
	screen.stalls = blocked->stalls;
	screen.starvation = &blocked->starvation;
	if (blocked->options.output.screen)
		result = blocked_tui_open(&blocked->tui, &screen, &blocked->options.output, error);
	if (result >= 0)
		result = blocked_output_open(&blocked->output, &blocked->options, blocked->stalls,
					     error);
	if (result < 0)
		return result;
	return blocked->options.from ? run_recording(blocked, error) : run_live(blocked, error);
}

static void release(struct blocked *blocked)
{
	blocked_tui_close(&blocked->tui);
	blocked_output_release(&blocked->output);
	child_release(&blocked->child);
	starvation_release(&blocked->starvation);
	stalls_free(blocked->stalls);
	targets_release(&blocked->options.watch.targets);
}

static int blocked_run(int argc, char **argv)
{
	struct blocked blocked = {.output = BLOCKED_OUTPUT_NONE, .child = CHILD_NONE};
	struct error error = {""};
	int result, code;

	blocked_options_init(&blocked.options);
	code = command_line_parse(&blocked_line, argc, argv, &blocked.options);
	if (code != EXIT_DONE)
		return code;
	result = run(&blocked, &error);
	if (result < 0)
		code = command_fail("blocked", EXIT_NOT_RUN, &error);
	else if (!blocked_limits_kept(&blocked.options, blocked.stalls))
		code = EXIT_CHECK_FAILED;
	release(&blocked);
	return code;
}

const struct command command_blocked = {
	.name = "blocked",
	.summary = "what blocks an async runtime's workers",
	.line = &blocked_line,
	.outputs = {"record", "export"},
	.argument = ARGUMENT_PROCESS,
	.has_screen = true,
	.run = blocked_run,
};
