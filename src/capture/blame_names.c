// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/blame_names.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/blame_bank.h"

void blame_names_clear(struct blame_names *names)
{
	*names = (struct blame_names){0};
}

static bool is_of_several(const struct wire_culprit *culprit)
{
	return culprit->kind == WIRE_CULPRIT_THREAD && !culprit->tid && culprit->pid;
}

static void read_name(__u32 pid, __u8 comm[16])
{
	cleanup_close int fd = -1;
	char path[64], line[17];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, line, sizeof(line));
	if (length < 2) /* and a newline */
		return;
	memset(comm, 0, 16);
	memcpy(comm, line, (size_t)length - 1);
}

static void name(struct blame_names *names, struct wire_culprit *culprit)
{
	size_t at = culprit->pid % BLAME_NAMES;

	if (names->items[at].pid != culprit->pid) {
		names->items[at].pid = culprit->pid;
		memcpy(names->items[at].comm, culprit->comm, sizeof(culprit->comm));
		read_name(culprit->pid, names->items[at].comm);
	}
	memcpy(culprit->comm, names->items[at].comm, sizeof(culprit->comm));
}

int blame_names_pass(struct blame_names *names, const struct wire_blame *record,
		     struct record_sink sink)
{
	const struct wire_culprit *culprits = (const void *)(record + 1);
	struct {
		struct wire_blame blame;
		struct wire_culprit culprits[BLAME_CULPRITS + 1];
	} named;
	bool has_several = false;

	for (__u32 i = 0; i < record->count; i++)
		has_several |= is_of_several(&culprits[i]);
	if (!has_several || record->header.size > sizeof(named))
		return sink.record(sink.data, &record->header);
	memcpy(&named, record, record->header.size);
	for (__u32 i = 0; i < named.blame.count; i++)
		if (is_of_several(&named.culprits[i]))
			name(names, &named.culprits[i]);
	return sink.record(sink.data, &named.blame.header);
}
