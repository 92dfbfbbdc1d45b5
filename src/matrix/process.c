// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "matrix/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/forked.h"
#include "matrix/judge.h"

const char *matrix_program = "/proc/self/exe";

static int add_all(struct matrix_words *words, const char *const *texts, size_t count)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++)
		result = matrix_words_add(words, texts[i]);
	return result;
}

/* With what we are to read: where result and dump go, and a report as JSON. */
static int arguments_of(struct matrix_words *ret_words, const struct matrix *matrix,
			const struct matrix_cell *cell, const struct matrix_process *files)
{
	/* without a trace unless it is repeated: what is compared is not to differ by that */
	const char *const outputs[] = {"--result",     files->result,
				       "--keep-dump",  files->dump,
				       "--keep-trace", files->again ? files->trace : ""};
	const char *const recording[] = {"--record", files->recording};
	const char *const command[] = {"--", matrix->command.items[0], "--json"};
	struct matrix_words words = {.items = NULL};
	int result = matrix_cell_words(matrix, cell, &words);
	/* the command is at the end, after its "--" */
	size_t options = words.count - matrix->command.count - 1;
	bool reports = !strcmp(matrix->command.items[0], "load") ||
		       !strcmp(matrix->command.items[0], "verify");

	if (result >= 0)
		result = matrix_words_add(ret_words, "dwell");
	if (result >= 0)
		result = add_all(ret_words, (const char *const *)words.items, options);
	if (result >= 0)
		result = add_all(ret_words, outputs, ARRAY_SIZE(outputs));
	if (result >= 0 && files->again)
		result = add_all(ret_words, recording, ARRAY_SIZE(recording));
	if (result >= 0)
		/* its first option: what follows may be a command of its own */
		result = add_all(ret_words, command, ARRAY_SIZE(command) - (reports ? 0 : 1));
	if (result >= 0)
		result = add_all(ret_words, (const char *const *)words.items + options + 2,
				 matrix->command.count - 1);
	matrix_words_release(&words);
	return result;
}

/* A file in memory, and its name for us and for the guest's process: nothing is left on a disk. */
static int make_file(const char *name, char path[MATRIX_PROCESS_PATH])
{
	int fd = file_in_memory(name);

	snprintf(path, MATRIX_PROCESS_PATH, "/proc/%d/fd/%d", getpid(), fd);
	return fd;
}

_Noreturn static void become(const struct matrix_process *process, char *const arguments[],
			     pid_t parent)
{
	forked_prepare(parent, process->out_fd, process->error_fd);
	execv(matrix_program, arguments);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", matrix_program, strerror(errno));
	_exit(127);
}

/* Three times as long as the first run, for what is recorded runs slower; and a boot. */
static uint64_t timeout_again(const struct matrix *matrix, const struct matrix_cell *cell)
{
	uint64_t bound_ns = 3 * cell->elapsed_ns + 60 * NS_PER_S;

	return bound_ns < matrix->timeout_ns ? bound_ns : matrix->timeout_ns;
}

/* Those of an earlier run would be taken for its own. */
static int name_files(struct matrix_process *process, const struct matrix *matrix,
		      const char *again)
{
	size_t number = (size_t)(process->cell - matrix->cells) + 1;

	if (asprintf(&process->trace, "%s-cell-%zu.trace.json", again, number) < 0)
		process->trace = NULL;
	if (asprintf(&process->recording, "%s-cell-%zu.dwell", again, number) < 0)
		process->recording = NULL;
	if (!process->trace || !process->recording)
		return -ENOMEM;
	unlink(process->trace);
	unlink(process->recording);
	return 0;
}

int matrix_process_start(struct matrix_process *process, const struct matrix *matrix,
			 struct matrix_cell *cell, const char *again, struct error *error)
{
	struct matrix_words arguments = {.items = NULL};
	pid_t parent = getpid();
	bool has_files;
	int result = 0;

	if (!again)
		cell->session_ns = matrix->session_ns;
	*process = (struct matrix_process){
		.cell = cell,
		.command = matrix->command.items[0],
		.again = again != NULL,
		.timeout_ns = again ? timeout_again(matrix, cell) : matrix->timeout_ns,
		.started_ns = clock_monotonic_ns(),
		.out_fd = file_in_memory("dwell-guest-output"),
		.error_fd = file_in_memory("dwell-guest-error"),
	};
	process->result_fd = make_file("dwell-guest-result", process->result);
	process->dump_fd = make_file("dwell-guest-dump", process->dump);
	if (again)
		result = name_files(process, matrix, again);
	if (result >= 0)
		result = arguments_of(&arguments, matrix, cell, process);
	has_files = process->out_fd >= 0 && process->error_fd >= 0 && process->result_fd >= 0 &&
		    process->dump_fd >= 0;
	if (result < 0 || !has_files)
		error_set(error, ENOMEM, "cannot start a guest: %s",
			  strerror(result < 0 ? ENOMEM : errno));
	else
		process->pid = fork();
	if (!process->pid && result >= 0 && has_files)
		become(process, arguments.items, parent);
	matrix_words_release(&arguments);
	if (process->pid > 0)
		return 0;
	if (process->pid < 0)
		error_set(error, errno, "cannot fork: %s", strerror(errno));
	process->pid = 0;
	matrix_process_release(process);
	return -EIO;
}

void matrix_process_end(struct matrix_process *process)
{
	kill(process->pid, process->terminated_ns ? SIGKILL : SIGTERM);
	if (!process->terminated_ns)
		process->terminated_ns = clock_monotonic_ns();
}

/* The file, if it came back. */
static char *file_there(const char *path)
{
	return access(path, F_OK) < 0 ? NULL : strdup(path);
}

/* The cell keeps the verdict of its first run. */
static int judge_again(struct matrix_process *process, const struct matrix_cell_end *end)
{
	struct matrix_again *again = &process->cell->again;
	struct matrix_cell repeated = {.verdict = MATRIX_PENDING};
	int result;

	matrix_cell_reset(&repeated);
	result = matrix_judge(&repeated, end);
	again->verdict = repeated.verdict;
	again->reason = repeated.reason;
	repeated.reason = NULL;
	again->elapsed_ns = clock_monotonic_ns() - process->started_ns;
	again->trace = file_there(process->trace);
	again->recording = file_there(process->recording);
	matrix_cell_reset(&repeated);
	return result;
}

int matrix_process_reap(struct matrix_process *process, bool *ret_ended, struct error *error)
{
	struct matrix_cell_end end = {.command = process->command,
				      .timed_out = process->timed_out,
				      .result = process->result,
				      .out_fd = process->out_fd,
				      .error_fd = process->error_fd};
	pid_t got = waitpid(process->pid, &end.wait_status, WNOHANG);
	int result = 0;

	*ret_ended = got != 0;
	if (!got)
		return 0;
	process->pid = 0;
	if (got < 0)
		return error_set(error, errno, "cannot wait for a guest: %s", strerror(errno));
	if (process->again && (!process->terminated_ns || process->timed_out)) {
		result = judge_again(process, &end);
	} else if (!process->terminated_ns || process->timed_out) {
		process->cell->elapsed_ns = clock_monotonic_ns() - process->started_ns;
		result = matrix_judge(process->cell, &end);
	}
	matrix_process_release(process);
	return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}

void matrix_process_release(struct matrix_process *process)
{
	const int fds[] = {process->out_fd, process->error_fd, process->result_fd,
			   process->dump_fd};

	if (process->pid > 0) {
		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(process->trace);
	free(process->recording);
	*process = (struct matrix_process){
		.out_fd = -1, .error_fd = -1, .result_fd = -1, .dump_fd = -1};
}
