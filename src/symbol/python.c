// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/python.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/identities.h"
#include "base/text.h"
#include "symbol/opener.h"

#define MINOR_FIRST	8
#define MINOR_LAST	13

#define NAME_CHARACTERS 256
#define PATH_CHARACTERS 1024
#define CHARACTERS_MAX	65536 /* what is longer is no name */
#define TABLE_BYTES	OPENER_MEMORY_BYTES

/* Names and places of frames, of all programs. */
#define FRAMES_BYTES_MAX (32 << 20)
#define HEAD_BYTES	 208 /* of a code object: all that is read of it lies before */

/* A code object may be freed, and its memory become another's: it is compared again then. */
#define CODE_KEPT_NS NS_PER_S
/* A thread that is none of the interpreter's is looked for again then. */
#define THREADS_KEPT_NS NS_PER_S

/* Where things are; of the interpreter's own headers, for 64 bits. */
struct version {
	uint32_t interpreter; /* _PyRuntimeState: interpreters.head; 0: debug offsets say it */
	uint32_t threads;     /* PyInterpreterState: threads.head, or tstate_head */
	struct python_layout layout;  /* without the address */
	uint32_t file, name, line;    /* PyCodeObject: co_filename, co_qualname or co_name, ... */
	uint32_t table, instructions; /* co_linetable or co_lnotab, co_code_adaptive */
	uint32_t instruction_bytes;   /* of what a frame says: 0: it is an address */
	enum python_lines lines;
	uint32_t ascii, compact; /* sizes of PyASCIIObject, PyCompactUnicodeObject */
	enum { ALL_OUTERMOST, OUTERMOST_MARKED, BEFORE_SHIMS } entries;
};

#define SHIM_OWNER 3 /* FRAME_OWNED_BY_CSTACK */

#define CODE_8	   .file = 104, .name = 112, .line = 40, .table = 120
#define CODE_11(l) .file = 112, .name = 128, .line = (l), .table = 136
#define TEXT_8	   .ascii = 48, .compact = 72
#define TEXT_12	   .ascii = 40, .compact = 56

/* clang-format off */
static const struct version versions[] = {
	[8 - MINOR_FIRST] = {
		.interpreter = 32, .threads = 8,
		.layout = {.next = 8, .thread_id = 176, .frame = 24, .previous = 24, .code = 32, .instruction = 104},
		CODE_8, TEXT_8, .instruction_bytes = 1, .lines = PYTHON_LNOTAB, .entries = ALL_OUTERMOST},
	[9 - MINOR_FIRST] = {
		.interpreter = 32, .threads = 8,
		.layout = {.next = 8, .thread_id = 176, .frame = 24, .previous = 24, .code = 32, .instruction = 104},
		CODE_8, TEXT_8, .instruction_bytes = 1, .lines = PYTHON_LNOTAB, .entries = ALL_OUTERMOST},
	[10 - MINOR_FIRST] = {
		.interpreter = 32, .threads = 8,
		.layout = {.next = 8, .thread_id = 176, .frame = 24, .previous = 24, .code = 32, .instruction = 96},
		CODE_8, TEXT_8, .instruction_bytes = 2, .lines = PYTHON_LINETABLE, .entries = ALL_OUTERMOST},
	[11 - MINOR_FIRST] = {
		.interpreter = 40, .threads = 16,
		.layout = {.next = 8, .thread_id = 152, .frame = 56, .is_indirect = 1, .frame_at = 8, .previous = 48,
			   .code = 32, .instruction = 56, .owner = 68 /* is_entry */},
		CODE_11(72), TEXT_8, .instructions = 184, .lines = PYTHON_LOCATIONS, .entries = OUTERMOST_MARKED},
	[12 - MINOR_FIRST] = {
		.interpreter = 40, .threads = 72,
		.layout = {.next = 8, .thread_id = 136, .frame = 56, .is_indirect = 1, .previous = 8, .instruction = 56, .owner = 70},
		CODE_11(68), TEXT_12, .instructions = 192, .lines = PYTHON_LOCATIONS, .entries = BEFORE_SHIMS},
	[13 - MINOR_FIRST] = {
		.layout = {.next = 8, .thread_id = 152, .frame = 72, .previous = 8, .instruction = 56, .owner = 70},
		CODE_11(68), TEXT_12, .instructions = 200, .lines = PYTHON_LOCATIONS, .entries = BEFORE_SHIMS},
};
/* clang-format on */

