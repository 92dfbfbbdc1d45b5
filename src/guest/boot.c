// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"

#define TAIL_BYTES	2048 /* of the console, for messages */
#define ARGUMENTS	96
#define TEXTS		64
#define KVM_PATIENCE_NS 4000000000ULL /* under KVM a kernel says something long before */

struct guest {
	pid_t pid;
	int pidfd;
	int console, frames, monitor; /* our ends */
	int said;		      /* what QEMU itself says */
	int signals;
	int log_fd;
	struct frame_reader reader;
	char tail[TAIL_BYTES + 1];
	size_t tail_used;
	char monitored[4096]; /* the line of the monitor that is being read */
	size_t monitored_used;
	bool spoke, ready, ended, stopped, interrupted;
	uint64_t started_ns;
	struct boot_result result;
	char failed[256]; /* what init says */
};

/* The arguments of QEMU, and the texts that some of them are made of. */
struct arguments {
	char *items[ARGUMENTS];
	size_t count;
	char texts[TEXTS][256];
	size_t text_count;
};

static void add(struct arguments *arguments, const char *text)
{
	if (arguments->count + 1 < ARGUMENTS)
		arguments->items[arguments->count++] = (char *)text;
}

__attribute__((format(printf, 2, 3))) static void add_format(struct arguments *arguments,
							     const char *format, ...)
{
	va_list args;

	if (arguments->text_count == TEXTS)
		return;
	va_start(args, format);
	vsnprintf(arguments->texts[arguments->text_count], sizeof(arguments->texts[0]), format,
		  args);
	va_end(args);
	add(arguments, arguments->texts[arguments->text_count++]);
}

/* Caches to nodes in turn, memory in equal parts. */
static void add_nodes(struct arguments *arguments, const struct boot_options *options)
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

static void add_lines(struct arguments *arguments, const struct board *board, int console,
		      int frames, int monitor)
{
	add(arguments, "-chardev");
	add_format(arguments, "socket,id=console,fd=%d", console);
	add(arguments, "-serial");
	add(arguments, "chardev:console");
	add(arguments, "-chardev");
	add_format(arguments, "socket,id=frames,fd=%d", frames);
	add(arguments, board->line_device ? "-device" : "-serial");
	if (board->line_device)
		add_format(arguments, "%s,chardev=frames", board->line_device);
	else
		add(arguments, "chardev:frames");
	add(arguments, "-chardev");
	add_format(arguments, "socket,id=monitor,fd=%d", monitor);
	add(arguments, "-mon");
	add(arguments, "chardev=monitor,mode=control");
}

static void make_arguments(struct arguments *arguments, const struct boot_options *options,
			   bool kvm)
{
	const struct board *board = options->board;
	const struct shape *shape = &options->shape;
	unsigned long long nodes = shape->nodes;

	add(arguments, board->qemu);
	add(arguments, "-nodefaults");
	add(arguments, "-no-user-config");
	add(arguments, "-display");
	add(arguments, "none");
	add(arguments, "-no-reboot");
	add(arguments, "-machine");
	add(arguments, board->machine);
	add(arguments, "-accel");
	add(arguments, kvm ? "kvm" : "tcg,thread=multi");
	add(arguments, "-cpu");
	add(arguments, kvm ? "host" : board->cpu);
	add(arguments, "-m");
	add_format(arguments, "%lluM",
		   (unsigned long long)options->memory_bytes / nodes / 1048576 * nodes);
	add(arguments, "-smp");
	shape_smp(arguments->texts[arguments->text_count], sizeof(arguments->texts[0]), shape);
	add(arguments, arguments->texts[arguments->text_count++]);
	add_nodes(arguments, options);
	add(arguments, "-kernel");
	add(arguments, options->kernel);
	add(arguments, "-initrd");
	add_format(arguments, "/proc/%d/fd/%d", getpid(), options->image_fd);
	add(arguments, "-append");
	add_format(arguments, "console=%s panic=-1 rdinit=/init quiet loglevel=4%s%s",
		   board->console, options->append ? " " : "",
		   options->append ? options->append : "");
}

_Noreturn static void become_qemu(const struct board *board, char *const items[], const int *fds,
				  size_t count, int said, pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	/* Ctrl-C at the terminal is for us, who end it in order */
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < count; i++)
		fcntl(fds[i], F_SETFD, 0);
	dup2(said, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	execvp(items[0], items);
	dprintf(STDERR_FILENO, "%s: %s; install %s", items[0], strerror(errno),
		board->qemu_package);
	_exit(127);
}

