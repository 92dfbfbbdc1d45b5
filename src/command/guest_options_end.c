// SPDX-License-Identifier: GPL-2.0-or-later
/* What the options of `dwell guest` need of each other, and of the kernel. */
#include "command/guest_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "command/guest_rehearse.h"
#include "guest/elf_dependencies.h"
#include "guest/kernel.h"

#define BOOT_LEAST_NS	 (60 * NS_PER_S)
#define BOOT_OF_A_CPU_NS (5 * NS_PER_S)
#define MEMORY_LEAST	 (1ULL << 30)

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

	boot->patient = !boot->timeout_ns;
	if (boot->patient)
		boot->timeout_ns = boot_ns > BOOT_LEAST_NS ? boot_ns : BOOT_LEAST_NS;
	if (!boot->qemu.memory_bytes)
		boot->qemu.memory_bytes = bytes > MEMORY_LEAST ? bytes : MEMORY_LEAST;
}

int guest_options_end(void *data, struct error *error)
{
	struct guest_options *options = data;
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
	if (result >= 0)
		result = check_program(options, error);
	/* another dwell may have other options */
	return result < 0 || options->program ? result : guest_rehearse(options->command, error);
}
