// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_sweep.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/print.h"
#include "base/status_line.h"
#include "command/command.h"
#include "command/load_child.h"
#include "command/load_list.h"
#include "load/sweep.h"
#include "view/sweep.h"

#define VOID_MAX 3 /* runs in a row that do not come to their end */

/* Without --metrics: what waits cost, and what is done. */
#define METRICS_DEFAULT                                                                            \
	(1U << METRIC_WAKE_P99 | 1U << METRIC_COST_P99 | 1U << METRIC_RUN_DELAY |                  \
	 1U << METRIC_ITERATIONS)

struct course {
	struct load *load;
	struct sweep sweep;
	struct sweep_course known;
	struct load_children children;
	uint64_t seed, started_ns;
	struct status_line line;
	/* the present run */
	size_t step;
	unsigned int runs; /* so far, those that failed too */
};

static void draw_line(void *data)
{
	struct course *course = data;
	char elapsed[16], value[32];

	if (!course->line.shown)
		return;
	duration_format(elapsed, sizeof(elapsed), clock_monotonic_ns() - course->started_ns);
	sweep_format(value, sizeof(value), &course->sweep, course->step);
	status_line_show(&course->line, "run %u of %zu, %s: %s %s", course->runs + 1,
			 course->sweep.count * course->known.rounds_wanted, elapsed,
			 course->sweep.name, value);
}

/* In a child of its own: the spec and the options are a copy that may be changed. */
static void become(void *data, pid_t parent, int out, int error_fd)
{
	struct course *course = data;
	struct load *load = course->load;
	struct load_options *options = &load->options;
	struct error error = {""};
	int result;

	forked_prepare(parent, out, error_fd);
	options->output = (struct result_options){.format = NULL};
	options->quiet = true;
	options->spec.seed_given = true;
	options->spec.seed = course->seed + course->runs / course->sweep.count;
	result = result_take_json(&options->output, NULL, &error);
	if (result >= 0)
		result = spec_set_value(&options->spec, course->sweep.name,
					course->sweep.steps[course->step].text, &error);
	_exit(result < 0 ? command_fail("load", EXIT_USAGE, &error) : load_run_alone(load));
}

/* 1: taken; 0: it did not come to its end; -errno. */
static int run_step(struct course *course, struct error *error)
{
	struct sweep_step *step = &course->sweep.steps[course->step];
	char title[SPEC_NAME_BYTES * 2 + SWEEP_TEXT_BYTES + 4];
	int report, result;

	snprintf(title, sizeof(title), "%s=%s", course->sweep.name, step->text);
	result = load_children_run(&course->children, title, &report, error);
	if (course->children.interrupted)
		result = 0;
	if (result > 0 && load_children_take(report, &step->side, error) < 0)
		result = -EIO;
	if (report >= 0)
		close(report);
	return result;
}

/* A run that failed; -errno where there is no use in others. */
static int note_failure(struct course *course, int result, unsigned int in_a_row,
			struct error *error)
{
	course->sweep.steps[course->step].voided++;
	if (result >= 0 && in_a_row < VOID_MAX)
		return 0;
	course->known.end = SWEEP_FAILED;
	if (!course->known.runs)
		return result < 0 ? result : -EIO;
	status_line_clear(&course->line);
	print_text(stderr, "dwell load: %s\n", error->text);
	return 0;
}

static int run_steps(struct course *course, struct error *error)
{
	size_t order[SWEEP_STEPS_MAX];
	size_t all = course->sweep.count * course->known.rounds_wanted;
	unsigned int in_a_row = 0;
	int result = 0;

	course->known.end = SWEEP_COMPLETE;
	for (; result >= 0 && course->known.end == SWEEP_COMPLETE && course->runs < all;
	     course->runs++) {
		size_t place = course->runs % course->sweep.count;

		if (!place)
			sweep_order(&course->sweep, course->seed,
				    course->runs / (unsigned int)course->sweep.count, order);
		course->step = order[place];
		draw_line(course);
		result = run_step(course, error);
		if (course->children.interrupted) {
			course->known.end = SWEEP_INTERRUPTED;
			result = 0;
			break;
		}
		in_a_row = result > 0 ? 0 : in_a_row + 1;
		if (result > 0)
			course->known.runs++;
		else
			result = note_failure(course, result, in_a_row, error);
	}
	if (result >= 0 && !course->known.runs)
		result = error_set(error, EINTR, "interrupted before the first run had ended");
	return result;
}

