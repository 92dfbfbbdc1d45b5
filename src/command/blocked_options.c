// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"
#include "command/command.h"

#define RING_MIN (64U << 10)
#define RING_MAX (1U << 30)
/* Some intervals, or shares are of one. */
#define WINDOW_MIN_NS NS_PER_S

static const char text[] =
	"Shows what blocks the workers of an async runtime, or of an event loop: which function, "
	"why, for how long, and how often. Attaches to a running process; nothing is rebuilt."
	"\v"
	"Examples:\n"
	"  dwell blocked orders-api                    watch its workers\n"
	"  dwell blocked orders-api -d 30s             what held a worker\n"
	"  dwell blocked -p 1234 --threshold 1ms\n"
	"  dwell blocked -- ./orders-api --port 80     from its first instruction on\n"
	"  dwell blocked -p 1234 -d 10s --format json  a line a stall\n"
	"  dwell blocked -p 1234 --max-stall 50ms      exit 3 if one is longer\n";

static int take_frequency(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	uint64_t frequency;
	int result = parsing_count(value, "--freq", &frequency, error);

	if (result == 0 && frequency > 10000)
		return error_set(error, EINVAL, "--freq %s is too much: 10000 at most", value);
	options->spans.frequency = (unsigned int)frequency;
	return result;
}

static int take_runtime(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	options->runtime = runtime_find(value);
	return options->runtime || !strcmp(value, "auto")
		       ? 0
		       : parsing_unknown(error, "runtime", value, RUNTIME_CHOICES);
}

static int take_threshold(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	int result = duration_parse(value, &options->spans.threshold_ns, error);

	if (!strcmp(value, "0"))
		return error_set(error, EINVAL, "--threshold 0 is too short (10us at least)");
	if (result == 0 && options->spans.threshold_ns < 10 * NS_PER_US)
		return error_set(error, EINVAL, "--threshold %s is too short (10us at least)",
				 value);
	return result;
}

static int take_budget(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	char *end;
	double percent = strtod(value, &end);

	if (end == value || *end || !(percent > 0 && percent <= 100))
		return error_set(error, EINVAL,
				 "--budget %s: a number of percent, above 0, 100 at most", value);
	options->spans.budget = percent / 100;
	return 0;
}

static int take_ring(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	uint64_t bytes;
	int result = size_parse(value, &bytes, error);

	if (result < 0)
		return result;
	/* a stack with its registers is a little over 32 KiB */
	if (bytes & (bytes - 1) || bytes < RING_MIN || bytes > RING_MAX)
		return error_set(error, EINVAL, "--ring %s: use a power of two from 64K to 1G",
				 value);
	options->spans.ring_bytes = (uint32_t)bytes;
	return 0;
}

static int take_ready_fd(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	uint64_t fd;
	int result = parsing_count(value, "--ready-fd", &fd, error);

	if (result == 0 && (fd > INT_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0))
		return error_set(error, EINVAL, "--ready-fd %s: no such descriptor is open", value);
	if (result == 0)
		options->ready_fd = (int)fd;
	return result;
}

static int take_name(void *targets, const char *value, struct error *error)
{
	return targets_add_name(targets, value, error);
}

static int take_process(void *targets, const char *value, struct error *error)
{
	return targets_parse(targets, value, TARGET_PROCESS, error);
}

static int take_workers(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	if (!*value || strlen(value) >= sizeof(options->spans.prefix))
		return error_set(error, EINVAL,
				 "--workers '%s': names of threads have 1 to 15 bytes", value);
	snprintf(options->spans.prefix, sizeof(options->spans.prefix), "%s", value);
	return 0;
}

static int take_window(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	int result = duration_parse(value, &options->window_ns, error);

	if (result == 0 && options->window_ns < WINDOW_MIN_NS)
		return error_set(error, EINVAL, "--window %s is too short (1s at least)", value);
	return result;
}

/* From 0 up. */
static int take_max_stalls(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	options->max_stalls_given = true;
	options->max_stalls = 0;
	if (!strcmp(value, "0") ||
	    parsing_count(value, "--max-stalls", &options->max_stalls, NULL) >= 0)
		return 0;
	return error_set(error, EINVAL, "--max-stalls needs a number from 0 up, not '%s'", value);
}

static int take_by(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	for (size_t i = 0; i < BLOCKED_ROWS_COUNT; i++) {
		if (!strcmp(blocked_row_schemas[i]->table, value)) {
			options->by = (enum blocked_rows)i;
			return 0;
		}
	}
	return parsing_unknown(error, "kind of rows", value, "hotspot or task");
}