/* _Py_DebugOffsets: of 3.13 on, at the beginning of _PyRuntime. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, is_free_threaded;
	struct {
		uint64_t size, finalizing, head;
	} runtime;
	struct {
		uint64_t size, id, next, threads;
	} interpreter;
};

/* What is known at an address where a code object is, or was. */
struct code {
	uint64_t address, read_ns;
	uint8_t head[HEAD_BYTES];
	char *name, *file;
	uint8_t *table;
	size_t table_bytes;
	uint32_t number; /* another one, each time that another one is there */
};

/* Pages, read as one asks for a word of them. */
#define PAGES	   8
#define PAGE_BYTES 4096
struct memory {
	uint32_t tid;
	unsigned int next;
	struct page {
		uint64_t address; /* 0: none */
		size_t bytes;
		uint8_t data[PAGE_BYTES];
	} pages[PAGES];
};

struct python {
	const struct version *version;
	uint32_t pid;
	char *module;
	uint64_t runtime, code_type; /* addresses of _PyRuntime, PyCode_Type */
	struct python_layout layout;
	struct identities threads;	 /* (0, thread pointer): places in `states` */
	uint64_t states[PYTHON_THREADS]; /* addresses, as they were last read */
	uint64_t threads_read_ns;
	struct identities codes; /* (0, address): places among them */
	struct code *items;
	size_t item_room;
	uint32_t last_number;
	struct python_frames *frames; /* not owned */
	struct identities lines;      /* (number, line): places in `numbers` */
	uint32_t *numbers;	      /* of frames, + 1; 0: none */
	size_t number_room;
};

static void code_release(struct code *code)
{
	free(code->name);
	free(code->file);
	free(code->table);
	code->name = code->file = NULL;
	code->table = NULL;
	code->table_bytes = 0;
}

void python_free(struct python *python)
{
	if (!python)
		return;
	for (size_t i = 0; i < python->codes.count; i++)
		code_release(&python->items[i]);
	identities_release(&python->threads);
	identities_release(&python->codes);
	identities_release(&python->lines);
	free(python->items);
	free(python->numbers);
	free(python->module);
	free(python);
}

const char *python_module(const struct python *python)
{
	return python->module;
}

bool python_evaluates(const char *function)
{
	static const char name[] = "_PyEval_EvalFrameDefault";

	/* also the part of it that is seldom run: .cold */
	return !strncmp(function, name, sizeof(name) - 1);
}

/*
 * "/usr/lib/libpython3.11.so.1.0", "/usr/bin/python3.11": 11; 0: it is none. One without an
 * interpreter lock, "python3.13t", lays its objects out otherwise.
 */
static unsigned int minor_of(const char *path, bool *ret_is_free_threaded)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	unsigned int minor;
	char *end;

	if (!strncmp(name, "lib", 3))
		name += 3;
	if (strncmp(name, "python3.", 8) != 0 || !isdigit((unsigned char)name[8]))
		return 0;
	minor = (unsigned int)strtoul(name + 8, &end, 10);
	*ret_is_free_threaded = *end == 't';
	return minor;
}

static bool read_all(uint32_t tid, uint64_t address, void *into, size_t bytes)
{
	return opener_memory(tid, address, into, bytes, NULL) == bytes;
}

/* Of the interpreter that the process began with. 0: it has not begun, or cannot be read. */
static uint64_t find_threads(const struct python *python)
{
	uint64_t head = python->version->interpreter, threads = python->version->threads;
	struct debug_offsets offsets;
	uint64_t interpreter;

	if (!head) {
		if (!read_all(python->pid, python->runtime, &offsets, sizeof(offsets)) ||
		    memcmp(offsets.cookie, "xdebugpy", sizeof(offsets.cookie)) != 0 ||
		    offsets.is_free_threaded)
			return 0;
		head = offsets.runtime.head;
		threads = offsets.interpreter.threads;
	}
	/* interpreters.main is behind the head */
	if (!read_all(python->pid, python->runtime + head + 8, &interpreter, sizeof(interpreter)) ||
	    !interpreter)
		return 0;
	return interpreter + threads;
}

