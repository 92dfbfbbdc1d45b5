// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/frame_record.h"

#include <string.h>

size_t frame_record_write(uint8_t into[FRAME_RECORD_BYTES], uint32_t id,
			  const struct symbol_frame *frame)
{
	const char *texts[FRAME_TEXTS_MAX] = {frame->function, frame->file ? frame->file : "",
					      frame->module, frame->build_id};
	size_t used = sizeof(struct wire_frame), count = frame->build_id ? 4 : 3;
	__u16 lengths[FRAME_TEXTS_MAX];
	struct wire_frame record;

	for (size_t i = 0; i < count; i++) {
		size_t length = strnlen(texts[i], 4095);

		memcpy(into + used, texts[i], length);
		into[used + length] = '\0';
		lengths[i] = (__u16)(length + 1);
		used += length + 1;
	}
	memset(into + used, 0, -used % 8);
	used += -used % 8;
	record = (struct wire_frame){
		.header = {.size = (__u32)used, .kind = WIRE_FRAME},
		.id = id,
		.line = (__u32)frame->line,
		.kind = (__u8)frame->kind,
		.flags = (__u8)((frame->inlined ? WIRE_FRAME_INLINED : 0) |
				(frame->named ? WIRE_FRAME_NAMED : 0) |
				(frame->build_id ? WIRE_FRAME_BUILD_ID : 0)),
		.function_bytes = lengths[0],
		.file_bytes = lengths[1],
		.module_bytes = lengths[2],
	};
	memcpy(into, &record, sizeof(record));
	return used;
}

bool frame_record_is_sound(const struct wire_frame *frame, size_t length, size_t *ret_used)
{
	const __u16 parts[] = {frame->function_bytes, frame->file_bytes, frame->module_bytes};
	const char *bytes = (const char *)frame;
	size_t used = sizeof(*frame);

	if (length < used || frame->kind >= WIRE_FRAME_KINDS_COUNT)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i] || parts[i] > length - used ||
		    strnlen(bytes + used, parts[i]) != parts[i] - 1U)
			return false;
		used += parts[i];
	}
	if (frame->flags & WIRE_FRAME_BUILD_ID) {
		size_t text = strnlen(bytes + used, length - used);

		if (text == length - used)
			return false;
		used += text + 1;
	}
	*ret_used = used;
	return true;
}
