// SPDX-License-Identifier: GPL-2.0-or-later
/* Many guests: what they come to, how that is shown, and going on with it. */
#define _GNU_SOURCE /* memfd_create */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix/judge.h"
#include "matrix/state.h"
#include "matrix/matrix-files.h"
#include "matrix/fields.h"
#include "matrix/scores.h"
#include "matrix/table.h"

static char directory[] = "/tmp/dwell-test-verdicts.XXXXXX";

static int file_of(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* What a process leaves, and the verdict of it. */
struct left {
	const char *result; /* NULL: no file */
	const char *out, *said;
	int wait_status;
	enum matrix_verdict verdict;
	const char *reason; /* how it begins; NULL: there is none */
	bool timed_out;
};

#define STATUS(code) ((code) << 8)
#define RAN(code)    "{\"exit\":" #code ",\"boot_ns\":5,\"scheduler\":null,\"error\":null}"
#define ON(code, taken, lacked)                                                                    \
	"{\"exit\":" #code ",\"boot_ns\":5,\"scheduler\":null,\"error\":null,\"host\":{"           \
	"\"taken_share\":" taken ",\"lacked_share\":" lacked "}}"
#define FAILED(check, figure, limit)                                                               \
	"{\"type\":\"load\",\"end\":\"complete\",\"checks\":[{\"check\":\"" check                  \
	"\",\"verdict\":\"fail\",\"figure\":" figure ",\"limit\":" limit                           \
	",\"text\":\"it is\"}]}\n"
#define ENDED(state, reason)                                                                       \
	"{\"exit\":null,\"error\":null,\"scheduler\":{\"state\":\"" state "\",\"reason\":" reason  \
	",\"after_ns\":7}}"

static const struct left lefts[] = {
	{RAN(0), "", "", 0, MATRIX_PASS, NULL, false},
	{RAN(3), "{\"type\":\"worker\"}\n", "", STATUS(3), MATRIX_FAIL, "a check failed", false},
	{RAN(0), "", "", STATUS(3), MATRIX_FAIL, "a check failed", false},
	{RAN(4), "", "", STATUS(4), MATRIX_INCONCLUSIVE, NULL, false},
	{RAN(2), "", "dwell load: no such file\ndwell guest: emulated\n", STATUS(2), MATRIX_ERROR,
	 "the command ended with status 2: dwell load: no such file", false},
	{RAN(0), "{\"type\":\"load\",\"end\":\"scheduler-died\"}\n", "", 0, MATRIX_DIED,
	 "a scheduler of the spec", false},
	{ENDED("died", "\"stall\""), "", "", STATUS(3), MATRIX_DIED, "stall", false},
	{ENDED("died", "null"), "", "", STATUS(3), MATRIX_DIED, NULL, false},
	{ENDED("not-started", "\"refused\""), "", "", STATUS(1), MATRIX_ERROR, "refused", false},
	{ENDED("alive", "null"), "", "", STATUS(1), MATRIX_ERROR, "the command did not end", false},
	{"{\"exit\":null,\"error\":\"no boot\"}", "", "", STATUS(1), MATRIX_ERROR, "no boot",
	 false},
	{"{\"exit\":null,\"boot_ns\":5,\"error\":\"it hangs\",\"kernel_end\":\"hang\"}", "", "",
	 STATUS(1), MATRIX_FAIL, "it hangs", false},
	{"{\"exit\":null,\"boot_ns\":5,\"error\":\"no room\",\"kernel_end\":null}", "", "",
	 STATUS(1), MATRIX_ERROR, "no room", false},
	{NULL, "", "noise\ndwell guest: bad option\nTry --help\n", STATUS(2), MATRIX_ERROR,
	 "ended with status 2 and no result: dwell guest: bad option", false},
	{"{\"exit\":", "", "last words\n\n", 11, MATRIX_ERROR, "killed by signal 11: last words",
	 false},
	{"[]", "", "", 0, MATRIX_ERROR, "ended with status 0 and no result", false},
	{RAN(null), "", "", STATUS(1), MATRIX_FAIL, "not ended within", true},
	/* what fails on a host that had no CPUs for it */
	{ON(3, "0.75", "0.5"), FAILED("max-gap", "3e9", "2e9"), "", STATUS(3), MATRIX_INCONCLUSIVE,
	 "others had 75 % of the host's CPUs: the guest lacked 50 % of what it could have had",
	 false},
	{ON(3, "0.75", "0.5"), FAILED("not-starved", "null", "null"), "", STATUS(3),
	 MATRIX_INCONCLUSIVE, "others had 75 %", false},
	{ON(3, "0.75", "0.5"), "", "", STATUS(3), MATRIX_INCONCLUSIVE,
	 "a check failed; but others had 75 %", false},
	{ON(null, "0.75", "0.5"), "", "", STATUS(1), MATRIX_INCONCLUSIVE,
	 "not ended within the `timeout` of the matrix; but others had", true},
	/* the others had much, but left enough for the guest */
	{ON(3, "0.75", "0.49"), FAILED("max-gap", "3e9", "2e9"), "", STATUS(3), MATRIX_FAIL, NULL,
	 false},
	/* by more than that can have done */
	{ON(3, "0.75", "0.5"), FAILED("max-gap", "23e9", "2e9"), "", STATUS(3), MATRIX_FAIL, NULL,
	 false},
	{ON(3, "0.75", "0.5"), FAILED("isolation", "null", "null"), "", STATUS(3), MATRIX_FAIL,
	 NULL, false},
	{ON(3, "0.75", "0.5"),
	 "{\"type\":\"verify\",\"results\":[{\"name\":\"mutex\",\"verdict\":\"fail\"}]}\n", "",
	 STATUS(3), MATRIX_FAIL, NULL, false},
	{"{\"exit\":null,\"error\":null,\"host\":{\"taken_share\":0.75,\"lacked_share\":0.5},"
	 "\"scheduler\":{\"state\":\"died\",\"reason\":\"stall\"}}",
	 "", "", STATUS(3), MATRIX_DIED, "stall", false},
	{NULL, "", "", 9, MATRIX_ERROR, "not ended within", true},
};

CASE(what_a_guest_leaves_gives_the_verdict)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/result", directory);
	for (size_t i = 0; i < ARRAY_SIZE(lefts); i++) {
		const struct left *left = &lefts[i];
		struct matrix_cell cell = {.reason = NULL};
		struct matrix_cell_end end = {.wait_status = left->wait_status,
					      .timed_out = left->timed_out,
					      .command = "load",
					      .result = path,
					      .out_fd = file_of(left->out),
					      .error_fd = file_of(left->said)};

		matrix_cell_reset(&cell);
		if (left->result)
			write_file(path, left->result);
		assert_int_equal(matrix_judge(&cell, &end), 0);
		if (cell.verdict != left->verdict || !cell.reason != !left->reason ||
		    (left->reason && strncmp(cell.reason, left->reason, strlen(left->reason)) != 0))
			fail_msg("%zu: %s: %s", i, matrix_verdicts[cell.verdict],
				 cell.reason ? cell.reason : "");
		matrix_cell_reset(&cell);
		close(end.out_fd);
		close(end.error_fd);
		unlink(path);
	}
}