static bool is_thread_pointer_self(void)
{
#if defined(__x86_64__)
	return true;
#else
	return false;
#endif
}

struct python *python_find(struct symbolizer *symbolizer, uint32_t pid,
			   struct python_frames *frames, const char **ret_unread)
{
	bool is_free_threaded = false;
	uint64_t runtime, code_type;
	struct python *python;
	const char *path;
	unsigned int minor;

	*ret_unread = NULL;
	/* elsewhere pthread_self() is not the thread pointer, by which threads are found */
	if (!is_thread_pointer_self() ||
	    (!symbolizer_variable(symbolizer, "python3.", "PyCode_Type", &code_type, &path) &&
	     !symbolizer_variable(symbolizer, "python2.", "PyCode_Type", &code_type, &path)))
		return NULL;
	minor = minor_of(path, &is_free_threaded);
	/* Python 3.6 and older have no such structure */
	if (minor < MINOR_FIRST || minor > MINOR_LAST || is_free_threaded ||
	    !symbolizer_variable(symbolizer, "python3.", "_PyRuntime", &runtime, &path)) {
		*ret_unread = path;
		return NULL;
	}
	python = calloc(1, sizeof(*python));
	if (!python)
		return NULL;
	python->pid = pid;
	python->frames = frames;
	python->runtime = runtime;
	python->code_type = code_type;
	python->version = &versions[minor - MINOR_FIRST];
	python->layout = python->version->layout;
	python->module = strdup(path);
	if (!python->module) {
		python_free(python);
		return NULL;
	}
	return python;
}

bool python_layout(struct python *python, struct python_layout *ret_layout)
{
	if (!python->layout.threads)
		python->layout.threads = find_threads(python);
	*ret_layout = python->layout;
	return python->layout.threads;
}

/* 0: it cannot be read. */
static uint64_t word(struct memory *memory, uint64_t address)
{
	uint64_t begin = address & ~(uint64_t)(PAGE_BYTES - 1), value;
	size_t at = (size_t)(address - begin);
	struct page *page = NULL;

	if (at + sizeof(value) > PAGE_BYTES)
		return read_all(memory->tid, address, &value, sizeof(value)) ? value : 0;
	for (size_t i = 0; i < PAGES; i++)
		if (memory->pages[i].address == begin)
			page = &memory->pages[i];
	if (!page) {
		page = &memory->pages[memory->next++ % PAGES];
		page->address = begin;
		page->bytes = opener_memory(memory->tid, begin, page->data, PAGE_BYTES, NULL);
	}
	if (at + sizeof(value) > page->bytes)
		return 0;
	memcpy(&value, page->data + at, sizeof(value));
	return value;
}

/* All that there are, at once: each lies on a page of its own. */
static void read_threads(struct python *python, struct memory *memory)
{
	const struct python_layout *layout = &python->layout;
	uint64_t thread = word(memory, layout->threads);

	python->threads_read_ns = clock_monotonic_ns();
	identities_clear(&python->threads);
	for (int i = 0; i < PYTHON_THREADS && thread; i++) {
		size_t index = identities_add(&python->threads, 0,
					      word(memory, thread + layout->thread_id));

		if (index == IDENTITY_NONE)
			return;
		python->states[index] = thread;
		thread = word(memory, thread + layout->next);
	}
}

/* The innermost frame of the thread, by what is known of it. 0: that is not so any more. */
static uint64_t known_frame(const struct python *python, struct memory *memory,
			    uint64_t thread_pointer)
{
	const struct python_layout *layout = &python->layout;
	size_t index = identities_find(&python->threads, 0, thread_pointer);
	uint64_t frame;

	if (index == IDENTITY_NONE ||
	    word(memory, python->states[index] + layout->thread_id) != thread_pointer)
		return 0;
	frame = word(memory, python->states[index] + layout->frame);
	return frame && layout->is_indirect ? word(memory, frame + layout->frame_at) : frame;
}

/* A thread that has ended may look as if it had none: then, once in a while, all are read again. */
static uint64_t find_frame(struct python *python, struct memory *memory, uint64_t thread_pointer)
{
	uint64_t frame = known_frame(python, memory, thread_pointer);

	if (frame || clock_monotonic_ns() - python->threads_read_ns < THREADS_KEPT_NS)
		return frame;
	read_threads(python, memory);
	return known_frame(python, memory, thread_pointer);
}

