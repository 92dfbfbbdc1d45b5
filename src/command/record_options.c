// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record_options.h"

#include <errno.h>

#define MAX_BYTES_LEAST (1 << 20)

static const char text[] =
	"Records every thread's states, and because of whom it waited, to a file, which `dwell top "
	"--from FILE` and `dwell report` show on this or another machine."
	"\v"
	"Without a target: every thread of the machine. The file is whole after every interval, "
	"also "
	"when the disk fills up or dwell is killed.\n\n"
	"Examples:\n"
	"  dwell record -o night.dwell -d 8h        the whole machine, every second\n"
	"  dwell record -p 1234 -i 100ms -o db.dwell\n"
	"  dwell record -o /var/log/day.dwell --rotate 1h --max-bytes 10G\n"
	"  dwell record -o build.dwell -- make -j4  a command to its end\n";

static int take_no_blame(void *data, const char *value, struct error *error)
{
	struct watch_options *watch = data;

	(void)value;
	(void)error;
	watch->blame = false;
	return 0;
}

static const struct command_option record_option_table[] = {
	OPTION_GROUP(3, "What to write:"),
	TEXT_OPTION("output", 'o', "FILE", struct record, path, "the recording (dwell.dwell)"),
	FLAG_OPTION("force", 0, struct record, force, "replace an existing file"),
	TIME_OPTION("rotate", 0, struct record, rotate_ns,
		    "begin a new file every TIME; each has the time in its name"),
	SIZE_OPTION("max-bytes", 0, struct record, max_bytes,
		    "remove the oldest files so that all have SIZE together"),
	/* it is recorded anyway */
	{.kind = OPTION_FLAG,
	 .name = "blame",
	 .is_hidden = true,
	 .member = MEMBER_OF(struct record, watch.blame, bool)},
	TAKEN_MEMBER("no-blame", 0, NULL, struct record, watch, take_no_blame,
		     "not because of whom threads wait: half the file"),
	FLAG_OPTION("stacks", 0, struct record, stacks,
		    "also which code time is spent in, for dwell profile --from"),
	STACK_RATE_OPTIONS(struct record, profile),
	OPTION_GROUP(4, "What to print at the end:"),
	RESULT_OPTIONS(struct record, " (one line on standard error)", ""),
	WATCH_OPTIONS(struct record, watch, WATCH_SOURCES, "1s"),
	END_OF_OPTIONS,
};

static int end(void *data, struct error *error)
{
	struct record *record = data;
	struct profile_options usual;
	int result = watch_options_end(&record->watch, error);

	profile_options_usual(&usual);
	if (result >= 0 && !record->stacks &&
	    (record->profile.frequency != usual.frequency || record->profile.rate != usual.rate))
		result = error_set(error, EINVAL, "--freq and --rate are for --stacks: add it");

	if (result >= 0 && record->max_bytes && record->max_bytes < MAX_BYTES_LEAST)
		result = error_set(error, EINVAL, "--max-bytes: 1M at least");
	if (result >= 0 && record->force && (record->rotate_ns || record->max_bytes))
		result = error_set(error, EINVAL,
				   "--force is for one file: those of --rotate and --max-bytes "
				   "have new names");
	if (result >= 0 && record->stacks && record->watch.source > SOURCE_BPF)
		result = error_set(error, EINVAL, "--stacks needs --source bpf");
	if (record->stacks)
		record->watch.source = SOURCE_BPF;
	return result < 0 ? result
			  : result_options_end(&record->output, &recorded_schema, ~0U, error);
}

const struct command_line record_line = {
	.options = record_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct record, watch),
	.take_argument = watch_take_argument,
	.end = end,
};
