/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between the architectures that a guest can have: QEMU's program, its board, and the
 * serial lines on it. A kernel image says which one it is for.
 */
#ifndef DWELL_GUEST_BOARD_H
#define DWELL_GUEST_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BOARD_PORT "dwell" /* the virtio-serial port of the frames */

struct board {
	const char *name; /* of the architecture, as uname(2) has it */
	uint16_t elf;	  /* e_machine of its programs */
	const char *qemu, *qemu_package, *kernel_package;
	const char *machine;  /* -machine */
	const char *cpu;      /* -cpu, when emulated */
	const char *console;  /* console= */
	const char *append;   /* words for its kernels; each ends with a blank */
	const char *emulated; /* more of them, when emulated */
	bool caches;	      /* its guests learn which CPUs share one */
	/*
	 * The line of the frames: a device of its own (-device) where the board has one serial port
	 * only, else (NULL) its second port; and its file in the guest.
	 */
	const char *line_device, *line_path;
};

/* The one this program is built for. */
const struct board *board_here(void);

/* By e_machine; NULL: none that is known. */
const struct board *board_of_elf(uint16_t elf);

/* -EINVAL: it is no image that QEMU takes, or not known for one. */
int board_of_kernel(const char *path, const struct board **ret_board,
		    struct error *error) must_check;

#endif