static int start(struct guest *guest, const struct boot_options *options, bool kvm,
		 struct error *error)
{
	int *const ours[] = {&guest->said, &guest->console, &guest->frames, &guest->monitor};
	struct arguments arguments = {.count = 0};
	int theirs[4], pair[2];
	pid_t parent = getpid();

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return error_set(error, errno, "cannot make a socket: %s", strerror(errno));
		*ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	make_arguments(&arguments, options, kvm);
	add_lines(&arguments, options->board, theirs[1], theirs[2], theirs[3]);
	guest->started_ns = clock_monotonic_ns();
	guest->result.kvm = kvm;
	guest->pid = fork();
	if (!guest->pid)
		become_qemu(options->board, arguments.items, theirs + 1, ARRAY_SIZE(theirs) - 1,
			    theirs[0], parent);
	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++)
		close(theirs[i]);
	if (guest->pid < 0)
		return error_set(error, errno, "cannot fork: %s", strerror(errno));
	guest->pidfd = (int)syscall(SYS_pidfd_open, guest->pid, 0);
	return guest->pidfd < 0
		       ? error_set(error, errno, "cannot open a pidfd: %s", strerror(errno))
		       : 0;
}

static void end(struct guest *guest)
{
	int *const fds[] = {&guest->said, &guest->console, &guest->frames, &guest->monitor,
			    &guest->pidfd};

	if (guest->pid > 0) {
		kill(guest->pid, SIGKILL);
		waitpid(guest->pid, NULL, 0);
	}
	guest->pid = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	frame_release(&guest->reader);
}

/* The last bytes are kept for messages, all of them in the log. */
static void take_console(struct guest *guest, const char *bytes, size_t length)
{
	size_t kept;

	guest->spoke = true;
	if (guest->log_fd >= 0 && write(guest->log_fd, bytes, length) < 0)
		guest->log_fd = -1;
	if (length > TAIL_BYTES) {
		bytes += length - TAIL_BYTES;
		length = TAIL_BYTES;
	}
	kept = guest->tail_used + length > TAIL_BYTES ? TAIL_BYTES - length : guest->tail_used;
	memmove(guest->tail, guest->tail + guest->tail_used - kept, kept);
	memcpy(guest->tail + kept, bytes, length);
	guest->tail_used = kept + length;
	guest->tail[guest->tail_used] = '\0';
}

static int take_frame(struct guest *guest, enum frame_kind kind, const char *payload, size_t length,
		      struct error *error)
{
	int32_t code;

	switch (kind) {
	case FRAME_READY:
		guest->ready = true;
		guest->result.ready_ns = clock_monotonic_ns() - guest->started_ns;
		break;
	case FRAME_OUT:
	case FRAME_ERROR:
		if (write(kind == FRAME_OUT ? STDOUT_FILENO : STDERR_FILENO, payload, length) < 0)
			return error_set(error, errno, "cannot write what the command prints: %s",
					 strerror(errno));
		break;
	case FRAME_EXIT:
		if (length != sizeof(code))
			break;
		memcpy(&code, payload, sizeof(code));
		guest->result.code = code;
		guest->ended = true;
		break;
	case FRAME_FAILED:
		snprintf(guest->failed, sizeof(guest->failed), "%.*s", (int)length, payload);
		break;
	}
	return 0;
}

static int take_frames(struct guest *guest, const char *bytes, size_t length, struct error *error)
{
	enum frame_kind kind;
	const char *payload;
	int result = frame_feed(&guest->reader, bytes, length);

	if (result < 0)
		return error_set(error, ENOMEM, "out of memory");
	while (result >= 0 && frame_next(&guest->reader, &kind, &payload, &length))
		result = take_frame(guest, kind, payload, length, error);
	guest->result.damaged = guest->reader.damaged;
	return result;
}

/* QEMU Machine Protocol: one object a line. A guest that KVM cannot run is stopped by QEMU. */
static void take_monitor(struct guest *guest, const char *bytes, size_t length)
{
	static const char greet[] = "{\"execute\": \"qmp_capabilities\"}\n";

	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != '\n') {
			if (guest->monitored_used + 1 < sizeof(guest->monitored))
				guest->monitored[guest->monitored_used++] = bytes[i];
			continue;
		}
		guest->monitored[guest->monitored_used] = '\0';
		guest->monitored_used = 0;
		if (strstr(guest->monitored, "\"QMP\"") &&
		    write(guest->monitor, greet, sizeof(greet) - 1) < 0)
			return;
		if (strstr(guest->monitored, "\"event\": \"STOP\""))
			guest->stopped = true;
	}
}

static int take(struct guest *guest, int *fd, struct error *error)
{
	char bytes[16384];
	ssize_t got = read(*fd, bytes, sizeof(bytes));

	if (got <= 0) {
		close(*fd);
		*fd = -1;
		return 0;
	}
	if (fd == &guest->console || fd == &guest->said)
		take_console(guest, bytes, (size_t)got);
	else if (fd == &guest->monitor)
		take_monitor(guest, bytes, (size_t)got);
	else
		return take_frames(guest, bytes, (size_t)got, error);
	return 0;
}

