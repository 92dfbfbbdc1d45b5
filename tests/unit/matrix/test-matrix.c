// SPDX-License-Identifier: GPL-2.0-or-later
/* Many guests: what the file says, and the cells it makes. */
#include "test.h"

#include <errno.h>

#include "base/duration.h"
#include "command/command.h"
#include "matrix/matrix-files.h"

CASE(a_file_says_all_there_is)
{
	struct matrix cleanup_matrix matrix;

	read_matrix(&matrix, "name: all\nkernels: [auto, " SOME "]\n" SCHEDULERS
			     "topologies: [Tiny_2llc, 2n4l2c1t]\nmemory: 2G\nrepeat: 3\n"
			     "timeout: 5m\ncommand: [load, a file.yaml]\n");
	assert_string_equal(matrix.name, "all");
	assert_int_equal(matrix.kernels.count, 2);
	assert_string_equal(matrix.kernels.items[1], SOME);
	assert_int_equal(matrix.schedulers.count, 3);
	assert_string_equal(matrix.schedulers.items[0], "");
	assert_string_equal(matrix.schedulers.items[1], "/bin/true -e 2000");
	assert_int_equal(matrix.topology_count, 2);
	assert_string_equal(matrix.topologies[0].name, "tiny-2llc");
	assert_int_equal(shape_cpus(&matrix.topologies[1].shape), 8);
	assert_int_equal(matrix.memory_bytes, 2ULL << 30);
	assert_int_equal(matrix.repeat, 3);
	assert_int_equal(matrix.timeout_ns, 300 * NS_PER_S);
	assert_int_equal(matrix.command.count, 2);
	assert_string_equal(matrix.command.items[1], "a file.yaml");
	assert_null(matrix.command.items[2]);
}

CASE(a_file_may_say_little)
{
	struct matrix cleanup_matrix matrix;

	read_matrix(&matrix, "topologies: all\n" COMMAND);
	assert_string_equal(matrix.kernels.items[0], "auto");
	assert_int_equal(matrix.schedulers.count, 1);
	assert_string_equal(matrix.schedulers.items[0], "");
	assert_int_equal(matrix.topology_count, 24);
	assert_int_equal(matrix.command.count, 4);
	assert_int_equal(matrix.repeat, 1);
}

