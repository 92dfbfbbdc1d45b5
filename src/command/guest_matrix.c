// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_matrix.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/loop.h"
#include "base/print.h"
#include "base/size.h"
#include "command/command.h"
#include "command/guest_matrix_process.h"
#include "command/guest_matrix_progress.h"
#include "command/guest_matrix_state.h"
#include "command/guest_matrix_yaml.h"
#include "guest/kernel.h"
#include "view/guest.h"

#define TICK_NS		(500 * NS_PER_MS)
#define GRACE_NS	(5 * NS_PER_S) /* from SIGTERM to SIGKILL */
#define MEMORY_OF_QEMU	(256ULL << 20) /* besides that of the guest */
#define MEMORY_SHARE	0.9	       /* of what is available */
#define CPUS_OVERCOMMIT 2	       /* of all guests together, in CPUs of this host */

struct runner {
	const struct guest_matrix_options *options;
	struct matrix *matrix;
	struct loop loop;
	struct guest_matrix_process *processes;
	size_t running, room;
	size_t next;	       /* the first cell that may not have been started */
	uint64_t memory_bytes; /* for guests; read when none runs */
	bool stopping;
	struct guest_matrix_progress progress;
};

static uint64_t memory_available(void)
{
	cleanup_file FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return (uint64_t)((double)kib * 1024 * MEMORY_SHARE);
	return UINT64_MAX;
}

static uint64_t memory_of(const struct runner *runner, const struct matrix_cell *cell)
{
	return matrix_cell_memory(runner->matrix, cell) + MEMORY_OF_QEMU;
}

/* The next one to start; NULL: there is none. */
static struct matrix_cell *next_cell(struct runner *runner)
{
	struct matrix *matrix = runner->matrix;

	while (runner->next < matrix->cell_count &&
	       matrix->cells[runner->next].verdict != MATRIX_PENDING)
		runner->next++;
	return runner->next < matrix->cell_count ? &matrix->cells[runner->next] : NULL;
}

/*
 * Whether one more guest can run beside the others. Their memory counts in full, though they take
 * it bit by bit; CPUs count only where the user has not set the number of guests.
 */
static bool has_room(const struct runner *runner, const struct matrix_cell *cell)
{
	uint64_t bytes = memory_of(runner, cell);
	unsigned int cpus = matrix_cell_cpus(runner->matrix, cell);

	if (!runner->running)
		return true;
	for (size_t i = 0; i < runner->running; i++) {
		bytes += memory_of(runner, runner->processes[i].cell);
		cpus += matrix_cell_cpus(runner->matrix, runner->processes[i].cell);
	}
	if (bytes > runner->memory_bytes)
		return false;
	return runner->options->jobs ? runner->running < runner->options->jobs
				     : cpus <= CPUS_OVERCOMMIT * guest_matrix_host_cpus();
}

static int save(const struct runner *runner, struct error *error)
{
	return runner->options->out
		       ? guest_matrix_state_write(runner->matrix, runner->options->out, error)
		       : 0;
}

/* One that no other guest's end would make room for. */
static int refuse(struct runner *runner, struct matrix_cell *cell, struct error *error)
{
	char wanted[16], available[16], text[96];

	size_format(wanted, sizeof(wanted), memory_of(runner, cell));
	size_format(available, sizeof(available), runner->memory_bytes);
	snprintf(text, sizeof(text), "needs %s of memory, %s can be had", wanted, available);
	cell->verdict = MATRIX_ERROR;
	cell->reason = strdup(text);
	if (!cell->reason)
		return error_set(error, ENOMEM, "out of memory");
	guest_matrix_progress_cell(&runner->progress, runner->matrix, cell);
	return save(runner, error);
}

static int start(struct runner *runner, struct matrix_cell *cell, struct error *error)
{
	struct guest_matrix_process *process;
	int result;

	if (array_reserve(&runner->processes, &runner->room, runner->running + 1,
			  sizeof(*runner->processes)) < 0)
		return error_set(error, ENOMEM, "out of memory");
	process = &runner->processes[runner->running];
	result = guest_matrix_process_start(process, runner->matrix, cell, error);
	runner->running += result >= 0;
	return result;
}

