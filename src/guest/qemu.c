// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/forked.h"
#include "base/sandbox.h"
#include "guest/jail.h"

#define ARGUMENTS 128
#define TEXTS	  96

/* The arguments of QEMU, and the texts that some of them are made of. */
struct arguments {
	char *items[ARGUMENTS];
	size_t count;
	char texts[TEXTS][256];
	size_t text_count;
	bool full; /* something did not fit */
};

static void add(struct arguments *arguments, const char *text)
{
	if (arguments->count + 1 < ARGUMENTS)
		arguments->items[arguments->count++] = (char *)text;
	else
		arguments->full = true;
}

static void add_two(struct arguments *arguments, const char *first, const char *second)
{
	add(arguments, first);
	add(arguments, second);
}

__attribute__((format(printf, 2, 3))) static void add_format(struct arguments *arguments,
							     const char *format, ...)
{
	char *text = arguments->texts[arguments->text_count];
	va_list args;

	if (arguments->text_count == TEXTS) {
		arguments->full = true;
		return;
	}
	va_start(args, format);
	if ((size_t)vsnprintf(text, sizeof(arguments->texts[0]), format, args) >=
	    sizeof(arguments->texts[0]))
		arguments->full = true;
	va_end(args);
	add(arguments, text);
	arguments->text_count++;
}

/* Caches to nodes in turn, memory in equal parts. */
static void add_nodes(struct arguments *arguments, const struct qemu_options *options)
{
	const struct shape *shape = &options->shape;
	unsigned int cpus = shape_cpus(shape) / shape->nodes;
	unsigned long long bytes = options->memory_bytes / shape->nodes / 1048576 * 1048576;

	for (unsigned int i = 0; shape->nodes > 1 && i < shape->nodes; i++) {
		add(arguments, "-object");
		add_format(arguments, "memory-backend-ram,id=m%u,size=%llu", i, bytes);
		add(arguments, "-numa");
		add_format(arguments, "node,nodeid=%u,cpus=%u-%u,memdev=m%u", i, i * cpus,
			   (i + 1) * cpus - 1, i);
	}
}

static void add_line(struct arguments *arguments, const char *name, int fd)
{
	add(arguments, "-chardev");
	add_format(arguments, "socket,id=%s,fd=%d", name, fd);
}

static void add_lines(struct arguments *arguments, const struct board *board, const int *theirs)
{
	add_line(arguments, "console", theirs[QEMU_CONSOLE]);
	add_two(arguments, "-serial", "chardev:console");
	add_line(arguments, "serial", theirs[QEMU_SERIAL]);
	add(arguments, board->line_device ? "-device" : "-serial");
	if (board->line_device)
		add_format(arguments, "%s,chardev=serial", board->line_device);
	else
		add(arguments, "chardev:serial");
	add_line(arguments, "port", theirs[QEMU_PORT]);
	add_two(arguments, "-device", "virtio-serial-pci,max_ports=2");
	add_two(arguments, "-device", "virtserialport,chardev=port,name=" BOARD_PORT);
	add_line(arguments, "monitor", theirs[QEMU_MONITOR]);
	add_two(arguments, "-mon", "chardev=monitor,mode=control");
}

