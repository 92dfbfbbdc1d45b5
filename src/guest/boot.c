// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/duration.h"
#include "base/patience.h"
#include "base/status_line.h"
#include "guest/console.h"
#include "guest/incoming.h"
#include "guest/kernel_image.h"

#define KVM_PATIENCE_NS 4000000000ULL /* under KVM a kernel says something long before */
#define PROGRESS_MS	100
#define QEMU_MAJOR_MIN	5 /* memory backends of NUMA nodes, 5.1; older ones were not tried */
#define MONITOR_BYTES	4096
/* After SIGINT the guest ends within 10 s: the command has this long, and what comes back from it
 * this long from SIGINT on, no matter what the guest sends. */
#define INTERRUPTED_COMMAND_NS 6000000000ULL
#define INTERRUPTED_ALL_NS     9000000000ULL

struct guest {
	const struct boot_options *options;
	struct boot_result *result;
	struct qemu qemu;
	struct console console;
	struct incoming incoming;
	char monitored[MONITOR_BYTES]; /* the line of the monitor that is being read */
	size_t monitored_used;
	unsigned int qemu_major; /* 0: not known yet */
	bool stopped;		 /* QEMU stopped the guest, as it does when KVM cannot run it */
	bool interrupted;
	struct status_line progress;
	uint64_t interrupted_ns;
	double stretch; /* of its time-outs, by how busy the host was */
	int signals;
	int kernel_fd; /* what QEMU boots */
};

static void show_progress(struct guest *guest)
{
	const char *kernel = guest->options->qemu.kernel, *name = strrchr(kernel, '/');
	char waited[16];

	duration_format(waited, sizeof(waited), clock_monotonic_ns() - guest->incoming.started_ns);
	status_line_show(&guest->progress, "booting %.60s (%s) %s", name ? name + 1 : kernel,
			 guest->result->kvm ? "KVM" : "TCG", waited);
}

/* Without this answer QEMU sends no events, and only the time limit is left. */
static void greet(struct guest *guest, json_t *greeting)
{
	static const char answer[] = "{\"execute\": \"qmp_capabilities\"}\n";
	int major = 0;

	json_unpack(greeting, "{s:{s:{s:{s:i}}}}", "QMP", "version", "qemu", "major", &major);
	guest->qemu_major = (unsigned int)major;
	if (write(guest->qemu.lines[QEMU_MONITOR], answer, sizeof(answer) - 1) < 0)
		return;
}

/* QEMU Machine Protocol: one object a line. A guest that KVM cannot run is stopped by QEMU. */
static void take_monitored(struct guest *guest)
{
	json_t *line = json_loads(guest->monitored, 0, NULL);
	const char *event = json_string_value(json_object_get(line, "event"));

	if (json_object_get(line, "QMP"))
		greet(guest, line);
	guest->stopped |= event && !strcmp(event, "STOP");
	json_decref(line);
}

static void take_monitor(struct guest *guest, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != '\n') {
			if (guest->monitored_used + 1 < sizeof(guest->monitored))
				guest->monitored[guest->monitored_used++] = bytes[i];
			continue;
		}
		guest->monitored[guest->monitored_used] = '\0';
		guest->monitored_used = 0;
		take_monitored(guest);
	}
}

static int take_incoming(struct guest *guest, int line, const char *bytes, size_t length,
			 struct error *error)
{
	int result = incoming_take(&guest->incoming, line, bytes, length, error);

	if (guest->result->ready_ns)
		status_line_clear(&guest->progress);
	return result;
}

static int take(struct guest *guest, int line, struct error *error)
{
	char bytes[65536];
	int *fd = &guest->qemu.lines[line];
	ssize_t got = read(*fd, bytes, sizeof(bytes));

	if (got <= 0) {
		close(*fd);
		*fd = -1;
		return 0;
	}
	switch (line) {
	case QEMU_SAID:
	case QEMU_CONSOLE:
		console_take(&guest->console, bytes, (size_t)got);
		return 0;
	case QEMU_MONITOR:
		take_monitor(guest, bytes, (size_t)got);
		return 0;
	default:
		return take_incoming(guest, line, bytes, (size_t)got, error);
	}
}

static int fail(const struct guest *guest, int code, struct error *error, const char *what)
{
	return console_error(&guest->console, error, code, what);
}

