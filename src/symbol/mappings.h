/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files a process has mapped, as /proc/PID/maps lists them. */
#ifndef DWELL_SYMBOL_MAPPINGS_H
#define DWELL_SYMBOL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/opener.h"

struct mapping {
	uint64_t start, end; /* addresses in the process */
	uint64_t offset;     /* in the file, of `start` */
	uint64_t device;     /* major << 32 | minor; with the inode the file's identity */
	uint64_t inode;	     /* 0: no file (heap, stack, compiled at run time, vdso) */
	uint64_t time_ns;    /* it was so then; 0: it is so now */
	char *path;	     /* as the kernel prints it, with " (deleted)"; empty without a file */
};

/* Executable mappings only, by address. All zeros is empty. */
struct mappings {
	struct mapping *items;
	size_t count;
	size_t room;
};

/*
 * A line of /proc/PID/maps: `start-end perms offset major:minor inode   path`, which is cut at its
 * end; the path lies in it. False: it maps no code.
 */
bool mapping_parse(char *line, struct mapping *ret_mapping);

/* The lines of such a file, behind those that there are. 0 or -ENOMEM. */
int mappings_read(struct mappings *mappings, FILE *file) must_check;

/* As the kernel writes it: the line ends with a newline, and one in the path is `\012`. */
void mapping_write(const struct mapping *mapping, FILE *file);

/* In place of what was there, which may lose a part, or its middle. 0 or -ENOMEM. */
int mappings_overlay(struct mappings *mappings, const struct mapping *mapping) must_check;

/*
 * Reads them again, as they were at a time (opener_follow_processes()) or, with 0, are now. Their
 * devices become those that stat(2) shows. Another user's process needs CAP_SYS_PTRACE. 0 or a
 * negative errno, and then the mappings are as they were; -ESRCH: it has ended, or is the kernel's.
 */
int mappings_load(struct mappings *mappings, uint32_t pid, uint64_t time_ns) must_check;

/*
 * Those that were read as of `from_ns` become those of another time, by what differs alone. 0,
 * -ENOENT: that is not known, and they are as they were; or -ENOMEM.
 */
int mappings_move(struct mappings *mappings, uint32_t pid, uint64_t from_ns,
		  uint64_t time_ns) must_check;
void mappings_release(struct mappings *mappings);
#define cleanup_mappings cleanup(mappings_release)

/* NULL: the address is not executable there. Valid until the next load. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/*
 * Opens the mapped file itself, also when it has been deleted or replaced since, or belongs to
 * another mount namespace. The descriptor, or a negative errno; -EREMOTE: it may never answer
 * (symbol/foreign.h).
 */
int mapping_open(const struct mapping *mapping, uint32_t pid) must_check;

/* The same; and a path by which we can open it again. */
#define MAPPING_PATH_BYTES OPENER_PATH_BYTES
int mapping_open_path(const struct mapping *mapping, uint32_t pid,
		      char path[MAPPING_PATH_BYTES]) must_check;

#endif
