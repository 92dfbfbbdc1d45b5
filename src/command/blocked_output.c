// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "base/text.h"
#include "command/command.h"
#include "view/blocked_words.h"

#define DEFAULT_ROWS 20

static int open_export(struct blocked_output *output, struct stalls *stalls, struct error *error)
{
	const struct blocked_options *options = output->options;
	int result = file_draft_open(&output->export_file, AT_FDCWD, options->export, 0666,
				     options->force);

	if (result < 0)
		return file_draft_refused(options->export, result, error);
	if (output_init(&output->export_output, output->export_file.fd) < 0)
		return error_set(error, ENOMEM, "out of memory");
	output->export = (struct blocked_export){
		.ops = options->export_format, .out = &output->export_output, .stalls = stalls};
	output->export.ops->begin(&output->export);
	return 0;
}

int blocked_output_open(struct blocked_output *output, const struct blocked_options *options,
			struct stalls *stalls, struct error *error)
{
	output->options = options;
	if (output_init(&output->output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return options->export ? open_export(output, stalls, error) : 0;
}

int blocked_output_stall(struct blocked_output *output, struct stalls *stalls,
			 const struct stall *stall, struct error *error)
{
	if (output->export_file.fd >= 0 && output->export.ops->stall(&output->export, stall) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (output->options->output.format != &format_json)
		return 0;
	blocked_json_stall(&output->output, stalls, stall);
	return command_write(&output->output, error);
}

/* Which workers there are, as they are found, and how. */
static int report_workers(struct blocked_output *output, struct stalls *stalls)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	for (size_t i = 0; i < count; i++) {
		const struct wire_worker *last = &workers[i].last;
		size_t known = output->reported.count;
		char comm[32], name[sizeof(last->comm) + 1] = {0};
		size_t index;

		if (last->kind == WIRE_SPAN_POOL)
			continue;
		index = identities_add(&output->reported, last->tid, last->start_ns);
		if (index == IDENTITY_NONE)
			return -ENOMEM;
		if (index < known)
			continue;
		memcpy(name, last->comm, sizeof(last->comm));
		text_printable(comm, sizeof(comm), name, 16);
		print_text(stderr, "dwell blocked: worker %u %s, by %s\n", last->tid, comm,
			   blocked_found_by(last->found_by));
	}
	return 0;
}

static int report_stuck(struct blocked_output *output, struct stalls *stalls, struct error *error)
{
	uint64_t stuck = blocked_stuck_now(stalls);

	if (stuck == output->stuck)
		return 0;
	output->stuck = stuck;
	blocked_json_stuck(&output->output, stalls);
	return command_write(&output->output, error);
}

int blocked_output_interval(struct blocked_output *output, struct stalls *stalls,
			    struct error *error)
{
	if (output->options->verbose && report_workers(output, stalls) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return output->options->output.format == &format_json ? report_stuck(output, stalls, error)
							      : 0;
}

static int keep_export(struct blocked_output *output, const struct blocked_summary *summary,
		       struct error *error)
{
	const char *path = output->options->export;
	int result;

	output->export.ops->end(&output->export, summary);
	if (output_flush(&output->export_output) < 0)
		return error_set(error, output->export_output.error, "cannot write to %s: %s", path,
				 strerror(output->export_output.error));
	result = file_draft_keep(&output->export_file);
	return result < 0 ? file_draft_refused(path, result, error) : 0;
}

static int write_page(struct output *out, const void *summary)
{
	blocked_table(out, summary);
	return 0;
}

static int emit_summary(const struct emit *emit, const void *summary)
{
	return blocked_emit(emit, summary);
}

int blocked_output_end(struct blocked_output *output, struct blocked_summary *summary,
		       struct error *error)
{
	const struct result_kind kind = {.schema = blocked_row_schemas[output->options->by],
					 .page = write_page,
					 .emit = emit_summary};
	size_t top = output->options->output.order.top;
	int result = 0;

	summary->top = top ? top : DEFAULT_ROWS;
	if (output->export_file.fd >= 0)
		result = keep_export(output, summary, error);
	if (result < 0 || output->options->output.screen)
		return result;
	result = result_write(&output->options->output, &kind, summary, &output->output, error);
	return result < 0 ? result : command_write(&output->output, error);
}

void blocked_output_release(struct blocked_output *output)
{
	if (output->export_file.fd >= 0) {
		output_release(&output->export_output);
		blocked_export_release(&output->export);
		file_draft_close(&output->export_file);
	}
	output_release(&output->output);
	identities_release(&output->reported);
}

int blocked_check_limits(const struct blocked_options *options, struct stalls *stalls)
{
	struct stall_counts counts = stalls_counts_of_all(stalls);
	uint64_t blamed = stall_counts_blamed(&counts), longest_ns = counts.max_blamed_ns;
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);
	char longest[16], limit[16];
	int code = EXIT_DONE;

	if ((options->max_stalls_given || options->max_stall_ns) && !stalls_seen(stalls)) {
		print_text(stderr, "dwell blocked: no poll and no turn of a worker was seen, so no "
				   "limit was checked\n");
		return EXIT_INCONCLUSIVE;
	}
	for (size_t i = 0; i < count; i++) {
		struct stall_open open;

		if (!stalls_open(stalls, &workers[i], &open) || open.in_place)
			continue;
		blamed++;
		if (open.duration_ns > longest_ns)
			longest_ns = open.duration_ns;
	}
	if (options->max_stalls_given && blamed > options->max_stalls) {
		print_text(stderr, "dwell blocked: %llu stall%s: more than %llu\n",
			   (unsigned long long)blamed, text_plural(blamed),
			   (unsigned long long)options->max_stalls);
		code = EXIT_CHECK_FAILED;
	}
	if (options->max_stall_ns && longest_ns > options->max_stall_ns) {
		duration_format(longest, sizeof(longest), longest_ns);
		duration_format(limit, sizeof(limit), options->max_stall_ns);
		print_text(stderr, "dwell blocked: a stall of %s: more than %s\n", longest, limit);
		code = EXIT_CHECK_FAILED;
	}
	return code;
}