static const char report[] =
	"{\"type\":\"worker\"}\n{\"type\":\"load\",\"end\":\"complete\",\"verdict\":\"fail\","
	"\"checks\":[{\"check\":\"max-gap\",\"verdict\":\"fail\",\"text\":\"worst 3s\"},"
	"{\"check\":\"worked\",\"verdict\":\"pass\",\"text\":\"fine\"},"
	"{\"check\":\"not-starved\",\"verdict\":\"fail\",\"text\":\"1 of 4\"}]}\n";

/* Cells 1 (failed checks), 2 (died, with the kernel's dump) and 0. */
static void run_cells(struct matrix *matrix)
{
	char path[PATH_MAX], dump[PATH_MAX], text[PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/result", directory);
	snprintf(dump, sizeof(dump), "%s/dump", directory);
	write_file(dump, "sched_ext: gone\n");
	for (size_t i = 0; i < 3; i++) {
		struct matrix_cell_end end = {.wait_status = i ? STATUS(3) : 0,
					      .command = "load",
					      .result = path,
					      .out_fd = file_of(i == 1 ? report : ""),
					      .error_fd = file_of("")};

		snprintf(text, sizeof(text),
			 "{\"release\":\"6.12\",\"accel\":\"tcg\",\"boot_ns\":1,\"exit\":%s,"
			 "\"host\":{\"taken_share\":0.25,\"lacked_share\":0.125},"
			 "\"scheduler\":{\"state\":\"%s\",\"reason\":\"stall\",\"after_ns\":"
			 "1200000000,\"dump\":\"%s\"}}",
			 i == 0 ? "0" : "3", i == 2 ? "died" : "alive", dump);
		write_file(path, text);
		matrix_cell_reset(&matrix->cells[i]);
		assert_int_equal(matrix_judge(&matrix->cells[i], &end), 0);
		matrix->cells[i].elapsed_ns = 1000 + i;
		close(end.out_fd);
		close(end.error_fd);
	}
	unlink(path);
	unlink(dump);
}

static const char three[] = SCHEDULERS "topologies: [tiny-2llc, max-cpu]\n" COMMAND;

CASE(tables_show_what_fails_where)
{
	struct matrix cleanup_matrix matrix;
	struct output out;

	make_matrix(&matrix, three);
	run_cells(&matrix);
	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(matrix_table(&out, &matrix), 0);
	output_char(&out, '\0');
	assert_string_equal(
		out.buffer,
		"matrix: load steady -d 2s, kernel auto\n\n"
		"TOPOLOGY   CPUS  none          true -e 2000  false         CHECKS THAT FAILED\n"
		"tiny-2llc     4  pass          fail          died          max-gap, not-starved\n"
		"max-cpu     252  skipped       skipped       skipped\n\n"
		"fail  tiny-2llc, true -e 2000\n"
		"  max-gap: worst 3s\n"
		"  not-starved: 1 of 4\n"
		"  dwell guest --kernel auto --topology tiny-2llc --memory 512M --scheduler "
		"'/bin/true -e 2000' -- load steady -d 2s\n\n"
		"died  tiny-2llc, false, after 1.20s: stall\n"
		"  dwell guest --kernel auto --topology tiny-2llc --memory 512M --scheduler "
		"/bin/false -- load steady -d 2s\n\n"
		"skipped  max-cpu: 252 CPUs, --max-cpus 8\n\n"
		"1 pass, 1 fail, 1 died, 3 skipped\n");
	output_release(&out);
}

/* A line of the table; fails if it is not there. */
static void assert_line(const struct output *out, const char *line)
{
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(out->buffer, wanted))
		fail_msg("no line '%s' in\n%s", line, out->buffer);
}

