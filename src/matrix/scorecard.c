// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/scorecard.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/forked.h"
#include "base/text.h"
#include "load/machine.h"
#include "matrix/table.h"
#include "version.h"
#include "view/compare.h"
#include "view/compare_words.h"

#define NAME_COLUMNS  40
#define COLUMNS	      8
#define CELL_BYTES    256
#define METRIC_COLUMN 2
#define HASH_DIGITS   16
#define HASH_BYTES    48

/* A row of any of the formats. */
struct card_row {
	char cells[COLUMNS][CELL_BYTES];
	size_t columns[COLUMNS];
	bool is_first; /* of its kernel, topology, group and metric */
	enum load_verdict verdict;
};

static const char *const headings[COLUMNS] = {"WHERE",	"GROUP",  "METRIC",	     "SCHEDULER",
					      "MEDIAN", "CHANGE", "WITHIN, AT 95 %", "VERDICT"};

static void put(struct card_row *row, int column, const char *text)
{
	row->columns[column] = text_printable(row->cells[column], CELL_BYTES, text, NAME_COLUMNS);
}

static bool is_first(const struct matrix_score *scores, size_t number)
{
	const struct matrix_score *score = &scores[number], *before = &scores[number - 1];

	return !number || score->kernel != before->kernel || score->topology != before->topology ||
	       score->group != before->group || score->metric != before->metric;
}

/* Of the group; where it is, and which, is said once. */
static void put_place(struct card_row *row, const struct matrix *matrix,
		      const struct matrix_scores *scores, size_t number)
{
	const struct matrix_score *score = &scores->items[number];
	const struct matrix_score *before = number ? score - 1 : NULL;
	bool same_place =
		before && before->kernel == score->kernel && before->topology == score->topology;
	char text[CELL_BYTES];

	snprintf(text, sizeof(text), "%s%s%s",
		 matrix->kernels.count > 1 ? matrix_kernel_name(matrix, score->kernel) : "",
		 matrix->kernels.count > 1 ? ", " : "", matrix->topologies[score->topology].name);
	if (!same_place)
		put(row, 0, text);
	snprintf(text, sizeof(text), "%s%s%s", score->group->cgroup,
		 *score->group->cgroup ? " " : "", score->group->work);
	if (!same_place || before->group != score->group)
		put(row, 1, text);
	if (row->is_first)
		put(row, METRIC_COLUMN, load_metrics[score->metric].key);
}

static void make_row(struct card_row *row, const struct matrix *matrix,
		     const struct matrix_scores *scores, size_t number)
{
	const struct matrix_score *score = &scores->items[number];
	char text[CELL_BYTES];

	*row = (struct card_row){.is_first = is_first(scores->items, number),
				 .verdict = score->change.verdict};
	put_place(row, matrix, scores, number);
	put(row, 3, matrix_scheduler_name(matrix, score->scheduler));
	load_metric_format(text, sizeof(text), score->metric, score->median);
	put(row, 4, text);
	if (score->is_baseline)
		return;
	compare_share(text, sizeof(text), score->change.relative);
	put(row, 5, text);
	compare_interval(text, sizeof(text), score->change.low, score->change.high);
	put(row, 6, text);
	put(row, 7,
	    compare_verdicts[score->change.verdict] ? compare_verdicts[score->change.verdict]
						    : "-");
}

/* The last column that has anything. */
static int last_of(const struct card_row *row)
{
	int last = COLUMNS - 1;

	while (last > 0 && !*row->cells[last])
		last--;
	return last;
}

static bool is_to_the_right(int column)
{
	return column >= 4 && column <= 6;
}

/* Names are those of files: each format makes them harmless in its own way. */
typedef void (*text_writer)(struct output *out, const char *text);

