// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell blocked`: what blocks the workers of an async runtime. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "command/blocked_live.h"
#include "command/command.h"
#include "command/tui.h"
#include "session/replay.h"

static int run_recording(struct blocked *blocked, struct error *error)
{
	struct replay replay = {.audience = {.data = blocked,
					     .interval = blocked_take_interval,
					     .record = blocked_take_record}};
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

		result = blocked_end_output(blocked, error);
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
			!blocked->options.watch.command && tui_can_open("blocked");
	screen.stalls = blocked->stalls;
	screen.starvation = &blocked->starvation;
	if (blocked->options.output.screen)
		result = blocked_tui_open(&blocked->tui, &screen, &blocked->options.output, error);
	if (result >= 0)
		result = blocked_output_open(&blocked->output, &blocked->options, blocked->stalls,
					     error);
	if (result < 0)
		return result;
	return blocked->options.from ? run_recording(blocked, error)
				     : blocked_run_live(blocked, error);
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
	else
		code = blocked_check_limits(&blocked.options, blocked.stalls);
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
