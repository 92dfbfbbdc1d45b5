// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell record`: writes what `dwell top` would show, for later. */
#include <errno.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/size.h"
#include "command/command.h"
#include "command/debug_files.h"
#include "command/record_options.h"

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

static int show_failure(void *data, const struct wire_child *child, struct error *error)
{
	struct record *record = data;

	(void)error;
	status_line_clear(&record->progress);
	watch_report_failure(child, "record");
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
		.path = RECORD_PATH,
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
	.output = RECORD_PATH,
	.argument = ARGUMENT_PROCESS,
	.run = record_run,
};
