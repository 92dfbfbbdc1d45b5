// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell guest --matrix` says of its guests. docs/formats/json.md is the contract. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "version.h"
#include "guest/outcome.h"
#include "matrix/fields.h"
#include "matrix/scores.h"
#include "matrix/sessions.h"
#include "view/compare.h"

/* Rows of the matrix have this as their context. */
struct matrix_context {
	const struct matrix *matrix;
	const struct matrix_scores *scores;
	struct output *command; /* for one at a time */
	int *result;		/* -ENOMEM: something could not be put together */
};

/* Numbers of which UINT64_MAX, or nothing at all, says that they are not known. */
static void value_unless_unknown(struct value *value, uint64_t number, uint64_t unknown)
{
	value_known(value, number, number != unknown);
}

/* Texts: `argument` is the offset of a struct matrix_words in the row. Empty ones are null. */

static const struct matrix_words *words_of(const struct field *field, const struct item *item)
{
	return (const struct matrix_words *)(const void *)((const char *)item->row +
							   field->argument);
}

VALUE_GETTER(get_words, value_elements, words_of(field, item)->count)

FIELD_ELEMENT(word_element)
{
	value_text(value, words_of(field, item)->items[index]);
}

#define WORDS_FIELD(row_type, member, key_, help_)                                                 \
	LIST_FIELD(key_, get_words, word_element, NULL, help_, .argument = MEMBER(row_type, member))

/* Options: but how long to wait, as a matrix whose guests booted too slowly is to be gone on with.
 */
FIELD_ELEMENT(option_element)
{
	const struct matrix_words *options = words_of(field, item);

	value_string(value, options->items[index]);
	if (!strcmp(options->items[index], "--boot-timeout") ||
	    (index && !strcmp(options->items[index - 1], "--boot-timeout")))
		value_absent(value);
}

FIELD_GETTER(get_shape)
{
	const struct matrix_topology *topology = item->row;

	shape_format(value->text, sizeof(value->text), &topology->shape);
	value_string(value, value->text);
}

VALUE_GETTER(get_shape_cpus, value_number,
	     shape_cpus(&((const struct matrix_topology *)item->row)->shape))

static const struct field topology_fields[] = {
	POINTER_MEMBER(struct matrix_topology, name, "name", "a preset's name or the shape"),
	STRING_FIELD("topology", get_shape, "NUMA nodes, caches, cores and threads"),
	INTEGER_FIELD("cpus", get_shape_cpus, "how many CPUs"),
};

static const struct schema topology_schema = {
	.name = "topology", .help = "CPUs of a guest", SCHEMA_FIELDS(topology_fields)};

FIELD_GETTER(get_topologies)
{
	const struct matrix *matrix = item->row;

	value_rows(value, matrix->topologies, matrix->topology_count, sizeof(*matrix->topologies),
		   NULL);
}

VALUE_GETTER(get_memory, value_unless_unknown, ((const struct matrix *)item->row)->memory_bytes, 0)
VALUE_GETTER(get_name, value_string, ((const struct matrix *)item->row)->name)

static const struct field identity_fields[] = {
	STRING_FIELD("name", get_name, "of the file"),
	WORDS_FIELD(struct matrix, kernels, "kernels", "to boot"),
	LIST_FIELD("topologies", get_topologies, NULL, &topology_schema, "of their CPUs"),
	WORDS_FIELD(struct matrix, schedulers, "schedulers", "null: the kernel's own"),
	INTEGER_FIELD("memory_bytes", get_memory, "null: by the number of CPUs"),
	WORDS_FIELD(struct matrix, command, "command", "what runs in each guest"),
	LIST_FIELD("options", get_words, option_element, NULL,
		   "of the command line, for all guests",
		   .argument = MEMBER(struct matrix, options)),
	NUMBER_MEMBER(struct matrix, repeat, "repeat", "runs of each cell"),
};

const struct schema matrix_identity_schema = {
	.name = "matrix", .help = "what the file says", SCHEMA_FIELDS(identity_fields)};

