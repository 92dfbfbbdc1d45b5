// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_program.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/proc_stat.h"

/* A process ends with its first thread, or is that thread until the others have ended, too. */
void blocked_note_end(struct blocked *blocked, const struct interval *interval)
{
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];

		if (!row->exited || row->pid != blocked->options.spans.pid || row->tid != row->pid)
			continue;
		blocked->has_ended = true;
		blocked->wait_status = row->exit_code;
	}
}

struct blocked_program blocked_program_of(uint32_t pid)
{
	char path[32];
	struct stat file;

	snprintf(path, sizeof(path), "/proc/%u/exe", proc_living_thread(pid));
	if (stat(path, &file) < 0)
		return (struct blocked_program){0};
	return (struct blocked_program){file.st_dev, file.st_ino};
}

void blocked_note_exec(struct blocked *blocked)
{
	struct blocked_program before = blocked->program;

	if (!blocked->watch || blocked->has_ended)
		return;
	blocked->program = blocked_program_of(blocked->options.spans.pid);
	if (!before.inode || !blocked->program.inode ||
	    (before.device == blocked->program.device && before.inode == blocked->program.inode))
		return;
	blocked->has_executed = true;
	/* a command would end with dwell */
	blocked->watch->loop.stop |= !blocked->options.watch.command;
}

void blocked_executed_text(char text[BLOCKED_EXECUTED_BYTES], const struct span_options *spans)
{
	char name[sizeof(spans->process)];

	target_process_name(spans->pid, name);
	snprintf(text, BLOCKED_EXECUTED_BYTES,
		 "%s %u has become another program, %s: start dwell blocked again", spans->process,
		 spans->pid, name);
}
