// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as pprof reads it: a protocol buffer (github.com/google/pprof, proto/profile.proto)
 * in gzip.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/interned.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "model/reason.h"
#include "view/profile_export.h"

/* Numbers of fields. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

#define ON_CPU	  (1U << STATE_USER | 1U << STATE_KERNEL)

#define BYTES_MAX (1U << 30) /* of texts, and of each kind of number */
#define LEVEL	  6

struct pprof {
	const struct profile_result *result;
	struct protobuf whole, part, inner;
	struct protobuf locations;	 /* of one sample */
	struct interned strings;	 /* their numbers are those of the file */
	struct interned mappings;	 /* numbers of strings: file, build id */
	struct interned function_names;	 /* numbers of strings: name, file, module */
	struct interned location_frames; /* ids of frames */
};

/* The number of these bytes, from 1; *ret_is_new: they are new. */
static uint64_t number_of(struct pprof *pprof, struct interned *interned, const void *bytes,
			  size_t length, bool *ret_is_new)
{
	size_t known = interned->count, number = interned_add(interned, bytes, length);

	if (number == INTERNED_NONE || number == INTERNED_FULL) {
		pprof->whole.failed = true;
		*ret_is_new = false;
		return 0;
	}
	*ret_is_new = number == known;
	return number + 1;
}

static uint64_t string_number(struct pprof *pprof, const char *text)
{
	cleanup_free char *valid = text_valid(text);
	bool is_new;
	uint64_t number;

	if (!valid) {
		pprof->whole.failed = true;
		return 0;
	}
	number = number_of(pprof, &pprof->strings, valid, strlen(valid), &is_new);
	return number ? number - 1 : 0;
}

static void value_type(struct pprof *pprof, const char *type, const char *unit)
{
	protobuf_number(&pprof->part, VALUE_TYPE_TYPE, string_number(pprof, type));
	protobuf_number(&pprof->part, VALUE_TYPE_UNIT, string_number(pprof, unit));
	protobuf_message(&pprof->whole, PROFILE_SAMPLE_TYPE, &pprof->part);
}

static uint64_t mapping_number(struct pprof *pprof, const struct frame *frame)
{
	const uint64_t names[] = {string_number(pprof, frame->module),
				  string_number(pprof, frame->build_id)};
	bool is_new;
	uint64_t number = number_of(pprof, &pprof->mappings, names, sizeof(names), &is_new);

	if (!is_new)
		return number;
	protobuf_number(&pprof->part, MAPPING_ID, number);
	/* addresses are made up: functions are known, and no one looks them up again */
	protobuf_number(&pprof->part, MAPPING_START, number << 32);
	protobuf_number(&pprof->part, MAPPING_LIMIT, (number + 1) << 32);
	protobuf_number(&pprof->part, MAPPING_FILE, names[0]);
	protobuf_number(&pprof->part, MAPPING_BUILD_ID, names[1]);
	for (unsigned int field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINED; field++)
		protobuf_number(&pprof->part, field, 1);
	protobuf_message(&pprof->whole, PROFILE_MAPPING, &pprof->part);
	return number;
}

static uint64_t function_number(struct pprof *pprof, const struct frame *frame)
{
	const uint64_t names[] = {string_number(pprof, frame->function),
				  string_number(pprof, frame->file),
				  string_number(pprof, frame->module)};
	bool is_new;
	uint64_t number = number_of(pprof, &pprof->function_names, names, sizeof(names), &is_new);

	if (!is_new)
		return number;
	protobuf_number(&pprof->part, FUNCTION_ID, number);
	protobuf_number(&pprof->part, FUNCTION_NAME, names[0]);
	protobuf_number(&pprof->part, FUNCTION_SYSTEM_NAME, names[0]);
	protobuf_number(&pprof->part, FUNCTION_FILE, names[1]);
	protobuf_message(&pprof->whole, PROFILE_FUNCTION, &pprof->part);
	return number;
}

/* Frames up to one that is not inlined are one location, with a line for each. */
static uint64_t location_number(struct pprof *pprof, const struct frame *const *frames,
				const uint32_t *ids, size_t count)
{
	struct protobuf location = {0};
	bool is_new;
	uint64_t number =
		number_of(pprof, &pprof->location_frames, ids, count * sizeof(*ids), &is_new);

	if (!is_new)
		return number;
	protobuf_number(&location, LOCATION_ID, number);
	protobuf_number(&location, LOCATION_MAPPING, mapping_number(pprof, frames[count - 1]));
	for (size_t i = 0; i < count; i++) {
		uint64_t function = function_number(pprof, frames[i]);

		protobuf_number(&pprof->inner, LINE_FUNCTION, function);
		protobuf_number(&pprof->inner, LINE_NUMBER, frames[i]->line);
		protobuf_message(&location, LOCATION_LINE, &pprof->inner);
	}
	protobuf_message(&pprof->whole, PROFILE_LOCATION, &location);
	free(location.bytes);
	return number;
}

#define INLINED_MAX 64

