/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest's kernel says, and QEMU of itself: its end is kept, and what is bad in it. */
#ifndef DWELL_GUEST_CONSOLE_H
#define DWELL_GUEST_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CONSOLE_TAIL_BYTES 2048
#define CONSOLE_LINE_BYTES 256

struct console {
	int log_fd;    /* all is written there too; -1: nowhere */
	int log_error; /* of the first write that failed */
	uint64_t bytes;
	char tail[CONSOLE_TAIL_BYTES + 1];
	size_t tail_used;
	char line[CONSOLE_LINE_BYTES]; /* that is being read */
	size_t line_used;
	char panic[CONSOLE_LINE_BYTES]; /* why; "": it did not */
	char oom[CONSOLE_LINE_BYTES];	/* whom the kernel killed for want of memory */
	bool unpacking_failed;		/* the initramfs did not fit */
	bool stray_trap;		/* at a breakpoint that nothing had set */
};

void console_take(struct console *console, const char *bytes, size_t length);

/* `what` went wrong, and how the console ends, on one line. */
int console_error(const struct console *console, struct error *error, int code,
		  const char *what) must_check;

#endif
