// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell blocked`: what blocks the workers of an async runtime. */
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "command/command.h"
#include "command/watch.h"
#include "model/stalls.h"
#include "model/summary.h"
#include "runtime/runtime.h"
#include "view/blocked.h"

#define DEFAULT_THRESHOLD_NS (5 * NS_PER_MS)
#define DEFAULT_FREQUENCY    99
/* How often workers are looked at: one that is stuck is seen after so long. */
#define INTERVAL_NS  (250 * NS_PER_MS)
#define DEFAULT_ROWS 20

enum blocked_format {
	FORMAT_TABLE,
	FORMAT_JSON,
};

enum {
	OPTION_THRESHOLD = 512,
	OPTION_RUNTIME,
	OPTION_FREQUENCY,
	OPTION_NO_UPROBES,
	OPTION_UNWIND,
	OPTION_TARGET,
	OPTION_HEADLESS,
	OPTION_FORMAT,
	OPTION_TOP,
	OPTION_MAX_STALLS,
	OPTION_MAX_STALL,
};

struct blocked {
	struct parsing parsing;
	struct watch_options watch;
	struct span_options spans;
	const struct runtime_ops *runtime; /* NULL: whichever is there */
	const char *symbols;		   /* --target */
	enum blocked_format format;
	bool no_uprobes;
	bool verbose;
	size_t top;
	bool max_stalls_given;
	uint64_t max_stalls, max_stall_ns; /* max_stall_ns 0: no limit */
	/* while it runs */
	struct stalls *stalls;
	struct summary summary;
	struct output output;
};

static const char doc[] =
	"Tells what blocks the workers of an async runtime, or of an event loop: which function, "
	"why, for how long, and how often. Attaches to a running process; nothing is rebuilt."
	"\v"
	"Examples:\n"
	"  dwell blocked orders-api -d 30s             what kept a worker for more than 5 ms\n"
	"  dwell blocked -p 1234 --threshold 1ms\n"
	"  dwell blocked -p 1234 -d 10s --format json  a line for each stall, and a summary\n"
	"  dwell blocked -p 1234 -d 60s --max-stall 50ms  exit status 3 if one was longer\n";

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "What to look into:", 1},
	{"pid", 'p', "PID", 0, "a process", 1},
	{"runtime", OPTION_RUNTIME, "RUNTIME", 0, "auto, tokio or loop (auto)", 1},
	{"target", OPTION_TARGET, "FILE", 0, "the program with its symbols, if it runs stripped",
	 1},
	{"no-uprobes", OPTION_NO_UPROBES, 0, 0, "no probes on the runtime's functions", 1},
	{0, 0, 0, 0, "What to tell:", 2},
	{"threshold", OPTION_THRESHOLD, "TIME", 0,
	 "from this length on a poll or turn is a stall (5ms)", 2},
	{"duration", 'd', "TIME", 0, "end after this time", 2},
	{"freq", OPTION_FREQUENCY, "HZ", 0,
	 "samples a second of what runs, at least (99); short thresholds need more", 2},
	{"unwind", OPTION_UNWIND, "HOW", 0,
	 "auto: by unwind tables; dwarf: the same; fp: by frame pointers (auto)", 2},
	{"format", OPTION_FORMAT, "FORMAT", 0, "table or json (table)", 2},
	{"headless", OPTION_HEADLESS, 0, 0, "no screen: a summary at the end", 2},
	{"top", OPTION_TOP, "N", 0, "hotspots to show (20; all in json)", 2},
	{"verbose", 'v', 0, 0, "tell how the runtime and its workers were found", 2},
	{0, 0, 0, 0, "As a check:", 3},
	{"max-stalls", OPTION_MAX_STALLS, "N", 0, "exit with status 3 if there were more", 3},
	{"max-stall", OPTION_MAX_STALL, "TIME", 0, "exit with status 3 if one was longer", 3},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static int take_frequency(struct blocked *blocked, const char *value, struct error *error)
{
	uint64_t frequency;
	int result = parsing_count(value, "--freq", &frequency, error);

	if (result == 0 && frequency > 10000)
		return error_set(error, EINVAL, "--freq %s is too much: 10000 at most", value);
	blocked->spans.frequency = (unsigned int)frequency;
	return result;
}

static int take_unwind(struct blocked *blocked, const char *value, struct error *error)
{
	if (!strcmp(value, "fp"))
		blocked->spans.unwind = SPAN_UNWIND_FRAME_POINTERS;
	else if (!strcmp(value, "auto") || !strcmp(value, "dwarf"))
		blocked->spans.unwind = SPAN_UNWIND_AUTO;
	else
		return parsing_unknown(error, "unwinding", value, "auto, dwarf or fp");
	return 0;
}

