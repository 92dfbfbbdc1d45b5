// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long names take: `bench-symbolize PID COUNT` asks for COUNT addresses, spread evenly over the
 * functions of the process's program, twice, and once more by a helper, as `dwell blocked` does.
 * Prints `cold NS`, `warm NS`, `helper NS` and then a line an address: as the file counts it, and
 * its functions, innermost first, with a tab before each.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/helper.h"
#include "capture/frame_record.h"
#include "symbol/opener.h"
#include "symbol/symbolizer.h"

/* Closer together they would mostly be one instruction. */
#define STEP 4

struct place {
	uint64_t in_file, in_process;
};

struct places {
	struct place *items;
	size_t count;
};

struct extent {
	uint64_t first, last;
};

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "symbolize: %s\n", what);
	exit(1);
}

static void widen(void *data, uint64_t address, const char *name)
{
	struct extent *extent = data;

	(void)name;
	if (!extent->last)
		extent->first = address;
	extent->last = address;
}

/* Where the process has that byte of its program; 0: nowhere, or not as code. */
static uint64_t mapped_at(const struct mappings *mappings, const struct stat *program,
			  uint64_t offset)
{
	for (size_t i = 0; i < mappings->count; i++) {
		const struct mapping *mapping = &mappings->items[i];

		if (mapping->inode == program->st_ino && offset >= mapping->offset &&
		    offset - mapping->offset < mapping->end - mapping->start)
			return mapping->start + offset - mapping->offset;
	}
	return 0;
}

static struct places all_places(uint32_t pid)
{
	struct places places = {0};
	struct mappings mappings = {0};
	struct extent extent = {0};
	struct object *object;
	struct stat program;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &program) < 0 || object_open(&object, fd) < 0 ||
	    mappings_load(&mappings, pid, 0) < 0)
		fail("cannot read the program");
	object_each_function(object, widen, &extent);
	places.items = calloc((extent.last - extent.first) / STEP + 1, sizeof(*places.items));
	if (!places.items)
		fail("out of memory");
	for (uint64_t at = extent.first; at < extent.last; at += STEP) {
		uint64_t offset, in_process;

		if (!object_function(object, at) || !object_offset(object, at, &offset))
			continue;
		in_process = mapped_at(&mappings, &program, offset);
		if (in_process)
			places.items[places.count++] = (struct place){at, in_process};
	}
	object_free(object);
	mappings_release(&mappings);
	return places;
}

static void keep_evenly(struct places *places, size_t count)
{
	if (places->count < count)
		fail("so many addresses are not in the program");
	for (size_t i = 0; i < count; i++)
		places->items[i] = places->items[i * places->count / count];
	places->count = count;
}

static uint64_t find_all(struct symbolizer *symbolizer, const struct places *places)
{
	uint64_t start = clock_monotonic_ns();
	struct symbol symbol;

	for (size_t i = 0; i < places->count; i++)
		if (symbolizer_find(symbolizer, places->items[i].in_process, false, &symbol) < 0)
			fail("out of memory");
	return clock_monotonic_ns() - start;
}

/* In the helper: a question is an array of addresses, and each of their frames a part. */
static void *begin_help(const void *context)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);

	return symbolizer && symbolizer_attach(symbolizer, *(const uint32_t *)context, 0) >= 0
		       ? symbolizer
		       : NULL;
}

static size_t help(void *data, const void *question, size_t length, void *answer,
		   struct helper_parts *parts)
{
	const uint64_t *addresses = question;
	uint8_t frame[FRAME_RECORD_BYTES];
	struct symbol symbol;

	for (size_t i = 0; i < length / sizeof(*addresses); i++) {
		if (symbolizer_find(data, addresses[i], false, &symbol) < 0)
			_exit(1);
		for (unsigned int j = 0; j < symbol.count; j++)
			helper_part(parts, frame, frame_record_write(frame, 1, &symbol.frames[j]));
	}
	memcpy(answer, &length, sizeof(length));
	return sizeof(length);
}

static const struct helper_work work = {
	.begin = begin_help,
	.answer = help,
	.serve = opener_serve,
	.memory_bytes = 1 << 30,
	.patience_ns = 60ULL * 1000000000,
};

#define ASKED 64 /* about a stack */

/* With the start of the helper, as the process has one of its own. */
static uint64_t find_by_helper(uint32_t pid, const struct places *places)
{
	static uint8_t bytes[HELPER_MESSAGE_BYTES];
	uint64_t start = clock_monotonic_ns(), number, asked = 0, answered = 0;
	uint64_t last = (places->count + ASKED - 1) / ASKED;
	struct error error = {""};
	struct helper *helper;

	if (helper_start(&helper, &work, &pid, &error) < 0)
		fail(error.text);
	while (answered < last) {
		uint64_t addresses[ASKED];
		size_t length = 0, count = 0;

		for (size_t i = asked * ASKED; i < places->count && count < ASKED; i++)
			addresses[count++] = places->items[i].in_process;
		if (asked < last && helper_ask(helper, addresses, count * sizeof(addresses[0]))) {
			asked++;
			continue;
		}
		switch (helper_next(helper, UINT64_MAX, UINT64_MAX, &number, bytes, &length)) {
		case HELPER_ANSWERED:
			answered++;
			break;
		case HELPER_PART:
			break;
		default:
			fail("the helper was lost");
		}
	}
	start = clock_monotonic_ns() - start;
	helper_end(helper);
	return start;
}

static void print_all(struct symbolizer *symbolizer, const struct places *places)
{
	struct symbol symbol;

	for (size_t i = 0; i < places->count; i++) {
		if (symbolizer_find(symbolizer, places->items[i].in_process, false, &symbol) < 0)
			fail("out of memory");
		printf("0x%" PRIx64, places->items[i].in_file);
		for (unsigned int frame = 0; frame < symbol.count; frame++)
			printf("\t%s", symbol.frames[frame].function);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	uint32_t pid = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct symbolizer *symbolizer;
	struct places places;
	uint64_t cold, start;

	if (!pid) {
		fputs("usage: bench-symbolize PID COUNT\n", stderr);
		return 2;
	}
	places = all_places(pid);
	keep_evenly(&places, strtoul(argv[2], NULL, 10));
	start = clock_monotonic_ns();
	symbolizer = symbolizer_new(NULL);
	if (!symbolizer || symbolizer_attach(symbolizer, pid, 0) < 0)
		fail("cannot attach");
	find_all(symbolizer, &places);
	cold = clock_monotonic_ns() - start;
	printf("cold %" PRIu64 "\nwarm %" PRIu64 "\n", cold, find_all(symbolizer, &places));
	printf("helper %" PRIu64 "\n", find_by_helper(pid, &places));
	print_all(symbolizer, &places);
	symbolizer_free(symbolizer);
	free(places.items);
	return 0;
}
