/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes whose stacks a reader unwinds (capture/stack_reader.c): their maps, by time, and
 * their interpreters. Part of a helper: without memory it ends, and a new one begins.
 */
#ifndef DWELL_CAPTURE_READER_PROCESSES_H
#define DWELL_CAPTURE_READER_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/identities.h"
#include "bpf/config.h"
#include "symbol/opener.h"
#include "symbol/python.h"
#include "symbol/symbolizer.h"

/* A process whose memory map has been read. */
struct reader_process {
	uint64_t start_ns;
	uint32_t exec_id; /* the program it ran then */
	bool ended;
	bool is_known;		     /* its map could be read */
	struct python *python;	     /* NULL: it runs no interpreter */
	bool is_python_dropped;	     /* to have room for others' */
	uint64_t layout_ns;	     /* when it was last asked for, until it was sent */
	bool is_layout_sent;	     /* of that */
	unsigned int attached;	     /* how often it was */
	uint64_t attached_ns;	     /* when last */
	uint64_t owed_ns;	     /* time to pass for the CPU time that this took */
	bool is_exact;		     /* its map is of map_ns, and of no other moment */
	uint64_t read_ns;	     /* else its map may be of until then; or 0 */
	uint64_t map_ns;	     /* as of when its map is, */
	uint64_t since_ns, until_ns; /* from when to when it is the same, */
	uint64_t known_ns;	     /* up to when that is known, */
	bool has_map;		     /* and whether it is that of the stack's time */
	uint64_t lost_ns; /* before that time, what was in the place of some is not; or 0 */
	uint64_t least_ns, most_ns; /* nothing outside of these times has this map */
	bool changes_fast;	    /* files take the place of others */
	uint64_t looked;	    /* the round in which that was asked for */
};

/* Interpreters that are known at a time: of others all is found out again. */
#define PYTHONS_MAX 256

struct reader_processes {
	struct symbolizer *symbolizer;
	struct identities pids; /* (pid, 0): their places among the items */
	struct reader_process *items;
	size_t room;
	struct python_frames python_frames;
	size_t pythons[PYTHONS_MAX]; /* places of their processes */
	size_t python_count;	     /* so far */
	const char *unread_python;   /* file of the first one of another version; NULL: none */
	/* Who has mapped code, up to maps_known_ns, by rounds of asking. */
	uint64_t maps_known_ns, maps_asked_ns;
	uint64_t round;
	uint64_t changed[OPENER_GROUPS]; /* the last round in which one of these had */
	bool is_unfollowed; /* of the one that was selected, the map of then is not known */
};

/* Then a new reader begins, with the memory that this one had. */
_Noreturn static inline void reader_give_up(void)
{
	_exit(127);
}

/*
 * What follows is about the process that the stack is of, and the program that it ran then. Valid
 * until the next call.
 */
struct reader_process *reader_process_select(struct reader_processes *processes,
					     const struct span_stack *raw);

/*
 * Reads its map again, as of that time; after it has ended, what it had mapped is kept. False: it
 * has ended, or its map was read a moment ago.
 */
bool reader_process_attach_again(struct reader_processes *processes, struct reader_process *process,
				 uint32_t pid, uint64_t time_ns);

#endif