static int fail(struct guest *guest, int code, struct error *error, const char *what)
{
	const char *tail = guest->tail;
	size_t used = guest->tail_used;

	/* as much of the end as there is room for, on one line */
	if (used > 400)
		tail += used - 400;
	for (char *at = guest->tail; *at; at++)
		if (*at == '\n' || *at == '\r')
			*at = ' ';
	return error_set(error, code, "%s%s%s", what, used ? "; the console ends with: " : "",
			 tail);
}

/* Until the command has ended, or it is known that it will not. */
static int follow(struct guest *guest, const struct boot_options *options, uint64_t patience_ns,
		  struct error *error)
{
	int *const fds[] = {&guest->said, &guest->console, &guest->frames, &guest->monitor};
	uint64_t deadline_ns = guest->started_ns + patience_ns;
	char text[64], limit[16];
	int result = 0;

	duration_format(limit, sizeof(limit), options->timeout_ns);
	snprintf(text, sizeof(text), "the guest did not boot within %s", limit);
	while (result >= 0 && !guest->ended) {
		struct pollfd polled[6] = {{.fd = guest->pidfd, .events = POLLIN},
					   {.fd = guest->signals, .events = POLLIN}};
		uint64_t now_ns = clock_monotonic_ns();
		int wait_ms = guest->ready ? -1 : (int)((deadline_ns - now_ns) / 1000000) + 1;
		bool read_any = false;

		if (!guest->ready && now_ns >= deadline_ns)
			return fail(guest, ETIMEDOUT, error, text);
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			polled[2 + i] = (struct pollfd){.fd = *fds[i], .events = POLLIN};
		if (poll(polled, ARRAY_SIZE(polled), wait_ms) < 0 && errno != EINTR)
			return error_set(error, errno, "cannot wait: %s", strerror(errno));
		for (size_t i = 0; result >= 0 && i < ARRAY_SIZE(fds); i++)
			if (polled[2 + i].revents) {
				result = take(guest, fds[i], error);
				read_any = true;
			}
		if (polled[1].revents) {
			guest->interrupted = true;
			return error_set(error, EINTR, "interrupted");
		}
		if (guest->stopped)
			return fail(guest, EIO, error, "QEMU stopped the guest");
		if (polled[0].revents && !read_any)
			return fail(guest, ECHILD, error,
				    guest->ready ? "the guest ended before the command did"
						 : "QEMU ended before the guest had booted");
	}
	return result;
}

static bool kvm_is_there(void)
{
	cleanup_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return fd >= 0;
}

static int attempt(struct guest *guest, const struct boot_options *options, bool kvm,
		   uint64_t patience_ns, struct error *error)
{
	int result = start(guest, options, kvm, error);

	if (result >= 0)
		result = follow(guest, options, patience_ns, error);
	end(guest);
	return result;
}

static int run(struct guest *guest, const struct boot_options *options, struct error *error)
{
	bool native = options->board == board_here();
	bool kvm = options->accel == ACCEL_KVM ||
		   (options->accel == ACCEL_AUTO && native && kvm_is_there());
	int result;

	if (!kvm)
		return attempt(guest, options, false, options->timeout_ns, error);
	result = attempt(guest, options, true,
			 options->accel == ACCEL_AUTO ? KVM_PATIENCE_NS : options->timeout_ns,
			 error);
	/* some hosts have /dev/kvm, and cannot run a stock kernel by it */
	if (result >= 0 || options->accel == ACCEL_KVM || guest->ready || guest->interrupted)
		return result;
	guest->stopped = guest->spoke = false;
	guest->tail_used = 0;
	return attempt(guest, options, false, options->timeout_ns, error);
}

int boot_run(const struct boot_options *options, struct boot_result *ret_result,
	     struct error *error)
{
	struct guest guest = {.pidfd = -1,
			      .said = -1,
			      .console = -1,
			      .frames = -1,
			      .monitor = -1,
			      .signals = -1,
			      .log_fd = -1};
	sigset_t heard, before;
	int result = 0;

	sigemptyset(&heard);
	sigaddset(&heard, SIGINT);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGHUP);
	sigprocmask(SIG_BLOCK, &heard, &before);
	guest.signals = signalfd(-1, &heard, SFD_CLOEXEC);
	if (options->log)
		guest.log_fd = open(options->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (guest.signals < 0 || (options->log && guest.log_fd < 0))
		result = error_set(error, errno, "cannot write %s: %s",
				   options->log ? options->log : "signals", strerror(errno));
	if (result >= 0)
		result = run(&guest, options, error);
	if (guest.signals >= 0)
		close(guest.signals);
	if (guest.log_fd >= 0)
		close(guest.log_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	*ret_result = guest.result;
	return result;
}
