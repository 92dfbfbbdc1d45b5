// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "base/forked.h"
#include "verify/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of this process's batch, for keep_truth(). */
static struct batch_truths *kept;

static void keep_truth(const struct truth *truth)
{
	unsigned int i = atomic_fetch_add(&kept->count, 1);

	if (i < BATCH_TRUTHS)
		kept->items[i] = *truth;
}

/* In a process of its own. */
static _Noreturn void run_pattern(const struct batch *batch, const struct pattern *pattern)
{
	/* our own code must not be a page fault in the figures, where that is permitted */
	(void)mlockall(MCL_CURRENT);
	/* queues and semaphores of System V end with it then, also if it is killed */
	(void)unshare(CLONE_NEWIPC);
	pattern_current = pattern ? pattern->name : "calls";
	if (!pattern) {
		calls_run(batch->wanted_call, batch->data);
	} else if (pattern->needs_file && !batch->path) {
		errno = batch->file_error;
		die(batch->directory);
	} else {
		pattern_run(pattern, batch->path);
	}
	_exit(EXIT_SUCCESS);
}

static void start_pattern(const struct batch *batch, const struct pattern *pattern)
{
	pid_t pid = pattern_fork();

	if (!pid)
		run_pattern(batch, pattern);
	pattern_current = pattern ? pattern->name : "calls";
	if (pid < 0)
		pattern_skip("fork");
}

/* The parent of all: it waits for them. */
static _Noreturn void run_batch(const struct batch *batch, int start)
{
	static const int quiet[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t none;
	char byte;

	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		signal(quiet[i], i ? SIG_DFL : SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(start, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	close(start);
	if (batch->wanted_call)
		start_pattern(batch, NULL);
	for (size_t i = 0; i < batch->count; i++)
		start_pattern(batch, batch->patterns[i]);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	_exit(EXIT_SUCCESS);
}

int batch_prepare(struct batch *batch, struct error *error)
{
	int ends[2];
	void *memory = mmap(NULL, sizeof(*batch->truths), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	batch->pid = 0;
	batch->pidfd = batch->start_fd = -1;
	batch->truths = memory == MAP_FAILED ? NULL : memory;
	if (!batch->truths || pipe2(ends, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot run patterns: %s", strerror(errno));
	kept = batch->truths;
	truth_sink = keep_truth;
	batch->pid = pattern_fork();
	if (!batch->pid) {
		close(ends[1]);
		run_batch(batch, ends[0]);
	}
	close(ends[0]);
	batch->start_fd = ends[1];
	if (batch->pid > 0)
		batch->pidfd = (int)syscall(SYS_pidfd_open, batch->pid, 0);
	if (batch->pid < 0 || batch->pidfd < 0)
		return error_set(error, errno, "cannot run patterns: %s", strerror(errno));
	return 0;
}

void batch_start(struct batch *batch)
{
	if (write(batch->start_fd, "", 1) == 1)
		return;
	/* it has ended: the pidfd says so */
}

void batch_release(struct batch *batch)
{
	forked_end(batch->pid);
	if (batch->pidfd >= 0)
		close(batch->pidfd);
	if (batch->start_fd >= 0)
		close(batch->start_fd);
	if (batch->truths)
		munmap(batch->truths, sizeof(*batch->truths));
	*batch = (struct batch){.pidfd = -1, .start_fd = -1};
}
