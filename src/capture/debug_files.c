// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/debug_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/helper.h"
#include "base/interned.h"
#include "symbol/build_id.h"
#include "symbol/debuginfod.h"
#include "symbol/opener.h"
#include "symbol/symbolizer.h"

#define LOOK_NS (10 * NS_PER_S)

/* A process maps at most 65,000 files: so many are asked for. */
#define WANTED_BYTES_MAX (1 << 20)

/* The second time: debug files refer to others, which several share (dwz). */
#define ROUNDS 2

static void *begin(const void *context)
{
	const struct stack_options *options = context;
	struct symbolizer *symbolizer = symbolizer_new(options->packages);

	if (symbolizer)
		symbolizer_take_symbols(symbolizer, options->symbols);
	return symbolizer;
}

static void send_id(void *data, const char *build_id)
{
	helper_part(data, build_id, strlen(build_id));
}

/* Of a pid: parts are build ids. */
static size_t answer(void *symbolizer, const void *bytes, size_t length, void *into,
		     struct helper_parts *parts)
{
	uint32_t pid;

	(void)into;
	if (length != sizeof(pid))
		return 0;
	memcpy(&pid, bytes, sizeof(pid));
	if (!symbolizer_attach(symbolizer, pid, 0) && !symbolizer_preload(symbolizer))
		symbolizer_each_missing(symbolizer, send_id, parts);
	return 0;
}

static const struct helper_work work = {
	.begin = begin,
	.answer = answer,
	.serve = opener_serve,
	.memory_bytes = 192 << 20,
	.memory_max_bytes = 2ULL << 30,
	.patience_ns = LOOK_NS,
};

static int keep(struct interned *ids, const char *bytes, size_t length)
{
	char id[BUILD_ID_BYTES];

	if (length >= sizeof(id))
		return 0;
	memcpy(id, bytes, length);
	id[length] = '\0';
	/* with its NUL */
	return build_id_is_sound(id) && interned_add(ids, id, length + 1) == INTERNED_NONE ? -ENOMEM
											   : 0;
}

/* Adds those that are lacking now. What the helper does not find out is not fetched. */
static int look(uint32_t pid, const struct stack_options *options, struct interned *ids,
		struct error *error)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LOOK_NS, number;
	enum helper_state state = HELPER_PART;
	struct helper *helper = NULL;
	int result;

	opener_allow_symbols(options->symbols);
	result = helper_start(&helper, &work, options, error);
	if (result < 0)
		return result;
	if (!helper_ask(helper, &pid, sizeof(pid)))
		state = HELPER_LOST;
	while (result >= 0 && state == HELPER_PART) {
		char bytes[HELPER_MESSAGE_BYTES];
		size_t length = 0;

		state = helper_next(helper, deadline_ns, LOOK_NS, &number, bytes, &length);
		if (state == HELPER_PART && keep(ids, bytes, length) < 0)
			result = error_set(error, ENOMEM, "out of memory");
	}
	helper_end(helper);
	return result;
}

static int fetch(const struct interned *ids, size_t from,
		 void (*progress)(void *data, size_t done, size_t count), void *data,
		 struct debug_files_found *found, struct error *error)
{
	size_t count = ids->count - from, fetched;
	cleanup_free const char **texts = calloc(count, sizeof(*texts));
	int result;

	if (!texts)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		texts[i] = (const char *)ids->bytes + ids->items[from + i].at;
	result = debuginfod_fetch(texts, count, progress, data, &fetched, error);
	found->wanted += count;
	found->fetched += fetched;
	return result;
}

int debug_files_fetch(uint32_t pid, const struct stack_options *options,
		      void (*progress)(void *data, size_t done, size_t count), void *data,
		      struct debug_files_found *ret_found, struct error *error)
{
	cleanup(interned_release) struct interned ids = {.bytes_max = WANTED_BYTES_MAX};
	int result = 0;

	*ret_found = (struct debug_files_found){0};
	if (!debuginfod_is_set())
		return 0;
	for (int i = 0; result >= 0 && i < ROUNDS; i++) {
		size_t known = ids.count;

		result = look(pid, options, &ids, error);
		if (result < 0 || ids.count == known)
			break;
		result = fetch(&ids, known, progress, data, ret_found, error);
	}
	return result;
}