static void write_ranks(struct output *out, const struct matrix *matrix,
			const struct matrix_scores *scores, text_writer write)
{
	const char *before = "";

	for (size_t i = 0; scores->mean_ranks && i < matrix->schedulers.count; i++) {
		char name[CELL_BYTES];

		if (isnan(scores->mean_ranks[i]))
			continue;
		text_printable(name, sizeof(name), matrix_scheduler_name(matrix, i), NAME_COLUMNS);
		output_string(out, before);
		write(out, name);
		output_format(out, " %.2f", scores->mean_ranks[i]);
		before = ", ";
	}
	if (*before)
		output_string(out, " (mean rank in throughput, wakeups and waits for a CPU)");
}

/* On a terminal: what has to be decided, and what a scheduler does better or worse. */
static bool is_worth_showing(const struct matrix_scores *scores, size_t number)
{
	struct load_question question;
	size_t first = number;

	load_question_init(&question);
	if (question.decisive & 1U << scores->items[number].metric)
		return true;
	while (!is_first(scores->items, first))
		first--;
	for (size_t i = first; i < scores->count && (i == first || !is_first(scores->items, i));
	     i++)
		if (scores->items[i].change.verdict == LOAD_WORSE ||
		    scores->items[i].change.verdict == LOAD_BETTER)
			return true;
	return false;
}

void scorecard_table(struct output *out, const struct matrix *matrix,
		     const struct matrix_scores *scores)
{
	size_t widths[COLUMNS];
	struct card_row row;

	/* of single runs there is nothing to be said by chance, and much to be shown */
	if (!scores->count || matrix->repeat < 2)
		return;
	for (int c = 0; c < COLUMNS; c++)
		widths[c] = strlen(headings[c]);
	for (size_t i = 0; i < scores->count; i++) {
		make_row(&row, matrix, scores, i);
		for (int c = 0; c < COLUMNS; c++)
			if (row.columns[c] > widths[c])
				widths[c] = row.columns[c];
	}
	output_char(out, '\n');
	for (size_t i = 0; i <= scores->count; i++) {
		if (i && !is_worth_showing(scores, i - 1))
			continue;
		if (i)
			make_row(&row, matrix, scores, i - 1);
		for (int c = 0; c < COLUMNS && (!i || c <= last_of(&row)); c++) {
			const char *text = i ? row.cells[c] : headings[c];
			size_t pad = widths[c] - (i ? row.columns[c] : strlen(text));

			output_string(out, c ? "  " : "");
			if (is_to_the_right(c))
				output_format(out, "%*s%s", (int)pad, "", text);
			else if (c == COLUMNS - 1)
				output_string(out, text);
			else
				output_format(out, "%s%*s", text, (int)pad, "");
		}
		output_char(out, '\n');
	}
	output_char(out, '\n');
	write_ranks(out, matrix, scores, output_string);
	output_char(out, '\n');
	if (!scores->has_intervals && matrix->schedulers.count > 1)
		output_format(out,
			      "%u run%s of each cannot distinguish a change from chance: `repeat: "
			      "%u` or more can\n",
			      matrix->repeat, matrix->repeat == 1 ? "" : "s",
			      load_runs_least(LOAD_ALPHA, true));
}

/* Of what the figures are: one line each. */
struct provenance {
	char lines[64][CELL_BYTES];
	size_t count;
};

__attribute__((format(printf, 2, 3))) static void add_line(struct provenance *provenance,
							   const char *format, ...)
{
	char text[CELL_BYTES];
	va_list args;

	if (provenance->count == ARRAY_SIZE(provenance->lines))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_printable(provenance->lines[provenance->count++], CELL_BYTES, text, CELL_BYTES);
}

static const char *release_of(const struct matrix *matrix, size_t kernel, const char **ret_accel)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (matrix->cells[i].kernel == kernel && matrix->cells[i].guest.release) {
			*ret_accel = matrix->cells[i].guest.accel;
			return matrix->cells[i].guest.release;
		}
	return NULL;
}

/*
 * ", SHA-256 0123456789ab…": of the file that a line begins with, as sha256sum(1) says, so that
 * readers can compare it with theirs. Empty where there is no such file, or no such program.
 */
