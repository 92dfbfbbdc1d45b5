// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell profile` of what runs now. */
#include <errno.h>
#include <unistd.h>

#include "base/print.h"
#include "command/debug_files.h"
#include "command/profile_course.h"
#include "session/watch.h"

static int take_end(void *data, const struct wire_child *child, struct error *error)
{
	(void)data;
	(void)error;
	watch_report_failure(child, "profile");
	return 0;
}

/* On the screen until the user has seen enough, also when nothing more comes. */
static int run_screen(struct profile_command *command, struct watch *watch, struct error *error)
{
	int result = profile_open_screen(command, error);

	/* before what takes a second, and more on a busy machine */
	if (result >= 0)
		result = tui_draw(&command->tui.tui, error);
	if (result >= 0)
		result = watch_open(watch, error);
	if (result >= 0)
		result = tui_begin(&command->tui.tui, &watch->loop, error);
	if (result >= 0)
		result = watch_run(watch, error);
	if (result >= 0 && !command->tui.tui.quit && !watch->signalled) {
		bool is_gone = watch_targets_gone(watch);

		/* no more stacks are asked for */
		watch_close_source(watch);
		result = profile_tui_stay(&command->tui,
					  is_gone ? "the target has ended"
						  : "this was all that was asked for",
					  error);
	}
	profile_tui_close(&command->tui);
	return result;
}

int profile_run_live(struct profile_command *command, struct error *error)
{
	struct watch watch = WATCH_NONE;
	bool screen = command->options.output.screen;
	int result;

	watch.options = &command->options.watch;
	watch.audience = (struct audience){.data = command,
					   .interval = profile_take_interval,
					   .record = profile_take_record,
					   .child = take_end};
	watch.profile = &command->options.profile;
	command_fetch_debug_files("profile", &command->options.watch.targets,
				  &command->options.profile.stacks);
	result = screen ? run_screen(command, &watch, error) : watch_open(&watch, error);
	if (result >= 0 && !screen && !watch.options->duration_ns && !watch.options->count &&
	    !watch.options->command && isatty(STDERR_FILENO))
		print_text(stderr, "dwell profile: taking stacks; Ctrl-C ends it\n");
	if (result >= 0 && !screen)
		result = watch_run(&watch, error);
	if (result >= 0 && !screen)
		watch_report_end(&watch, "profile");
	/* the session's facts are the watch's */
	if (result >= 0 && !screen && !command->result.session)
		result = error_set(error, EINVAL, "no interval was measured");
	if (result >= 0 && !screen)
		result = profile_write_result(command, error);
	watch_release(&watch);
	return result;
}
