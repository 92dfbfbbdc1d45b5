// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"
#include "command/command.h"
#include "guest/kernel.h"
#include "guest/elf_dependencies.h"

#define BOOT_LEAST_NS	 (60 * NS_PER_S)
#define BOOT_OF_A_CPU_NS (5 * NS_PER_S)
#define MEMORY_LEAST	 (1ULL << 30)

enum {
	OPTION_KERNEL = 512,
	OPTION_TOPOLOGY,
	OPTION_MEMORY,
	OPTION_ACCEL,
	OPTION_PROGRAM,
	OPTION_SYSROOT,
	OPTION_ADD,
	OPTION_RETURN,
	OPTION_RETURN_LIMIT,
	OPTION_MODULE,
	OPTION_APPEND,
	OPTION_BOOT_TIMEOUT,
	OPTION_KEEP_LOG,
	OPTION_SCHEDULER,
	OPTION_REPRO,
	OPTION_KEEP_DUMP,
	OPTION_RESULT,
};

static const char doc[] =
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

static const struct argp_option argp_options[] = {
	{"kernel", OPTION_KERNEL, "FILE", 0,
	 "a kernel image, or auto: the newest of /boot, else of make guest-kernel; with "
	 "--scheduler "
	 "one that has sched_ext (auto)",
	 1},
	{"topology", OPTION_TOPOLOGY, "NnLlCcTt", 0,
	 "nodes, last-level caches in all, cores of each, threads of each, or a name of --list "
	 "(1n1l2c1t)",
	 1},
	{"memory", OPTION_MEMORY, "SIZE", 0, "of the guest (64M for each CPU, at least 1G)", 1},
	{"accel", OPTION_ACCEL, "HOW", 0, "auto, kvm or tcg (auto: kvm where it works)", 1},
	{"scheduler", OPTION_SCHEDULER, "COMMAND", 0,
	 "a sched_ext scheduler with its arguments: in use before the command begins, and watched",
	 2},
	{"repro", OPTION_REPRO, 0, 0,
	 "do not send SIGUSR2, so that a stuck scheduler stays up for debugging", 2},
	{"keep-dump", OPTION_KEEP_DUMP, "FILE", 0,
	 "what the scheduler and the kernel say when it dies (scheduler-TIME.log)", 2},
	{"add", OPTION_ADD, "FILE", 0, "also in the guest, under the same name; directories too",
	 3},
	{"return", OPTION_RETURN, "DIR", 0,
	 "files that the command makes or changes below it come back", 3},
	{"return-limit", OPTION_RETURN_LIMIT, "SIZE", 0, "of all that comes back (1G)", 3},
	{"program", OPTION_PROGRAM, "FILE", 0,
	 "the dwell inside, for a kernel of another architecture (this one)", 3},
	{"sysroot", OPTION_SYSROOT, "DIR", 0, "where programs find their libraries (/)", 3},
	{"module", OPTION_MODULE, "NAME", 0, "of the kernel, loaded at first with all it needs", 3},
	{"append", OPTION_APPEND, "WORDS", 0, "to the kernel's command line", 3},
	{"boot-timeout", OPTION_BOOT_TIMEOUT, "TIME", 0,
	 "boot timeout; then the longest time without output (5s for each CPU, at least 60s)", 3},
	{"keep-log", OPTION_KEEP_LOG, "FILE", 0, "what the kernel says", 3},
	{"result", OPTION_RESULT, "FILE", 0, "what came of the guest, as JSON", 3},
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
	const struct board *board = options->boot.qemu.board;
	const char *program = options->program ? options->program : "/proc/self/exe";
	uint16_t machine = elf_machine(program);
	const struct board *of = board_of_elf(machine);

	if (options->boot.accel == ACCEL_KVM && board != board_here())
		return error_set(error, EINVAL,
				 "the kernel %s is for %s: KVM runs those of this machine only, %s",
				 options->boot.qemu.kernel, board->name, board_here()->name);
	if (options->program && access(program, R_OK) < 0)
		return error_set(error, errno, "cannot read the program %s: %s", program,
				 strerror(errno));
	if (!machine)
		return error_set(error, EINVAL, "%s is not a program", program);
	if (machine == board->elf)
		return 0;
	return error_set(error, EINVAL,
			 "the kernel %s is for %s, %s for %s: name a dwell for that "
			 "architecture, --program FILE, and its libraries, --sysroot DIR",
			 options->boot.qemu.kernel, board->name,
			 options->program ? options->program : "this dwell",
			 of ? of->name : "another one");
}