/* That the mistakes of each step are found before the first has run. */
static int check_steps(struct course *course, struct error *error)
{
	struct load *load = course->load;
	struct spec *spec = &load->options.spec;
	int result = topology_read(&load->topology, "/sys", NULL, error);

	if (result >= 0)
		course->sweep.cpus = cpus_count(&load->topology.usable);
	for (size_t i = 0; result >= 0 && i < course->sweep.count; i++) {
		struct sweep_step *step = &course->sweep.steps[i];

		result = spec_set_value(spec, course->sweep.name, step->text, error);
		if (result >= 0)
			result = plan_check(spec, &load->topology, !load->options.dry_run, error);
		if (result >= 0 && !load->options.dry_run)
			result = cgroups_check(spec, error);
		if (result < 0)
			return error_wrap(error, result, "--sweep, at %s", step->text);
	}
	return result;
}

/* `--dry-run`: the values, and the spec as it is at the first of them. */
static int print_steps(const struct course *course, struct error *error)
{
	struct load *load = course->load;
	const struct sweep *sweep = &course->sweep;
	int result = spec_set_value(&load->options.spec, sweep->name, sweep->steps[0].text, error);

	if (result < 0)
		return result;
	print_text(stdout, "%s: %zu steps, each run in %u rounds:", sweep->name, sweep->count,
		   course->known.rounds_wanted);
	for (size_t i = 0; i < sweep->count; i++)
		print_text(stdout, " %s", sweep->steps[i].text);
	putchar('\n');
	load->options.spec.seed = course->seed;
	result = load_print_plan(&load->options.spec, &load->topology, error);
	return result < 0 ? result : EXIT_DONE;
}

static int write_page(struct output *out, const void *result)
{
	const struct course *course = result;

	sweep_table(out, &course->sweep, &course->known);
	return 0;
}

static int emit_swept(const struct emit *emit, const void *result)
{
	const struct course *course = result;

	sweep_emit(emit, &course->sweep, &course->known);
	return 0;
}

static const struct result_kind kind = {
	.schema = &sweep_schema, .page = write_page, .emit = emit_swept};

static int judge_and_print(struct course *course, struct error *error)
{
	const struct load_options *options = &course->load->options;

	course->known.elapsed_ns = clock_monotonic_ns() - course->started_ns;
	if (sweep_judge(&course->sweep,
			options->ab.question_given ? options->ab.question.metrics : METRICS_DEFAULT,
			course->seed) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return result_print(&options->output, &kind, course, error);
}

/* Undecided is what nothing was decided of. */
static enum exit_code exit_code_of(const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->curve_count; i++)
		if (sweep->curves[i].answer == SWEEP_KNEE ||
		    sweep->curves[i].answer == SWEEP_NO_KNEE)
			return EXIT_DONE;
	return EXIT_INCONCLUSIVE;
}

/* An exit code, or -errno. */
static int sweep_here(struct course *course, struct error *error)
{
	const struct load_options *options = &course->load->options;
	int result = load_children_directory(options->save, error);

	if (result < 0)
		return result;
	status_line_begin(&course->line, !options->quiet);
	load_children_begin(&course->children);
	result = run_steps(course, error);
	status_line_clear(&course->line);
	load_children_end(&course->children);
	if (result >= 0)
		result = judge_and_print(course, error);
	return result < 0 ? result : (int)exit_code_of(&course->sweep);
}

/* Values that are rounded to the same are one step, and a curve of too few shows no knee. */
static void say_lacking(const struct sweep *sweep)
{
	char asked[40] = "";

	if (sweep->count >= sweep->asked && sweep->count >= KNEE_POINTS_LEAST)
		return;
	if (sweep->count < sweep->asked)
		snprintf(asked, sizeof(asked), ", not %zu", sweep->asked);
	print_text(stderr, "dwell load: --sweep: %zu steps, from %s to %s%s", sweep->count,
		   sweep->steps[0].text, sweep->steps[sweep->count - 1].text, asked);
	if (sweep->count < KNEE_POINTS_LEAST)
		print_text(stderr, ": a knee is looked for from %d on", KNEE_POINTS_LEAST);
	print_text(stderr, "\n");
}

int load_sweep(struct load *load)
{
	const struct load_options *options = &load->options;
	struct course course = {
		.load = load,
		.started_ns = clock_monotonic_ns(),
		.seed = options->spec.seed_given ? options->spec.seed
						 : clock_realtime_ns() % 1000000000,
		.known = {.rounds_wanted = options->sweep.rounds
						   ? (unsigned int)options->sweep.rounds
						   : SWEEP_ROUNDS_DEFAULT,
			  .spec = options->spec.name},
		.children = {.data = &course, .become = become, .tick = draw_line}};
	struct error error = {""};
	int result = sweep_parse(&course.sweep, options->sweep.what, &options->spec, &error);

	course.known.seed = course.seed;
	if (result >= 0)
		result = check_steps(&course, &error);
	if (result >= 0 && !options->quiet)
		say_lacking(&course.sweep);
	if (result >= 0)
		result = options->dry_run ? print_steps(&course, &error)
					  : sweep_here(&course, &error);
	if (result < 0)
		result = command_fail(
			"load", result == -EINVAL || result == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN,
			&error);
	sweep_release(&course.sweep);
	return result;
}
