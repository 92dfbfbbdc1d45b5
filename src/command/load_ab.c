// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_ab.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/print.h"
#include "base/status_line.h"
#include "command/command.h"
#include "command/load_child.h"
#include "command/load_list.h"
#include "load/ab_plan.h"
#include "scheduler/scheduler.h"
#include "view/compare.h"

#define VOID_MAX  3		/* pairs in a row that cannot be run */
#define WORDS_MAX (32 + 4 * 64) /* of a command line; checks and values are at most 64 */

struct ab {
	const struct load_options *options;
	const char *paths[2];
	uint64_t seed;
	struct ab_plan plan;
	struct load_side sides[2];
	struct load_comparison comparison;
	struct compare_course course;
	uint64_t started_ns;
	struct load_children children;
	struct status_line line;
	char scheduler[64]; /* of sched_ext, at the start; empty: none */
	/* the present pair: what each side has written, and which one runs */
	int reports[2];
	int side;
};

/* How far it is, and what is known of the throughput. */
static void draw_line(void *data)
{
	struct ab *ab = data;
	char elapsed[16], known[64] = "";

	if (!ab->line.shown)
		return;
	duration_format(elapsed, sizeof(elapsed), clock_monotonic_ns() - ab->started_ns);
	for (size_t i = 0; i < ab->comparison.count; i++) {
		const struct load_compared *compared = &ab->comparison.groups[i];

		if (!compared->a || !compared->b)
			continue;
		snprintf(known, sizeof(known), "; so far B has %+.1f %% iterations",
			 100 * compared->changes[METRIC_ITERATIONS].relative);
		break;
	}
	status_line_show(&ab->line, "pair %u of at most %u, %s%s", ab->course.pairs + 1,
			 ab->plan.pairs, elapsed, known);
}

/* The command line of a run: what was given for both, and the seed of its pair. */
static void make_words(const struct ab *ab, int side, const char **words, char seed[24],
		       char duration[24], char save[PATH_MAX])
{
	const struct load_options *options = ab->options;
	size_t count = 0;

	snprintf(seed, 24, "%llu", (unsigned long long)(ab->seed + ab->course.pairs));
	snprintf(duration, 24, "%lluns", (unsigned long long)options->given.duration_ns);
	words[count++] = "dwell";
	words[count++] = "load";
	words[count++] = "--quiet";
	words[count++] = "--json";
	/* it would cost the side that has a scheduler more than the other */
	words[count++] = "--no-time-ops";
	words[count++] = "--seed";
	words[count++] = seed;
	if (options->given.duration_ns) {
		words[count++] = "--duration";
		words[count++] = duration;
	}
	for (unsigned int i = 0; i < options->given.check_count; i++) {
		words[count++] = "--check";
		words[count++] = options->given.checks[i];
	}
	for (unsigned int i = 0; i < options->given.set_count; i++) {
		words[count++] = "--set";
		words[count++] = options->given.sets[i];
	}
	if (options->cgroup_root) {
		words[count++] = "--cgroup-root";
		words[count++] = options->cgroup_root;
	}
	if (options->scratch) {
		words[count++] = "--scratch";
		words[count++] = options->scratch;
	}
	if (options->save) {
		words[count++] = "--save";
		words[count++] = save;
		snprintf(save, PATH_MAX, "%s/%c", options->save, side ? 'b' : 'a');
	}
	words[count++] = "--";
	words[count++] = ab->paths[side];
	words[count] = NULL;
}

static void become(void *data, pid_t parent, int out, int error)
{
	const struct ab *ab = data;
	const char *words[WORDS_MAX];
	char seed[24], duration[24], save[PATH_MAX];

	make_words(ab, ab->side, words, seed, duration, save);
	forked_prepare(parent, out, error);
	execv("/proc/self/exe", (char *const *)words);
	print_text(stderr, "cannot run this program again: %s\n", strerror(errno));
}

/* As load_children_run(). */
static int run_side(struct ab *ab, int side, struct error *error)
{
	char title[PATH_MAX + 8];
	int result;

	snprintf(title, sizeof(title), "%c (%s)", side ? 'B' : 'A', ab->paths[side]);
	ab->side = side;
	result = load_children_run(&ab->children, title, &ab->reports[side], error);
	if (ab->children.interrupted)
		ab->course.end = COMPARE_INTERRUPTED;
	return result;
}

/*
 * A scheduler that the kernel has thrown out leaves its runs to another one: what comes then says
 * nothing of it, nor do runs in which it ended.
 */
static int check_scheduler(const struct ab *ab, struct error *error)
{
	char now[sizeof(ab->scheduler)];

	scheduler_in_use(now, sizeof(now));
	if (!strcmp(now, ab->scheduler))
		return 0;
	return error_set(error, EIO,
			 "the scheduler has changed: it was %s, and is %s now; the pair in which "
			 "it did does not count",
			 *ab->scheduler ? ab->scheduler : "the kernel's own",
			 *now ? now : "the kernel's own");
}

/* 1: taken; 0: void; -errno. */
static int run_pair(struct ab *ab, struct error *error)
{
	bool b_first = ab_plan_begins_with_b(ab->seed, ab->course.pairs + ab->course.voided);
	int result = 1;

	ab->reports[0] = ab->reports[1] = -1;
	for (int i = 0; result > 0 && i < 2; i++) {
		result = run_side(ab, i ^ b_first, error);
		if (ab->course.end == COMPARE_INTERRUPTED)
			result = 0;
	}
	if (ab->course.end != COMPARE_INTERRUPTED && check_scheduler(ab, error) < 0)
		result = -EIO;
	for (int side = 0; side < 2; side++) {
		if (result > 0 &&
		    load_children_take(ab->reports[side], &ab->sides[side], error) < 0)
			result = -EIO;
		if (ab->reports[side] >= 0)
			close(ab->reports[side]);
	}
	return result;
}