/* Why QEMU is gone although the command has not ended. */
static int fail_early(const struct guest *guest, struct error *error)
{
	const struct console *console = &guest->console;
	char text[CONSOLE_LINE_BYTES + 128];

	if (console->unpacking_failed)
		return fail(guest, ENOMEM, error,
			    "the guest's files do not fit into its memory: more by --memory");
	if (*console->panic) {
		/* QEMU may translate code that another CPU of the guest is just patching, as
		 * kernels do where tracepoints come and go, and keep the breakpoint in it */
		snprintf(text, sizeof(text), "the guest's kernel panicked: %s%s%s", console->panic,
			 *console->oom ? "; it was out of memory (--memory)" : "",
			 console->stray_trap && !guest->result->kvm
				 ? "; int3 is a fault of the emulation: try again"
				 : "");
		if (guest->result->ready_ns && !*console->oom &&
		    (guest->result->kvm || !console->stray_trap))
			guest->result->kernel_end = "panic";
		return fail(guest, EIO, error, text);
	}
	if (guest->result->damaged)
		return fail(guest, EPROTO, error, "the guest ended, and its report was damaged");
	return fail(guest, ECHILD, error,
		    guest->result->ready_ns ? "the guest ended before the command did"
					    : "QEMU ended before the guest had booted");
}

/* Nothing was heard for too long. */
static int fail_silent(const struct guest *guest, uint64_t patience_ns, struct error *error)
{
	char text[256], limit[16];

	/* a kernel that stays after its panic, because --append says so */
	if (*guest->console.panic)
		return fail_early(guest, error);
	duration_format(limit, sizeof(limit), patience_ns);
	if (guest->result->ready_ns)
		guest->result->kernel_end = "hang";
	if (guest->result->ready_ns)
		snprintf(text, sizeof(text), "the guest hangs: no sign of life for %s", limit);
	else if (!guest->console.bytes)
		snprintf(text, sizeof(text),
			 "the guest did not boot within %s, and its kernel said nothing: does it "
			 "have a serial console (%s)?",
			 limit, guest->options->qemu.board->console);
	else
		snprintf(text, sizeof(text), "the guest did not boot within %s", limit);
	return fail(guest, ETIMEDOUT, error, text);
}

