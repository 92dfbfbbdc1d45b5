/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and memory of processes under study, opened for the code that parses them. In a helper, its
 * reader opens them (base/helper.h); elsewhere the process itself. The process that asks may be
 * under the control of what it has read, so the reader takes no path and no inode from it.
 */
#ifndef DWELL_SYMBOL_OPENER_H
#define DWELL_SYMBOL_OPENER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/thread_memory.h"

#define OPENER_PATH_BYTES (PATH_MAX + 64)

/*
 * Before helpers are started: their readers take down what processes map, and when
 * (symbol/map_history.h). Times below are CLOCK_MONOTONIC: what was mapped then, also by a process
 * that has ended since or runs another program. 0, or where the kernel refuses it: what is now.
 */
void opener_follow_processes(void);

/* Each opens for reading. The descriptor, or a negative errno. */
int opener_maps(uint32_t pid, uint64_t time_ns) must_check; /* as /proc/PID/maps; code alone */
/*
 * The same of what differs in the map at `time_ns` from the map at `from_ns`; a mapping without a
 * path: nothing is known there. -ENOENT: not known, and the whole is to be read.
 */
int opener_maps_differences(uint32_t pid, uint64_t from_ns, uint64_t time_ns) must_check;
int opener_kernel_symbols(void) must_check; /* /proc/kallsyms */

/*
 * From when to when the map of the process is what it was at a time: since_ns <= time_ns <
 * until_ns. 0: since ever; it has not changed since then, or no one follows it.
 */
struct opener_unchanged {
	uint64_t since_ns, until_ns;
	uint64_t known_ns;     /* up to then */
	uint64_t lost_ns;      /* until then, what was in the place of some of it is not; or 0 */
	uint64_t changes_fast; /* whether files take the place of others */
};
struct opener_unchanged opener_unchanged(uint32_t pid, uint64_t time_ns) must_check;

/* Processes by pid, modulo this. */
#define OPENER_GROUPS 4096

/* Which ones may have: map_history_groups(). Returns up to when that is known; 0: it is not. */
uint64_t opener_changed_groups(uint64_t since_ns, uint8_t ret_bits[OPENER_GROUPS / 8]) must_check;

/* What the process runs; and its path, as the process names it. The second: 0 or -errno. */
int opener_program(uint32_t pid, char path[OPENER_PATH_BYTES]) must_check;
int opener_program_path(uint32_t pid, uint64_t time_ns, char path[OPENER_PATH_BYTES]) must_check;

/*
 * Its root, as ours names it: /proc/PID/maps begins paths with that (chroot(2)). "/" also in
 * another mount namespace, whose paths begin there. 0 or -errno.
 */
int opener_root_path(uint32_t pid, uint64_t time_ns, char path[OPENER_PATH_BYTES]) must_check;

/*
 * The file that is mapped at `start` to `end`, also when it has been deleted or replaced since, or
 * belongs to another mount namespace; and a path by which we can open it again. Without the right
 * to follow /proc/PID/map_files, it is found by its name in /proc/PID/maps.
 */
int opener_mapping(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end,
		   char path[OPENER_PATH_BYTES]) must_check;

/* /tmp/perf-PID.map as the process sees it; see foreign_open_below(). */
int opener_jit_map(uint32_t pid) must_check;

/* The file that the user has named for symbols: the only one of that kind. */
void opener_allow_symbols(const char *path); /* must live as long; before helpers are started */
int opener_symbols(void) must_check;

/*
 * A separate debug file: by build id (symbol/build_id.h), below /usr/lib/debug in our own root
 * directory or, with a pid, in that of the process; by its name
 * (.gnu_debuglink), there, in the directory of what is mapped, or in .debug below that; or by build
 * id, in debuginfod's cache. Below /usr/lib/debug it belongs to root; see foreign_open_below().
 */
int opener_debug_id(uint32_t pid, uint64_t time_ns, const char *build_id) must_check;
int opener_debuginfod(const char *build_id) must_check;
int opener_debug_link(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end,
		      const char *name) must_check;

/*
 * Memory of a thread, as thread_memory_read(): how many bytes. At most OPENER_MEMORY_BYTES. With
 * *switches: how often the thread had been switched when it was read, if it slept; 0: it ran, or is
 * gone.
 */
#define OPENER_MEMORY_BYTES THREAD_MEMORY_BYTES
size_t opener_memory(uint32_t tid, uint64_t address, void *into, size_t bytes,
		     uint64_t *switches) must_check;
/* Of its stack, as thread_memory_read_stack(). */
size_t opener_stack(uint32_t tid, uint64_t address, void *into, size_t bytes,
		    uint64_t *switches) must_check;

/*
 * How often a thread had been switched that waits in a system call with that stack pointer; 0: it
 * does not. While that is the same, what is read of its stack belongs together.
 */
uint64_t opener_waits_at(uint32_t tid, uint64_t stack) must_check;

/* As those of helper_work. */
int opener_watch(void);
void opener_tend(void);
int opener_serve(const void *request, size_t length, void *reply, size_t *ret_length, int *ret_fd);

#endif