size_t python_read(struct python *python, uint32_t tid, uint64_t thread_pointer, uint64_t switches,
		   struct python_place places[PYTHON_FRAMES])
{
	const struct python_layout *layout = &python->layout;
	struct memory memory = {.tid = tid};
	uint64_t frame = find_frame(python, &memory, thread_pointer), switches_now;
	uint64_t innermost = frame;
	size_t count = 0;

	for (; count < PYTHON_FRAMES && frame; count++) {
		uint64_t owner = word(&memory, frame + layout->owner) & 0xff;

		places[count].code =
			word(&memory, frame + layout->code) | owner << PYTHON_OWNER_SHIFT;
		places[count].instruction = word(&memory, frame + layout->instruction);
		frame = word(&memory, frame + layout->previous);
	}
	/* what was read is of one time, if it still sleeps */
	if (count && (!opener_memory(tid, innermost, &frame, sizeof(frame), &switches_now) ||
		      switches_now != switches))
		return PYTHON_MOVED;
	return count;
}

enum python_kind python_kind(const struct python *python, const struct python_place *place)
{
	uint8_t owner = (uint8_t)(place->code >> PYTHON_OWNER_SHIFT);

	switch (python->version->entries) {
	case ALL_OUTERMOST:
		return PYTHON_OUTERMOST;
	case OUTERMOST_MARKED:
		return owner ? PYTHON_OUTERMOST : PYTHON_INSIDE;
	case BEFORE_SHIMS:
		return owner == SHIM_OWNER ? PYTHON_SHIM : PYTHON_INSIDE;
	}
	return PYTHON_INSIDE;
}

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* A compact string, as UTF-8. NULL: it is none, or no memory. */
static char *read_text(const struct python *python, uint32_t tid, uint64_t address,
		       size_t characters)
{
	const struct version *version = python->version;
	uint8_t head[40], data[PATH_CHARACTERS * 4];
	uint64_t length, state, start;
	size_t used = 0, width;
	char *text;

	if (!read_all(tid, address, head, sizeof(head)))
		return NULL;
	length = word_at(head, 16);
	state = word_at(head, 32) & 0xffffffff;
	width = state >> 2 & 7;
	if (length > CHARACTERS_MAX || !(state >> 5 & 1) ||
	    (width != 1 && width != 2 && width != 4))
		return NULL;
	start = address + (state >> 6 & 1 ? version->ascii : version->compact);
	length = length < characters ? length : characters;
	if (!read_all(tid, start, data, length * width))
		return NULL;
	text = malloc(length * 4 + 1);
	for (size_t i = 0; text && i < length; i++) {
		uint32_t character = 0;

		memcpy(&character, data + i * width, width);
		used += text_encode(text + used,
				    character && character < 0x110000 ? character : '?');
	}
	if (text)
		text[used] = '\0';
	return text;
}

/* What is there now, if that is a code object. */
static bool read_code(struct python *python, uint32_t tid, struct code *code)
{
	const struct version *version = python->version;
	uint8_t head[HEAD_BYTES], size_of_table[24];
	uint64_t bytes;

	if (!read_all(tid, code->address, head, sizeof(head)))
		return false;
	if (code->name && !memcmp(head + 8, code->head + 8, version->table))
		return true;
	code_release(code);
	memcpy(code->head, head, sizeof(head));
	if (word_at(head, 8) != python->code_type)
		return false;
	code->number = ++python->last_number;
	code->name = read_text(python, tid, word_at(head, version->name), NAME_CHARACTERS);
	code->file = read_text(python, tid, word_at(head, version->file), PATH_CHARACTERS);
	if (!code->name || !code->file) {
		code_release(code);
		return false;
	}
	/* a PyBytesObject: its size, a hash, and what is in it */
	if (!read_all(tid, word_at(head, version->table), size_of_table, sizeof(size_of_table)))
		return true;
	bytes = word_at(size_of_table, 16);
	bytes = bytes < TABLE_BYTES ? bytes : TABLE_BYTES;
	code->table = malloc(bytes + 1);
	code->table_bytes =
		code->table && read_all(tid, word_at(head, version->table) + 32, code->table, bytes)
			? bytes
			: 0;
	return true;
}

