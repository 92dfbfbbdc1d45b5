// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_sweep.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/print.h"
#include "base/status_line.h"
#include "command/command.h"
#include "command/load_sweep_steps.h"
#include "results/load_rounds.h"

/* Without --metrics: what waits cost, and what is done. */
#define METRICS_DEFAULT                                                                            \
	(1U << METRIC_WAKE_P99 | 1U << METRIC_COST_P99 | 1U << METRIC_RUN_DELAY |                  \
	 1U << METRIC_ITERATIONS)

struct swept {
	struct load *load;
	struct load_rounds rounds;
	struct status_line line;
};

static void draw_line(void *data)
{
	struct swept *swept = data;
	char elapsed[16], value[32];

	if (!swept->line.shown)
		return;
	duration_format(elapsed, sizeof(elapsed), clock_monotonic_ns() - swept->rounds.started_ns);
	sweep_format(value, sizeof(value), &swept->rounds.sweep, swept->rounds.step);
	status_line_show(&swept->line, "run %u of %zu, %s: %s %s", swept->rounds.runs + 1,
			 swept->rounds.sweep.count * swept->rounds.course.rounds_wanted, elapsed,
			 swept->rounds.sweep.name, value);
}

static void warn(void *data, const char *text)
{
	struct swept *swept = data;

	status_line_clear(&swept->line);
	print_text(stderr, "dwell load: %s\n", text);
}

/* In a child of its own: the spec and the options are a copy that may be changed. */
static void become(void *data, pid_t parent, int out, int error_fd)
{
	struct swept *swept = data;
	struct load *load = swept->load;
	struct load_options *options = &load->options;
	struct error error = {""};
	int result;

	forked_prepare(parent, out, error_fd);
	options->output = (struct result_options){.format = NULL};
	options->quiet = true;
	options->spec.seed_given = true;
	options->spec.seed = load_rounds_seed(&swept->rounds);
	result = result_take_json(&options->output, NULL, &error);
	if (result >= 0)
		result = spec_set_value(&options->spec, swept->rounds.sweep.name,
					swept->rounds.sweep.steps[swept->rounds.step].text, &error);
	_exit(result < 0 ? command_fail("load", EXIT_USAGE, &error) : load_run_alone(load));
}

static int write_page(struct output *out, const void *result)
{
	const struct swept *swept = result;

	sweep_table(out, &swept->rounds.sweep, &swept->rounds.course);
	return 0;
}

static int emit_swept(const struct emit *emit, const void *result)
{
	const struct swept *swept = result;

	sweep_emit(emit, &swept->rounds.sweep, &swept->rounds.course);
	return 0;
}

static const struct result_kind kind = {
	.schema = &sweep_schema, .page = write_page, .emit = emit_swept};

static int judge_and_print(struct swept *swept, struct error *error)
{
	const struct load_options *options = &swept->load->options;

	if (sweep_judge(&swept->rounds.sweep,
			options->ab.question_given ? options->ab.question.metrics : METRICS_DEFAULT,
			swept->rounds.seed) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return result_print(&options->output, &kind, swept, error);
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
static int sweep_here(struct swept *swept, struct error *error)
{
	int result;

	status_line_begin(&swept->line, !swept->load->options.quiet);
	result = load_rounds_run(&swept->rounds, error);
	status_line_clear(&swept->line);
	if (result >= 0)
		result = judge_and_print(swept, error);
	return result < 0 ? result : (int)exit_code_of(&swept->rounds.sweep);
}

int load_sweep(struct load *load)
{
	const struct load_options *options = &load->options;
	struct swept swept = {
		.load = load,
		.rounds = {.save = options->save,
			   .started_ns = clock_monotonic_ns(),
			   .seed = options->spec.seed_given ? options->spec.seed
							    : clock_realtime_ns() % 1000000000,
			   .course = {.rounds_wanted = options->sweep.rounds
							       ? (unsigned int)options->sweep.rounds
							       : SWEEP_ROUNDS_DEFAULT,
				      .spec = options->spec.name},
			   .children = {.data = &swept,
					.become = become,
					.tick = draw_line,
					.warn = warn}}};
	struct load_rounds *rounds = &swept.rounds;
	struct error error = {""};
	int result = sweep_parse(&rounds->sweep, options->sweep.what, &options->spec, &error);

	rounds->course.seed = rounds->seed;
	if (result >= 0)
		result = load_sweep_check(load, &rounds->sweep, &error);
	if (result >= 0 && !options->quiet)
		load_sweep_say_lacking(&rounds->sweep);
	if (result >= 0)
		result = options->dry_run
				 ? load_sweep_print(load, &rounds->sweep, &rounds->course, &error)
				 : sweep_here(&swept, &error);
	if (result < 0)
		result = command_fail(
			"load", result == -EINVAL || result == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN,
			&error);
	sweep_release(&rounds->sweep);
	return result;
}
