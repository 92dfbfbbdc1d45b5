// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_options.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"
#include "command/command.h"

#define DEFAULT_THRESHOLD_NS (5 * NS_PER_MS)
#define DEFAULT_FREQUENCY    99
/* Stalls come with their stacks. */
#define DEFAULT_RING (16U << 20)
#define RING_MIN     (64U << 10)
#define RING_MAX     (1U << 30)
/* How often workers are looked at: one that is stuck is seen after so long. */
#define INTERVAL_NS (250 * NS_PER_MS)
/* Some intervals, or shares are of one. */
#define WINDOW_MIN_NS NS_PER_S

enum {
	OPTION_THRESHOLD = 512,
	OPTION_RUNTIME,
	OPTION_FREQUENCY,
	OPTION_NO_UPROBES,
	OPTION_UNWIND,
	OPTION_BLAME,
	OPTION_WORKERS,
	OPTION_TARGET,
	OPTION_HEADLESS,
	OPTION_WINDOW,
	OPTION_RING,
	OPTION_MAX_STALLS,
	OPTION_MAX_STALL,
	OPTION_RECORD,
	OPTION_FROM,
	OPTION_EXPORT,
	OPTION_EXPORT_FORMAT,
	OPTION_FORCE,
};

static const char doc[] =
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

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "What to look into:", 1},
	{"pid", 'p', "PID", 0, "a process", 1},
	{"runtime", OPTION_RUNTIME, "RUNTIME", 0, RUNTIME_CHOICES " (auto)", 1},
	{"target", OPTION_TARGET, "FILE", 0, "the program with its symbols, if it runs stripped",
	 1},
	{"workers", OPTION_WORKERS, "PREFIX", 0,
	 "treat threads whose names start with PREFIX as workers (auto-detect)", 1},
	{"no-uprobes", OPTION_NO_UPROBES, 0, 0, "no probes on the runtime's functions", 1},
	{0, 0, 0, 0, "What to report:", 2},
	{"threshold", OPTION_THRESHOLD, "TIME", 0, "report polls and turns longer than this (5ms)",
	 2},
	{"duration", 'd', "TIME", 0, "stop after TIME", 2},
	{"window", OPTION_WINDOW, "TIME", 0, "rolling window: keep only the last TIME", 2},
	{"freq", OPTION_FREQUENCY, "HZ", 0,
	 "samples a second of what runs, at least (99); short thresholds need more", 2},
	{"ring", OPTION_RING, "SIZE", 0,
	 "ring buffer, a power of two (16M); stalls that overflow it are dropped and counted", 2},
	{"unwind", OPTION_UNWIND, "HOW", 0,
	 "auto: by unwind tables; dwarf: the same; fp: by frame pointers (auto)", 2},
	{"blame", OPTION_BLAME, 0, 0, "also because of whom the workers waited for a CPU", 2},
	RESULT_OPTIONS("tui, " RESULT_FORMATS " (tui on a terminal, else table)",
		       " (20 on the page)", 2),
	SCREEN_OPTIONS(2),
	{"headless", OPTION_HEADLESS, 0, 0, "no screen: a summary at the end", 2},
	{"verbose", 'v', 0, 0, "report how dwell found the runtime and its workers", 2},
	{0, 0, 0, 0, "Files:", 3},
	{"record", OPTION_RECORD, "FILE", 0, "keep all of it for --from", 3},
	{"from", OPTION_FROM, "FILE", 0, "from a recording, in place of a process", 3},
	{"export", OPTION_EXPORT, "FILE", 0, "write the stalls for another program", 3},
	{"export-format", OPTION_EXPORT_FORMAT, "FORMAT", 0,
	 "chrome (a trace), folded (stacks) or json (by FILE's name, else chrome)", 3},
	{"force", OPTION_FORCE, 0, 0, "replace existing files", 3},
	{0, 0, 0, 0, "As a check:", 4},
	{"max-stalls", OPTION_MAX_STALLS, "N", 0, "exit with status 3 if there were more", 4},
	{"max-stall", OPTION_MAX_STALL, "TIME", 0, "exit with status 3 if one was longer", 4},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static int take_frequency(struct blocked_options *options, const char *value, struct error *error)
{
	uint64_t frequency;
	int result = parsing_count(value, "--freq", &frequency, error);

	if (result == 0 && frequency > 10000)
		return error_set(error, EINVAL, "--freq %s is too much: 10000 at most", value);
	options->spans.frequency = (unsigned int)frequency;
	return result;
}

static int take_unwind(struct blocked_options *options, const char *value, struct error *error)
{
	if (!strcmp(value, "fp"))
		options->spans.unwind = SPAN_UNWIND_FRAME_POINTERS;
	else if (!strcmp(value, "auto") || !strcmp(value, "dwarf"))
		options->spans.unwind = SPAN_UNWIND_AUTO;
	else
		return parsing_unknown(error, "unwinding", value, "auto, dwarf or fp");
	return 0;
}

static int take_runtime(struct blocked_options *options, const char *value, struct error *error)
{
	options->runtime = runtime_find(value);
	return options->runtime || !strcmp(value, "auto")
		       ? 0
		       : parsing_unknown(error, "runtime", value, RUNTIME_CHOICES);
}