static struct code *find_code(struct python *python, uint32_t tid, uint64_t address)
{
	size_t known = python->codes.count;
	size_t index = identities_add(&python->codes, 0, address);
	struct code *code;

	if (index == IDENTITY_NONE || array_reserve(&python->items, &python->item_room, index + 1,
						    sizeof(*python->items)) < 0)
		return NULL;
	code = &python->items[index];
	if (index == known)
		*code = (struct code){.address = address};
	if (index == known || clock_monotonic_ns() - code->read_ns >= CODE_KEPT_NS) {
		code->read_ns = clock_monotonic_ns();
		/* what is gone is as it was, if it was read before */
		if (!read_code(python, tid, code) && !code->name)
			return NULL;
	}
	return code->name ? code : NULL;
}

static int line_of(const struct python *python, const struct code *code,
		   const struct python_place *place)
{
	const struct version *version = python->version;
	int32_t first, number = (int32_t)place->instruction;
	uint64_t begin = code->address + version->instructions, at;

	memcpy(&first, code->head + version->line, sizeof(first));
	if (version->instruction_bytes)
		at = number > 0 ? (uint64_t)number * version->instruction_bytes : 0;
	else
		at = place->instruction > begin ? place->instruction - begin : 0;
	return python_line(version->lines, code->table, code->table_bytes, first, at);
}

/* The number of a frame in the table, + 1; 0: there is no room, or no memory. */
static uint32_t frame_number(struct python_frames *frames, const struct code *code, int line)
{
	char text[sizeof(line) + 4 * (NAME_CHARACTERS + PATH_CHARACTERS) + 2];
	size_t name = strlen(code->name) + 1, file = strlen(code->file) + 1;
	size_t known = frames->texts.count, index;
	struct symbol_frame *frame;

	memcpy(text, &line, sizeof(line));
	memcpy(text + sizeof(line), code->name, name);
	memcpy(text + sizeof(line) + name, code->file, file);
	frames->texts.bytes_max = FRAMES_BYTES_MAX;
	index = interned_add(&frames->texts, text, sizeof(line) + name + file);
	if (index == INTERNED_NONE || index == INTERNED_FULL)
		return 0;
	if (index < known)
		return frames->items[index] ? (uint32_t)index + 1 : 0;
	if (array_reserve(&frames->items, &frames->room, index + 1, sizeof(frame)) < 0)
		return 0;
	frames->items[index] = NULL;
	frame = calloc(1, sizeof(*frame));
	if (!frame)
		return 0;
	*frame = (struct symbol_frame){.function = strdup(code->name),
				       .file = strdup(code->file),
				       .line = line > 0 ? line : 0,
				       .named = true,
				       .kind = frame_kind_of_python(code->file, code->name)};
	frame->module = frame->file;
	if (!frame->function || !frame->file) {
		free((char *)frame->function);
		free((char *)frame->file);
		free(frame);
		return 0;
	}
	frames->items[index] = frame;
	return (uint32_t)index + 1;
}

const struct symbol_frame *python_frame(struct python *python, uint32_t tid,
					const struct python_place *place)
{
	uint64_t address = place->code & ((1ULL << PYTHON_OWNER_SHIFT) - 1);
	struct code *code = find_code(python, tid, address);
	size_t known = python->lines.count, index;
	int line;

	if (!code)
		return NULL;
	line = line_of(python, code, place);
	index = identities_add(&python->lines, code->number, (uint64_t)(uint32_t)line);
	if (index == IDENTITY_NONE || array_reserve(&python->numbers, &python->number_room,
						    index + 1, sizeof(*python->numbers)) < 0)
		return NULL;
	if (index == known)
		python->numbers[index] = frame_number(python->frames, code, line);
	return python->numbers[index] ? python->frames->items[python->numbers[index] - 1] : NULL;
}

void python_frames_release(struct python_frames *frames)
{
	for (size_t i = 0; i < frames->texts.count; i++) {
		if (!frames->items[i])
			continue;
		free((char *)frames->items[i]->function);
		free((char *)frames->items[i]->file);
		free(frames->items[i]);
	}
	free(frames->items);
	interned_release(&frames->texts);
	*frames = (struct python_frames){0};
}
