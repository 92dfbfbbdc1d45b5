/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions made at run time, as a JIT compiler lists them in /tmp/perf-PID.map (tools/perf's
 * Documentation/jit-interface.txt): lines of start, size (hexadecimal) and name. Node.js does with
 * --perf-basic-prof, Java with `jcmd PID Compiler.perfmap` (JDK 17 on) or an agent,
 * Erlang with +JPperf true, .NET with DOTNET_PerfMapEnabled=1.
 */
#ifndef DWELL_SYMBOL_JIT_MAP_H
#define DWELL_SYMBOL_JIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_MAP_LAST_BYTES 64

/* All zeros but `pid` is one that has not been read. */
struct jit_map {
	uint32_t pid;
	struct jit_function *functions; /* by start */
	size_t count, room;
	uint64_t read_bytes;  /* of the file, which is appended to, or else written again from its
				 start */
	uint64_t total_bytes; /* that were read, each time that it was */
	char last[JIT_MAP_LAST_BYTES]; /* of what was read: it is another list if they are others */
	bool in_long_line;	       /* which is passed over */
	uint64_t looked_ns;	       /* jit_map_listed() */
};

/* How many functions are listed by now, at most so many times a second that it costs little. */
size_t jit_map_listed(struct jit_map *map);

/* Whether one is listed there; looks at the file as seldom as jit_map_listed(). */
bool jit_map_has(struct jit_map *map, uint64_t address);

/* NULL: not listed. Reads what has been appended to the file since. Valid until the next call. */
const char *jit_map_find(struct jit_map *map, uint64_t address);
void jit_map_release(struct jit_map *map);

#endif