static void hash_of(char into[HASH_BYTES], const char *line)
{
	cleanup_free char *path = strndup(line, strcspn(line, " \t"));
	cleanup_close int out = file_in_memory("dwell-hash");
	char *const words[] = {"sha256sum", "--", path, NULL};
	pid_t parent = getpid(), child = path && out >= 0 ? fork() : -1;
	char digits[HASH_DIGITS + 1] = "";
	int status;

	*into = '\0';
	if (!child) {
		forked_prepare(parent, out, STDERR_FILENO);
		execvp(words[0], words);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status ||
	    pread(out, digits, HASH_DIGITS, 0) != HASH_DIGITS)
		return;
	snprintf(into, HASH_BYTES, ", SHA-256 %s...", digits);
}

static void find_provenance(struct provenance *provenance, const struct matrix *matrix)
{
	struct topology topology = {.llcs = {NULL, 0, 0}};
	struct machine machine;
	struct error error;
	struct output command;
	char hash[HASH_BYTES];

	if (output_init(&command, -1) >= 0) {
		for (size_t i = 0; i < matrix->command.count; i++)
			output_format(&command, "%s%s", i ? " " : "", matrix->command.items[i]);
		output_char(&command, '\0');
		add_line(provenance, "Load: dwell %s, %u run%s of each", command.buffer,
			 matrix->repeat, matrix->repeat == 1 ? "" : "s");
		output_release(&command);
	}
	for (size_t i = 0; i < matrix->kernels.count; i++) {
		const char *accel = NULL, *release = release_of(matrix, i, &accel);

		hash_of(hash, matrix->kernels.items[i]);
		add_line(provenance, "Kernel: %s, Linux %s%s%s%s", matrix_kernel_name(matrix, i),
			 release ? release : "(it did not boot)", hash, accel ? ", " : "",
			 accel && !strcmp(accel, "tcg") ? "emulated (TCG)"
			 : accel			? accel
							: "");
	}
	for (size_t i = 0; i < matrix->schedulers.count; i++)
		if (*matrix->schedulers.items[i]) {
			hash_of(hash, matrix->schedulers.items[i]);
			add_line(provenance, "Scheduler: %s%s", matrix_scheduler_name(matrix, i),
				 hash);
		}
	add_line(provenance, "dwell %s", DWELL_VERSION);
	if (topology_read(&topology, "/sys", NULL, &error) >= 0) {
		machine_read(&machine, &topology);
		add_line(provenance, "Host: %s%sLinux %s %s, %u CPUs", machine.cpu_model,
			 *machine.cpu_model ? ", " : "", machine.kernel, machine.architecture,
			 machine.cpus);
	}
	topology_release(&topology);
}

/* Names are of users' files: nothing in them is markup. */
static void write_markdown_text(struct output *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>|#", *text))
			output_char(out, '\\');
		output_char(out, *text);
	}
}

static void write_html_text(struct output *out, const char *text)
{
	for (; *text; text++) {
		const char *entity = *text == '&'   ? "&amp;"
				     : *text == '<' ? "&lt;"
				     : *text == '>' ? "&gt;"
				     : *text == '"' ? "&quot;"
						    : NULL;

		if (entity)
			output_string(out, entity);
		else
			output_char(out, *text);
	}
}