static int take_format(struct blocked *blocked, const char *value, struct error *error)
{
	if (!strcmp(value, "table"))
		blocked->format = FORMAT_TABLE;
	else if (!strcmp(value, "json"))
		blocked->format = FORMAT_JSON;
	else
		return parsing_unknown(error, "format", value, "table or json");
	return 0;
}

static int take_runtime(struct blocked *blocked, const char *value, struct error *error)
{
	blocked->runtime = runtime_find(value);
	return blocked->runtime || !strcmp(value, "auto")
		       ? 0
		       : parsing_unknown(error, "runtime", value, "auto, tokio or loop");
}

static int take_threshold(struct blocked *blocked, const char *value, struct error *error)
{
	int result = duration_parse(value, &blocked->spans.threshold_ns, error);

	if (!strcmp(value, "0"))
		return error_set(error, EINVAL, "--threshold 0 is too short (10us at least)");
	if (result == 0 && blocked->spans.threshold_ns < 10 * NS_PER_US)
		return error_set(error, EINVAL, "--threshold %s is too short (10us at least)",
				 value);
	return result;
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

static int take_option(struct blocked *blocked, int key, const char *value, struct error *error)
{
	uint64_t count;
	int result;

	switch (key) {
	case 'p':
		return targets_parse(&blocked->watch.targets, value, TARGET_PROCESS, error);
	case 'd':
		return duration_parse(value, &blocked->watch.duration_ns, error);
	case 'v':
		blocked->verbose = true;
		return 0;
	case OPTION_THRESHOLD:
		return take_threshold(blocked, value, error);
	case OPTION_RUNTIME:
		return take_runtime(blocked, value, error);
	case OPTION_FREQUENCY:
		return take_frequency(blocked, value, error);
	case OPTION_NO_UPROBES:
		blocked->no_uprobes = true;
		return 0;
	case OPTION_UNWIND:
		return take_unwind(blocked, value, error);
	case OPTION_TARGET:
		blocked->symbols = value;
		return 0;
	case OPTION_HEADLESS:
		return 0;
	case OPTION_FORMAT:
		return take_format(blocked, value, error);
	case OPTION_TOP:
		result = parsing_count(value, "--top", &count, error);
		blocked->top = (size_t)count;
		return result;
	case OPTION_MAX_STALLS:
		blocked->max_stalls_given = true;
		return take_count_from_zero(value, "--max-stalls", &blocked->max_stalls, error);
	case OPTION_MAX_STALL:
		return duration_parse(value, &blocked->max_stall_ns, error);
	case ARGP_KEY_ARG:
		return targets_add_name(&blocked->watch.targets, value, error);
	case ARGP_KEY_END:
		if (blocked->watch.targets.count != 1)
			return error_set(error, EINVAL,
					 blocked->watch.targets.count
						 ? "one process at a time"
						 : "which process? dwell blocked NAME, or -p PID");
		return 0;
	}
	return 1;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct blocked *blocked = state->input;
	int result;

	if (!blocked)
		return ARGP_ERR_UNKNOWN;
	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	result = take_option(blocked, key, value, &blocked->parsing.error);
	return result > 0 ? ARGP_ERR_UNKNOWN : parsing_result(&blocked->parsing, result);
}

static const struct argp blocked_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "[NAME]",
	.doc = doc,
};

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct blocked *blocked = data;
	struct stall stall;
	int result = stalls_feed(blocked->stalls, record, &stall);

	if (result < 0)
		return error_set(error, -result, "cannot take a record: %s", strerror(-result));
	if (result == 1 && blocked->format == FORMAT_JSON) {
		blocked_json_stall(&blocked->output, blocked->stalls, &stall);
		if (output_flush(&blocked->output) < 0)
			return error_set(error, blocked->output.error,
					 "cannot write to standard output: %s",
					 strerror(blocked->output.error));
	}
	return 0;
}

