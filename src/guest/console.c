// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/console.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define TOLD_BYTES 400 /* of the end, in a message */

static void remember(struct console *console, const char *mark, char into[CONSOLE_LINE_BYTES])
{
	const char *found = strstr(console->line, mark);

	/* the first is the cause of the others */
	if (found && !*into)
		snprintf(into, CONSOLE_LINE_BYTES, "%s", found + strlen(mark));
}

/* kernel/panic.c, mm/oom_kill.c, init/initramfs.c */
static void look(struct console *console)
{
	remember(console, "Kernel panic - not syncing: ", console->panic);
	/* not "Memory cgroup out of memory": that is what limits are for */
	remember(console, "Out of memory: Killed process ", console->oom);
	if (strstr(console->line, "Initramfs unpacking failed"))
		console->unpacking_failed = true;
	/* arch/x86/kernel/traps.c */
	if (strstr(console->line, "Oops: int3:"))
		console->stray_trap = true;
}

static void take_lines(struct console *console, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != '\n' && bytes[i] != '\r') {
			if (console->line_used + 1 < sizeof(console->line))
				console->line[console->line_used++] = bytes[i];
			continue;
		}
		console->line[console->line_used] = '\0';
		console->line_used = 0;
		look(console);
	}
}

static void write_log(struct console *console, const char *bytes, size_t length)
{
	int result = console->log_fd < 0 ? 0 : file_write(console->log_fd, bytes, length);

	if (result < 0) {
		console->log_error = -result;
		console->log_fd = -1;
	}
}

void console_take(struct console *console, const char *bytes, size_t length)
{
	size_t kept;

	console->bytes += length;
	write_log(console, bytes, length);
	take_lines(console, bytes, length);
	if (length > CONSOLE_TAIL_BYTES) {
		bytes += length - CONSOLE_TAIL_BYTES;
		length = CONSOLE_TAIL_BYTES;
	}
	kept = console->tail_used + length > CONSOLE_TAIL_BYTES ? CONSOLE_TAIL_BYTES - length
								: console->tail_used;
	memmove(console->tail, console->tail + console->tail_used - kept, kept);
	memcpy(console->tail + kept, bytes, length);
	console->tail_used = kept + length;
	console->tail[console->tail_used] = '\0';
}

int console_error(const struct console *console, struct error *error, int code, const char *what)
{
	size_t used = console->tail_used, count = 0;
	char end[TOLD_BYTES + 1];

	for (size_t i = used > TOLD_BYTES ? used - TOLD_BYTES : 0; i < used; i++) {
		char c = console->tail[i];

		/* one line, and a blank for each break */
		if (c == '\n' || c == '\r')
			c = ' ';
		if (c != ' ' || (count && end[count - 1] != ' '))
			end[count++] = c;
	}
	end[count] = '\0';
	return error_set(error, code, "%s%s%s", what, count ? "; the console ends with: " : "",
			 end);
}
