// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell profile`: which code each state's time was spent in. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/profile_course.h"
#include "command/tui.h"

#define DEFAULT_ROWS 20

int profile_take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct profile_command *command = data;
	int result = profile_feed(command->profile, record);

	return result < 0 ? error_set(error, -result, "cannot take a record: %s", strerror(-result))
			  : 0;
}

int profile_take_interval(void *data, struct interval *interval, struct error *error)
{
	struct profile_command *command = data;
	struct profile_result *result = &command->result;

	if (!result->start_realtime_ns)
		result->start_realtime_ns = interval->start_realtime_ns;
	result->session = interval->session;
	result->duration_ns += interval->end_ns - interval->start_ns;
	result->self_cpu_ns += interval->self_cpu_ns;
	losses_add(&result->losses, &interval->losses);
	if (profile_add_interval(command->profile, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	/* a recording is drawn when it is there as a whole */
	return command->tui.tui.loop ? profile_tui_update(&command->tui, error) : 0;
}

static int write_page(struct output *out, const void *result)
{
	profile_table(out, result);
	return 0;
}

static const struct result_kind kind = {.schema = &profile_schema, .page = write_page};

static int keep_output(struct profile_command *command, struct output *out, struct error *error)
{
	int result;

	if (command->file.fd < 0)
		return command_write(out, error);
	result = output_flush(out);
	if (result >= 0)
		result = file_draft_keep(&command->file);
	return result < 0 ? file_draft_refused(command->options.path, result, error) : 0;
}

int profile_write_result(struct profile_command *command, struct error *error)
{
	struct command_profile_options *options = &command->options;
	struct profile_result *result = &command->result;
	cleanup(output_release) struct output out = {.fd = -1};
	int written = 0;

	result->top = options->output.order.top ? options->output.order.top : DEFAULT_ROWS;
	if (profile_end(command->profile) < 0 || profile_result_make(result) < 0 ||
	    output_init(&out, command->file.fd < 0 ? STDOUT_FILENO : command->file.fd) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (options->export)
		written = options->export->write(&out, result, options->root);
	else
		written = result_write(&options->output, &kind, result, &out, error);
	if (written == -ENOMEM)
		return error_set(error, ENOMEM, "out of memory");
	return written < 0 ? written : keep_output(command, &out, error);
}

int profile_open_screen(struct profile_command *command, struct error *error)
{
	const struct profile_screen_options options = {.result = &command->result,
						       .root = command->options.root,
						       .replay = command->options.from};

	return profile_tui_open(&command->tui, &options, &command->options.output, error);
}

static int open_output(struct profile_command *command, struct error *error)
{
	const struct command_profile_options *options = &command->options;
	int result = 0;

	if (options->path)
		result = file_draft_open(&command->file, AT_FDCWD, options->path, 0666,
					 options->force);
	return result < 0 ? file_draft_refused(options->path, result, error) : 0;
}

/* The screen, where there is one and nothing else was asked for. */
static void choose_screen(struct command_profile_options *options)
{
	if (!options->output.given && !options->path && !options->by_given &&
	    !options->output.order.top)
		options->output.screen = !options->watch.command && !options->watch.count &&
					 !options->watch.duration_ns && tui_can_open("profile");
}

/* 0 or -ENOMEM. */
static int begin(struct profile_command *command, const struct command_profile_options *options)
{
	command->options = *options;
	command->file = FILE_DRAFT_NONE;
	command->profile = profile_new();
	command->result = (struct profile_result){.profile = command->profile,
						  .states = options->states,
						  .by = options->by,
						  .kernel = options->kernel};
	return command->profile ? 0 : -ENOMEM;
}

static int run(struct profile_command *command, struct error *error)
{
	/* large; of our own stack, too, no more is copied than of others' */
	static struct profile_command before;
	int result = begin(&before, &command->options);

	if (result >= 0)
		result = begin(command, &command->options);
	if (result < 0)
		error_set(error, ENOMEM, "out of memory");
	if (result >= 0 && command->options.before) {
		result = profile_read_before(&before, error);
		command->result.before = &before.result;
	}
	if (result >= 0)
		result = open_output(command, error);
	if (result >= 0)
		result = command->options.from ? profile_run_recording(command, error)
					       : profile_run_live(command, error);
	profile_free(before.profile);
	return result;
}

static int profile_run(int argc, char **argv)
{
	static struct profile_command command = {.file = FILE_DRAFT_NONE};
	struct error error = {""};
	int result, code;

	profile_options_init(&command.options);
	code = command_line_parse(&profile_line, argc, argv, &command.options);
	if (code != EXIT_DONE)
		return code;
	/* a reader that went away is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	choose_screen(&command.options);
	result = run(&command, &error);
	file_draft_close(&command.file);
	profile_free(command.profile);
	targets_release(&command.options.watch.targets);
	return result < 0 ? command_fail("profile", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_profile = {
	.name = "profile",
	.summary = "which code each state's time was spent in",
	.line = &profile_line,
	.outputs = {"output"},
	.argument = ARGUMENT_PROCESS,
	.has_screen = true,
	.run = profile_run,
};