static void make_arguments(struct arguments *arguments, const struct qemu_options *options,
			   const int *theirs)
{
	const struct board *board = options->board;
	const struct shape *shape = &options->shape;
	char smp[128];

	add(arguments, board->qemu);
	add(arguments, "-nodefaults");
	add(arguments, "-no-user-config");
	add_two(arguments, "-display", "none");
	add(arguments, "-no-reboot");
	add_two(arguments, "-machine", board->machine);
	add_two(arguments, "-accel", options->kvm ? "kvm" : "tcg,thread=multi");
	add_two(arguments, "-cpu", options->kvm ? "host" : board->cpu);
	add(arguments, "-m");
	add_format(arguments, "%lluM",
		   (unsigned long long)options->memory_bytes / shape->nodes / 1048576 *
			   shape->nodes);
	shape_smp(smp, sizeof(smp), shape);
	add(arguments, "-smp");
	add_format(arguments, "%s", smp);
	add_nodes(arguments, options);
	if (options->sandbox)
		add_two(arguments, "-sandbox",
			"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
	/* it could not open them by their names */
	add(arguments, "-kernel");
	add_format(arguments, "/proc/self/fd/%d", options->kernel_fd);
	add(arguments, "-initrd");
	add_format(arguments, "/proc/self/fd/%d", options->image_fd);
	add_lines(arguments, board, theirs);
}

_Noreturn static void become(const struct qemu_options *options, char *const items[],
			     const int theirs[QEMU_LINES], pid_t parent)
{
	struct jail_program program;

	jail_find(&program, items[0]);
	/* first: with other rights it would outlive us again */
	jail_enter();
	forked_prepare(parent, theirs[QEMU_SAID], theirs[QEMU_SAID]);
	/* where KVM cannot run the guest it may abort, which is tried and no crash to look into */
	sandbox_limit(RLIMIT_CORE, 0);
	for (int i = 0; i < QEMU_LINES; i++)
		fcntl(theirs[i], F_SETFD, 0);
	fcntl(options->kernel_fd, F_SETFD, 0);
	fcntl(options->image_fd, F_SETFD, 0);
	jail_exec(&program, items);
	dprintf(STDERR_FILENO, "%s: %s; install %s", items[0], strerror(errno),
		options->board->qemu_package);
	_exit(127);
}

static int make_lines(struct qemu *qemu, int theirs[QEMU_LINES], struct error *error)
{
	for (int i = 0; i < QEMU_LINES; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return error_set(error, errno, "cannot make a socket: %s", strerror(errno));
		qemu->lines[i] = pair[0];
		theirs[i] = pair[1];
	}
	return 0;
}

static int fork_qemu(struct qemu *qemu, const struct qemu_options *options,
		     const int theirs[QEMU_LINES], struct error *error)
{
	struct arguments arguments = {.count = 0};
	cleanup_free char *append = NULL;
	pid_t parent = getpid();

	if (asprintf(&append, "console=%s %s%spanic=-1 rdinit=/init quiet loglevel=4%s%s",
		     options->board->console, options->board->append,
		     options->kvm ? "" : options->board->emulated, options->append ? " " : "",
		     options->append ? options->append : "") < 0) {
		append = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	make_arguments(&arguments, options, theirs);
	add_two(&arguments, "-append", append);
	if (arguments.full)
		return error_set(error, E2BIG, "QEMU would need more arguments than are made");
	qemu->pid = fork();
	if (!qemu->pid)
		become(options, arguments.items, theirs, parent);
	if (qemu->pid < 0) {
		qemu->pid = 0;
		return error_set(error, errno, "cannot fork: %s", strerror(errno));
	}
	qemu->pidfd = (int)syscall(SYS_pidfd_open, qemu->pid, 0);
	return qemu->pidfd < 0 ? error_set(error, errno, "cannot open a pidfd: %s", strerror(errno))
			       : 0;
}

int qemu_start(struct qemu *qemu, const struct qemu_options *options, struct error *error)
{
	int theirs[QEMU_LINES] = {-1, -1, -1, -1, -1};
	int result = make_lines(qemu, theirs, error);

	if (result >= 0)
		result = fork_qemu(qemu, options, theirs, error);
	for (int i = 0; i < QEMU_LINES; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	return result;
}

void qemu_end(struct qemu *qemu)
{
	if (qemu->pid) {
		kill(qemu->pid, SIGKILL);
		waitpid(qemu->pid, NULL, 0);
	}
	if (qemu->pidfd >= 0)
		close(qemu->pidfd);
	for (int i = 0; i < QEMU_LINES; i++)
		if (qemu->lines[i] >= 0)
			close(qemu->lines[i]);
	*qemu = (struct qemu)QEMU_INIT;
}

bool qemu_may_use_kvm(void)
{
	cleanup_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return fd >= 0;
}