static void write_markdown(struct output *out, const struct matrix *matrix,
			   const struct matrix_scores *scores, const struct provenance *provenance)
{
	char counts[160];
	struct card_row row;

	output_string(out, "# ");
	write_markdown_text(out, matrix->name);
	output_string(out, "\n\n");
	for (size_t i = 0; i < provenance->count; i++) {
		output_string(out, "- ");
		write_markdown_text(out, provenance->lines[i]);
		output_char(out, '\n');
	}
	matrix_counts(counts, sizeof(counts), matrix);
	output_format(out, "\nVerdicts: %s.\n\n", counts);
	for (size_t i = 0; i <= scores->count + 1; i++) {
		if (i > 1)
			make_row(&row, matrix, scores, i - 2);
		for (int c = 0; c < COLUMNS; c++) {
			output_string(out, c ? " | " : "| ");
			if (i == 1)
				output_string(out, is_to_the_right(c) ? "---:" : "---");
			else
				write_markdown_text(out, i ? row.cells[c] : headings[c]);
		}
		output_string(out, " |\n");
	}
	output_char(out, '\n');
	write_ranks(out, matrix, scores, write_markdown_text);
	output_char(out, '\n');
}

static const char html_head[] =
	"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">"
	"<style>:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:2em "
	"auto;max-width:72em;padding:0 1em}table{border-collapse:collapse;display:block;overflow-x:"
	"auto}th,td{padding:.15em .8em;text-align:left;white-space:nowrap}th{border-bottom:1px "
	"solid}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tr.f td{border-top:1px "
	"solid light-dark(#ddd,#444)}.worse{color:light-dark(#b00020,#ff8a80)}.better{color:light-"
	"dark(#0a7d28,#7bd88f)}.undecided{color:light-dark(#666,#aaa)}</style>";

static void write_html(struct output *out, const struct matrix *matrix,
		       const struct matrix_scores *scores, const struct provenance *provenance)
{
	char counts[160];
	struct card_row row;

	output_string(out, html_head);
	output_string(out, "<title>");
	write_html_text(out, matrix->name);
	output_string(out, "</title></head><body><h1>");
	write_html_text(out, matrix->name);
	output_string(out, "</h1><ul>");
	for (size_t i = 0; i < provenance->count; i++) {
		output_string(out, "<li>");
		write_html_text(out, provenance->lines[i]);
	}
	matrix_counts(counts, sizeof(counts), matrix);
	output_format(out, "</ul><p>Verdicts: %s.</p><table><tr>", counts);
	for (int c = 0; c < COLUMNS; c++)
		output_format(out, "<th%s>%s", is_to_the_right(c) ? " class=\"n\"" : "",
			      headings[c]);
	for (size_t i = 0; i < scores->count; i++) {
		make_row(&row, matrix, scores, i);
		output_string(out, row.is_first ? "\n<tr class=\"f\">" : "\n<tr>");
		for (int c = 0; c < COLUMNS; c++) {
			const char *verdict = compare_verdicts[row.verdict];

			if (is_to_the_right(c))
				output_string(out, "<td class=\"n\">");
			else if (c == COLUMNS - 1 && verdict)
				output_format(out, "<td class=\"%s\">", verdict);
			else
				output_string(out, "<td>");
			write_html_text(out, row.cells[c]);
		}
	}
	output_string(out, "</table><p>");
	write_ranks(out, matrix, scores, write_html_text);
	output_string(out, "</p></body></html>\n");
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

int scorecard_check(const char *path, struct error *error)
{
	return ends_with(path, ".md") || ends_with(path, ".html")
		       ? 0
		       : error_set(error, EINVAL,
				   "--scorecard %s: the name ends in .md or .html, which says what "
				   "it is to be",
				   path);
}

int scorecard_write(const char *path, const struct matrix *matrix, struct error *error)
{
	struct matrix_scores scores = {.items = NULL};
	struct provenance provenance = {.count = 0};
	struct output out;
	int result;

	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = matrix_scores_make(&scores, matrix);
	if (result >= 0) {
		find_provenance(&provenance, matrix);
		if (ends_with(path, ".md"))
			write_markdown(&out, matrix, &scores, &provenance);
		else
			write_html(&out, matrix, &scores, &provenance);
	}
	if (result < 0 || out.error)
		result = error_set(error, ENOMEM, "out of memory");
	else
		result = file_replace(path, out.buffer, out.used, error);
	matrix_scores_release(&scores);
	output_release(&out);
	return result;
}