static int take_threshold(struct blocked_options *options, const char *value, struct error *error)
{
	int result = duration_parse(value, &options->spans.threshold_ns, error);

	if (!strcmp(value, "0"))
		return error_set(error, EINVAL, "--threshold 0 is too short (10us at least)");
	if (result == 0 && options->spans.threshold_ns < 10 * NS_PER_US)
		return error_set(error, EINVAL, "--threshold %s is too short (10us at least)",
				 value);
	return result;
}

static int take_ring(struct blocked_options *options, const char *value, struct error *error)
{
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

static int take_count_from_zero(const char *value, const char *option, uint64_t *ret_count,
				struct error *error)
{
	if (!strcmp(value, "0")) {
		*ret_count = 0;
		return 0;
	}
	return parsing_count(value, option, ret_count, error);
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

static int check_together(struct blocked_options *options, struct error *error)
{
	unsigned int count = options->watch.targets.count + (options->watch.command != NULL);
	int result = result_options_end(&options->output, &blocked_schema, ~0U, error);

	if (result >= 0)
		result = choose_export_format(options, error);
	if (result < 0)
		return result;
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

static const struct plain_option plain[] = {
	TIME_OPTION('d', struct blocked_options, watch.duration_ns),
	FLAG_OPTION('v', struct blocked_options, verbose),
	FLAG_OPTION(OPTION_NO_UPROBES, struct blocked_options, no_uprobes),
	FLAG_OPTION(OPTION_BLAME, struct blocked_options, watch.blame),
	TEXT_OPTION(OPTION_TARGET, struct blocked_options, symbols),
	FLAG_OPTION(OPTION_HEADLESS, struct blocked_options, headless),
	TIME_OPTION(OPTION_MAX_STALL, struct blocked_options, max_stall_ns),
	TEXT_OPTION(OPTION_RECORD, struct blocked_options, record),
	TEXT_OPTION(OPTION_FROM, struct blocked_options, from),
	TEXT_OPTION(OPTION_EXPORT, struct blocked_options, export),
	FLAG_OPTION(OPTION_FORCE, struct blocked_options, force),
};

static int take_option(struct blocked_options *options, int key, const char *value,
		       struct error *error)
{
	int result = plain_option(plain, ARRAY_SIZE(plain), options, key, value, error);

	if (result <= 0)
		return result;
	switch (key) {
	case 'p':
		return targets_parse(&options->watch.targets, value, TARGET_PROCESS, error);
	case OPTION_THRESHOLD:
		return take_threshold(options, value, error);
	case OPTION_RUNTIME:
		return take_runtime(options, value, error);
	case OPTION_FREQUENCY:
		return take_frequency(options, value, error);
	case OPTION_UNWIND:
		return take_unwind(options, value, error);
	case OPTION_WORKERS:
		if (!*value || strlen(value) >= sizeof(options->spans.prefix))
			return error_set(error, EINVAL,
					 "--workers '%s': names of threads have 1 to 15 bytes",
					 value);
		snprintf(options->spans.prefix, sizeof(options->spans.prefix), "%s", value);
		return 0;
	case OPTION_RING:
		return take_ring(options, value, error);
	case OPTION_WINDOW:
		result = duration_parse(value, &options->window_ns, error);
		if (result == 0 && options->window_ns < WINDOW_MIN_NS)
			return error_set(error, EINVAL, "--window %s is too short (1s at least)",
					 value);
		return result;
	case OPTION_MAX_STALLS:
		options->max_stalls_given = true;
		return take_count_from_zero(value, "--max-stalls", &options->max_stalls, error);
	case OPTION_EXPORT_FORMAT:
		options->export_format = blocked_export_find(value);
		return options->export_format ? 0
					      : parsing_unknown(error, "export format", value,
								"chrome, folded or json");
	case ARGP_KEY_ARG:
		return parsing_name(&options->watch.targets, value, error);
	case ARGP_KEY_END:
		return check_together(options, error);
	}
	return result_option(&options->output, key, value, true, error);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct blocked_options *options = state->input;
	int result;

	if (!options)
		return ARGP_ERR_UNKNOWN;
	if (parsing_helps(key, state))
		return 0;
	/* behind `--` */
	if (key == ARGP_KEY_ARG && state->quoted && state->next > state->quoted) {
		options->watch.command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	result = take_option(options, key, value, &options->parsing.error);
	return parsing_result(&options->parsing, result);
}

const struct argp blocked_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "[NAME | -- COMMAND [ARGUMENT...]]",
	.doc = doc,
};

void blocked_options_init(struct blocked_options *options)
{
	*options = (struct blocked_options){
		.spans = {.threshold_ns = DEFAULT_THRESHOLD_NS,
			  .frequency = DEFAULT_FREQUENCY,
			  .ring_bytes = DEFAULT_RING},
		.output = {.page_keeps = PAGE_CUTS},
	};
	watch_options_init(&options->watch);
	options->watch.source = SOURCE_BPF;
	options->watch.interval_ns = INTERVAL_NS;
}