/* Checksums. */

VALUE_GETTER(get_kernel_sums, value_elements, ((const struct matrix *)item->row)->kernels.count)

FIELD_ELEMENT(kernel_sum)
{
	value_number(value, ((const struct matrix *)item->row)->files.kernels[index]);
}

VALUE_GETTER(get_scheduler_sums, value_elements,
	     ((const struct matrix *)item->row)->schedulers.count)

FIELD_ELEMENT(scheduler_sum)
{
	value_number(value, ((const struct matrix *)item->row)->files.schedulers[index]);
}

static const struct field files_fields[] = {
	LIST_FIELD("kernels", get_kernel_sums, kernel_sum, NULL, "of the kernels"),
	LIST_FIELD("schedulers", get_scheduler_sums, scheduler_sum, NULL,
		   "of the schedulers' programs"),
	NUMBER_MEMBER(struct matrix, files.others, "others",
		      "of what the command and the options name"),
};

static const struct schema files_schema = {
	.name = "files", .help = "sums of what is in files", SCHEMA_FIELDS(files_fields)};

static const struct field input_fields[] = {
	POINTER_MEMBER(struct matrix_input, used_as, "used_as",
		       "kernel, scheduler, command or option"),
	POINTER_MEMBER(struct matrix_input, file, "file", "as the matrix names it"),
	ARRAY_MEMBER(struct matrix_input, sha256, "sha256", "of what is in it"),
};

static const struct schema input_schema = {
	.name = "input", .help = "a file of the matrix", SCHEMA_FIELDS(input_fields)};

VALUE_GETTER(get_inputs, value_rows, ((const struct matrix *)item->row)->inputs,
	     ((const struct matrix *)item->row)->input_count, sizeof(struct matrix_input), NULL)

/* A guest. */

static const struct matrix_guest *guest_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_unless_unknown)
{
	get_u64_member(field, item, value);
	value_unless_unknown(value, value->number, UINT64_MAX);
}

#define MAYBE_UNKNOWN(member, key_, help_)                                                         \
	INTEGER_FIELD(key_, get_unless_unknown, help_,                                             \
		      .argument = MEMBER(struct matrix_guest, member))

static const struct field scheduler_fields[] = {
	POINTER_MEMBER(struct matrix_guest, scheduler_state, "state",
		       "alive, died, stopped or not-started"),
	MAYBE_UNKNOWN(scheduler_after_ns, "after_ns", "when it was found dead"),
	POINTER_MEMBER(struct matrix_guest, scheduler_reason, "reason", "of its end"),
	POINTER_MEMBER(struct matrix_guest, dump, "dump", "what the kernel wrote about it",
		       .flags = FIELD_OF_LINES),
};

static const struct schema scheduler_schema = {
	.name = "guest_scheduler", .help = "null without one", SCHEMA_FIELDS(scheduler_fields)};

FIELD_GETTER(get_scheduler)
{
	get_same_row(field, item, value);
	if (!guest_of(item)->scheduler_state)
		value_null(value);
}

#define HOST_SHARE(name, key, help) REAL_MEMBER(struct matrix_guest, host_##name, key, help),

static const struct field host_fields[] = {GUEST_HOST_SHARES(HOST_SHARE)};

static const struct schema host_schema = {
	.name = "cell_host", .help = GUEST_HOST_HELP, SCHEMA_FIELDS(host_fields)};

FIELD_GETTER(get_host)
{
	get_same_row(field, item, value);
	if (isnan(guest_of(item)->host_taken))
		value_null(value);
}

static const struct field guest_fields[] = {
	POINTER_MEMBER(struct matrix_guest, release, "release", "of its kernel"),
	POINTER_MEMBER(struct matrix_guest, accel, "accel", "kvm or tcg"),
	MAYBE_UNKNOWN(boot_ns, "boot_ns", "until the command began"),
	MAYBE_UNKNOWN(wall_ns, "wall_ns", "until nothing of it was left"),
	MAYBE_UNKNOWN(exit, "exit", "status of the command"),
	OBJECT_FIELD("scheduler", get_scheduler, &scheduler_schema, "null without one"),
	OBJECT_FIELD("host", get_host, &host_schema, GUEST_HOST_HELP),
};