static void put_locations(struct pprof *pprof, const struct profile_path *path)
{
	const struct stacks *stacks = profile_stacks(pprof->result->profile);
	const struct frame *frames[INLINED_MAX];
	uint32_t ids[PROFILE_FRAMES_MAX];
	size_t count = profile_frames(pprof->result, path, ids), first = 0;

	for (size_t i = 0; i < count; i++) {
		frames[i - first] = stacks_frame(stacks, ids[i]);
		if (frames[i - first]->inlined && i - first + 1 < INLINED_MAX && i + 1 < count)
			continue;
		protobuf_varint(&pprof->locations,
				location_number(pprof, frames, ids + first, i - first + 1));
		first = i + 1;
	}
}

static void put_label(struct pprof *pprof, struct protobuf *sample, const char *key,
		      const char *text, uint64_t number)
{
	protobuf_number(&pprof->inner, LABEL_KEY, string_number(pprof, key));
	if (text)
		protobuf_number(&pprof->inner, LABEL_STRING, string_number(pprof, text));
	else
		protobuf_number(&pprof->inner, LABEL_NUMBER, number);
	protobuf_message(sample, SAMPLE_LABEL, &pprof->inner);
}

static void put_sample(struct pprof *pprof, const struct profile_path *path)
{
	const struct profile_thread *thread = &pprof->result->threads[path->thread];
	char name[PROFILE_THREAD_BYTES], reason[REASON_BYTES];
	bool is_on_cpu = ON_CPU & 1U << path->state;
	uint64_t ns = (uint64_t)(path->time.ns + 0.5);
	struct protobuf sample = {0}, values = {0};

	put_locations(pprof, path);
	protobuf_message(&sample, SAMPLE_LOCATION, &pprof->locations);
	protobuf_varint(&values, path->count);
	protobuf_varint(&values, is_on_cpu ? ns : 0);
	protobuf_varint(&values, is_on_cpu ? 0 : ns);
	protobuf_message(&sample, SAMPLE_VALUE, &values);
	put_label(pprof, &sample, "state", state_info[path->state].key, 0);
	reason_format(reason, sizeof(reason), path->site,
		      session_is_native(pprof->result->session));
	if (*reason)
		put_label(pprof, &sample, "reason", reason, 0);
	profile_thread_name(thread, name);
	put_label(pprof, &sample, "thread",
		  thread->pooled  ? name
		  : *thread->comm ? thread->comm
				  : "?",
		  0);
	if (thread->tid)
		put_label(pprof, &sample, "tid", NULL, thread->tid);
	if (thread->pid)
		put_label(pprof, &sample, "pid", NULL, thread->pid);
	protobuf_message(&pprof->whole, PROFILE_SAMPLE, &sample);
	free(sample.bytes);
	free(values.bytes);
}

static int write_gzip(struct output *out, const struct protobuf *message)
{
	cleanup_free char *packed = NULL;
	size_t length;
	int result = gzip_pack(message->bytes, message->used, LEVEL, &packed, &length);

	if (result >= 0)
		output_bytes(out, packed, length);
	return result;
}

/* pprof takes the first one for the program. */
static void put_program(struct pprof *pprof)
{
	const struct profile_result *result = pprof->result;
	const struct stacks *stacks = profile_stacks(result->profile);

	for (size_t i = 0; i < result->path_count; i++) {
		const struct stack *stack = stacks_stack(stacks, result->paths[i].stack);

		for (uint32_t j = 0; stack && j < stack->count; j++) {
			const struct frame *frame = stacks_frame(stacks, stack->frames[j]);

			if (frame && frame->kind == WIRE_FRAME_USER) {
				mapping_number(pprof, frame);
				return;
			}
		}
	}
}

int profile_write_pprof(struct output *out, const struct profile_result *result,
			enum profile_root root)
{
	struct pprof pprof = {.result = result,
			      .strings.bytes_max = BYTES_MAX,
			      .mappings.bytes_max = BYTES_MAX,
			      .function_names.bytes_max = BYTES_MAX,
			      .location_frames.bytes_max = BYTES_MAX};
	int written;

	(void)root;
	string_number(&pprof, ""); /* is 0 */
	value_type(&pprof, "samples", "count");
	value_type(&pprof, "cpu", "nanoseconds");
	value_type(&pprof, "off_cpu", "nanoseconds");
	put_program(&pprof);
	for (size_t i = 0; i < result->path_count; i++)
		if (result->states & 1U << result->paths[i].state)
			put_sample(&pprof, &result->paths[i]);
	protobuf_number(&pprof.whole, PROFILE_TIME, result->start_realtime_ns);
	protobuf_number(&pprof.whole, PROFILE_DURATION, result->duration_ns);
	/* else it shows the last type at first, also to who asked for a profile of CPUs */
	protobuf_number(&pprof.whole, PROFILE_DEFAULT_TYPE,
			string_number(&pprof, result->states & ON_CPU ? "cpu" : "off_cpu"));
	for (size_t i = 0; i < pprof.strings.count; i++) {
		const struct interned_item *item = &pprof.strings.items[i];

		protobuf_bytes(&pprof.whole, PROFILE_STRING, pprof.strings.bytes + item->at,
			       item->length);
	}
	written = pprof.whole.failed ? -ENOMEM : write_gzip(out, &pprof.whole);
	interned_release(&pprof.strings);
	interned_release(&pprof.mappings);
	interned_release(&pprof.function_names);
	interned_release(&pprof.location_frames);
	free(pprof.whole.bytes);
	free(pprof.part.bytes);
	free(pprof.inner.bytes);
	free(pprof.locations.bytes);
	return written;
}