/* The first Ctrl-C is for the command, so that it reports what it has. */
static int take_signal(void *data, struct error *error)
{
	struct guest *guest = data;
	struct signalfd_siginfo info;
	int32_t number = SIGINT;
	bool pass_on;

	if (read(guest->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	pass_on = info.ssi_signo == SIGINT && guest->incoming.line >= 0 && !guest->interrupted_ns;
	guest->interrupted_ns = clock_monotonic_ns();
	if (pass_on && frame_write(guest->qemu.lines[guest->incoming.line], FRAME_SIGNAL, &number,
				   sizeof(number)) >= 0) {
		guest->incoming.give_up_ns = guest->interrupted_ns + INTERRUPTED_ALL_NS;
		return 0;
	}
	guest->interrupted = true;
	return error_set(error, EINTR, "interrupted");
}

/* When something has to be done if nothing is heard. */
static uint64_t wake_of(const struct guest *guest, uint64_t deadline_ns)
{
	uint64_t progress_ns = clock_monotonic_ns() + PROGRESS_MS * NS_PER_MS;
	bool shows = !guest->result->ready_ns && guest->progress.shown;

	return shows && progress_ns < deadline_ns ? progress_ns : deadline_ns;
}

static uint64_t stretched(const struct guest *guest, uint64_t limit_ns)
{
	return (uint64_t)((double)limit_ns * guest->stretch);
}

static uint64_t deadline_of(const struct guest *guest, uint64_t patience_ns)
{
	uint64_t silent_ns =
		guest->incoming.heard_ns + stretched(guest, guest->options->timeout_ns);
	uint64_t given_up_ns = guest->interrupted_ns + INTERRUPTED_COMMAND_NS;

	/* the command has ended, and what it wrote comes back */
	if (guest->incoming.returned_ns > guest->interrupted_ns)
		given_up_ns = guest->incoming.give_up_ns;
	if (!guest->result->ready_ns)
		return guest->incoming.started_ns + stretched(guest, patience_ns);
	return guest->interrupted_ns && given_up_ns < silent_ns ? given_up_ns : silent_ns;
}

/* Whether its host has had less CPU time for it than was known until now: then it gets more time.
 */
static bool is_kept_waiting(struct guest *guest)
{
	double factor = guest->options->patient ? patience_factor() : 1;

	if (factor <= guest->stretch)
		return false;
	guest->stretch = factor;
	return true;
}

/* One round: what has come, or has to be given up. */
static int follow_once(struct guest *guest, uint64_t patience_ns, struct error *error)
{
	struct pollfd fds[QEMU_LINES + 2];
	uint64_t deadline_ns = deadline_of(guest, patience_ns);
	bool read_any = false;
	int result = 0, ready;

	for (int i = 0; i < QEMU_LINES; i++)
		fds[i] = (struct pollfd){.fd = guest->qemu.lines[i], .events = POLLIN};
	fds[QEMU_LINES] = (struct pollfd){.fd = guest->qemu.pidfd, .events = POLLIN};
	fds[QEMU_LINES + 1] = (struct pollfd){.fd = guest->signals, .events = POLLIN};
	ready = await_ready(fds, ARRAY_SIZE(fds), wake_of(guest, deadline_ns));
	if (ready < 0)
		return error_set(error, -ready, "cannot wait: %s", strerror(-ready));
	if (guest->progress.shown && !guest->result->ready_ns)
		show_progress(guest);
	for (int i = 0; result >= 0 && i < QEMU_LINES; i++)
		if (fds[i].revents) {
			result = take(guest, i, error);
			read_any = true;
		}
	if (result < 0 || guest->result->ended)
		return result;
	if (fds[QEMU_LINES + 1].revents)
		return take_signal(guest, error);
	if (guest->qemu_major && guest->qemu_major < QEMU_MAJOR_MIN)
		return error_set(error, ENOTSUP, "%s is version %u: %d or later is needed",
				 guest->options->qemu.board->qemu, guest->qemu_major,
				 QEMU_MAJOR_MIN);
	if (guest->stopped)
		return fail(guest, EIO, error, "QEMU stopped the guest");
	if (fds[QEMU_LINES].revents && !read_any)
		return fail_early(guest, error);
	if (clock_monotonic_ns() < deadline_ns || deadline_ns != deadline_of(guest, patience_ns))
		return 0;
	if (is_kept_waiting(guest))
		return 0;
	guest->interrupted = guest->interrupted_ns != 0;
	return guest->interrupted
		       ? error_set(error, EINTR, "interrupted, and the command goes on")
		       : fail_silent(guest,
				     stretched(guest, guest->result->ready_ns
							      ? guest->options->timeout_ns
							      : patience_ns),
				     error);
}

static int attempt_once(struct guest *guest, bool kvm, uint64_t patience_ns, struct error *error)
{
	struct qemu_options qemu = guest->options->qemu;
	struct pressure_mark before = {.measured = false}, after = {.measured = false};
	int result;

	pressure_mark(&before, 0, 0, 0);
	qemu.kvm = kvm;
	qemu.kernel_fd = guest->kernel_fd;
	qemu.sandbox = !guest->result->unconfined;
	guest->result->kvm = kvm;
	guest->stretch = 1;
	guest->incoming.started_ns = clock_monotonic_ns();
	result = qemu_start(&guest->qemu, &qemu, error);
	while (result >= 0 && !guest->result->ended)
		result = follow_once(guest, patience_ns, error);
	status_line_clear(&guest->progress);
	qemu_end(&guest->qemu);
	pressure_mark(&after, 0, 0, 0);
	pressure_between(&guest->result->host, &before, &after);
	incoming_end(&guest->incoming);
	guest->result->wall_ns = clock_monotonic_ns() - guest->incoming.started_ns;
	if (guest->incoming.ended_ns)
		guest->result->teardown_ns = clock_monotonic_ns() - guest->incoming.ended_ns;
	return result;
}

/* It says so before anything else. */
static bool has_no_sandbox(const struct guest *guest)
{
	return !guest->result->ready_ns && !guest->result->unconfined && !guest->interrupted &&
	       (strstr(guest->console.tail, "-sandbox") ||
		strstr(guest->console.tail, "seccomp support is disabled"));
}

static int attempt(struct guest *guest, bool kvm, uint64_t patience_ns, struct error *error)
{
	int log_fd = guest->console.log_fd;
	int result = attempt_once(guest, kvm, patience_ns, error);

	if (result >= 0 || !has_no_sandbox(guest))
		return result;
	guest->result->unconfined = true;
	guest->monitored_used = 0;
	*error = (struct error){""};
	guest->console = (struct console){.log_fd = log_fd};
	return attempt_once(guest, kvm, patience_ns, error);
}

static int run(struct guest *guest, struct error *error)
{
	const struct boot_options *options = guest->options;
	/* of another architecture there is nothing but emulation */
	bool kvm = options->accel == ACCEL_KVM ||
		   (options->accel == ACCEL_AUTO && options->qemu.board == board_here() &&
		    qemu_may_use_kvm());
	struct error *kvm_error = &guest->result->kvm_error;
	int log_fd = guest->console.log_fd, result;

	if (!kvm)
		return attempt(guest, false, options->timeout_ns, error);
	result = attempt(guest, true,
			 options->accel == ACCEL_AUTO ? KVM_PATIENCE_NS : options->timeout_ns,
			 kvm_error);
	if (result >= 0)
		return result;
	if (options->accel == ACCEL_KVM || guest->result->ready_ns || guest->interrupted) {
		*error = *kvm_error;
		return guest->result->ready_ns || guest->interrupted
			       ? result
			       : error_wrap(error, result, "under KVM (without it: --accel tcg)");
	}
	/* some hosts have /dev/kvm, and cannot run a stock kernel by it */
	guest->stopped = false;
	guest->monitored_used = 0;
	*error = (struct error){""};
	guest->console = (struct console){.log_fd = log_fd};
	return attempt(guest, false, options->timeout_ns, error);
}

/* The command has ended; whether it is to be believed. */
static int judge(const struct guest *guest, struct error *error)
{
	char text[CONSOLE_LINE_BYTES + 64];

	if (*guest->incoming.failed)
		return error_set(error, EIO, "%s", guest->incoming.failed);
	if (*guest->incoming.file_error.text) {
		*error = guest->incoming.file_error;
		return -EIO;
	}
	if (guest->result->damaged)
		return error_set(error, EPROTO,
				 "the report of the guest is incomplete: %llu frames were damaged",
				 (unsigned long long)guest->result->damaged);
	if (!*guest->console.oom || guest->result->code != 128 + SIGKILL)
		return 0;
	snprintf(text, sizeof(text), "the guest ran out of memory (more by --memory); killed %s",
		 guest->console.oom);
	return fail(guest, ENOMEM, error, text);
}

static int hear_signals(struct guest *guest, sigset_t *ret_before, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t heard;

	signals_heard(&heard, signals, ARRAY_SIZE(signals));
	sigprocmask(SIG_BLOCK, &heard, ret_before);
	guest->signals = signalfd(-1, &heard, SFD_CLOEXEC);
	return guest->signals < 0
		       ? error_set(error, errno, "cannot hear signals: %s", strerror(errno))
		       : 0;
}

/* Under its name at once: it is read while the guest runs. */
static int open_log(struct guest *guest, struct error *error)
{
	const char *path = guest->options->log;
	struct file_draft log;
	int result;

	if (!path)
		return 0;
	result = file_draft_open(&log, AT_FDCWD, path, 0666, true);
	if (result >= 0)
		result = file_draft_keep(&log);
	if (result >= 0)
		guest->console.log_fd = fcntl(log.fd, F_DUPFD_CLOEXEC, 0);
	file_draft_close(&log);
	return result < 0 ? file_draft_refused(path, result, error) : 0;
}

int boot_run(const struct boot_options *options, struct boot_result *ret_result,
	     struct error *error)
{
	struct guest guest = {
		.options = options,
		.result = ret_result,
		.qemu = QEMU_INIT,
		.console = {.log_fd = -1},
		.signals = -1,
		.kernel_fd = -1,
	};
	sigset_t before;
	int result, log_fd;

	*ret_result = (struct boot_result){.code = 0};
	status_line_begin(&guest.progress, options->progress);
	result = hear_signals(&guest, &before, error);
	if (result >= 0)
		result = open_log(&guest, error);
	guest.incoming = (struct incoming){
		.options = options,
		.result = ret_result,
		.fds = {STDOUT_FILENO, STDERR_FILENO},
		.line = -1,
		.signals = guest.signals,
		.on_signal = take_signal,
		.data = &guest,
		.dump = FILE_DRAFT_NONE,
		.receiving = RECEIVING_NONE,
	};
	/* before the clock of the boot starts, and once: it may have to be unpacked */
	if (result >= 0)
		result = guest.kernel_fd = kernel_image_open(options->qemu.kernel, error);
	if (options->return_bytes)
		guest.incoming.receiving.max_bytes = options->return_bytes;
	log_fd = guest.console.log_fd;
	if (result >= 0)
		result = run(&guest, error);
	if (result >= 0)
		result = judge(&guest, error);
	if (options->scheduler && ret_result->scheduler == BOOT_SCHEDULER_NONE &&
	    *guest.incoming.failed)
		ret_result->scheduler = BOOT_SCHEDULER_NOT_STARTED;
	snprintf(ret_result->oom, sizeof(ret_result->oom), "%s", guest.console.oom);
	ret_result->log_error = guest.console.log_error;
	if (guest.signals >= 0)
		close(guest.signals);
	if (log_fd >= 0)
		close(log_fd);
	if (guest.kernel_fd >= 0)
		close(guest.kernel_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}