const struct schema matrix_guest_schema = {
	.name = "cell_guest", .help = "what a guest reported", SCHEMA_FIELDS(guest_fields)};

/* Figures: the row is a struct load_group of one run. */

static const struct load_group *group_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_figures_cgroup, value_text, group_of(item)->key.cgroup)
VALUE_GETTER(get_figures_group, value_number, group_of(item)->key.group_idx)
VALUE_GETTER(get_figures_work, value_string, group_of(item)->key.work)
VALUE_GETTER(get_figures_occurrence, value_number, group_of(item)->key.occurrence)

VALUE_GETTER(get_figures_wakes, value_text, compare_wakes[group_of(item)->wakes])
VALUE_GETTER(get_figures_seconds, value_real,
	     group_of(item)->seconds_known ? group_of(item)->seconds : NAN)
VALUE_GETTER(get_figures_metrics, value_elements, LOAD_METRICS)

FIELD_ELEMENT(figures_metric)
{
	value_real(value, group_of(item)->values[index][0]);
	value->name = load_metrics[index].key;
}

static const struct field figures_fields[] = {
	STRING_FIELD("cgroup", get_figures_cgroup, "its cgroup"),
	INTEGER_FIELD("group_idx", get_figures_group, "number among the works of its cgroup"),
	STRING_FIELD("work", get_figures_work, "type of work"),
	INTEGER_FIELD("occurrence", get_figures_occurrence,
		      "how many such groups the run had before"),
	STRING_FIELD("wakes", get_figures_wakes, "what metrics of wakeups are of"),
	REAL_FIELD("seconds", get_figures_seconds, "its workers lived"),
	MAP_FIELD("metrics", get_figures_metrics, figures_metric, NULL,
		  "as `dwell compare` has them"),
};

const struct schema matrix_figures_schema = {
	.name = "figures", .help = "of a group of workers", SCHEMA_FIELDS(figures_fields)};

/* A score. */

static const struct matrix_score *score_of(const struct item *item)
{
	return item->row;
}

static const struct matrix *matrix_of_score(const struct item *item)
{
	return ((const struct matrix_context *)item->context)->matrix;
}

VALUE_GETTER(get_score_kernel, value_string,
	     matrix_of_score(item)->kernels.items[score_of(item)->kernel])
VALUE_GETTER(get_score_topology, value_string,
	     matrix_of_score(item)->topologies[score_of(item)->topology].name)
VALUE_GETTER(get_score_scheduler, value_text,
	     matrix_of_score(item)->schedulers.items[score_of(item)->scheduler])
VALUE_GETTER(get_score_cgroup, value_text, score_of(item)->group->cgroup)
VALUE_GETTER(get_score_group, value_number, score_of(item)->group->group_idx)
VALUE_GETTER(get_score_work, value_string, score_of(item)->group->work)
VALUE_GETTER(get_score_metric, value_string, load_metrics[score_of(item)->metric].key)
VALUE_GETTER(get_score_unit, value_string, load_metric_base(score_of(item)->metric))
VALUE_GETTER(get_score_verdict, value_text, compare_verdicts[score_of(item)->change.verdict])
VALUE_GETTER(get_score_rank, value_known, score_of(item)->rank, score_of(item)->rank)

#define SCORE_CHANGE(member, key_, help_)                                                          \
	REAL_FIELD(key_, get_double_member, help_,                                                 \
		   .argument = MEMBER(struct matrix_score, change.member))

