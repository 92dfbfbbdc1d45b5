// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/frames.h"

#include <assert.h>

#include "view/blocked_words.h"

static_assert(BLOCKED_NAME_BYTES <= VALUE_TEXT_BYTES, "names fit a value");

static const char *const frame_kinds[WIRE_FRAME_KINDS_COUNT] = {
#define X(name, number, key, help) [number] = key,
	WIRE_FRAME_KINDS(X)
#undef X
};

void frame_get_short_name(const struct field *field, const struct item *item, struct value *value)
{
	(void)field;
	if (!item->row) {
		value_null(value);
		return;
	}
	blocked_name(value->text, item->row);
	value_string(value, value->text);
}

void frame_get_file(const struct field *field, const struct item *item, struct value *value)
{
	const struct frame *frame = item->row;

	(void)field;
	value_text(value, frame ? frame->file : NULL);
}

void frame_get_line(const struct field *field, const struct item *item, struct value *value)
{
	const struct frame *frame = item->row;

	(void)field;
	value_known(value, frame ? frame->line : 0, frame && frame->line);
}

VALUE_GETTER(get_kind, value_string, frame_kinds[((const struct frame *)item->row)->kind])

static const struct field frame_fields[] = {
	POINTER_MEMBER(struct frame, function, "function", "its name"),
	STRING_FIELD("file", frame_get_file, "source file"),
	INTEGER_FIELD("line", frame_get_line, "line in it"),
	POINTER_MEMBER(struct frame, module, "module", "file of the program or library"),
	STRING_FIELD("kind", get_kind,
		     "user, runtime, standard, dependency, system, kernel or unknown"),
	BOOL_MEMBER(struct frame, inlined, "inlined", "compiled into its caller"),
};

const struct schema frame_schema = {
	.name = "frame", .help = "a function on a stack", SCHEMA_FIELDS(frame_fields)};
