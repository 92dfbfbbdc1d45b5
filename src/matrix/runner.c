// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_getaffinity */
#include "matrix/runner.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/own_limits.h"
#include "base/duration.h"
#include "base/loop.h"
#include "base/print.h"
#include "base/size.h"
#include "base/status_line.h"
#include "matrix/process.h"
#include "matrix/progress.h"
#include "matrix/sessions.h"
#include "matrix/state.h"

#define TICK_NS		(500 * NS_PER_MS)
#define GRACE_NS	(5 * NS_PER_S) /* from SIGTERM to SIGKILL */
#define MEMORY_OF_QEMU	(256ULL << 20) /* besides that of the guest */
#define MEMORY_SHARE	0.9	       /* of what is available */
#define CPUS_OVERCOMMIT 2	       /* of all guests together, in CPUs of this host */

struct runner {
	const struct matrix_run_options *options;
	struct matrix *matrix;
	struct loop loop;
	struct matrix_process *processes;
	size_t running, room;
	size_t next;	       /* the first position that may not have been started */
	size_t next_again;     /* likewise of those that failed */
	char *again;	       /* how names of their files begin; NULL: none runs again */
	uint64_t memory_bytes; /* for guests; read when none runs */
	bool stopping;
	struct status_line progress;
};

unsigned int matrix_host_cpus(void)
{
	cpu_set_t set;
	long count = sched_getaffinity(0, sizeof(set), &set) < 0 ? sysconf(_SC_NPROCESSORS_ONLN)
								 : CPU_COUNT(&set);
	struct own_limits limits;

	/* in a container all CPUs may be there, and a time of two of them */
	own_limits_read(&limits);
	if (count > limits.cpus)
		count = limits.cpus;
	return count > 0 ? (unsigned int)count : 1;
}

static uint64_t memory_available(void)
{
	cleanup_file FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	struct own_limits limits;
	char line[128];

	own_limits_read(&limits);
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 &&
		    limits.memory_bytes > kib * 1024)
			limits.memory_bytes = kib * 1024;
	return limits.memory_bytes == UINT64_MAX
		       ? UINT64_MAX
		       : (uint64_t)((double)limits.memory_bytes * MEMORY_SHARE);
}

static uint64_t memory_of(const struct runner *runner, const struct matrix_cell *cell)
{
	return matrix_cell_memory(runner->matrix, cell) + MEMORY_OF_QEMU;
}

static bool is_of_part(const struct runner *runner, const struct matrix_cell *cell)
{
	const struct matrix_run_options *options = runner->options;

	return !options->shards ||
	       matrix_cell_shard(runner->matrix, cell, options->shards) == options->shard;
}

static bool is_to_run(const struct runner *runner, const struct matrix_cell *cell)
{
	return cell->verdict == MATRIX_PENDING && is_of_part(runner, cell);
}

/* The next one to start; NULL: there is none. */
static struct matrix_cell *next_cell(struct runner *runner)
{
	struct matrix *matrix = runner->matrix;

	while (runner->next < matrix->cell_count &&
	       !is_to_run(runner, matrix_cell_to_run(matrix, runner->next)))
		runner->next++;
	return runner->next < matrix->cell_count ? matrix_cell_to_run(matrix, runner->next) : NULL;
}

/* The first run that failed, of the runs of its kernel, topology and scheduler. */
static bool is_first_failure(const struct matrix_cell *cell)
{
	const struct matrix_cell *first = cell - (cell->run - 1);

	while (first < cell && !matrix_verdict_is_failure(first->verdict))
		first++;
	return matrix_verdict_is_failure(cell->verdict) && first == cell;
}

static bool is_to_repeat(const struct runner *runner, const struct matrix_cell *cell)
{
	return is_first_failure(cell) && cell->again.verdict == MATRIX_PENDING &&
	       is_of_part(runner, cell);
}

/*
 * The next one of those, when all first runs have ended: what is recorded takes CPUs from others.
 */
static struct matrix_cell *next_again(struct runner *runner)
{
	struct matrix *matrix = runner->matrix;

	if (!runner->again)
		return NULL;
	for (size_t i = 0; i < runner->running; i++)
		if (!runner->processes[i].again)
			return NULL;
	while (runner->next_again < matrix->cell_count &&
	       !is_to_repeat(runner, &matrix->cells[runner->next_again]))
		runner->next_again++;
	return runner->next_again < matrix->cell_count ? &matrix->cells[runner->next_again] : NULL;
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
				     : cpus <= CPUS_OVERCOMMIT * matrix_host_cpus();
}