static const struct field score_fields[] = {
	STRING_FIELD("kernel", get_score_kernel, "of the guests"),
	STRING_FIELD("topology", get_score_topology, "of their CPUs"),
	STRING_FIELD("cgroup", get_score_cgroup, "of the group of workers"),
	INTEGER_FIELD("group_idx", get_score_group, "number among the works of its cgroup"),
	STRING_FIELD("work", get_score_work, "type of work"),
	STRING_FIELD("metric", get_score_metric, "as `dwell compare` has it"),
	STRING_FIELD("unit", get_score_unit, "ns, share, number or per_second"),
	STRING_FIELD("scheduler", get_score_scheduler, "null: the kernel's own"),
	BOOL_MEMBER(struct matrix_score, is_baseline, "baseline",
		    "the others are compared with this one"),
	NUMBER_MEMBER(struct matrix_score, runs, "runs", "in which it was measured"),
	REAL_MEMBER(struct matrix_score, median, "median", "of these"),
	SCORE_CHANGE(relative, "change", "against the baseline, as a share of it"),
	SCORE_CHANGE(low, "low", "the change is at least that, with 95 % confidence"),
	SCORE_CHANGE(high, "high", "and at most that"),
	SCORE_CHANGE(p, "p", "probability of such a difference by chance, corrected"),
	STRING_FIELD("verdict", get_score_verdict, "worse, better, same or undecided"),
	INTEGER_FIELD("rank", get_score_rank, "of the schedulers, by the median"),
};

static const struct schema score_schema = {
	.name = "score", .help = "a metric under a scheduler", SCHEMA_FIELDS(score_fields)};

/* A cell. */

static const struct matrix_cell *cell_of(const struct item *item)
{
	return item->row;
}

static const struct matrix *matrix_of(const struct item *item)
{
	return ((const struct matrix_context *)item->context)->matrix;
}

VALUE_GETTER(get_cell_kernel, value_string, matrix_of(item)->kernels.items[cell_of(item)->kernel])
VALUE_GETTER(get_cell_topology, value_string,
	     matrix_of(item)->topologies[cell_of(item)->topology].name)
VALUE_GETTER(get_cell_cpus, value_number, matrix_cell_cpus(matrix_of(item), cell_of(item)))
VALUE_GETTER(get_cell_memory, value_number, matrix_cell_memory(matrix_of(item), cell_of(item)))
VALUE_GETTER(get_cell_scheduler, value_text,
	     matrix_of(item)->schedulers.items[cell_of(item)->scheduler])

FIELD_GETTER(get_cell_verdict)
{
	enum matrix_verdict verdict = cell_of(item)->verdict;

	value_text(value, verdict == MATRIX_PENDING ? NULL : matrix_verdicts[verdict]);
}

/* Name and text of a check follow each other in the cell's list: the row is the first of the two.
 */
VALUE_GETTER(get_check_word, value_string, ((char *const *)item->row)[field->argument])

static const struct field check_fields[] = {
	STRING_FIELD("check", get_check_word, "its name", .argument = 0),
	STRING_FIELD("text", get_check_word, "what it found", .argument = 1),
};

const struct schema matrix_check_schema = {
	.name = "failed_check", .help = "of `dwell load`", SCHEMA_FIELDS(check_fields)};

VALUE_GETTER(get_cell_checks, value_rows, cell_of(item)->checks.items,
	     cell_of(item)->checks.count / 2, 2 * sizeof(char *), NULL)
VALUE_GETTER(get_cell_session, value_unless_unknown,
	     cell_of(item)->elapsed_ns ? cell_of(item)->session_ns : 0, 0)
VALUE_GETTER(get_cell_elapsed, value_unless_unknown, cell_of(item)->elapsed_ns, 0)

FIELD_GETTER(get_cell_guest)
{
	value_object(value, &cell_of(item)->guest, NULL);
	if (!cell_of(item)->guest.reported)
		value_null(value);
}

VALUE_GETTER(get_cell_figures, value_rows, cell_of(item)->figures.groups,
	     cell_of(item)->figures.group_count, sizeof(struct load_group), NULL)

