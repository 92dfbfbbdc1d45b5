// SPDX-License-Identifier: GPL-2.0-or-later
/* What two measurements of blocked workers differ in. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "base/text.h"
#include "command/compare.h"
#include "session/replay.h"
#include "emit/read.h"
#include "model/comparison.h"
#include "model/stalls.h"
#include "view/blocked.h"
#include "view/blocked_words.h"
#include "view/compare.h"

#define DEFAULT_ROWS 20

struct compared_pair {
	const struct compare_options *options;
	struct compared_side sides[2];
	struct comparison comparison;
};

/* A recording on its way to a side. */
struct loading {
	struct stalls *stalls;
	uint64_t duration_ns;
};

static int load_record(void *data, const struct wire_header *record, struct error *error)
{
	struct loading *loading = data;
	struct stall stall;
	int result = stalls_feed(loading->stalls, record, &stall);

	return result < 0 ? error_set(error, -result, "cannot take a record: %s", strerror(-result))
			  : 0;
}

static int load_interval(void *data, struct interval *interval, struct error *error)
{
	struct loading *loading = data;

	(void)error;
	loading->duration_ns += interval->end_ns - interval->start_ns;
	return 0;
}

/* What was announced to the runtime is no fault, in neither of them. */
static int take_hotspots(struct compared_side *side, struct stalls *stalls)
{
	size_t count;
	const struct hotspot *hotspots;
	char name[BLOCKED_NAME_BYTES];
	int result = stalls_hotspots(stalls, HOTSPOTS_BY_FUNCTION, &hotspots, &count);

	for (size_t i = 0; result >= 0 && i < count; i++) {
		const struct frame *function = stalls_frame(stalls, hotspots[i].function);

		if (hotspots[i].in_place || stall_cause_is_machine(hotspots[i].cause))
			continue;
		*name = '\0';
		if (function)
			blocked_name(name, function);
		result = compared_add(side, name, stall_cause_info[hotspots[i].cause].key,
				      hotspots[i].count, hotspots[i].total_ns, hotspots[i].max_ns);
	}
	return result;
}

static int load_recording(struct compared_side *side, const char *path, struct error *error)
{
	struct loading loading = {.stalls = stalls_new(0)};
	struct replay replay = {
		.audience = {.data = &loading, .interval = load_interval, .record = load_record}};
	int result = loading.stalls ? replay_open(&replay, path, error)
				    : error_set(error, ENOMEM, "out of memory");

	if (result >= 0)
		result = replay_run(&replay, error);
	if (result >= 0 && !stalls_runtime(loading.stalls)->pid)
		result = error_set(error, EINVAL, "%s is not a recording of `dwell blocked`", path);
	if (result >= 0 && take_hotspots(side, loading.stalls) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0) {
		side->duration_ns = loading.duration_ns;
		side->threshold_ns = stalls_runtime(loading.stalls)->threshold_ns;
	}
	replay_release(&replay);
	stalls_free(loading.stalls);
	return result;
}

static uint64_t number_at(const struct schema *schema, const json_t *object, const char *key)
{
	json_int_t number = json_integer_value(result_read(schema, object, key));

	return number > 0 ? (uint64_t)number : 0;
}

/* No version of a program is better or worse for what its hypervisor did. */
static bool is_machine(const char *cause)
{
	for (int i = 0; cause && i < STALL_CAUSES_COUNT; i++)
		if (!strcmp(cause, stall_cause_info[i].key))
			return stall_cause_is_machine((enum stall_cause)i);
	return false;
}

static int take_summary(struct compared_side *side, const json_t *summary)
{
	const json_t *hotspots = result_read(&blocked_schema, summary, "hotspots");
	int result = 0;

	side->duration_ns = number_at(&blocked_schema, summary, "duration_ns");
	side->threshold_ns = number_at(&blocked_schema, summary, "threshold_ns");
	for (size_t i = 0; result >= 0 && i < json_array_size(hotspots); i++) {
		const json_t *hotspot = json_array_get(hotspots, i);
		const char *function = result_read_string(&hotspot_schema, hotspot, "function");
		const char *cause = result_read_string(&hotspot_schema, hotspot, "cause");

		if (result_read_string(&hotspot_schema, hotspot, "legitimate") || is_machine(cause))
			continue;
		result = compared_add(side, function ? function : "", cause ? cause : "",
				      number_at(&hotspot_schema, hotspot, "count"),
				      number_at(&hotspot_schema, hotspot, "total_ns"),
				      number_at(&hotspot_schema, hotspot, "max_ns"));
	}
	return result;
}

/* JSON lines; the summary is the one of type "blocked". */
static int load_json(struct compared_side *side, FILE *file, const char *path, struct error *error)
{
	bool found = false;
	int result = 0;

	while (result >= 0) {
		json_error_t why;
		json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &why);
		const char *type;

		if (!line)
			break;
		type = json_string_value(json_object_get(line, "type"));
		if (type && !strcmp(type, "blocked")) {
			found = true;
			if (take_summary(side, line) < 0)
				result = error_set(error, ENOMEM, "out of memory");
		}
		json_decref(line);
	}
	if (result >= 0 && !found)
		return error_set(error, EINVAL,
				 "%s is neither a recording nor JSON of `dwell blocked`", path);
	return result;
}

static int load(struct compared_side *side, const char *path, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	int first;

	if (!file)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	first = getc(file);
	if (first != '{')
		return load_recording(side, path, error);
	ungetc(first, file);
	return load_json(side, file, path, error);
}

static int show(const struct compared_pair *pair, struct error *error)
{
	struct blocked_comparison row = {.paths = pair->options->paths,
					 .sides = {&pair->sides[0], &pair->sides[1]},
					 .comparison = &pair->comparison};
	struct item item = {&row, NULL};
	struct output output;
	int result = 0;

	if (output_init(&output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (pair->options->output.format)
		result = result_write(&pair->options->output, &compare_blocked_schema, &item,
				      &output, error);
	else
		compare_blocked_table(&output, &row,
				      pair->options->top ? (size_t)pair->options->top
							 : DEFAULT_ROWS);
	if (result >= 0)
		result = command_write(&output, error);
	output_release(&output);
	return result;
}

int compare_blocked(const struct compare_options *options, enum exit_code *ret_code,
		    struct error *error)
{
	struct compared_pair pair = {.options = options};
	const struct comparison *comparison = &pair.comparison;
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++)
		result = load(&pair.sides[i], options->paths[i], error);
	if (result >= 0 && comparison_make(&pair.comparison, &pair.sides[0], &pair.sides[1]) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = show(&pair, error);
	if (result >= 0 && options->worse_given &&
	    comparison->share_b > comparison->share_a * (1 + options->worse)) {
		print_text(stderr, "dwell compare: %s is worse by more than %g %%\n",
			   options->paths[1], 100 * options->worse);
		*ret_code = EXIT_CHECK_FAILED;
	}
	comparison_release(&pair.comparison);
	for (int i = 0; i < 2; i++)
		compared_release(&pair.sides[i]);
	return result;
}
