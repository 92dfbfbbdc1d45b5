// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create */
#include "verify/peer_tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/forked.h"
#include "base/print.h"
#include "base/proc_stat.h"
#include "base/program.h"

/* Stands for the path of the file. */
#define FILE_WORD "FILE"

#define READY_NS  (30 * NS_PER_S)
#define END_NS	  (60 * NS_PER_S)
#define READER_NS (300 * NS_PER_S)
#define LOOK_NS	  (20 * NS_PER_MS)

const struct peer_tool_kind peer_tool_kinds[PEER_TOOLS] = {
	/* it starts what it runs when it records */
	{"perf sched timehist",
	 {"perf"},
	 {"sched", "record", "-o", FILE_WORD, "sh", "-c", "echo; exec cat"},
	 {"sched", "timehist", "-i", FILE_WORD},
	 peer_take_timehist,
	 1U << PEER_CPU | 1U << PEER_RUNNABLE | 1U << PEER_BLOCKED},
	{"runqlat",
	 {"runqlat", "runqlat-bpfcc"},
	 {"-L"},
	 {NULL},
	 peer_take_runqlat,
	 1U << PEER_RUNNABLE},
	{"offcputime",
	 {"offcputime", "offcputime-bpfcc"},
	 {NULL},
	 {NULL},
	 peer_take_offcputime,
	 1U << PEER_OFF_CPU},
};

/* What it has to say of a failure: its last line. */
static void give_up_in_its_words(struct peer_tool *tool)
{
	char text[4096] = "";
	struct stat st = {.st_size = 0};
	off_t from;
	ssize_t got;
	char *line;

	fstat(tool->error, &st);
	from = st.st_size > (off_t)sizeof(text) - 1 ? st.st_size - (off_t)sizeof(text) + 1 : 0;
	got = pread(tool->error, text, sizeof(text) - 1, from);
	while (got > 0 && strchr("\n\r ", text[got - 1]))
		text[--got] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	error_set(&tool->why, ENODATA, "%s", *line ? line : "it has ended by itself");
}

_Noreturn static void become(const struct peer_tool *tool, const char *program,
			     const char *const words[], pid_t parent, int input)
{
	const char *arguments[16] = {"stdbuf", "-oL", program};
	size_t count = 3;
	char path[40];

	/* the parent's: a path of ours would end with us */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", parent, tool->file);
	for (; *words && count < ARRAY_SIZE(arguments) - 1; words++)
		arguments[count++] = strcmp(*words, FILE_WORD) ? *words : path;
	forked_prepare(parent, tool->output, tool->error);
	dup2(input, STDIN_FILENO);
	setenv("PYTHONUNBUFFERED", "1", 1);
	setenv("LC_ALL", "C", 1);
	execvp(*arguments, (char *const *)arguments);
	print_text(stderr, "cannot run stdbuf: %s\n", strerror(errno));
	fflush(stderr);
	_exit(127);
}

/* With its output line by line, so that its first line says that it measures. */
static void run(struct peer_tool *tool, const char *const words[])
{
	char program[PATH_MAX];
	bool found = false;
	int ends[2];
	pid_t parent = getpid();

	for (const char *const *name = tool->kind->programs; *name && !found; name++)
		found = program_find(*name, program);
	if (!found)
		return (void)error_set(&tool->why, ENOENT, "not installed");
	if (ftruncate(tool->output, 0) < 0 || lseek(tool->output, 0, SEEK_SET) < 0 ||
	    pipe2(ends, O_CLOEXEC) < 0)
		return (void)error_set(&tool->why, errno, "cannot run it: %s", strerror(errno));
	tool->pid = fork();
	if (!tool->pid)
		become(tool, program, words, parent, ends[0]);
	close(ends[0]);
	tool->input = ends[1];
	if (tool->pid < 0) {
		tool->pid = 0;
		error_set(&tool->why, errno, "cannot run it: %s", strerror(errno));
	}
}