FIELD_GETTER(get_command_line)
{
	const struct matrix_context *context = item->context;

	context->command->used = 0;
	if (matrix_cell_command(context->command, context->matrix, cell_of(item)) < 0)
		*context->result = -ENOMEM;
	output_char(context->command, '\0');
	if (context->command->error)
		*context->result = -ENOMEM;
	value_string(value, *context->result < 0 ? "" : context->command->buffer);
}

static const struct matrix_again *again_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_again_verdict, value_text, matrix_verdicts[again_of(item)->verdict])

static const struct field again_fields[] = {
	STRING_FIELD("verdict", get_again_verdict, "pass, fail, died, inconclusive or error"),
	POINTER_MEMBER(struct matrix_again, reason, "reason", "why it is not `pass`"),
	NUMBER_MEMBER(struct matrix_again, elapsed_ns, "elapsed_ns",
		      "from the start of its process to its end"),
	POINTER_MEMBER(struct matrix_again, trace, "trace",
		       "file with what threads did around the failure, for Perfetto"),
	POINTER_MEMBER(struct matrix_again, recording, "recording", "file of `dwell record`"),
};

const struct schema matrix_again_schema = {.name = "again",
					   .help = "the second run of a cell that failed",
					   SCHEMA_FIELDS(again_fields)};

FIELD_GETTER(get_cell_again)
{
	value_object(value, &cell_of(item)->again, NULL);
	if (cell_of(item)->again.verdict == MATRIX_PENDING)
		value_null(value);
}

static const struct field cell_fields[] = {
	STRING_FIELD("kernel", get_cell_kernel, "to boot", .header = "KERNEL"),
	STRING_FIELD("topology", get_cell_topology, "of its CPUs", .header = "TOPOLOGY"),
	INTEGER_FIELD("cpus", get_cell_cpus, "how many CPUs", .header = "CPUS"),
	INTEGER_FIELD("memory_bytes", get_cell_memory, "of the guest"),
	STRING_FIELD("scheduler", get_cell_scheduler, "null: the kernel's own",
		     .header = "SCHEDULER"),
	NUMBER_MEMBER(struct matrix_cell, run, "run", "from 1 to `repeat`"),
	STRING_FIELD("verdict", get_cell_verdict,
		     "pass, fail, died, inconclusive, error or skipped", .header = "VERDICT"),
	POINTER_MEMBER(struct matrix_cell, reason, "reason", "why it is not `pass`"),
	LIST_FIELD("checks", get_cell_checks, NULL, &matrix_check_schema, "those that failed"),
	INTEGER_FIELD("elapsed_ns", get_cell_elapsed, "from the start of its process to its end"),
	INTEGER_FIELD("session_ns", get_cell_session,
		      "when the matrix began, or went on, that ran it; since 1970"),
	OBJECT_FIELD("guest", get_cell_guest, &matrix_guest_schema, "what the guest reported"),
	LIST_FIELD("figures", get_cell_figures, NULL, &matrix_figures_schema,
		   "of a load that came to its end, by group"),
	OBJECT_FIELD("again", get_cell_again, &matrix_again_schema,
		     "the second run, with a recording, of one that failed"),
	STRING_FIELD("command_line", get_command_line, "runs this cell alone"),
};

const struct schema matrix_cell_schema = {
	.name = "cell", .help = "one command in one guest", SCHEMA_FIELDS(cell_fields)};

static const struct field session_fields[] = {
	NUMBER_MEMBER(struct matrix_session, began_ns, "session_ns", "as cells have it"),
	ARRAY_MEMBER(struct matrix_session, dwell, "dwell", "version that ran them"),
	ARRAY_MEMBER(struct matrix_session, dwell_sha256, "dwell_sha256", "of its program"),
	ARRAY_MEMBER(struct matrix_session, cpu_model, "cpu_model", "of the machine"),
	ARRAY_MEMBER(struct matrix_session, kernel, "kernel", "release"),
	ARRAY_MEMBER(struct matrix_session, architecture, "architecture", "of the machine"),
	NUMBER_MEMBER(struct matrix_session, cpus, "cpus", "usable", .flags = FIELD_NULL_IF_0),
};

