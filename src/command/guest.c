// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell guest`: any of the other commands in a virtual machine, under another kernel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"
#include "command/command.h"
#include "command/guest_matrix.h"
#include "command/watch_options.h"
#include "guest/boot.h"
#include "guest/image.h"
#include "guest/kernel.h"
#include "guest/needs.h"

enum {
	OPTION_KERNEL = 512,
	OPTION_TOPOLOGY,
	OPTION_MEMORY,
	OPTION_ACCEL,
	OPTION_PROGRAM,
	OPTION_SYSROOT,
	OPTION_ADD,
	OPTION_APPEND,
	OPTION_BOOT_TIMEOUT,
	OPTION_KEEP_LOG,
};

#define FILES_MAX 256

struct guest_options {
	struct parsing parsing;
	struct boot_options boot;
	char kernel[PATH_MAX];
	const char *program, *sysroot; /* as in struct image_options */
	char *files[FILES_MAX + 1];
	size_t file_count;
	char **command; /* in argv */
	struct guest_matrix_options matrix;
};

static const char doc[] =
	"Runs a command of dwell in a virtual machine, with another kernel and another topology, "
	"and "
	"brings back what it prints and its exit status."
	"\v"
	"The guest's memory holds all its files: this program, what it needs, files that the "
	"command "
	"names, and those that are added. Needs QEMU.\n\n"
	"Examples:\n"
	"  dwell guest -- doctor                       what works under that kernel\n"
	"  dwell guest --topology 1n2l2c1t -- load steady-llc\n"
	"  dwell guest --kernel bzImage -- load spec.yaml --json\n"
	"  dwell guest --matrix gauntlet.yaml --out verdicts.json\n";