void peer_tool_start(struct peer_tool *tool, const struct peer_tool_kind *kind,
		     const char *directory)
{
	*tool = (struct peer_tool){.kind = kind, .input = -1, .file = -1};
	tool->output = memfd_create("dwell-peer-output", MFD_CLOEXEC);
	tool->error = memfd_create("dwell-peer-error", MFD_CLOEXEC);
	if (*kind->reader) {
		tool->file = file_unnamed(AT_FDCWD, directory);
		if (tool->file < 0)
			return (void)error_set(&tool->why, -tool->file, "%s: %s", directory,
					       strerror(-tool->file));
	}
	run(tool, kind->arguments);
}

/* Whether it has ended by then, and is reaped. */
static bool has_ended(struct peer_tool *tool, uint64_t timeout_ns, int *ret_status)
{
	int pidfd = (int)syscall(SYS_pidfd_open, tool->pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	bool has = poll(&ended, 1, (int)(timeout_ns / NS_PER_MS)) == 1 &&
		   waitpid(tool->pid, ret_status, WNOHANG) == tool->pid;

	if (pidfd >= 0)
		close(pidfd);
	if (has)
		tool->pid = 0;
	return has;
}

static void kill_it(struct peer_tool *tool)
{
	if (!tool->pid)
		return;
	/* and what it has started, from forked_prepare() on */
	kill(-tool->pid, SIGKILL);
	kill(tool->pid, SIGKILL);
	waitpid(tool->pid, NULL, 0);
	tool->pid = 0;
}

/* Its program hangs on a hook of the kernel, and it sleeps. */
static bool is_attached(pid_t pid)
{
	struct proc_stat stat;
	char path[40], to[40];
	struct dirent *entry;
	bool has_link = false;
	ssize_t length;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	while (fds && !has_link && (entry = readdir(fds))) {
		length = readlinkat(dirfd(fds), entry->d_name, to, sizeof(to) - 1);
		to[length > 0 ? length : 0] = '\0';
		has_link = !strcmp(to, "anon_inode:bpf_link");
	}
	if (fds)
		closedir(fds);
	return has_link && proc_stat_read((uint32_t)pid, (uint32_t)pid, &stat) && stat.state == 'S';
}

/* By its first line; some print none. */
static bool is_ready(const struct peer_tool *tool)
{
	struct stat st;

	return fstat(tool->output, &st) < 0 || st.st_size ||
	       (!*tool->kind->reader && is_attached(tool->pid));
}

void peer_tool_await(struct peer_tool *tool)
{
	uint64_t deadline_ns = clock_monotonic_ns() + READY_NS;
	int status;

	while (tool->pid && !is_ready(tool)) {
		if (has_ended(tool, LOOK_NS, &status))
			return give_up_in_its_words(tool);
		if (clock_monotonic_ns() > deadline_ns) {
			error_set(&tool->why, ETIMEDOUT, "it has not begun to measure in 30 s");
			kill_it(tool);
		}
	}
}

static int take_lines(struct peer_tool *tool, struct peer_sums *sums)
{
	cleanup_free char *line = NULL;
	FILE *lines;
	size_t room = 0;
	int result = 0, fd = dup(tool->output);

	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 || !(lines = fdopen(fd, "r")))
		return -ENOMEM;
	while (result >= 0 && getline(&line, &room, lines) >= 0)
		result = tool->kind->take(sums, line);
	fclose(lines);
	return result;
}

/* As it would end at a terminal. */
static void interrupt(struct peer_tool *tool)
{
	int status;

	close(tool->input);
	tool->input = -1;
	kill(tool->pid, SIGINT);
	if (!has_ended(tool, END_NS, &status)) {
		error_set(&tool->why, ETIMEDOUT, "it has not ended in 60 s");
		kill_it(tool);
	}
}

int peer_tool_end(struct peer_tool *tool, struct peer_sums *sums)
{
	int status;

	if (!tool->pid)
		return 0;
	interrupt(tool);
	if (*tool->kind->reader && !*tool->why.text) {
		run(tool, tool->kind->reader);
		if (tool->pid && !has_ended(tool, READER_NS, &status)) {
			error_set(&tool->why, ETIMEDOUT,
				  "what it has recorded is not read in 5 minutes");
			kill_it(tool);
		}
	}
	return *tool->why.text ? 0 : take_lines(tool, sums);
}

void peer_tool_release(struct peer_tool *tool)
{
	const int fds[] = {tool->input, tool->output, tool->error, tool->file};

	if (!tool->kind)
		return;
	kill_it(tool);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
