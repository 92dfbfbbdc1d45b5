/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw stacks of a process, given to a helper that unwinds and names them
 * (capture/stack_reader.h); what comes back is sent as records: each frame and stack once.
 */
#ifndef DWELL_CAPTURE_SPAN_STACKS_H
#define DWELL_CAPTURE_SPAN_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/interned.h"
#include "bpf/config.h"
#include "capture/sink.h"
#include "capture/stack_options.h"
#include "capture/stack_reader.h"

#define SPAN_STACKS_ASKED 64 /* at once */

struct dwell_bpf;

struct span_stacks {
	struct helper *helper;
	struct interned frames;	   /* as records, without their ids */
	struct interned stacks;	   /* as ids of frames */
	struct span_stacks_asked { /* by number modulo SPAN_STACKS_ASKED */
		uint64_t time_ns, thread_start_ns;
		uint32_t pid, tid, exec_id;
		bool counts; /* towards the quality */
	} asked[SPAN_STACKS_ASKED];
	uint64_t first, next; /* numbers: the first unanswered one; the next to be given */
	uint64_t preloads;    /* so many come first, and have no stack */
	uint32_t *ids;	      /* of frames, by the reader's own id - 1 */
	size_t id_count, id_room;
	uint64_t generation;				/* the reader whose ids these are */
	struct symbolizer_counts counts, counts_before; /* of this reader; of those before */
	uint64_t complete, truncated, failed;
	uint64_t lost; /* stacks that found no room, or whose reader died */
	uint64_t deaths_reported;
	char files[STACK_FILES][STACK_FILE_BYTES]; /* by enum stack_file; "": none yet */
	bool files_reported[STACK_FILES];
	/* the maps of where interpreters keep their frames, and of where stacks end; negative: none
	 * yet */
	int pythons_fd, ends_fd;
};

/* What is known of a stack; all zeros: nothing. */
struct span_found {
	uint32_t id; /* 0: there is no room for another */
	bool is_read;
	struct span_signs signs;
};

/* Whether a stack of that enum span_stack_of is of a span: others only say what a thread is. */
static inline bool span_stack_counts(uint32_t of)
{
	return of != SPAN_STACK_SEED && of != SPAN_STACK_LOOP && of != SPAN_STACK_JOB &&
	       of != SPAN_STACK_POLL && of != SPAN_STACK_INNER;
}

/* Processes that are looked at before the first stack, at most. */
#define SPAN_STACKS_PRELOADED 32

/*
 * Starts the helper, and has it read the kernel's symbols, all that the first of these processes
 * has mapped, and where the interpreters of all keep their frames. The options must outlive it.
 * Release in either case.
 */
int span_stacks_start(struct span_stacks *stacks, const struct stack_options *options,
		      const uint32_t *pids, size_t count, struct error *error) must_check;
/* Before loading: room for what the kernel side is given of stacks. */
void span_stacks_configure(struct dwell_bpf *bpf);
/*
 * Until it has read that, or 10 s. From now on the kernel side is given where interpreters keep
 * their frames, and where stacks end; NULL: there is none.
 */
void span_stacks_await_preload(struct span_stacks *stacks, const struct dwell_bpf *bpf);
void span_stacks_release(struct span_stacks *stacks);

/*
 * For a stack; `asleep`: of a thread that sleeps and has been switched `switches` times, which the
 * helper copies.
 */
struct span_question {
	bool asleep;
	uint64_t switches;
	struct span_stack stack; /* cut off behind its bytes */
};

/* A copy, to be freed; NULL: no memory, or the stack is none. */
struct span_question *span_question_new(const struct span_stack *raw, bool asleep,
					uint64_t switches) must_check;

/* With the copy. */
size_t span_question_bytes(const struct span_question *question);

/* The number by which the answer comes; 0: there is no room now. */
uint64_t span_stacks_ask(struct span_stacks *stacks, const struct span_question *question);
/* The same of a stack that has not been copied; 0: there is no room, or it is none. */
uint64_t span_stacks_ask_raw(struct span_stacks *stacks, const struct span_stack *raw, bool asleep,
			     uint64_t switches);
uint64_t span_stacks_deaths(const struct span_stacks *stacks); /* of readers */
/* None is asked for any more: too many readers have died of this process. */
bool span_stacks_ended(const struct span_stacks *stacks);
/* As missing: the first death of a reader, that none is asked any more, the first file of each kind
 * of enum stack_file. */
int span_stacks_report(struct span_stacks *stacks, struct record_sink sink) must_check;

/*
 * Waits for what is asked for: until the deadline, or until a single question has taken
 * `single_ns`, as when the reader hangs. 1: *ret_number has its answer; 0: there is none yet;
 * -ENOMEM, or what the sink says. Answers come in the order of the questions.
 */
int span_stacks_next(struct span_stacks *stacks, uint64_t deadline_ns, uint64_t single_ns,
		     uint64_t *ret_number, struct span_found *found,
		     struct record_sink sink) must_check;

/*
 * A name as a frame, as that of a task's type; not `named`: `module+0x12`. *ret_id 0: there is no
 * room for another.
 */
int span_stacks_name(struct span_stacks *stacks, const char *name, bool named, uint64_t time_ns,
		     uint32_t *ret_id, struct record_sink sink) must_check;

/* The ids of the frames of a stack that has one, innermost first. */
const uint32_t *span_stacks_frames(const struct span_stacks *stacks, uint32_t id,
				   size_t *ret_count);

/* In a C library, whose calls are waits' innermost frames; or in the kernel. */
bool span_stacks_is_call(const struct span_stacks *stacks, uint32_t frame);

/*
 * Which function a frame is of, wherever in it; 0: one whose code was made at run time. Of Python's
 * a bit is set that no other's has.
 */
#define SPAN_FUNCTION_PYTHON 2ULL
uint64_t span_stacks_function(const struct span_stacks *stacks, uint32_t frame);

/* Whose function it is: an enum frame_kind. */
unsigned int span_stacks_kind(const struct span_stacks *stacks, uint32_t frame);

/* How many addresses had names, of how many. */
struct symbolizer_counts span_stacks_counts(const struct span_stacks *stacks);

#endif