static int take_export_format(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	options->export_format = blocked_export_find(value);
	return options->export_format
		       ? 0
		       : parsing_unknown(error, "export format", value, "chrome, folded or json");
}

static const struct command_option blocked_option_table[] = {
	OPTION_GROUP(1, "What to look into:"),
	TAKEN_MEMBER("pid", 'p', "PID", struct blocked_options, watch.targets, take_process,
		     "a process"),
	TAKEN_MEMBER("name", 'n', "NAME", struct blocked_options, watch.targets, take_name,
		     "the process of this name, or of a pattern: 'orders*'"),
	TAKEN_OPTION("runtime", 0, "RUNTIME", take_runtime, RUNTIME_CHOICES " (auto)"),
	TEXT_OPTION("target", 0, "FILE", struct blocked_options, symbols,
		    "the program with its symbols, if it runs stripped"),
	TAKEN_OPTION("workers", 0, "PREFIX", take_workers,
		     "treat threads whose names start with PREFIX as workers (auto-detect)"),
	FLAG_OPTION("no-uprobes", 0, struct blocked_options, no_uprobes,
		    "no probes on the runtime's functions"),
	OPTION_GROUP(2, "What to report:"),
	TAKEN_OPTION("threshold", 0, "TIME", take_threshold,
		     "report polls and turns longer than this (5ms)"),
	TIME_OPTION("duration", 'd', struct blocked_options, watch.duration_ns, "stop after TIME"),
	TAKEN_OPTION("window", 0, "TIME", take_window, "rolling window: keep only the last TIME"),
	TAKEN_OPTION("freq", 0, "HZ", take_frequency,
		     "samples a second of what runs, at least (99); short thresholds need more"),
	TAKEN_OPTION("budget", 0, "PERCENT", take_budget,
		     "what dwell may cost the target, of its CPU time (5); above it polls are "
		     "probed for a part of the time; 100: always"),
	TAKEN_OPTION("ring", 0, "SIZE", take_ring,
		     "ring buffer, a power of two (16M); stalls that overflow it are dropped and "
		     "counted"),
	TAKEN_MEMBER("unwind", 0, "HOW", struct blocked_options, spans.stacks, parsing_unwind,
		     "auto: by unwind tables; dwarf: the same; fp: by frame pointers (auto)"),
	TAKEN_MEMBER("own", 0, "PREFIX", struct blocked_options, spans.stacks, parsing_own,
		     "your code: functions, source or mapped files that begin so; may be repeated"),
	FLAG_OPTION("blame", 0, struct blocked_options, watch.blame,
		    "also because of whom the workers waited for a CPU"),
	TAKEN_OPTION("by", 0, "WHAT", take_by,
		     "rows of table, csv and jsonl: a row per hotspot, or per type of task "
		     "(hotspot)"),
	SCREEN_OPTIONS(struct blocked_options, " (tui on a terminal, else table)",
		       " (20 on the page)"),
	FLAG_OPTION("headless", 0, struct blocked_options, headless,
		    "no screen: a summary at the end"),
	TAKEN_OPTION("ready-fd", 0, "N", take_ready_fd,
		     "write `ready` to this descriptor when all is attached, and close it"),
	FLAG_OPTION("verbose", 'v', struct blocked_options, verbose,
		    "also report how dwell found runtime and workers"),
	OPTION_GROUP(3, "Files:"),
	TEXT_OPTION("record", 0, "FILE", struct blocked_options, record,
		    "keep all of it for --from"),
	TEXT_OPTION("from", 0, "FILE", struct blocked_options, from,
		    "from a recording, in place of a process"),
	TEXT_OPTION("export", 0, "FILE", struct blocked_options, export,
		    "write the stalls for another program"),
	TAKEN_OPTION("export-format", 0, "FORMAT", take_export_format,
		     "chrome (a trace), folded (stacks) or json; by FILE's name: .folded is "
		     "folded, .json, .trace, .chrome and none are chrome"),
	FLAG_OPTION("force", 0, struct blocked_options, force, "replace existing files"),
	OPTION_GROUP(4, "As a check:"),
	TAKEN_OPTION("max-stalls", 0, "N", take_max_stalls,
		     "exit with status 3 if there were more"),
	TIME_OPTION("max-stall", 0, struct blocked_options, max_stall_ns,
		    "exit with status 3 if one was longer"),
	END_OF_OPTIONS,
};

const struct command_line blocked_line = {
	.options = blocked_option_table,
	.arguments = "[NAME | -- COMMAND [ARGUMENT...]]",
	.text = text,
	.argument_member = offsetof(struct blocked_options, watch),
	.take_argument = watch_take_argument,
	.end = blocked_options_end,
};
