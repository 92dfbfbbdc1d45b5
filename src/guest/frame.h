/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest sends to its host, over a serial line: frames with a checksum. The line may carry
 * other bytes (a firmware's, a kernel's), so a reader looks for the beginning of a frame, and one
 * that is cut or damaged is noticed.
 */
#ifndef DWELL_GUEST_FRAME_H
#define DWELL_GUEST_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum frame_kind {
	FRAME_READY = 1,     /* text: the kernel's release; init runs */
	FRAME_OUT = 2,	     /* standard output of the command */
	FRAME_ERROR = 3,     /* its standard error */
	FRAME_EXIT = 4,	     /* int32_t: its exit status; nothing comes after */
	FRAME_FAILED = 5,    /* text: init could not run it */
	FRAME_ALIVE = 6,     /* at least every FRAME_ALIVE_NS */
	FRAME_SCHEDULER = 7, /* struct frame_scheduler: what became of it */
	FRAME_DUMP = 8,	     /* text: more of what it and the kernel said of its end */
	FRAME_FILE = 9,	 /* struct frame_file, and its path: one begins that the command wrote */
	FRAME_DATA = 10, /* more of it */
	FRAME_FILE_END = 11, /* uint64_t: so many bytes, it is complete */
	FRAME_SIGNAL = 12,   /* int32_t, to the guest: a signal for the command */
};

#define FRAME_ALIVE_NS 1000000000ULL

struct frame_scheduler {
	uint32_t state; /* enum scheduler_state */
	uint32_t reserved;
	uint64_t after_ns; /* its end, since it was taken into use */
	char name[128];
	char reason[320]; /* of its death */
};

struct frame_file {
	uint32_t mode; /* permissions */
};

#define FRAME_BYTES_MAX (64 * 1024) /* of a payload */

struct frame_header {
	uint32_t magic;
	uint32_t kind; /* enum frame_kind */
	uint32_t length;
	uint32_t crc; /* zlib's, of kind, length and payload */
};

struct frame_reader {
	char *bytes;
	size_t start, used, room; /* what is before `start` has been read */
	uint64_t damaged;	  /* frames whose checksum was wrong */
	uint64_t skipped;	  /* bytes that belonged to no frame */
};

/* Writes a whole frame; -errno. */
int frame_write(int fd, enum frame_kind kind, const void *payload, size_t length) must_check;

/* Appends what was read; -ENOMEM. */
int frame_feed(struct frame_reader *reader, const void *bytes, size_t length) must_check;

/* The next whole frame, valid until more is fed; false: none yet. */
bool frame_next(struct frame_reader *reader, enum frame_kind *ret_kind, const char **ret_payload,
		size_t *ret_length);

void frame_release(struct frame_reader *reader);

#endif
