// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell guest`: any of the other commands in a virtual machine, under another kernel. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/file.h"
#include "base/print.h"
#include "command/command.h"
#include "command/guest_image.h"
#include "command/guest_matrix.h"
#include "command/guest_options.h"
#include "command/guest_trace.h"
#include "guest/outcome.h"

struct guest_run {
	struct guest_options options;
	struct pulled_files pulled;
	char dump[40];
	struct guest_trace trace;
	struct boot_result result;
};

static int boot(struct guest_run *run, struct error *error)
{
	struct boot_options *boot = &run->options.boot;
	time_t now = time(NULL);
	char stamp[20];
	struct tm utc;
	int result;

	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(run->dump, sizeof(run->dump), "scheduler-%s.log", stamp);
	boot->dump_chosen = !boot->dump;
	if (boot->dump_chosen)
		boot->dump = run->dump;
	boot->scheduler = run->options.scheduler != NULL;
	boot->judged = !strcmp(run->options.command[0], "load");
	boot->progress = true;
	boot->pulled = &run->pulled;
	boot->qemu.image_fd = -1;
	result = guest_trace_choose(&run->trace, &run->options, stamp);
	if (result < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = guest_image_make(&run->options,
				  run->trace.command ? run->trace.command : run->options.command,
				  &run->pulled, error);
	if (result >= 0)
		result = boot_run(boot, &run->result, error);
	if (boot->qemu.image_fd >= 0)
		close(boot->qemu.image_fd);
	return result;
}

static int save_result(const struct guest_run *run, int code, const struct error *failed,
		       struct error *error)
{
	struct guest_outcome outcome = {.boot = &run->options.boot,
					.result = &run->result,
					.scheduler = run->options.scheduler,
					.trace = guest_trace_is_there(&run->trace) ? run->trace.path
										   : NULL,
					.code = code,
					.failed = failed};
	struct item item = {&outcome, NULL};
	struct output output;
	int result;

	if (!run->options.result)
		return 0;
	if (output_init(&output, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	emit_json_line(&output, &guest_schema, &item);
	result = output.error
			 ? error_set(error, output.error, "out of memory")
			 : file_replace(run->options.result, output.buffer, output.used, error);
	output_release(&output);
	return result;
}

/* What the reader of the command's output has to know. */
static void remark(const struct guest_run *run)
{
	const struct boot_result *result = &run->result;
	const struct qemu_options *qemu = &run->options.boot.qemu;
	char after[16];

	if (!result->kvm)
		print_text(stderr,
			   "dwell guest: emulated (TCG)%s: its timings are indicative only\n",
			   *result->kvm_error.text ? ", for KVM cannot run this guest here" : "");
	if (result->unconfined)
		print_text(stderr, "dwell guest: %s is built without a sandbox (seccomp)\n",
			   qemu->board->qemu);
	if (!qemu->board->caches && shape_cpus(&qemu->shape) > qemu->shape.llcs)
		print_text(
			stderr,
			"dwell guest: guests of %s cannot see which CPUs share a cache: each has "
			"one of its own there\n",
			qemu->board->name);
	if (*result->oom)
		print_text(stderr,
			   "dwell guest: the guest was out of memory (--memory): killed %s\n",
			   result->oom);
	if (result->log_error)
		print_text(stderr, "dwell guest: %s is incomplete: %s\n", run->options.boot.log,
			   strerror(result->log_error));
	if (result->scheduler != BOOT_SCHEDULER_DIED)
		return;
	duration_format(after, sizeof(after), result->scheduler_after_ns);
	print_text(stderr, "dwell guest: the scheduler died after %s: %s%s%s\n", after,
		   result->scheduler_reason, result->dumped ? "; its dump is in " : "",
		   result->dumped ? run->options.boot.dump : "");
}

/* What is asked to be kept, before a guest boots for it; of what comes back we make directories. */
static int try_files(const struct guest_options *options, struct error *error)
{
	const char *const files[] = {options->result, options->boot.dump, options->boot.log};
	int result = 0;

	for (size_t i = 0; result >= 0 && i < ARRAY_SIZE(files); i++)
		if (files[i])
			result = file_draft_try(files[i], error);
	return result;
}

static int run_guest(struct guest_run *run)
{
	struct error failed = {""}, error = {""};
	int code;

	if (try_files(&run->options, &failed) < 0)
		return command_fail("guest", EXIT_NOT_RUN, &failed);

	/* the write reports a reader, or QEMU, that is gone; our children are ours to await */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	/* a reader that has had enough is none that fails: what else dwell prints ends like this */
	if (boot(run, &failed) < 0)
		code = run->result.unread ? EXIT_NOT_RUN
					  : command_fail("guest", EXIT_NOT_RUN, &failed);
	else if (run->result.scheduler == BOOT_SCHEDULER_DIED)
		code = EXIT_CHECK_FAILED;
	else
		code = run->result.code;
	if (run->result.ended && !*failed.text)
		remark(run);
	if (save_result(run, code, &failed, &error) < 0)
		code = command_fail("guest", EXIT_NOT_RUN, &error);
	guest_trace_release(&run->trace);
	pulled_files_release(&run->pulled);
	return code;
}

static int guest_run(int argc, char **argv)
{
	struct guest_run run = {
		.options = {.boot = {.qemu = {.shape = {1, 1, 2, 1}}}},
	};
	int code = guest_options_parse(&run.options, argc, argv);

	if (code != EXIT_DONE)
		return code;
	return guest_matrix_asked(&run.options.matrix) ? guest_matrix_run(&run.options.matrix)
						       : run_guest(&run);
}

const struct command command_guest = {
	.name = "guest",
	.summary = "any of these in a virtual machine, under another kernel",
	.line = &guest_line,
	.argument = ARGUMENT_COMMAND,
	.run = guest_run,
};
