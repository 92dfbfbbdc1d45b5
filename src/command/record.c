// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell record`: writes what `dwell top` would show, for later. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/print.h"
#include "base/size.h"
#include "base/status_line.h"
#include "base/wait_status.h"
#include "capture/rotation.h"
#include "command/command.h"
#include "command/debug_files.h"
#include "command/profile_options.h"
#include "command/result_options.h"
#include "command/watch_options.h"
#include "session/watch.h"
#include "view/recorded.h"

#define RECORDING	"dwell.dwell" /* without --output */
#define MAX_BYTES_LEAST (1 << 20)

struct record {
	struct watch_options watch;
	const char *path;
	bool force;
	struct status_line progress;
	bool stacks;
	struct profile_options profile;
	uint64_t rotate_ns, max_bytes;
	struct recorder *recorder; /* or: */
	struct rotation *rotation;
	struct result_options output;
	struct recorded recorded;
};

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
	WATCH_OPTIONS(struct record, watch, "1s"),
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

static const struct command_line record_line = {
	.options = record_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct record, watch),
	.take_argument = watch_take_argument,
	.end = end,
};

static uint64_t bytes_written(const struct record *record)
{
	return record->rotation ? rotation_bytes(record->rotation)
				: recorder_bytes(record->recorder);
}

static int rotate(void *data, const struct wire_header *header, struct error *error)
{
	struct record *record = data;

	return rotation_record(record->rotation, header, error);
}

/* One line that is written over; to standard error, as the file may be standard output. */
static int show_progress(void *data, struct interval *interval, struct error *error)
{
	struct record *record = data;
	struct recorded *recorded = &record->recorded;
	char length[16], size[16];

	(void)error;
	if (!recorded->start_ns) {
		recorded->start_ns = interval->start_ns;
		recorded->start_realtime_ns = interval->start_realtime_ns;
		recorded->source = session_source(interval->session);
		recorded->has_blame = session_has_blame(interval->session);
	}
	recorded->end_ns = interval->end_ns;
	if (recorded->threads < interval->row_count)
		recorded->threads = interval->row_count;
	losses_add(&recorded->losses, &interval->losses);
	if (!record->progress.shown)
		return 0;
	duration_format(length, sizeof(length), interval->end_ns - recorded->start_ns);
	size_format(size, sizeof(size), bytes_written(record));
	status_line_show(&record->progress, "%s  %zu threads  %s  lost %llu  (Ctrl-C ends)", length,
			 interval->row_count, size,
			 (unsigned long long)losses_all(&recorded->losses));
	return 0;
}

static int write_line(struct output *out, const void *recorded)
{
	recorded_line(out, recorded);
	return 0;
}

static const struct result_kind kind = {.schema = &recorded_schema, .page = write_line};

static int report(struct record *record, const struct watch *watch, struct error *error)
{
	struct recorded *recorded = &record->recorded;
	struct output line;

	recorded->path = record->path;
	if (record->rotation && rotation_path(record->rotation))
		recorded->path = rotation_path(record->rotation);
	recorded->intervals = watch->shown;
	recorded->bytes = bytes_written(record);
	recorded->files = record->rotation ? rotation_files(record->rotation) : 1;
	status_line_clear(&record->progress);
	if (record->output.given)
		return result_print(&record->output, &kind, recorded, error);
	/* not to standard output, which may be the file; a reader is not required */
	if (output_init(&line, STDERR_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	recorded_line(&line, recorded);
	if (output_flush(&line) < 0)
		line.error = 0; /* as with print_text() */
	output_release(&line);
	return 0;
}

static int open_files(struct record *record, struct error *error)
{
	const struct rotation_options options = {
		.path = record->path, .file_ns = record->rotate_ns, .max_bytes = record->max_bytes};

	return options.file_ns || options.max_bytes
		       ? rotation_open(&record->rotation, &options, error)
		       : recorder_open(&record->recorder, record->path, record->force, error);
}

/* How the command ended, where that was a failure: it is what was recorded. */
static int show_failure(void *data, const struct wire_child *child, struct error *error)
{
	struct record *record = data;
	char status[WAIT_STATUS_BYTES];

	(void)error;
	if (!child->wait_status)
		return 0;
	status_line_clear(&record->progress);
	wait_status_format(status, (int)child->wait_status);
	print_text(stderr, "dwell record: the command ended: %s\n", status);
	return 0;
}

static int run(struct record *record, struct error *error)
{
	struct watch watch = WATCH_NONE;
	int result;

	if (record->stacks)
		command_fetch_debug_files("record", &record->watch.targets,
					  &record->profile.stacks);
	result = open_files(record, error);

	watch.options = &record->watch;
	watch.audience =
		(struct audience){.data = record, .interval = show_progress, .child = show_failure};
	watch.recorder = record->recorder;
	if (record->rotation)
		watch.audience.record = rotate;
	watch.profile = record->stacks ? &record->profile : NULL;
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0) {
		watch_report_source(&watch, "record");
		result = watch_run(&watch, error);
	}
	if (result >= 0)
		result = report(record, &watch, error);
	else
		status_line_clear(&record->progress);
	watch_release(&watch);
	recorder_close(record->recorder);
	rotation_close(record->rotation);
	return result;
}

static int record_run(int argc, char **argv)
{
	struct record record = {
		.path = RECORDING,
	};
	struct error error = {""};
	int code, result = 0;

	status_line_begin(&record.progress, true);
	profile_options_usual(&record.profile);
	watch_options_init(&record.watch);
	record.watch.targets.forked_are_one = true;
	record.watch.blame = true;
	code = command_line_parse(&record_line, argc, argv, &record);
	if (code == EXIT_DONE)
		result = run(&record, &error);
	targets_release(&record.watch.targets);
	if (code != EXIT_DONE)
		return code;
	return result < 0 ? command_fail("record", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_record = {
	.name = "record",
	.summary = "write what `top` would show to a file, for later",
	.line = &record_line,
	.outputs = {"output"},
	.output = RECORDING,
	.argument = ARGUMENT_PROCESS,
	.run = record_run,
};