CASE(mistakes_are_reported_with_their_place)
{
	static const char *const wrong[][2] = {
		{"", "m.yaml: there is nothing in it"},
		{"[a]\n", "m.yaml:1:1: a matrix must be a mapping"},
		{"topologies: all\n", "m.yaml: a matrix needs a `command`"},
		{COMMAND "kernel: auto\n", "m.yaml:2:1: a matrix has no key 'kernel'; did you mean "
					   "'kernels'?"},
		{COMMAND "kernels: []\n", "m.yaml:2:10: kernels: the list is empty"},
		{COMMAND "topologies: []\n", "m.yaml:2:13: topologies: the list is empty"},
		{COMMAND "schedulers: []\n", "m.yaml:2:13: schedulers: the list is empty"},
		{"command: []\n", "m.yaml:1:10: command: the list is empty"},
		{"command: ''\n", "m.yaml:1:10: command: which command?"},
		{"command: guest -- top\n", "m.yaml:1:10: command: a guest within a guest"},
		{"command: laod steady\n", "m.yaml:1:10: command: no command 'laod'; did you mean "
					   "'load'?"},
		{COMMAND "kernels:\n  - auto\n  - /nonexistent\n",
		 "m.yaml:4:5: cannot read the kernel '/nonexistent'"},
		{COMMAND "kernels: [" SOME ", /proc/thread-self/exe]\n",
		 "m.yaml:2:27: '/proc/thread-self/exe' is there already, as '" SOME "'"},
		{COMMAND "kernels:\n", "a kernel is a file, or `auto`"},
		{COMMAND "topologies: [tiny-2llc, smt-2lcc]\n",
		 "m.yaml:2:25: bad topology 'smt-2lcc': did you mean 'smt-2llc'?"},
		{COMMAND "topologies: [tiny-2llc, 1n2l2c1t]\n",
		 "m.yaml:2:25: '1n2l2c1t' is there already, as 'tiny-2llc'"},
		{COMMAND "topologies: [max-cpu, all]\n", "'max-cpu' is there already"},
		{COMMAND "schedulers: ['', none]\n", "m.yaml:2:18: 'none' is there already"},
		{COMMAND "schedulers: [/bin/true, /bin/true]\n", "'/bin/true' is there already"},
		{COMMAND "schedulers: [/nonexistent -e 5]\n",
		 "m.yaml:2:14: cannot find the scheduler '/nonexistent'"},
		{COMMAND "schedulers: [/etc/passwd]\n", "'/etc/passwd' is not a program"},
		{COMMAND "memory: much\n", "m.yaml:2:9: memory: bad size"},
		{COMMAND "repeat: 0\n", "m.yaml:2:9: repeat: '0' is not a whole number from 1"},
		{COMMAND "repeat: 2\nrepeat: 2\n", "it is there twice"},
		{COMMAND "timeout: -1\n", "m.yaml:2:10: timeout: "},
		{COMMAND "name: ''\n", "m.yaml:2:7: name: a name has 1 to"},
		{COMMAND "kernels: [\n", "not YAML"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct matrix cleanup_matrix matrix;
		struct error error = {""};

		matrix_init(&matrix);
		matrix.check_command = command_check;
		assert_int_equal(matrix_read_text(&matrix, wrong[i][0], "m.yaml", &error), -EINVAL);
		if (!strstr(error.text, wrong[i][1]))
			fail_msg("%s-> %s", wrong[i][0], error.text);
	}
}

CASE(cells_are_all_combinations_and_large_ones_are_skipped)
{
	struct matrix cleanup_matrix matrix;
	struct error error = {""};
	size_t counts[MATRIX_VERDICTS];
	char title[128];

	make_matrix(&matrix, "kernels: [auto, " SOME "]\n" SCHEDULERS
			     "topologies: [tiny-2llc, medium-8llc]\nrepeat: 2\n" COMMAND);
	assert_int_equal(matrix.cell_count, 24);
	matrix_count(&matrix, counts);
	assert_int_equal(counts[MATRIX_PENDING], 12);
	assert_int_equal(counts[MATRIX_SKIPPED], 12);
	matrix_cell_title(title, sizeof(title), &matrix, &matrix.cells[3]);
	assert_string_equal(title, "auto, tiny-2llc, true -e 2000, run 2");
	assert_string_equal(matrix.cells[6].reason, "64 CPUs, --max-cpus 8");
	assert_int_equal(matrix_cell_memory(&matrix, &matrix.cells[0]), 512ULL << 20);
	assert_int_equal(matrix_cell_memory(&matrix, &matrix.cells[6]), 4ULL << 30);
	matrix_release(&matrix);
	make_matrix(&matrix, SCHEDULERS COMMAND);
	matrix_cell_title(title, sizeof(title), &matrix, &matrix.cells[0]);
	assert_string_equal(title, "1n1l2c1t, no scheduler");
	matrix_release(&matrix);
	read_matrix(&matrix, SCHEDULERS "topologies: all\nrepeat: 1000\n" COMMAND);
	assert_int_equal(matrix_expand(&matrix, 8, &error), -EINVAL);
	assert_non_null(strstr(error.text, "72000 cells, more than the 10000"));
}

static void assert_command(const struct matrix *matrix, size_t cell, const char *wanted)
{
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(matrix_cell_command(&out, matrix, &matrix->cells[cell]), 0);
	output_char(&out, '\0');
	assert_string_equal(out.buffer, wanted);
	output_release(&out);
}

CASE(cells_have_a_command_line_that_a_shell_takes)
{
	struct matrix cleanup_matrix matrix;

	make_matrix(&matrix, SCHEDULERS "topologies: [smt-2llc, medium-8llc]\n"
					"memory: 1000000\n"
					"command: [load, \"it's.yaml\", \"\"]\n");
	assert_int_equal(matrix_words_add(&matrix.options, "--append"), 0);
	assert_int_equal(matrix_words_add(&matrix.options, "nokaslr quiet"), 0);
	assert_command(&matrix, 0,
		       "dwell guest --kernel auto --topology smt-2llc --memory 1000000 --append "
		       "'nokaslr quiet' -- load 'it'\\''s.yaml' ''");
	assert_command(&matrix, 4,
		       "dwell guest --kernel auto --topology medium-8llc --memory 1000000 "
		       "--scheduler '/bin/true -e 2000' --append "
		       "'nokaslr quiet' -- load 'it'\\''s.yaml' ''");
}

CASE(files_of_several_guests_have_several_names)
{
	struct matrix cleanup_matrix matrix;

	make_matrix(&matrix, SCHEDULERS "topologies: [smt-2llc, medium-8llc]\n"
					"memory: 1G\n"
					"command: record -o {cell}-of-{cell}.dwell {cel\n");
	assert_command(&matrix, 0,
		       "dwell guest --kernel auto --topology smt-2llc --memory 1024M -- record "
		       "-o 1-of-1.dwell '{cel'");
	assert_command(&matrix, 5,
		       "dwell guest --kernel auto --topology medium-8llc --memory 1024M "
		       "--scheduler /bin/false -- record -o "
		       "6-of-6.dwell '{cel'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_says_all_there_is),
		cmocka_unit_test(a_file_may_say_little),
		cmocka_unit_test(mistakes_are_reported_with_their_place),
		cmocka_unit_test(cells_are_all_combinations_and_large_ones_are_skipped),
		cmocka_unit_test(cells_have_a_command_line_that_a_shell_takes),
		cmocka_unit_test(files_of_several_guests_have_several_names),
	};

	return RUN(tests);
}