static int look(struct ab *ab, double alpha, struct error *error)
{
	struct load_question question = ab->options->ab.question;

	question.alpha = alpha;
	question.by_turns = true;
	load_comparison_release(&ab->comparison);
	return load_compare(&ab->comparison, &ab->sides[0], &ab->sides[1], &question) < 0
		       ? error_set(error, ENOMEM, "out of memory")
		       : 0;
}

/* How many pairs fit, as long as the first one has taken. */
static void plan_by_budget(struct ab *ab)
{
	uint64_t each_ns = clock_monotonic_ns() - ab->started_ns;
	uint64_t pairs = ab->options->ab.budget_ns / (each_ns ? each_ns : 1);

	ab_plan_make(&ab->plan, pairs < 1	       ? 1
				: pairs > AB_PAIRS_MAX ? AB_PAIRS_MAX
						       : (unsigned int)pairs);
}

static bool is_decided(const struct ab *ab)
{
	return ab->comparison.answer == LOAD_DIFFERENT || ab->comparison.answer == LOAD_EQUAL;
}

/* Whether there is to be no other pair. */
static bool is_over(struct ab *ab)
{
	if (ab->course.end == COMPARE_INTERRUPTED)
		return true;
	if (ab_plan_looks(&ab->plan, ab->course.pairs) && is_decided(ab)) {
		ab->course.end = COMPARE_DECIDED;
		return true;
	}
	ab->course.end = ab->options->ab.budget_ns ? COMPARE_BUDGET : COMPARE_PAIRS;
	return ab->course.pairs >= ab->plan.pairs;
}

static int run_pairs(struct ab *ab, struct error *error)
{
	unsigned int in_a_row = 0;
	int result = 0;

	while (result >= 0 && !is_over(ab)) {
		result = run_pair(ab, error);
		if (ab->course.end == COMPARE_INTERRUPTED)
			break;
		if (result > 0) {
			in_a_row = 0;
		} else {
			ab->course.voided++;
			if (!ab->course.pairs)
				return result < 0 ? result : -EIO;
			/* a spec that is gone stays so; what has been measured is not lost by it */
			if (result < 0 || ++in_a_row == VOID_MAX) {
				ab->course.end = COMPARE_FAILED;
				status_line_clear(&ab->line);
				print_text(stderr, "dwell load: %s\n", error->text);
				break;
			}
			continue;
		}
		if (!ab->course.pairs++ && ab->options->ab.budget_ns)
			plan_by_budget(ab);
		/* the line on the terminal says what is known meanwhile, and ends nothing */
		if (ab_plan_looks(&ab->plan, ab->course.pairs) || ab->line.shown)
			result = look(ab, ab->plan.alpha, error);
	}
	if (!ab->course.pairs)
		return result;
	return look(ab, ab->plan.alpha, error);
}

static int check_spec(struct ab *ab, struct load *load, int side, struct spec *spec,
		      struct error *error)
{
	struct load_given given = ab->options->given;
	int result;

	given.path = ab->paths[side];
	result = load_given_add(&given, spec, error);
	if (result >= 0)
		result = plan_check(spec, &load->topology, !load->options.dry_run, error);
	if (result >= 0 && !ab->options->dry_run)
		result = cgroups_check(spec, error);
	if (result >= 0 && side == 0)
		ab->seed = spec->seed_given ? spec->seed : clock_realtime_ns() % 1000000000;
	if (result >= 0 && ab->options->dry_run) {
		print_text(stdout, "%c: ", side ? 'B' : 'A');
		spec->seed = ab->seed;
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
				   ab->paths[0], ab->paths[1]);
	for (int side = 0; side < 2; side++)
		spec_release(&specs[side]);
	return result;
}

static int write_page(struct output *out, const void *result)
{
	const struct ab *ab = result;

	compare_table(out, &ab->comparison, ab->paths, &ab->course, ab->options->ab.all);
	return 0;
}

static int emit_compared(const struct emit *emit, const void *result)
{
	const struct ab *ab = result;

	compare_emit(emit, &ab->comparison, ab->paths, &ab->course);
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
	struct ab ab = {.options = options,
			.paths = {options->given.path, options->ab.other},
			.started_ns = clock_monotonic_ns(),
			.course = {.budget_ns = options->ab.budget_ns},
			.children = {.data = &ab, .become = become, .tick = draw_line}};
	struct error error = {""};
	int result = check_specs(&ab, load, &error);

	if (result < 0)
		return command_fail("load", EXIT_USAGE, &error);
	if (options->dry_run)
		return EXIT_DONE;
	ab_plan_make(&ab.plan,
		     options->ab.pairs ? (unsigned int)options->ab.pairs : AB_PAIRS_DEFAULT);
	result = load_children_directory(options->save, &error);
	status_line_begin(&ab.line, !options->quiet);
	load_children_begin(&ab.children);
	scheduler_in_use(ab.scheduler, sizeof(ab.scheduler));
	if (result >= 0)
		result = run_pairs(&ab, &error);
	status_line_clear(&ab.line);
	load_children_end(&ab.children);
	ab.course.elapsed_ns = clock_monotonic_ns() - ab.started_ns;
	if (result >= 0 && !ab.course.pairs)
		result = error_set(&error, EINTR, "interrupted before the first pair had ended");
	if (result >= 0)
		result = result_print(&options->output, &kind, &ab, &error);
	if (result < 0)
		result =
			command_fail("load", result == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	else
		result = (int)exit_code_of(&ab.comparison, &ab.course);
	load_comparison_release(&ab.comparison);
	for (int side = 0; side < 2; side++)
		load_side_release(&ab.sides[side]);
	return result;
}