static const char pairs[] =
	"kernels: [auto]\ntopologies: [tiny-2llc]\nschedulers: [\"\", /bin/true, "
	"/bin/false]\nrepeat: 8\n" COMMAND;

/* Cells as if they had run: of the second scheduler twice as fast. */
static void run_pairs(struct matrix *matrix)
{
	static const struct load_group_key key = {.cgroup = "front", .work = "pipe-io"};

	for (size_t i = 0; i < matrix->cell_count; i++) {
		struct matrix_cell *cell = &matrix->cells[i];
		double values[LOAD_METRICS];

		for (int k = 0; k < LOAD_METRICS; k++)
			values[k] = NAN;
		values[METRIC_ITERATIONS] = (cell->scheduler == 1 ? 2000 : 1000) + cell->run;
		cell->session_ns = 5;
		cell->guest.accel = strdup("kvm");
		assert_int_equal(load_side_begin_run(&cell->figures, "then", NAN), 0);
		assert_non_null(
			load_side_add_values(&cell->figures, &key, values, NAN, LOAD_WAKES_NONE));
	}
}

/* Another day's machine is no difference between schedulers. */
CASE(runs_of_two_sessions_are_no_pairs)
{
	struct matrix cleanup_matrix matrix;
	struct matrix_scores scores;

	make_matrix(&matrix, pairs);
	run_pairs(&matrix);
	assert_int_equal(matrix_scores_make(&scores, &matrix), 0);
	assert_int_equal(scores.comparisons, 2);
	assert_int_equal(scores.apart, 0);
	assert_int_equal(scores.items[1].scheduler, 1);
	assert_int_equal(scores.items[1].change.verdict, LOAD_BETTER);
	matrix_scores_release(&scores);
	for (size_t i = 0; i < matrix.cell_count; i++)
		if (matrix.cells[i].scheduler == 1 && matrix.cells[i].run > 2)
			matrix.cells[i].session_ns = 6;
	assert_int_equal(matrix_scores_make(&scores, &matrix), 0);
	assert_int_equal(scores.comparisons, 1);
	assert_int_equal(scores.apart, 6);
	assert_int_equal(scores.items[1].runs, 8);
	assert_int_equal(scores.items[1].change.verdict, LOAD_UNDECIDED);
	assert_int_equal(scores.items[2].change.verdict, LOAD_SAME);
	matrix_scores_release(&scores);
	/* nor is one that was emulated where the others were not */
	for (size_t i = 0; i < matrix.cell_count; i++)
		if (matrix.cells[i].scheduler == 2 && matrix.cells[i].run == 4) {
			free(matrix.cells[i].guest.accel);
			matrix.cells[i].guest.accel = strdup("tcg");
		}
	assert_int_equal(matrix_scores_make(&scores, &matrix), 0);
	assert_int_equal(scores.apart, 7);
	matrix_scores_release(&scores);
}