static int take_interval(void *data, struct interval *interval, struct error *error)
{
	struct blocked *blocked = data;

	if (summary_add(&blocked->summary, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return 0;
}

/* The runtime's probes as the source takes them. The strings stay the plan's. */
static int set_probes(struct blocked *blocked, const struct runtime_plan *plan)
{
	blocked->spans.runtime = plan->runtime->name;
	blocked->spans.turns = plan->turns;
	blocked->spans.probes =
		calloc(plan->count ? plan->count : 1, sizeof(*blocked->spans.probes));
	if (!blocked->spans.probes)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++)
		blocked->spans.probes[i] = (struct span_probe){
			.path = plan->probes[i].path,
			.offset = plan->probes[i].offset,
			.kind = plan->probes[i].polls == POLLS_TASKS ? SPAN_POLL : SPAN_POOL,
			.type = plan->probes[i].type,
		};
	blocked->spans.probe_count = plan->count;
	return 0;
}

static int watch_workers(struct blocked *blocked, struct error *error)
{
	struct watch watch = WATCH_NONE;
	int result;

	watch.options = &blocked->watch;
	watch.audience = (struct audience){
		.data = blocked, .interval = take_interval, .record = take_record};
	watch.spans = &blocked->spans;
	result = watch_open(&watch, error);
	if (result >= 0 && blocked->verbose)
		fprintf(stderr, "dwell blocked: watching %s %u\n", blocked->spans.process,
			blocked->spans.pid);
	if (result >= 0)
		result = watch_run(&watch, error);
	/* the summary knows what is missing from what the watch still holds */
	if (result >= 0) {
		struct blocked_summary summary = {
			.stalls = blocked->stalls,
			.whole = &blocked->summary.whole,
			.measured_ns = blocked->summary.measured_ns,
			.top = blocked->top,
		};

		if (blocked->format == FORMAT_JSON) {
			blocked_json_summary(&blocked->output, &summary);
		} else {
			summary.top = summary.top ? summary.top : DEFAULT_ROWS;
			blocked_table(&blocked->output, &summary);
		}
		if (output_flush(&blocked->output) < 0)
			result = error_set(error, blocked->output.error,
					   "cannot write to standard output: %s",
					   strerror(blocked->output.error));
	}
	watch_release(&watch);
	return result;
}

static int run(struct blocked *blocked, struct error *error)
{
	struct runtime_plan plan = {0};
	const struct runtime_ops *runtime = blocked->runtime;
	int result;

	blocked->spans.pid = blocked->watch.targets.items[0].id;
	target_process_name(blocked->spans.pid, blocked->spans.process);
	if (blocked->no_uprobes)
		runtime = &runtime_loop;
	blocked->stalls = stalls_new();
	if (!blocked->stalls || output_init(&blocked->output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = runtime_plan_make(&plan, runtime, blocked->spans.pid, blocked->symbols, error);
	if (result >= 0 && blocked->verbose)
		fprintf(stderr, "dwell blocked: runtime %s: %s\n", plan.runtime->name, plan.why);
	if (result >= 0 && set_probes(blocked, &plan) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = watch_workers(blocked, error);
	free(blocked->spans.probes);
	runtime_plan_release(&plan);
	return result;
}

/* Whether the limits given were kept; tells if not. */
static bool check(const struct blocked *blocked)
{
	const struct stall_counts *counts = stalls_counts(blocked->stalls);
	char longest[16], limit[16];
	bool kept = true;

	if (blocked->max_stalls_given && counts->stalls - counts->in_place > blocked->max_stalls) {
		fprintf(stderr, "dwell blocked: %llu stalls: more than %llu\n",
			(unsigned long long)(counts->stalls - counts->in_place),
			(unsigned long long)blocked->max_stalls);
		kept = false;
	}
	if (blocked->max_stall_ns && counts->max_ns > blocked->max_stall_ns) {
		duration_format(longest, sizeof(longest), counts->max_ns);
		duration_format(limit, sizeof(limit), blocked->max_stall_ns);
		fprintf(stderr, "dwell blocked: a stall of %s: more than %s\n", longest, limit);
		kept = false;
	}
	return kept;
}

static int blocked_run(int argc, char **argv)
{
	struct blocked blocked = {
		.spans = {.threshold_ns = DEFAULT_THRESHOLD_NS, .frequency = DEFAULT_FREQUENCY}};
	struct error error = {""};
	int result, code;

	watch_options_init(&blocked.watch);
	blocked.watch.source = SOURCE_BPF;
	blocked.watch.interval_ns = INTERVAL_NS;
	code = parsing_run(&blocked_argp, "dwell blocked", argc, argv, &blocked, &blocked.parsing);
	if (code != EXIT_DONE)
		return code;
	result = run(&blocked, &error);
	if (result < 0)
		code = command_fail("blocked", EXIT_NOT_RUN, &error);
	else if (!check(&blocked))
		code = EXIT_CHECK_FAILED;
	output_release(&blocked.output);
	stalls_free(blocked.stalls);
	summary_release(&blocked.summary);
	targets_release(&blocked.watch.targets);
	return code;
}

const struct command command_blocked = {
	.name = "blocked",
	.summary = "what blocks an async runtime's workers",
	.argp = &blocked_argp,
	.run = blocked_run,
};