static int save(const struct runner *runner, struct error *error)
{
	return runner->options->out
		       ? matrix_state_write(runner->matrix, runner->options->out, error)
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
	matrix_progress_cell(&runner->progress, runner->matrix, cell);
	return save(runner, error);
}

static int start(struct runner *runner, struct matrix_cell *cell, const char *again,
		 struct error *error)
{
	struct matrix_process *process;
	int result;

	if (array_reserve(&runner->processes, &runner->room, runner->running + 1,
			  sizeof(*runner->processes)) < 0)
		return error_set(error, ENOMEM, "out of memory");
	process = &runner->processes[runner->running];
	result = matrix_process_start(process, runner->matrix, cell, again, error);
	runner->running += result >= 0;
	return result;
}

/* Starts what there is room for; without anything left to do the loop ends. */
static int fill(struct runner *runner, struct error *error)
{
	int result = 0;

	while (result >= 0 && !runner->stopping) {
		struct matrix_cell *first = next_cell(runner);
		struct matrix_cell *cell = first ? first : next_again(runner);

		if (!cell)
			break;
		if (!runner->running)
			runner->memory_bytes = memory_available();
		if (!has_room(runner, cell))
			break;
		if (first && memory_of(runner, cell) > runner->memory_bytes) {
			result = refuse(runner, cell, error);
			continue;
		}
		result = start(runner, cell, first ? NULL : runner->again, error);
		runner->next += first != NULL;
		runner->next_again += first == NULL;
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
		bool ended, again = runner->processes[i].again;

		result = matrix_process_reap(&runner->processes[i], &ended, error);
		if (!ended) {
			i++;
			continue;
		}
		runner->processes[i] = runner->processes[--runner->running];
		if (result >= 0 &&
		    (again ? cell->again.verdict : cell->verdict) != MATRIX_PENDING) {
			matrix_progress_cell(&runner->progress, runner->matrix, cell);
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
		matrix_process_end(&runner->processes[i]);
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
		struct matrix_process *process = &runner->processes[i];

		if (!process->terminated_ns && now_ns - process->started_ns > process->timeout_ns) {
			process->timed_out = true;
			matrix_process_end(process);
		} else if (process->terminated_ns && now_ns - process->terminated_ns > GRACE_NS) {
			matrix_process_end(process);
		}
	}
	matrix_progress_show(&runner->progress, runner->matrix, runner->processes, runner->running);
	/* memory may have come free */
	return fill(runner, error);
}

static int run_cells(struct runner *runner, struct error *error)
{
	static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
	int result = loop_init(&runner->loop, error);

	if (result >= 0)
		result = loop_add_signals(&runner->loop, signals, ARRAY_SIZE(signals), take_signal,
					  runner, error);
	if (result >= 0)
		result = loop_add_timer(&runner->loop, 0, TICK_NS, take_tick, runner, error);
	if (result >= 0)
		result = fill(runner, error);
	if (result >= 0)
		result = loop_run(&runner->loop, error);
	status_line_clear(&runner->progress);
	for (size_t i = 0; i < runner->running; i++)
		matrix_process_release(&runner->processes[i]);
	free(runner->processes);
	loop_release(&runner->loop);
	return result;
}

/* What hours have brought together is not lost by a forgotten --resume. */
static int open_state(struct runner *runner, struct error *error)
{
	const struct matrix_run_options *options = runner->options;
	struct stat status;
	size_t changed = 0;
	int result = 0;

	if (!options->out)
		return 0;
	if (!stat(options->out, &status) && !S_ISREG(status.st_mode))
		return error_set(error, EINVAL, "%s is not a regular file", options->out);
	if (options->resume)
		result = matrix_state_read(runner->matrix, options->out, &changed, error);
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

/* "verdicts" of "verdicts.json": how names of files of the same matrix begin. */
static char *name_of_files(const char *out)
{
	size_t length = strlen(out), end = strlen(".json");

	return strndup(out, length > end && !strcmp(out + length - end, ".json") ? length - end
										 : length);
}

int matrix_run(struct matrix *matrix, const struct matrix_run_options *options,
	       bool *ret_interrupted, struct error *error)
{
	struct runner runner = {.options = options, .matrix = matrix, .loop.epoll_fd = -1};
	int result;

	if (matrix_session_begin(matrix) < 0)
		return error_set(error, ENOMEM, "out of memory");
	status_line_begin(&runner.progress, true);
	if (options->rerun && options->out) {
		runner.again = name_of_files(options->out);
		if (!runner.again)
			return error_set(error, ENOMEM, "out of memory");
	}
	result = open_state(&runner, error);
	if (result >= 0)
		result = run_cells(&runner, error);
	*ret_interrupted = runner.stopping;
	free(runner.again);
	return result;
}