/* Starts what there is room for; without anything left to do the loop ends. */
static int fill(struct runner *runner, struct error *error)
{
	struct matrix_cell *cell;
	int result = 0;

	while (result >= 0 && !runner->stopping && (cell = next_cell(runner))) {
		if (!runner->running)
			runner->memory_bytes = memory_available();
		if (!has_room(runner, cell))
			break;
		if (memory_of(runner, cell) > runner->memory_bytes) {
			result = refuse(runner, cell, error);
			continue;
		}
		result = start(runner, cell, error);
		runner->next++;
	}
	if (!runner->running)
		runner->loop.stop = true;
	return result;
}

static int reap(struct runner *runner, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < runner->running;) {
		struct matrix_cell *cell = runner->processes[i].cell;
		bool ended;

		result = guest_matrix_process_reap(&runner->processes[i], &ended, error);
		if (!ended) {
			i++;
			continue;
		}
		runner->processes[i] = runner->processes[--runner->running];
		if (result >= 0 && cell->verdict != MATRIX_PENDING) {
			guest_matrix_progress_cell(&runner->progress, runner->matrix, cell);
			result = save(runner, error);
		}
	}
	return result < 0 ? result : fill(runner, error);
}

/* Ctrl-C once more: no patience with guests that do not end. */
static void stop(struct runner *runner)
{
	runner->stopping = true;
	for (size_t i = 0; i < runner->running; i++)
		guest_matrix_process_end(&runner->processes[i]);
}

static int take_signal(void *data, struct error *error)
{
	struct runner *runner = data;

	if (runner->loop.signal != SIGCHLD)
		stop(runner);
	return reap(runner, error);
}

static int take_tick(void *data, struct error *error)
{
	struct runner *runner = data;
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < runner->running; i++) {
		struct guest_matrix_process *process = &runner->processes[i];

		if (!process->told_ns &&
		    now_ns - process->started_ns > runner->matrix->timeout_ns) {
			process->timed_out = true;
			guest_matrix_process_end(process);
		} else if (process->told_ns && now_ns - process->told_ns > GRACE_NS) {
			guest_matrix_process_end(process);
		}
	}
	guest_matrix_progress_show(&runner->progress, runner->matrix, runner->processes,
				   runner->running);
	/* memory may have come free */
	return fill(runner, error);
}

static int run(struct runner *runner, struct error *error)
{
	static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
	int result = loop_init(&runner->loop, error);

	if (result >= 0)
		result = loop_add_signals(&runner->loop, signals, ARRAY_SIZE(signals), take_signal,
					  runner, error);
	if (result >= 0)
		result = loop_add_timer(&runner->loop, TICK_NS, take_tick, runner, error);
	if (result >= 0)
		result = fill(runner, error);
	if (result >= 0)
		result = loop_run(&runner->loop, error);
	guest_matrix_progress_clear(&runner->progress);
	for (size_t i = 0; i < runner->running; i++)
		guest_matrix_process_release(&runner->processes[i]);
	free(runner->processes);
	loop_release(&runner->loop);
	return result;
}

/* What hours have brought together is not lost by a forgotten --resume. */
static int open_state(struct runner *runner, struct error *error)
{
	const struct guest_matrix_options *options = runner->options;
	struct stat status;
	size_t changed = 0;
	int result = 0;

	if (!options->out)
		return 0;
	if (!stat(options->out, &status) && !S_ISREG(status.st_mode))
		return error_set(error, EINVAL, "%s is not a regular file", options->out);
	if (options->resume)
		result = guest_matrix_state_read(runner->matrix, options->out, &changed, error);
	else if (!access(options->out, F_OK))
		return error_set(error, EEXIST,
				 "%s is there already: go on with it by --resume, or remove it",
				 options->out);
	if (result >= 0 && changed)
		print_text(stderr,
			   "dwell guest: %zu cells run again: the scheduler, the kernel or another "
			   "file has changed\n",
			   changed);
	return result < 0 ? result : save(runner, error);
}

