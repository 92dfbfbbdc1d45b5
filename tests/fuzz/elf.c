// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a program: its functions, the frames of its unwind tables, its debug information,
 * and what its data says of its runtime (capture/stack_reader.c, wait_places.c and runtime/ ask no
 * more). What takes long or much memory ends with a helper; here it has to be right.
 */
#define _GNU_SOURCE /* memfd_create */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/tokio_vtables.h"
#include "symbol/debug_info.h"
#include "symbol/object.h"

#define ADDRESSES 16

/* As for a helper, which has a bound of its own: what wants more gets none. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=128:allocator_may_return_null=1";
}

struct seen {
	uint64_t addresses[ADDRESSES];
	unsigned int count;
};

static void remember(void *data, uint64_t address, const char *name)
{
	struct seen *seen = data;

	(void)name;
	if (seen->count < ADDRESSES)
		seen->addresses[seen->count++] = address;
}

/* More than any input has. */
#define FILE_BYTES_MAX (1 << 20)

static void look_at(struct object *object, struct debug_info *info, uint64_t address)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct frame_rule rule;
	const char *name = object_function(object, address);
	struct go_place place;
	uint64_t offset;
	int count;

	if (name && object_function_end(object, address) <= address)
		abort();
	name = object_name(object, address);
	if (name && !*name)
		abort();
	name = object_stub(object, address);
	if (name && !*name)
		abort();
	if (object_function_start(object, address, &offset) && offset > address)
		abort();
	if (object_frame(object, address, &rule) && rule.base != FRAME_FROM_STACK &&
	    rule.base != FRAME_FROM_FRAME)
		abort();
	(void)!object_offset(object, address, &offset);
	if (object_go_place(object, address, &place) &&
	    (!place.function || !strlen(place.function) || place.line < 0 ||
	     (place.file && strlen(place.file) > FILE_BYTES_MAX)))
		abort();
	if (!info)
		return;
	count = debug_info_frames(info, address, frames);
	if (count < 0 || count > SOURCE_FRAMES_MAX || (count && frames[count - 1].inlined))
		abort();
	(void)debug_info_name(info, address);
}

/* A probe may go there. */
static void check_poll(void *data, uint64_t poll, bool polls_tasks)
{
	struct object *object = data;
	uint64_t start;

	(void)polls_tasks;
	if (!object_function_start(object, poll, &start) || start != poll)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct seen seen = {.count = 0};
	char version[GO_VERSION_BYTES];
	struct debug_info *info;
	uint64_t address;
	struct object *object;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	info = debug_info_open(fd, NULL, 0);
	if (object_open(&object, fd) < 0) {
		debug_info_close(info);
		return 0;
	}
	object_each_function(object, remember, &seen);
	(void)object_variable(object, "_PyRuntime", &address);
	(void)!tokio_vtables_each(object, check_poll, object);
	if (object_go_version(object, version) && strlen(version) >= sizeof(version))
		abort();
	for (unsigned int i = 0; i < seen.count; i++) {
		look_at(object, info, seen.addresses[i]);
		look_at(object, info, seen.addresses[i] + 1);
	}
	/* where there are unwind tables and no names */
	for (uint64_t at = 0x1000; at < 0x1400; at += 64)
		look_at(object, info, at);
	debug_info_close(info);
	object_free(object);
	return 0;
}
