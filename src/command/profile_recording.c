// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell profile --from` and --before: of what has been recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "command/profile_course.h"
#include "command/window_options.h"
#include "session/replay.h"

static int show_recording(struct profile_command *command, const char *remark, struct error *error)
{
	int result = profile_open_screen(command, error);

	if (result >= 0)
		result = profile_tui_stay(&command->tui, remark, error);
	profile_tui_close(&command->tui);
	return result;
}

static int check_stacks(const struct profile_command *command, const char *path,
			struct error *error)
{
	return profile_quality(command->profile)->header.size
		       ? 0
		       : error_set(error, EINVAL,
				   "%s has no stacks: record them with dwell record --stacks",
				   path);
}

/* Times of the interval that goes on: its end says whether it is one of those that were chosen. */
struct held {
	struct profile_command *command;
	char *bytes;
	size_t used, room;
	bool is_over; /* it was none of them, or has been taken */
};

static int hold(struct held *held, const struct wire_header *record, struct error *error)
{
	if (array_reserve(&held->bytes, &held->room, held->used + record->size, 1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	memcpy(held->bytes + held->used, record, record->size);
	held->used += record->size;
	return 0;
}

static const struct wire_header *held_at(const struct held *held, size_t at)
{
	return (const struct wire_header *)(held->bytes + at);
}

static void pass(struct held *held)
{
	for (size_t at = 0; at < held->used; at += held_at(held, at)->size)
		profile_pass(held->command->profile, held_at(held, at));
	held->used = 0;
}

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct held *held = data;

	if (held->is_over)
		pass(held);
	held->is_over = record->kind == WIRE_INTERVAL;
	return record->kind == WIRE_SPENT || record->kind == WIRE_PROFILE
		       ? hold(held, record, error)
		       : profile_take_record(held->command, record, error);
}

static int take_interval(void *data, struct interval *interval, struct error *error)
{
	struct held *held = data;
	int result = 0;

	if (!held->command->result.session)
		profile_begin(held->command->profile, interval->start_ns);
	for (size_t at = 0; result >= 0 && at < held->used; at += held_at(held, at)->size)
		result = profile_take_record(held->command, held_at(held, at), error);
	held->used = 0;
	return result < 0 ? result : profile_take_interval(held->command, interval, error);
}

int profile_run_recording(struct profile_command *command, struct error *error)
{
	const struct command_profile_options *options = &command->options;
	const struct recording_choice choice = {
		.paths = &options->from, .count = 1, .window = options->window};
	struct held held = {.command = command};
	struct replay replay = {
		.audience = {.data = &held, .interval = take_interval, .record = take_record},
		.count = options->watch.count,
		.duration_ns = options->watch.duration_ns};
	int damaged = 0, result = replay_choose(&replay, &choice, error);

	if (result >= 0) {
		result = replay_run(&replay, error);
		damaged = result == -EBADMSG ? result : 0;
	}
	if (result >= 0 && !command->result.session && window_is_part(&options->window))
		result = error_set(error, EINVAL, "%s has no whole interval of that time",
				   options->from);
	if (result >= 0)
		result = check_stacks(command, options->from, error);
	if ((result >= 0 || damaged) && command->result.session) {
		struct error why = *error;
		int written = options->output.screen
				      ? show_recording(command, damaged ? why.text : NULL, error)
				      : profile_write_result(command, error);

		if (written >= 0 && damaged)
			*error = why;
		result = written < 0 ? written : damaged;
	}
	free(held.bytes);
	replay_release(&replay);
	return result;
}

int profile_read_before(struct profile_command *before, struct error *error)
{
	struct replay replay = {.audience = {.data = before,
					     .interval = profile_take_interval,
					     .record = profile_take_record}};
	int result = replay_open(&replay, before->options.before, error);

	if (result >= 0)
		result = replay_run(&replay, error);
	if (result >= 0)
		result = check_stacks(before, before->options.before, error);
	if (result >= 0 &&
	    (profile_end(before->profile) < 0 || profile_result_make(&before->result) < 0))
		result = error_set(error, ENOMEM, "out of memory");
	before->result.session = NULL; /* the replay's */
	replay_release(&replay);
	return result;
}
