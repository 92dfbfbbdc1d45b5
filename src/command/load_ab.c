// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_ab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/print.h"
#include "base/status_line.h"
#include "command/command.h"
#include "command/load_ab_words.h"
#include "command/load_list.h"
#include "results/load_pairs.h"

struct ab {
	const struct load_options *options;
	struct load_pairs pairs;
	struct status_line line;
};

/* How far it is, and what is known of the throughput. */
static void draw_line(void *data)
{
	struct ab *ab = data;
	const struct load_pairs *pairs = &ab->pairs;
	char elapsed[16], known[64] = "";

	if (!ab->line.shown)
		return;
	duration_format(elapsed, sizeof(elapsed), clock_monotonic_ns() - pairs->started_ns);
	for (size_t i = 0; i < pairs->comparison.count; i++) {
		const struct load_compared *compared = &pairs->comparison.groups[i];

		if (!compared->a || !compared->b)
			continue;
		snprintf(known, sizeof(known), "; so far B has %+.1f %% iterations",
			 100 * compared->changes[METRIC_ITERATIONS].relative);
		break;
	}
	status_line_show(&ab->line, "pair %u of at most %u, %s%s", pairs->course.pairs + 1,
			 pairs->plan.pairs, elapsed, known);
}

static void warn(void *data, const char *text)
{
	struct ab *ab = data;

	status_line_clear(&ab->line);
	print_text(stderr, "dwell load: %s\n", text);
}

static void become(void *data, pid_t parent, int out, int error)
{
	const struct ab *ab = data;

	forked_prepare(parent, out, error);
	load_ab_become(ab->options, &ab->pairs);
	print_text(stderr, "cannot run this program again: %s\n", strerror(errno));
}

static int check_spec(struct ab *ab, struct load *load, int side, struct spec *spec,
		      struct error *error)
{
	struct load_given given = ab->options->given;
	int result;

	given.path = ab->pairs.paths[side];
	result = load_given_add(&given, spec, error);
	if (result >= 0)
		result = plan_check(spec, &load->topology, !load->options.dry_run, error);
	if (result >= 0 && !ab->options->dry_run)
		result = cgroups_check(spec, error);
	if (result >= 0 && side == 0)
		ab->pairs.seed = spec->seed_given ? spec->seed : clock_realtime_ns() % 1000000000;
	if (result >= 0 && ab->options->dry_run) {
		print_text(stdout, "%c: ", side ? 'B' : 'A');
		spec->seed = ab->pairs.seed;
		result = load_print_plan(spec, &load->topology, error);
	}
	return result;
}

/*
 * That B's mistakes are found before A has run, and that there will be something to compare; of
 * --dry-run, the plans of both.
 */
static int check_specs(struct ab *ab, struct load *load, struct error *error)
{
	int result = topology_read(&load->topology, "/sys", NULL, error);
	struct spec specs[2];

	for (int side = 0; side < 2; side++)
		spec_init(&specs[side]);
	for (int side = 0; result >= 0 && side < 2; side++)
		result = check_spec(ab, load, side, &specs[side], error);
	if (result >= 0 && !ab_plan_can_compare(&specs[0], &specs[1]))
		result = error_set(error, EINVAL,
				   "%s and %s have no group in common: nothing to compare (the "
				   "same work in a cgroup of the same name)",
				   ab->pairs.paths[0], ab->pairs.paths[1]);
	for (int side = 0; side < 2; side++)
		spec_release(&specs[side]);
	return result;
}

static int write_page(struct output *out, const void *result)
{
	const struct ab *ab = result;
	const struct load_pairs *pairs = &ab->pairs;

	compare_table(out, &pairs->comparison, pairs->paths, &pairs->course, ab->options->ab.all);
	return 0;
}

static int emit_compared(const struct emit *emit, const void *result)
{
	const struct ab *ab = result;
	const struct load_pairs *pairs = &ab->pairs;

	compare_emit(emit, &pairs->comparison, pairs->paths, &pairs->course);
	return 0;
}

static const struct result_kind kind = {
	.schema = &compare_load_schema, .page = write_page, .emit = emit_compared};

static enum exit_code exit_code_of(const struct load_comparison *comparison,
				   const struct compare_course *course)
{
	/* those that came to their end say nothing of those that did not */
	if (comparison->answer == LOAD_EQUAL && course->end == COMPARE_FAILED)
		return EXIT_INCONCLUSIVE;
	return comparison->answer == LOAD_DIFFERENT ? EXIT_CHECK_FAILED
	       : comparison->answer == LOAD_EQUAL   ? EXIT_DONE
						    : EXIT_INCONCLUSIVE;
}

int load_ab(struct load *load)
{
	const struct load_options *options = &load->options;
	struct ab ab = {
		.options = options,
		.pairs = {.paths = {options->given.path, options->ab.other},
			  .save = options->save,
			  .question = options->ab.question,
			  .wanted = (unsigned int)options->ab.pairs,
			  .started_ns = clock_monotonic_ns(),
			  .course = {.budget_ns = options->ab.budget_ns},
			  .children = {
				  .data = &ab, .become = become, .tick = draw_line, .warn = warn}}};
	struct error error = {""};
	int result = check_specs(&ab, load, &error);

	if (result < 0)
		return command_fail("load", EXIT_USAGE, &error);
	if (options->dry_run)
		return EXIT_DONE;
	status_line_begin(&ab.line, !options->quiet);
	ab.pairs.is_shown = ab.line.shown;
	result = load_pairs_run(&ab.pairs, &error);
	status_line_clear(&ab.line);
	if (result >= 0)
		result = result_print(&options->output, &kind, &ab, &error);
	if (result < 0)
		result =
			command_fail("load", result == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	else
		result = (int)exit_code_of(&ab.pairs.comparison, &ab.pairs.course);
	load_pairs_release(&ab.pairs);
	return result;
}