static const struct argp_option argp_options[] = {
	{"kernel", OPTION_KERNEL, "FILE", 0, "a kernel image, or auto: the newest of /boot (auto)",
	 1},
	{"topology", OPTION_TOPOLOGY, "NnLlCcTt", 0,
	 "nodes, last-level caches in all, cores of each, threads of each, or a name of --list "
	 "(1n1l2c1t)",
	 1},
	{"memory", OPTION_MEMORY, "SIZE", 0, "of the guest (1G)", 1},
	{"accel", OPTION_ACCEL, "HOW", 0, "auto, kvm or tcg (auto: kvm where it works)", 1},
	{"add", OPTION_ADD, "FILE", 0, "also in the guest, under the same name", 1},
	{"program", OPTION_PROGRAM, "FILE", 0,
	 "the dwell inside, for a kernel of another architecture (this one)", 1},
	{"sysroot", OPTION_SYSROOT, "DIR", 0, "where it finds its libraries (/)", 1},
	{"append", OPTION_APPEND, "WORDS", 0, "to the kernel's command line", 1},
	{"boot-timeout", OPTION_BOOT_TIMEOUT, "TIME", 0, "until it must have booted (60s)", 1},
	{"keep-log", OPTION_KEEP_LOG, "FILE", 0, "what the kernel says", 1},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static int take_accel(struct guest_options *options, const char *value, struct error *error)
{
	static const char *const names[] = {"auto", "kvm", "tcg"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			options->boot.accel = (enum boot_accel)i;
			return 0;
		}
	return parsing_unknown(error, "accelerator", value, "auto, kvm or tcg");
}

/* What runs as init has to be of the kernel's architecture. */
static int check_program(const struct guest_options *options, struct error *error)
{
	const struct board *board = options->boot.board;
	const char *program = options->program ? options->program : "/proc/self/exe";
	uint16_t machine = needs_machine(program);
	const struct board *of = board_of_elf(machine);

	if (options->program && access(program, R_OK) < 0)
		return error_set(error, errno, "cannot read the program %s: %s", program,
				 strerror(errno));
	if (!machine)
		return error_set(error, EINVAL, "%s is no program", program);
	if (machine == board->elf)
		return 0;
	return error_set(error, EINVAL,
			 "the kernel %s is for %s, %s for %s: name a dwell for that "
			 "architecture, --program FILE, and its libraries, --sysroot DIR",
			 options->boot.kernel, board->name,
			 options->program ? options->program : "this dwell",
			 of ? of->name : "another one");
}

static int complete(struct guest_options *options, struct error *error)
{
	int result = 0;

	if (guest_matrix_asked(&options->matrix))
		return guest_matrix_check(&options->matrix, options->command, error);
	if (!options->command || !options->command[0])
		return error_set(error, EINVAL, "which command? dwell guest -- load steady");
	if (!strcmp(options->command[0], "guest"))
		return error_set(error, EINVAL, "a guest within a guest is not tried");
	if (!options->boot.kernel || !strcmp(options->boot.kernel, "auto")) {
		options->boot.kernel = options->kernel;
		result = kernel_find(false, options->kernel, error);
	}
	if (result >= 0)
		result = board_of_kernel(options->boot.kernel, &options->boot.board, error);
	return result < 0 ? result : check_program(options, error);
}

static int take_option(struct guest_options *options, int key, char *value,
		       struct argp_state *state, struct error *error)
{
	switch (key) {
	case OPTION_KERNEL:
		options->boot.kernel = value;
		return 0;
	case OPTION_TOPOLOGY:
		return shape_parse(value, &options->boot.shape, error);
	case OPTION_MEMORY:
		return size_parse(value, &options->boot.memory_bytes, error);
	case OPTION_ACCEL:
		return take_accel(options, value, error);
	case OPTION_PROGRAM:
		options->program = value;
		return 0;
	case OPTION_SYSROOT:
		options->sysroot = value;
		return 0;
	case OPTION_ADD:
		if (options->file_count == FILES_MAX)
			return error_set(error, EINVAL, "too many files");
		options->files[options->file_count++] = value;
		return 0;
	case OPTION_APPEND:
		options->boot.append = value;
		return 0;
	case OPTION_BOOT_TIMEOUT:
		return duration_parse(value, &options->boot.timeout_ns, error);
	case OPTION_KEEP_LOG:
		options->boot.log = value;
		return 0;
	case ARGP_KEY_ARG:
		/* all from here on is the command's */
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		return complete(options, error);
	}
	return 1;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct guest_options *options = state->input;
	int result;

	if (!options)
		return ARGP_ERR_UNKNOWN;
	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = &options->matrix;
	result = take_option(options, key, value, state, &options->parsing.error);
	if (!result)
		result = guest_matrix_hand_on(&options->matrix, argp_options, key, value,
					      &options->parsing.error);
	return result > 0 ? ARGP_ERR_UNKNOWN : parsing_result(&options->parsing, result);
}

static const struct argp_child children[] = {{&guest_matrix_argp, 0, NULL, 0}, {0}};
static const struct argp guest_argp = {
	.children = children,
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "-- COMMAND [ARG...]\n--matrix FILE",
	.doc = doc,
};

static int run(struct guest_options *options, struct boot_result *result, struct error *error)
{
	struct image_options image = {.program = options->program,
				      .sysroot = options->sysroot,
				      .arguments = options->command,
				      .files = options->files};
	uint64_t bytes;
	int status = image_make(&image, &options->boot.image_fd, &bytes, error);

	if (status < 0)
		return status;
	/* unpacked, it is there twice for a while */
	if (bytes * 2 + (128 << 20) > options->boot.memory_bytes)
		status = error_set(
			error, ENOMEM,
			"the guest's files take %llu MiB, too much for its memory: more by "
			"--memory",
			(unsigned long long)(bytes >> 20));
	else
		status = boot_run(&options->boot, result, error);
	close(options->boot.image_fd);
	return status;
}

static int guest_run(int argc, char **argv)
{
	struct guest_options options = {
		.boot = {.shape = {1, 1, 2, 1},
			 .memory_bytes = 1ULL << 30,
			 .timeout_ns = 60 * NS_PER_S},
	};
	struct boot_result result;
	struct error error = {""};
	int code;

	guest_matrix_options_init(&options.matrix, &options.parsing);
	code = parsing_run(&guest_argp, "dwell guest", argc, argv, &options, &options.parsing);
	if (code != EXIT_DONE)
		return code;
	if (guest_matrix_asked(&options.matrix))
		return guest_matrix_run(&options.matrix);
	if (run(&options, &result, &error) < 0)
		return command_fail("guest", EXIT_NOT_RUN, &error);
	if (!result.kvm)
		fputs("dwell guest: emulated (TCG): its timings are indicative only\n", stderr);
	if (result.damaged)
		fprintf(stderr, "dwell guest: %llu frames of the guest's output were damaged\n",
			(unsigned long long)result.damaged);
	return result.code;
}

const struct command command_guest = {
	.name = "guest",
	.summary = "any of these in a virtual machine, under another kernel",
	.argp = &guest_argp,
	.run = guest_run,
};
