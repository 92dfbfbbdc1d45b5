// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/parsing.h"

static const char text[] =
	"Runs a command of dwell in a virtual machine, with another kernel, another topology, "
	"another scheduler, and brings back what it prints, its reports and recordings, and "
	"its exit status. A name with a slash is another program."
	"\v"
	"The guest's memory holds all its files: this program, what it needs, files that the "
	"command names, and those that are added. Files come back that options of the command name "
	"as its output, and those below --return. Needs QEMU.\n\n"
	"Examples:\n"
	"  dwell guest -- doctor                       what works under that kernel\n"
	"  dwell guest --topology 1n2l2c1t -- load steady-llc\n"
	"  dwell guest --kernel bzImage -- load spec.yaml --json\n"
	"  dwell guest --scheduler './scx_mine -s 5000' -- load steady --save runs\n"
	"  dwell guest --matrix gauntlet.yaml --out verdicts.json\n";

static int take_topology(void *shape, const char *value, struct error *error)
{
	return shape_parse(value, shape, error);
}

static int take_accel(void *accel, const char *value, struct error *error)
{
	static const char *const names[] = {"auto", "kvm", "tcg"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			*(enum boot_accel *)accel = (enum boot_accel)i;
			return 0;
		}
	return parsing_unknown(error, "accelerator", value, "auto, kvm or tcg");
}

static int add_to(const char **list, size_t *count, size_t most, const char *value,
		  const char *what, struct error *error)
{
	if (*count == most)
		return error_set(error, EINVAL, "too many %s", what);
	list[(*count)++] = value;
	return 0;
}

static int take_file(void *data, const char *value, struct error *error)
{
	struct guest_options *options = data;

	return add_to(options->files, &options->file_count, GUEST_FILES_MAX, value, "files", error);
}

static int take_return(void *data, const char *value, struct error *error)
{
	struct guest_options *options = data;

	return add_to(options->pulled, &options->return_count, GUEST_RETURNS_MAX, value,
		      "directories", error);
}

static int take_module(void *data, const char *value, struct error *error)
{
	struct guest_options *options = data;

	return add_to(options->modules, &options->module_count, GUEST_MODULES_MAX, value, "modules",
		      error);
}

static const struct command_option guest_option_table[] = {
	OPTION_GROUP(1, NULL),
	TEXT_OPTION("kernel", 0, "FILE", struct guest_options, boot.qemu.kernel,
		    "a kernel image, or auto: the newest of /boot, else of make guest-kernel; with "
		    "--scheduler one that has sched_ext (auto)"),
	TAKEN_MEMBER("topology", 0, "NnLlCcTt", struct guest_options, boot.qemu.shape,
		     take_topology,
		     "nodes, last-level caches in all, cores of each, threads of each, or a name "
		     "of --list (1n1l2c1t)"),
	SIZE_OPTION("memory", 0, struct guest_options, boot.qemu.memory_bytes,
		    "of the guest (64M for each CPU, at least 1G)"),
	TAKEN_MEMBER("accel", 0, "HOW", struct guest_options, boot.accel, take_accel,
		     "auto, kvm or tcg (auto: kvm where it works)"),
	OPTION_GROUP(2, NULL),
	TEXT_OPTION("scheduler", 0, "COMMAND", struct guest_options, scheduler,
		    "a sched_ext scheduler with its arguments: in use before the command begins, "
		    "and watched"),
	FLAG_OPTION("repro", 0, struct guest_options, repro,
		    "do not send SIGUSR2, so that a stuck scheduler stays up for debugging"),
	TEXT_OPTION("keep-dump", 0, "FILE", struct guest_options, boot.dump,
		    "what the scheduler and the kernel say when it dies (scheduler-TIME.log)"),
	TEXT_OPTION("keep-trace", 0, "FILE", struct guest_options, trace,
		    "of a load that does not pass: what all threads did around the failure, for "
		    "Perfetto (with --scheduler: scheduler-TIME.json); '' for none"),
	OPTION_GROUP(3, NULL),
	TAKEN_OPTION("add", 0, "FILE", take_file,
		     "also in the guest, under the same name; directories too"),
	TAKEN_OPTION("return", 0, "DIR", take_return,
		     "files that the command makes or changes below it come back"),
	SIZE_OPTION("return-limit", 0, struct guest_options, boot.return_bytes,
		    "the most that may come back, in all (1G)"),
	TEXT_OPTION("program", 0, "FILE", struct guest_options, program,
		    "the dwell inside, for a kernel of another architecture (this one)"),
	TEXT_OPTION("sysroot", 0, "DIR", struct guest_options, sysroot,
		    "where programs find their libraries (/)"),
	TAKEN_OPTION("module", 0, "NAME", take_module,
		     "load this module of the kernel first, with all that it needs"),
	TEXT_OPTION("append", 0, "WORDS", struct guest_options, boot.qemu.append,
		    "append WORDS to the kernel's command line"),
	TIME_OPTION("boot-timeout", 0, struct guest_options, boot.timeout_ns,
		    "boot timeout; then the longest time without output (5s for each CPU, at least "
		    "60s)"),
	TEXT_OPTION("keep-log", 0, "FILE", struct guest_options, boot.log,
		    "write what the kernel prints to FILE"),
	TEXT_OPTION("record", 0, "FILE", struct guest_options, recording,
		    "also record the whole guest, as dwell record does"),
	TEXT_OPTION("result", 0, "FILE", struct guest_options, result,
		    "write how the guest ended to FILE, as JSON"),
	OPTIONS_OF(guest_matrix_option_table, struct guest_options, matrix),
	END_OF_OPTIONS,
};

/* All from here on is the command's. */
static int take_command(void *data, char **rest, bool is_behind_dashes, struct error *error)
{
	struct guest_options *options = data;

	(void)is_behind_dashes;
	(void)error;
	options->command = rest;
	return ARGUMENTS_TAKEN;
}

static int note(void *data, const struct command_option *option, const char *value,
		struct error *error)
{
	struct guest_options *options = data;

	return guest_matrix_note(&options->matrix, option, value, error);
}

const struct command_line guest_line = {
	.options = guest_option_table,
	.arguments = "-- COMMAND [ARG...]\n--matrix FILE",
	.text = text,
	.take_argument = take_command,
	.rest_is_command = true,
	.take_note = note,
	.end = guest_options_end,
};

int guest_options_parse(struct guest_options *options, int argc, char **argv)
{
	guest_matrix_options_init(&options->matrix);
	return command_line_parse(&guest_line, argc, argv, options);
}
