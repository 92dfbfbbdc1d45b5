// SPDX-License-Identifier: GPL-2.0-or-later
/* What the options of `dwell blocked` are without a command line, and together. */
#include "command/blocked_options_parts.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"

#define DEFAULT_THRESHOLD_NS (5 * NS_PER_MS)
#define DEFAULT_FREQUENCY    99
#define DEFAULT_BUDGET	     0.05
/* Stalls come with their stacks. */
#define DEFAULT_RING (16U << 20)
/* How often workers are looked at: one that is stuck is seen after so long. */
#define INTERVAL_NS (250 * NS_PER_MS)

void blocked_options_init(struct blocked_options *options)
{
	*options = (struct blocked_options){
		.spans = {.threshold_ns = DEFAULT_THRESHOLD_NS,
			  .frequency = DEFAULT_FREQUENCY,
			  .ring_bytes = DEFAULT_RING,
			  .budget = DEFAULT_BUDGET},
		.output = {.page_keeps = PAGE_CUTS},
		.ready_fd = -1,
	};
	watch_options_init(&options->watch);
	options->watch.source = SOURCE_BPF;
	options->watch.interval_ns = INTERVAL_NS;
}

/* By the file's name where no format was asked for: no trace in a file that is named .html. */
static int choose_export_format(struct blocked_options *options, struct error *error)
{
	static const struct {
		const char *suffix, *format;
	} known[] = {
		{"", "chrome"},	       {".json", "chrome"},   {".trace", "chrome"},
		{".chrome", "chrome"}, {".folded", "folded"},
	};
	const char *slash = options->export ? strrchr(options->export, '/') : NULL;
	const char *name = slash ? slash + 1 : options->export;
	const char *dot = name && *name ? strrchr(name + 1, '.') : NULL;

	for (size_t i = 0; !options->export_format && i < ARRAY_SIZE(known); i++)
		if (!strcmp(dot ? dot : "", known[i].suffix))
			options->export_format = blocked_export_find(known[i].format);
	if (options->export_format)
		return 0;
	return error_set(error, EINVAL,
			 "--export %s: no format has names that end in '%s': add --export-format "
			 "chrome, folded or json",
			 options->export, dot);
}

int blocked_options_end(void *data, struct error *error)
{
	struct blocked_options *options = data;
	unsigned int count = options->watch.targets.count + (options->watch.command != NULL);
	int result =
		result_options_end(&options->output, blocked_row_schemas[options->by], ~0U, error);

	if (result >= 0 && options->by == BLOCKED_BY_TASK && options->output.screen)
		result = error_set(error, EINVAL,
				   "--by is for rows: use it with --format " RESULT_FORMATS);
	/* the page has both */
	if (options->by == BLOCKED_BY_TASK && !options->output.format) {
		options->output.format = &format_table;
		options->output.given = true;
	}
	options->watch.command_to_stderr = result_is_for_programs(&options->output);
	if (result >= 0 && options->export_format && !options->export)
		result = error_set(error, EINVAL, "--export-format needs --export FILE");
	if (result >= 0)
		result = choose_export_format(options, error);
	if (result < 0)
		return result;
	if (options->export && options->record && !strcmp(options->export, options->record))
		return error_set(error, EINVAL, "--export and --record name the same file: %s",
				 options->export);
	if (options->headless && options->output.screen)
		return error_set(error, EINVAL, "--headless is without --format tui");
	if (options->watch.blame && options->window_ns)
		return error_set(error, EINVAL, "--blame and --window cannot be combined");
	if (options->watch.blame && options->from)
		return error_set(error, EINVAL,
				 "--from shows the blame that was recorded, without --blame");
	if (options->from && count)
		return error_set(error, EINVAL, "give a process, a command or --from");
	if (options->from && options->record)
		return error_set(error, EINVAL, "--record and --from do not go together");
	if (options->from)
		return 0;
	if (count != 1)
		return error_set(
			error, EINVAL,
			count ? "one process, or one command, at a time"
			      : "which process? dwell blocked NAME, or -p PID, or -- COMMAND");
	return 0;
}