CASE(tables_of_several_kernels_and_runs_show_the_worst)
{
	struct matrix cleanup_matrix matrix;
	struct output out;

	make_matrix(&matrix,
		    "kernels: [auto, " SOME "]\nrepeat: 3\ntopologies: tiny-2llc\n" COMMAND);
	matrix.cells[0].verdict = matrix.cells[1].verdict = MATRIX_PASS;
	matrix.cells[2].verdict = MATRIX_FAIL;
	matrix.cells[3].verdict = MATRIX_DIED;
	matrix.cells[4].verdict = MATRIX_FAIL;
	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(matrix_table(&out, &matrix), 0);
	output_char(&out, '\0');
	assert_line(&out, "KERNEL  TOPOLOGY   CPUS  none        ");
	assert_line(&out, "auto    tiny-2llc     4  fail 1/3");
	assert_line(&out, "exe     tiny-2llc     4  died 1/3");
	assert_line(&out, "fail  auto, tiny-2llc, no scheduler, run 3");
	assert_line(&out, "died  exe, tiny-2llc, no scheduler, run 1");
	assert_line(&out, "2 pass, 2 fail, 1 died, 1 not run");
	output_release(&out);
}

/* What comes from a guest is made harmless before a terminal has it. */
CASE(hostile_words_cannot_break_the_table)
{
	struct matrix cleanup_matrix matrix;
	struct output out;

	make_matrix(&matrix, "topologies: tiny-2llc\n" COMMAND);
	matrix.cells[0].verdict = MATRIX_FAIL;
	matrix.cells[0].reason = strdup("a\033[2Jb\nc");
	assert_int_equal(matrix_words_add(&matrix.cells[0].checks, "ch\033eck"), 0);
	assert_int_equal(matrix_words_add(&matrix.cells[0].checks, "te\rxt"), 0);
	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(matrix_table(&out, &matrix), 0);
	output_char(&out, '\0');
	assert_null(strpbrk(out.buffer, "\033\r"));
	assert_line(&out, "fail  tiny-2llc, no scheduler: a?[2Jb?c");
	assert_line(&out, "  ch?eck: te?xt");
	output_release(&out);
}

static char *json_of(const struct matrix *matrix)
{
	struct output out;
	char *text;

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(matrix_json(&out, matrix), 0);
	text = strndup(out.buffer, out.used);
	output_release(&out);
	return text;
}

CASE(verdicts_are_read_back_as_they_were)
{
	struct matrix cleanup_matrix matrix, cleanup_matrix again;
	struct error error = {""};
	char path[PATH_MAX];
	char *before, *after;
	size_t changed;

	snprintf(path, sizeof(path), "%s/state", directory);
	make_matrix(&matrix, three);
	run_cells(&matrix);
	assert_string_equal(matrix.cells[2].guest.dump, "sched_ext: gone\n");
	assert_float_equal(matrix.cells[2].guest.host_taken, .25, 0);
	assert_float_equal(matrix.cells[2].guest.host_lacked, .125, 0);
	assert_int_equal(matrix_state_write(&matrix, path, &error), 0);
	make_matrix(&again, three);
	assert_int_equal(matrix_state_read(&again, path, &changed, &error), 0);
	assert_int_equal(changed, 0);
	before = json_of(&matrix);
	after = json_of(&again);
	assert_string_equal(before, after);
	assert_non_null(strstr(before, "\"host\":{\"taken_share\":0.25,\"lacked_share\":0.125}"));
	free(before);
	free(after);
	unlink(path);
}

CASE(errors_are_run_again)
{
	struct matrix cleanup_matrix matrix, cleanup_matrix again;
	struct error error = {""};
	char path[PATH_MAX];
	size_t changed;

	snprintf(path, sizeof(path), "%s/state", directory);
	make_matrix(&matrix, three);
	run_cells(&matrix);
	matrix.cells[0].verdict = MATRIX_ERROR;
	assert_int_equal(matrix_state_write(&matrix, path, &error), 0);
	make_matrix(&again, three);
	assert_int_equal(matrix_state_read(&again, path, &changed, &error), 0);
	assert_int_equal(changed, 0);
	assert_int_equal(again.cells[0].verdict, MATRIX_PENDING);
	assert_null(again.cells[0].guest.release);
	unlink(path);
	assert_int_equal(matrix_state_read(&again, path, &changed, &error), 0);
	assert_int_equal(changed, 0);
}

