/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function at an address as a record (struct wire_frame), with its texts behind it. */
#ifndef DWELL_CAPTURE_FRAME_RECORD_H
#define DWELL_CAPTURE_FRAME_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "symbol/symbolizer.h"

#define FRAME_TEXTS_MAX 4

/* The longest: that many texts of 4,096 bytes with their ends. */
#define FRAME_RECORD_BYTES (sizeof(struct wire_frame) + FRAME_TEXTS_MAX * 4096 + 8)

/* The record's length, a multiple of 8. */
size_t frame_record_write(uint8_t into[FRAME_RECORD_BYTES], uint32_t id,
			  const struct symbol_frame *frame);

/*
 * Whether the texts of a frame are in its `length` bytes, each with its end; *ret_used: where they
 * end.
 */
bool frame_record_is_sound(const struct wire_frame *frame, size_t length, size_t *ret_used);

#endif