const struct schema matrix_session_schema = {.name = "session",
					     .help = "a process that ran cells, and where",
					     SCHEMA_FIELDS(session_fields)};

VALUE_GETTER(get_sessions, value_elements, ((const struct matrix *)item->row)->session_count)

FIELD_ELEMENT(session_element)
{
	const struct matrix *matrix = item->row;

	value_object(value, &matrix->sessions[index], NULL);
	if (!matrix_session_runs(matrix, &matrix->sessions[index]))
		value_absent(value);
}

FIELD_GETTER(get_cells)
{
	const struct matrix *matrix = item->row;

	value_rows(value, matrix->cells, matrix->cell_count, sizeof(*matrix->cells), item->context);
}

FIELD_GETTER(get_count)
{
	size_t counts[MATRIX_VERDICTS];

	matrix_count(item->row, counts);
	value_number(value, counts[field->argument]);
}

#define COUNT_FIELD(verdict, key_, help_)                                                          \
	INTEGER_FIELD(key_, get_count, help_, .group = "verdicts", .argument = (verdict))

VALUE_GETTER(get_version, value_string, DWELL_VERSION)

FIELD_GETTER(get_scores)
{
	const struct matrix_scores *scores = ((const struct matrix_context *)item->context)->scores;

	value_rows(value, scores->items, scores->count, sizeof(*scores->items), item->context);
}

static const struct field matrix_fields[] = {
	STRING_FIELD("dwell", get_version, "version that wrote it"),
	OBJECT_FIELD("matrix", get_same_row, &matrix_identity_schema, "what the file says"),
	OBJECT_FIELD("files", get_same_row, &files_schema, "sums of what is in files"),
	LIST_FIELD("inputs", get_inputs, NULL, &input_schema, "the same files, each by itself"),
	LIST_FIELD("sessions", get_sessions, session_element, &matrix_session_schema,
		   "who ran the cells, and where"),
	LIST_FIELD("cells", get_cells, NULL, &matrix_cell_schema,
		   "by kernel, topology, scheduler and run"),
	LIST_FIELD("scores", get_scores, NULL, &score_schema,
		   "how the schedulers compare, if the command is a load"),
	COUNT_FIELD(MATRIX_SKIPPED, "skipped", "more CPUs than wanted"),
	COUNT_FIELD(MATRIX_PASS, "pass", "all checks passed"),
	COUNT_FIELD(MATRIX_ERROR, "error", "could not be run"),
	COUNT_FIELD(MATRIX_INCONCLUSIVE, "inconclusive", "a check could not be judged"),
	COUNT_FIELD(MATRIX_FAIL, "fail", "a check failed"),
	COUNT_FIELD(MATRIX_DIED, "died", "the scheduler died"),
	COUNT_FIELD(MATRIX_PENDING, "not_run", "not run yet"),
};

const struct schema matrix_schema = {.name = "guest-matrix",
				     .help = "what many guests came to",
				     .version = 1,
				     SCHEMA_FIELDS(matrix_fields),
				     .table = "cell"};

int matrix_emit(const struct emit *emit, const struct matrix *matrix)
{
	struct output command;
	struct matrix_scores scores;
	int result = output_init(&command, -1);
	struct matrix_context context = {matrix, &scores, &command, &result};
	struct item item = {matrix, &context};

	if (result < 0)
		return result;
	result = matrix_scores_make(&scores, matrix);
	if (result >= 0)
		emit_result(emit, &item);
	matrix_scores_release(&scores);
	output_release(&command);
	return result;
}

int matrix_json(struct output *out, const struct matrix *matrix)
{
	struct emit emit = {
		.format = &format_json, .schema = &matrix_schema, .levels = ~0U, .out = out};

	return matrix_emit(&emit, matrix);
}