/* Many CPUs need memory, and long to boot where they are emulated by few. */
static void complete_sizes(struct boot_options *boot)
{
	uint64_t boot_ns = shape_cpus(&boot->qemu.shape) * BOOT_OF_A_CPU_NS;
	uint64_t bytes = shape_memory(&boot->qemu.shape);

	if (!boot->timeout_ns)
		boot->timeout_ns = boot_ns > BOOT_LEAST_NS ? boot_ns : BOOT_LEAST_NS;
	if (!boot->qemu.memory_bytes)
		boot->qemu.memory_bytes = bytes > MEMORY_LEAST ? bytes : MEMORY_LEAST;
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
	complete_sizes(&options->boot);
	if (!options->boot.qemu.kernel || !strcmp(options->boot.qemu.kernel, "auto")) {
		options->boot.qemu.kernel = options->kernel;
		result = kernel_find(options->scheduler != NULL, options->kernel, error);
	}
	if (result >= 0)
		result = board_of_kernel(options->boot.qemu.kernel, &options->boot.qemu.board,
					 error);
	return result < 0 ? result : check_program(options, error);
}

static const struct plain_option plain[] = {
	SIZE_OPTION(OPTION_MEMORY, struct guest_options, boot.qemu.memory_bytes),
	TEXT_OPTION(OPTION_PROGRAM, struct guest_options, program),
	TEXT_OPTION(OPTION_SYSROOT, struct guest_options, sysroot),
	SIZE_OPTION(OPTION_RETURN_LIMIT, struct guest_options, boot.return_bytes),
	TEXT_OPTION(OPTION_APPEND, struct guest_options, boot.qemu.append),
	TIME_OPTION(OPTION_BOOT_TIMEOUT, struct guest_options, boot.timeout_ns),
	TEXT_OPTION(OPTION_KEEP_LOG, struct guest_options, boot.log),
	TEXT_OPTION(OPTION_SCHEDULER, struct guest_options, scheduler),
	FLAG_OPTION(OPTION_REPRO, struct guest_options, repro),
	TEXT_OPTION(OPTION_KEEP_DUMP, struct guest_options, boot.dump),
	TEXT_OPTION(OPTION_RESULT, struct guest_options, result),
};

static int take_option(struct guest_options *options, int key, char *value,
		       struct argp_state *state, struct error *error)
{
	int result = plain_option(plain, ARRAY_SIZE(plain), options, key, value, error);

	if (result <= 0)
		return result;
	switch (key) {
	case OPTION_KERNEL:
		options->boot.qemu.kernel = value;
		return 0;
	case OPTION_TOPOLOGY:
		return shape_parse(value, &options->boot.qemu.shape, error);
	case OPTION_ACCEL:
		return take_accel(options, value, error);
	case OPTION_ADD:
		if (options->file_count == GUEST_FILES_MAX)
			return error_set(error, EINVAL, "too many files");
		options->files[options->file_count++] = value;
		return 0;
	case OPTION_RETURN:
		if (options->return_count == GUEST_RETURNS_MAX)
			return error_set(error, EINVAL, "too many directories");
		options->pulled[options->return_count++] = value;
		return 0;
	case OPTION_MODULE:
		if (options->module_count == GUEST_MODULES_MAX)
			return error_set(error, EINVAL, "too many modules");
		options->modules[options->module_count++] = value;
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
	if (parsing_helps(key, state))
		return 0;
	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = &options->matrix;
	result = take_option(options, key, value, state, &options->parsing.error);
	if (!result)
		result = guest_matrix_hand_on(&options->matrix, argp_options, key, value,
					      &options->parsing.error);
	return parsing_result(&options->parsing, result);
}

static const struct argp_child children[] = {{&guest_matrix_argp, 0, NULL, 0}, {0}};
const struct argp guest_argp = {
	.children = children,
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "-- COMMAND [ARG...]\n--matrix FILE",
	.doc = doc,
};

int guest_options_parse(struct guest_options *options, int argc, char **argv)
{
	guest_matrix_options_init(&options->matrix, &options->parsing);
	return parsing_run(&guest_argp, "dwell guest", argc, argv, options, &options->parsing);
}
