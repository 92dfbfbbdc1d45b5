/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw stacks of a process unwound and named, by the files that it has mapped. Those are hostile
 * bytes: this runs in a helper (base/helper.h), and capture/span_stacks.c asks it.
 */
#ifndef DWELL_CAPTURE_STACK_READER_H
#define DWELL_CAPTURE_STACK_READER_H

#include <stdint.h>

#include "base/helper.h"
#include "bpf/config.h"
#include "bpf/wire.h"
#include "capture/stack_signs.h"
#include "symbol/symbolizer.h"

enum stack_question_kind {
	STACK_PRELOAD = 1, /* reads all that is mapped; `stack` says nothing */
	STACK_LOOK,	   /* only for its interpreter; the same */
	STACK_COPIED,
	STACK_ASLEEP, /* of a thread that sleeps: the copy is made by the reader */
};

struct stack_question {
	struct stack_question_head {
		uint64_t kind;
		/* while they are the same, the thread's stack is; 0: not known */
		uint64_t switches;
	} head;
	struct span_stack stack; /* cut off behind its bytes */
};

/* More than any stack that is shown: inlined frames count too. */
#define STACK_FRAMES_MAX 1024

/* A part of an answer: a frame that no answer of this reader has had yet. */
struct stack_part {
	uint64_t generation; /* of the reader: its ids */
	struct wire_frame frame;
};

/* Files that spoil stacks or names: of each kind, the first one is reported. */
enum stack_file {
	STACK_FILE_32_BIT,	/* symbolizer_32_bit() */
	STACK_FILE_PYTHON,	/* python_find() cannot look into it */
	STACK_FILE_UNFOLLOWED,	/* this stack's program: its map is not known */
	STACK_FILE_OTHER_BUILD, /* symbolizer_other_build() */
	STACK_FILE_UNSYMBOLED,	/* symbolizer_unsymboled() */
	STACK_FILE_UNANSWERED,	/* symbolizer_unanswered() */
	STACK_FILES,
};

#define STACK_FILE_BYTES 64 /* the end of its name, if it is longer */

/* The end of an answer. */
struct stack_answer {
	uint64_t generation;
	struct symbolizer_counts counts; /* so far */
	struct span_signs signs;
	uint32_t
		is_read; /* 0: the thread ran meanwhile, or is not ours to read: nothing is known */
	uint32_t end;	 /* enum wire_stack_end */
	char files[STACK_FILES][STACK_FILE_BYTES]; /* as soon as one is known; "": none */
	struct python_layout python; /* of the process: as soon as it is known, once */
	uint64_t user_end;	     /* of the thread's stack (struct stack_end); 0: not known */
	uint32_t is_end_new;	     /* it was not known so before */
	uint32_t count;
	uint32_t frames[STACK_FRAMES_MAX]; /* ids; cut off behind them */
};

/* Its context is a struct stack_options. */
extern const struct helper_work stack_reader_work;

#endif
