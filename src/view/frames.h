/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function on a stack, as every command writes it. */
#ifndef DWELL_VIEW_FRAMES_H
#define DWELL_VIEW_FRAMES_H

#include "emit/schema.h"
#include "model/stacks.h"

/* The row is a struct frame. */
extern const struct schema frame_schema;

/* Getters of a struct frame, or of NULL where none is known. The name is that for people. */
void frame_get_short_name(const struct field *field, const struct item *item, struct value *value);
void frame_get_file(const struct field *field, const struct item *item, struct value *value);
void frame_get_line(const struct field *field, const struct item *item, struct value *value);

#endif