CASE(cells_of_files_that_have_changed_are_run_again)
{
	struct matrix cleanup_matrix matrix;
	struct error error = {""};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/state", directory);
	make_matrix(&matrix, three);
	run_cells(&matrix);
	assert_int_equal(matrix_state_write(&matrix, path, &error), 0);
	/* none, the first scheduler, the command or the kernel */
	for (int i = 0; i < 4; i++) {
		struct matrix cleanup_matrix again;
		size_t changed;

		make_matrix(&again, three);
		again.files.schedulers[1] += i == 1;
		again.files.others += i == 2;
		again.files.kernels[0] += i == 3;
		assert_int_equal(matrix_state_read(&again, path, &changed, &error), 0);
		assert_int_equal(changed, i == 0 ? 0 : i == 1 ? 1 : 3);
		assert_int_equal(again.cells[0].verdict, i < 2 ? MATRIX_PASS : MATRIX_PENDING);
		assert_int_equal(again.cells[1].verdict, i < 1 ? MATRIX_FAIL : MATRIX_PENDING);
		assert_int_equal(again.cells[2].verdict, i < 2 ? MATRIX_DIED : MATRIX_PENDING);
	}
	unlink(path);
}

CASE(verdicts_of_another_matrix_are_refused)
{
	static const char *const others[][2] = {
		{SCHEDULERS "topologies: [tiny-2llc, max-cpu]\ncommand: load steady\n", "command"},
		{"topologies: [tiny-2llc, max-cpu]\n" COMMAND, "schedulers"},
		{SCHEDULERS "topologies: [tiny-2llc, smt-2llc]\n" COMMAND, "topologies"},
		{SCHEDULERS "topologies: [tiny-2llc, max-cpu]\nrepeat: 2\n" COMMAND, "repeat"},
		{SCHEDULERS "topologies: [tiny-2llc, max-cpu]\nmemory: 1G\n" COMMAND,
		 "memory_bytes"},
	};
	struct matrix cleanup_matrix matrix;
	struct error error = {""};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/state", directory);
	make_matrix(&matrix, three);
	assert_int_equal(matrix_state_write(&matrix, path, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct matrix cleanup_matrix other;
		size_t changed;
		char wanted[64];

		make_matrix(&other, others[i][0]);
		assert_int_equal(matrix_state_read(&other, path, &changed, &error), -EINVAL);
		snprintf(wanted, sizeof(wanted), "another matrix: `%s`", others[i][1]);
		if (!strstr(error.text, wanted))
			fail_msg("%s: %s", others[i][1], error.text);
	}
	unlink(path);
}

CASE(files_that_are_none_of_ours_are_refused)
{
	static const char *const texts[] = {"",
					    "{",
					    "[]",
					    "{\"type\":\"load\",\"version\":1}",
					    "{\"type\":\"guest-matrix\",\"version\":2}",
					    "{\"type\":\"guest-matrix\",\"version\":1}"};
	struct matrix cleanup_matrix matrix;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/state", directory);
	make_matrix(&matrix, three);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error error = {""};
		size_t changed;

		write_file(path, texts[i]);
		assert_int_equal(matrix_state_read(&matrix, path, &changed, &error), -EINVAL);
		assert_non_null(strstr(error.text, path));
		assert_int_equal(changed, 0);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_guest_leaves_gives_the_verdict),
		cmocka_unit_test(tables_show_what_fails_where),
		cmocka_unit_test(runs_of_two_sessions_are_no_pairs),
		cmocka_unit_test(tables_of_several_kernels_and_runs_show_the_worst),
		cmocka_unit_test(hostile_words_cannot_break_the_table),
		cmocka_unit_test(verdicts_are_read_back_as_they_were),
		cmocka_unit_test(errors_are_run_again),
		cmocka_unit_test(cells_of_files_that_have_changed_are_run_again),
		cmocka_unit_test(verdicts_of_another_matrix_are_refused),
		cmocka_unit_test(files_that_are_none_of_ours_are_refused),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	failed = RUN(tests);
	rmdir(directory);
	return failed;
}