static int print(const struct runner *runner, struct error *error)
{
	const struct result_options *options = &runner->options->output;
	struct emit emit = {.format = NULL};
	struct output out;
	int result;

	if (output_init(&out, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (!options->format)
		result = guest_matrix_table(&out, runner->matrix);
	else
		result = emit_begin(&emit, options->format, &guest_matrix_schema, ~0U,
				    options->fields, &out, error);
	if (result >= 0 && options->format)
		result = guest_matrix_emit(&emit, runner->matrix);
	emit_end(&emit);
	result = result < 0 ? error_set(error, -result, "cannot write the verdicts: %s",
					strerror(-result))
			    : command_write(&out, error);
	output_release(&out);
	return result;
}

/* A scheduler that failed is news; that other guests could not be run is not more so. */
static enum exit_code exit_code_of(const struct matrix *matrix)
{
	size_t counts[MATRIX_VERDICTS];

	matrix_count(matrix, counts);
	if (counts[MATRIX_FAIL] || counts[MATRIX_DIED])
		return EXIT_CHECK_FAILED;
	if (counts[MATRIX_ERROR])
		return EXIT_NOT_RUN;
	return counts[MATRIX_INCONCLUSIVE] ? EXIT_INCONCLUSIVE : EXIT_DONE;
}

static int interrupted(const struct runner *runner)
{
	size_t counts[MATRIX_VERDICTS], count = runner->matrix->cell_count;
	struct error error;

	matrix_count(runner->matrix, counts);
	error_set(&error, EINTR, "interrupted: %zu of %zu cells done%s",
		  count - counts[MATRIX_PENDING], count,
		  runner->options->out ? "; go on with --resume" : "");
	return command_fail("guest", EXIT_NOT_RUN, &error);
}

static int hand_on(struct matrix *matrix, const struct guest_matrix_options *options)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < options->handed_count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", options->handed[i].name);
		result = matrix_words_add(&matrix->options, name);
		if (result >= 0 && options->handed[i].value)
			result = matrix_words_add(&matrix->options, options->handed[i].value);
	}
	return result;
}

/*
 * `auto` is one kernel for all cells, those without a scheduler too: it is named, as what is the
 * newest one may be another one when the matrix is gone on with.
 */
static int find_kernel(struct matrix *matrix, struct error *error)
{
	struct matrix_words *kernels = &matrix->kernels;
	bool sched_ext = matrix->schedulers.count > 1 || *matrix->schedulers.items[0];
	char found[PATH_MAX];
	size_t number = 0;
	int result;

	while (number < kernels->count && strcmp(kernels->items[number], "auto") != 0)
		number++;
	if (number == kernels->count)
		return 0;
	result = kernel_find(sched_ext, found, error);
	if (result < 0)
		return result;
	for (size_t i = 0; i < kernels->count; i++)
		if (!strcmp(kernels->items[i], found))
			return error_set(error, EINVAL, "kernels: `auto` is %s, which is there too",
					 found);
	free(kernels->items[number]);
	kernels->items[number] = strdup(found);
	return kernels->items[number] ? 0 : error_set(error, ENOMEM, "out of memory");
}

/* From the file to the cells, none of them run. */
static int prepare(struct runner *runner, struct error *error)
{
	struct matrix *matrix = runner->matrix;
	const struct guest_matrix_options *options = runner->options;
	int result = guest_matrix_read_file(matrix, options->file, error);

	if (result >= 0)
		result = find_kernel(matrix, error);
	if (result >= 0 && hand_on(matrix, options) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = matrix_expand(matrix, (unsigned int)options->max_cpus, error);
	return result < 0 ? result : open_state(runner, error);
}

static int list(void)
{
	struct error error = {""};
	struct output out;
	int result;

	if (output_init(&out, STDOUT_FILENO) < 0) {
		(void)error_set(&error, ENOMEM, "out of memory");
		return command_fail("guest", EXIT_NOT_RUN, &error);
	}
	guest_presets_table(&out);
	result = command_write(&out, &error);
	output_release(&out);
	return result < 0 ? command_fail("guest", EXIT_NOT_RUN, &error) : (int)EXIT_DONE;
}

int guest_matrix_run(const struct guest_matrix_options *options)
{
	struct matrix cleanup_matrix matrix;
	struct runner runner = {.options = options, .matrix = &matrix, .loop.epoll_fd = -1};
	struct error error = {""};
	int result;

	matrix_init(&matrix);
	if (options->list)
		return list();
	guest_matrix_progress_init(&runner.progress);
	result = prepare(&runner, &error);
	if (result < 0)
		return command_fail("guest", result == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	if (run(&runner, &error) < 0 || print(&runner, &error) < 0)
		return command_fail("guest", EXIT_NOT_RUN, &error);
	return runner.stopping ? interrupted(&runner) : (int)exit_code_of(&matrix);
}
