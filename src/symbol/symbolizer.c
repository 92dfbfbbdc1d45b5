// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/code.h"
#include "symbol/debug_info.h"
#include "symbol/jit_map.h"
#include "symbol/kernel_symbols.h"
#include "symbol/module.h"
#include "symbol/module_frame.h"
#include "symbol/program.h"

/* What addresses mean in a process. */
struct space {
	uint32_t pid;
	uint64_t used;	     /* when it was selected last, by a count */
	uint64_t attachment; /* its number among those of all */
	struct mappings mappings;
	char *program;	       /* NULL: not known */
	struct module nowhere; /* addresses that are in no file */
	struct jit_map jit;    /* names of some of them */
	struct code_calls calls;
	unsigned int unread; /* reads of its memory in a row that gave nothing */
};

/* Then its memory cannot be read. */
#define UNREAD_MAX 4

/* Processes at a time: of others the maps are read again. */
#define SPACES_MAX 256

/*
 * What is read of files takes memory, less than they have. Where programs come and go, those that
 * have not been used for so many stacks are closed while there are more than this, and opened again
 * when they are.
 */
#define OPEN_BYTES_MAX (128ULL << 20)
#define OPEN_UNUSED    5000

struct symbolizer {
	struct space **spaces;
	size_t space_count, space_room;
	struct space *space; /* selected; NULL: none */
	uint64_t selections, attachments;
	struct module **modules;
	size_t module_count, module_room;
	uint64_t open_bytes;	 /* of their files */
	const char *other_build; /* path of a module; NULL: none */
	const char *unanswered;	 /* likewise */
	const char *unsymboled;	 /* likewise */
	char *program_32_bit;	 /* its path; NULL: none */
	const char *symbols;	 /* file with the symbols of the program; NULL: its own */
	/* Of `nowhere` in programs that are gone: frames that were given out live on. */
	struct module *retired;
	size_t retired_count, retired_room;
	struct module vdso; /* code the kernel gives to each process */
	bool vdso_opened;
	struct module kernel;
	struct kernel_symbols kernel_symbols;
	bool kernel_loaded;
	struct symbolizer_counts counts;
	const char *const *runtimes; /* packages of async runtimes */
};

struct symbolizer *symbolizer_new(const char *const *runtimes)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (symbolizer) {
		symbolizer->kernel.path = (char *)"[kernel]";
		symbolizer->runtimes = runtimes;
	}
	return symbolizer;
}

static void space_free(struct space *space)
{
	code_calls_release(&space->calls);
	module_release(&space->nowhere);
	jit_map_release(&space->jit);
	mappings_release(&space->mappings);
	free(space->program);
	free(space);
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->module_count; i++) {
		module_release(symbolizer->modules[i]);
		free(symbolizer->modules[i]->path);
		free(symbolizer->modules[i]);
	}
	free(symbolizer->modules);
	for (size_t i = 0; i < symbolizer->space_count; i++)
		space_free(symbolizer->spaces[i]);
	free(symbolizer->spaces);
	free(symbolizer->program_32_bit);
	for (size_t i = 0; i < symbolizer->retired_count; i++)
		module_release(&symbolizer->retired[i]);
	free(symbolizer->retired);
	module_release(&symbolizer->vdso);
	module_release(&symbolizer->kernel);
	kernel_symbols_release(&symbolizer->kernel_symbols);
	free(symbolizer);
}

void symbolizer_take_symbols(struct symbolizer *symbolizer, const char *path)
{
	symbolizer->symbols = path;
	opener_allow_symbols(path);
}

/* Another program is, or will be, at the addresses of the process. 0 or -ENOMEM. */
static int clear_space(struct symbolizer *symbolizer, struct space *space)
{
	if (space->nowhere.known_count &&
	    array_reserve(&symbolizer->retired, &symbolizer->retired_room,
			  symbolizer->retired_count + 1, sizeof(space->nowhere)) < 0)
		return -ENOMEM;
	if (space->nowhere.known_count)
		symbolizer->retired[symbolizer->retired_count++] = space->nowhere;
	space->nowhere = (struct module){.path = (char *)""};
	jit_map_release(&space->jit);
	code_calls_clear(&space->calls);
	space->jit.pid = space->pid;
	mappings_release(&space->mappings);
	free(space->program);
	space->program = NULL;
	return 0;
}

static struct space *find_space(struct symbolizer *symbolizer, uint32_t pid)
{
	for (size_t i = 0; i < symbolizer->space_count; i++)
		if (symbolizer->spaces[i]->pid == pid)
			return symbolizer->spaces[i];
	return NULL;
}

/* NULL: no memory. */
static struct space *make_space(struct symbolizer *symbolizer, uint32_t pid)
{
	struct space *space = NULL;

	if (symbolizer->space_count == SPACES_MAX) {
		for (size_t i = 0; i < symbolizer->space_count; i++)
			if (!space || symbolizer->spaces[i]->used < space->used)
				space = symbolizer->spaces[i];
		space->pid = pid;
		return clear_space(symbolizer, space) < 0 ? NULL : space;
	}
	if (array_reserve(&symbolizer->spaces, &symbolizer->space_room, symbolizer->space_count + 1,
			  sizeof(struct space *)) < 0)
		return NULL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->pid = space->jit.pid = pid;
	space->nowhere.path = (char *)"";
	symbolizer->spaces[symbolizer->space_count++] = space;
	return space;
}

bool symbolizer_select(struct symbolizer *symbolizer, uint32_t pid)
{
	if (!symbolizer->space || symbolizer->space->pid != pid)
		symbolizer->space = find_space(symbolizer, pid);
	if (symbolizer->space)
		symbolizer->space->used = ++symbolizer->selections;
	return symbolizer->space;
}

/* Its file is opened only where all that is mapped has addresses of 32 bits. */
static void note_32_bit(struct symbolizer *symbolizer)
{
	const struct space *space = symbolizer->space;
	const struct mappings *mappings = &space->mappings;

	if (!symbolizer->program_32_bit && *space->program && mappings->count &&
	    mappings->items[mappings->count - 1].end <= 1ULL << 32 && program_is_32_bit(space->pid))
		symbolizer->program_32_bit = strdup(space->program);
}

/* Other code may be at the addresses of some of it. */
static void begin_map(struct symbolizer *symbolizer)
{
	code_calls_clear(&symbolizer->space->calls);
	symbolizer->space->attachment = ++symbolizer->attachments;
}

int symbolizer_attach(struct symbolizer *symbolizer, uint32_t pid, uint64_t time_ns)
{
	char program[OPENER_PATH_BYTES];
	char *kept;
	int result;

	if (!symbolizer_select(symbolizer, pid)) {
		symbolizer->space = make_space(symbolizer, pid);
		if (!symbolizer->space)
			return -ENOMEM;
		symbolizer->space->used = ++symbolizer->selections;
	}
	if (opener_program_path(pid, time_ns, program) < 0)
		*program = '\0';
	result = mappings_load(&symbolizer->space->mappings, pid, time_ns);
	if (result < 0)
		return result;
	kept = strdup(program);
	if (!kept)
		return -ENOMEM;
	begin_map(symbolizer);
	free(symbolizer->space->program);
	symbolizer->space->program = kept;
	symbolizer->space->unread = 0;
	note_32_bit(symbolizer);
	return 0;
}

int symbolizer_move(struct symbolizer *symbolizer, uint32_t pid, uint64_t from_ns, uint64_t time_ns)
{
	int result = symbolizer_select(symbolizer, pid)
			     ? mappings_move(&symbolizer->space->mappings, pid, from_ns, time_ns)
			     : -ENOENT;

	if (result == 0)
		begin_map(symbolizer);
	return result;
}

const char *symbolizer_program(const struct symbolizer *symbolizer)
{
	return symbolizer->space ? symbolizer->space->program : NULL;
}

int symbolizer_forget(struct symbolizer *symbolizer, uint32_t pid)
{
	return symbolizer_select(symbolizer, pid) ? clear_space(symbolizer, symbolizer->space) : 0;
}

static void close_unused(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->module_count; i++) {
		struct module *module = symbolizer->modules[i];

		if (symbolizer->open_bytes <= OPEN_BYTES_MAX)
			return;
		if (module->bytes && symbolizer->selections - module->used > OPEN_UNUSED)
			symbolizer->open_bytes -= module_close(module);
	}
}

/* Seldom called, and its frame is large. */
__attribute__((noinline)) static void
open_files(struct symbolizer *symbolizer, struct module *module, const struct mapping *mapping)
{
	module_open(module, mapping, symbolizer->space->pid, symbolizer->symbols);
	symbolizer->open_bytes += module->bytes;
	if (!symbolizer->other_build && module->info && debug_info_other_build(module->info))
		symbolizer->other_build = module->path;
	if (!symbolizer->unanswered && module->may_never_answer)
		symbolizer->unanswered = module->path;
	if (!symbolizer->unsymboled && module->has_other_symbols)
		symbolizer->unsymboled = module->path;
	close_unused(symbolizer);
}

/* Looked at once for each process that comes to have it mapped: a running program's is not written.
 */
static bool is_past(const struct symbolizer *symbolizer, struct module *module)
{
	if (module->is_past || !module->object ||
	    module->attachment >= symbolizer->space->attachment)
		return module->is_past;
	module->attachment = symbolizer->space->attachment;
	module->is_past = object_has_changed(module->object);
	return module->is_past;
}

/* What of the path of a mapped file is that of the root which the process has (chroot(2)). */
static size_t root_bytes(const struct mapping *mapping, uint32_t pid)
{
	char root[OPENER_PATH_BYTES];
	size_t length;

	if (opener_root_path(pid, mapping->time_ns, root) < 0)
		return 0;
	length = strlen(root);
	return !strncmp(mapping->path, root, length) && mapping->path[length] == '/' ? length : 0;
}

static struct module *find_module(struct symbolizer *symbolizer, const struct mapping *mapping)
{
	struct module *module;

	if (mapping && !strcmp(mapping->path, "[vdso]")) {
		if (!symbolizer->vdso_opened)
			module_open_vdso(&symbolizer->vdso);
		symbolizer->vdso_opened = true;
		return &symbolizer->vdso;
	}
	if (!mapping || !mapping->inode)
		return &symbolizer->space->nowhere;
	for (size_t i = 0; i < symbolizer->module_count; i++) {
		module = symbolizer->modules[i];
		if (module->inode != mapping->inode || module->device != mapping->device ||
		    is_past(symbolizer, module))
			continue;
		module->used = symbolizer->selections;
		/* the one before may have ended, or have unmapped it, when its file was to be
		 * opened; or it is closed */
		if (!module->object && !module->info &&
		    (module->asked != symbolizer->space->pid ||
		     module->asked_ns != mapping->time_ns))
			open_files(symbolizer, module, mapping);
		return module;
	}
	if (array_reserve(&symbolizer->modules, &symbolizer->module_room,
			  symbolizer->module_count + 1, sizeof(module)) < 0)
		return NULL;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->device = mapping->device;
	module->inode = mapping->inode;
	module->path = strdup(mapping->path);
	if (!module->path) {
		free(module);
		return NULL;
	}
	module->root_bytes = root_bytes(mapping, symbolizer->space->pid);
	module->executable =
		symbolizer->space->program && !strcmp(module->path, symbolizer->space->program);
	module->used = symbolizer->selections;
	module->attachment = symbolizer->space->attachment;
	symbolizer->modules[symbolizer->module_count++] = module;
	open_files(symbolizer, module, mapping);
	return module;
}

/* By the symbol table, or by what makes code at run time. */
static const char *function_at(struct symbolizer *symbolizer, struct module *module,
			       uint64_t address)
{
	struct frame_rule rule = {0};
	const char *name;

	if (module == &symbolizer->kernel)
		return kernel_symbols_find(&symbolizer->kernel_symbols, address);
	if (symbolizer->space && module == &symbolizer->space->nowhere)
		return jit_map_find(&symbolizer->space->jit, address);
	if (module->names)
		return object_name(module->names, address);
	name = module->object ? object_name(module->object, address) : NULL;
	return !name && module->object && !object_frame(module->object, address, &rule) &&
			       rule.signal
		       ? "__restore_rt"
		       : name;
}

static int look_up(struct symbolizer *symbolizer, struct module *module, uint64_t address,
		   struct known *known)
{
	struct source_frame source[SOURCE_FRAMES_MAX];
	int count = module->info ? debug_info_frames(module->info, address, source) : 0;
	struct go_place place;

	/* GCC leaves out linkage names of local functions: each closure's `_M_invoke` looks alike
	 */
	if (count && source[count - 1].is_plain) {
		const char *name = function_at(symbolizer, module, address);

		if (name && !strncmp(name, "_Z", 2))
			source[count - 1].function = name;
	}
	if (!count && module->object && object_go_place(module->object, address, &place)) {
		source[0] = (struct source_frame){
			.function = place.function, .file = place.file, .line = place.line};
		count = 1;
	}
	if (!count)
		source[count++] = (struct source_frame){.function = NULL};
	/* it has none in the DWARF, or that is in another file, or only one for itself */
	if (!source[count - 1].function || module_name_is_hidden(source[count - 1].function)) {
		const char *name = function_at(symbolizer, module, address);

		if (name)
			source[count - 1].function = name;
	}
	if (!source[count - 1].function && module->object) {
		source[count - 1].function = object_stub(module->object, address);
		source[count - 1].is_stub = source[count - 1].function;
	}
	known->frames = calloc((size_t)count, sizeof(*known->frames));
	if (!known->frames)
		return -ENOMEM;
	known->count = (unsigned int)count;
	for (int i = 0; i < count; i++) {
		if (module_frame(module, address, &source[i], symbolizer->runtimes,
				 &known->frames[i]) < 0) {
			symbol_frames_free(known->frames, known->count);
			known->frames = NULL;
			return -ENOMEM;
		}
	}
	symbolizer->counts.addresses++;
	symbolizer->counts.named += known->frames[0].named;
	symbolizer->counts.with_lines += known->frames[0].line > 0;
	return 0;
}

/* An address as the module counts them; an offset in its file, where that could not be read. */
static uint64_t address_in(const struct module *module, const struct mapping *mapping,
			   uint64_t address)
{
	uint64_t offset, at;

	/* what lies in no file may lie in no mapping either */
	if (!module->inode)
		return address;
	offset = address - mapping->start + mapping->offset;
	return module->object && object_address(module->object, offset, &at) ? at : offset;
}

/* What has been given out stays as it is, under its own number. */
static int retire(struct symbolizer *symbolizer, const struct known *known)
{
	struct module old = {.path = (char *)"", .known_count = 1, .known_room = 1};

	if (array_reserve(&symbolizer->retired, &symbolizer->retired_room,
			  symbolizer->retired_count + 1, sizeof(old)) < 0)
		return -ENOMEM;
	old.known = calloc(1, sizeof(*known));
	if (!old.known)
		return -ENOMEM;
	*old.known = *known;
	symbolizer->retired[symbolizer->retired_count++] = old;
	return 0;
}

/*
 * Compilers at run time list a function after it has run, or when a user asks them to: one without
 * a name is looked up again when there are more in the list.
 */
static int look_again(struct symbolizer *symbolizer, struct module *module, uint64_t address,
		      struct known *known)
{
	struct space *space = symbolizer->space;
	struct known again = {.key = known->key};

	if (!space || module != &space->nowhere || known->frames[0].named ||
	    jit_map_listed(&space->jit) == known->listed)
		return 0;
	known->listed = space->jit.count;
	if (!jit_map_find(&space->jit, address))
		return 0;
	if (look_up(symbolizer, module, address, &again) < 0 || retire(symbolizer, known) < 0) {
		symbol_frames_free(again.frames, again.count);
		return -ENOMEM;
	}
	symbolizer->counts.addresses--; /* it is the same one */
	*known = again;
	return 0;
}

static int find_in(struct symbolizer *symbolizer, struct module *module, uint64_t address,
		   struct symbol *ret_symbol)
{
	struct known *known;

	known = module_known(module, address);
	if (!known)
		return -ENOMEM;
	if (!known->key) {
		if (look_up(symbolizer, module, address, known) < 0)
			return -ENOMEM;
		known->key = address + 1;
		known->listed = symbolizer->space ? symbolizer->space->jit.count : 0;
		module->known_count++;
	} else if (look_again(symbolizer, module, address, known) < 0) {
		return -ENOMEM;
	}
	*ret_symbol = (struct symbol){known->frames, known->count};
	return 0;
}

static bool has_no_name(const struct mapping *mapping)
{
	static const char gone[] = " (deleted)";
	size_t length = strlen(mapping->path);

	return length >= sizeof(gone) - 1 &&
	       !strcmp(mapping->path + length - sizeof(gone) + 1, gone);
}

/*
 * A compiler at run time may keep its code in a file without a name, to map it twice (Erlang and
 * .NET in a memfd), and may list what others have compiled before in a file of theirs (.NET).
 */
static bool is_made_at_run_time(const struct symbolizer *symbolizer, const struct module *module,
				const struct mapping *mapping, uint64_t address)
{
	return module->is_no_program &&
	       (has_no_name(mapping) || jit_map_has(&symbolizer->space->jit, address));
}

int symbolizer_find(struct symbolizer *symbolizer, uint64_t address, bool call,
		    struct symbol *ret_symbol)
{
	const struct mapping *mapping;
	struct module *module;

	/* the call is before the address it returns to, which may be in the next function */
	if (call && address)
		address--;
	mapping = mappings_find(&symbolizer->space->mappings, address);
	module = find_module(symbolizer, mapping);
	if (module && is_made_at_run_time(symbolizer, module, mapping, address))
		module = &symbolizer->space->nowhere;
	return module ? find_in(symbolizer, module, address_in(module, mapping, address),
				ret_symbol)
		      : -ENOMEM;
}

/* Once. Where they are hidden there are no names. */
static int load_kernel(struct symbolizer *symbolizer)
{
	if (symbolizer->kernel_loaded)
		return 0;
	symbolizer->kernel_loaded = true;
	return kernel_symbols_load(&symbolizer->kernel_symbols, opener_kernel_symbols()) == -ENOMEM
		       ? -ENOMEM
		       : 0;
}

int symbolizer_find_kernel(struct symbolizer *symbolizer, uint64_t address,
			   struct symbol *ret_symbol)
{
	if (load_kernel(symbolizer) < 0)
		return -ENOMEM;
	return find_in(symbolizer, &symbolizer->kernel, address, ret_symbol);
}

const char *symbolizer_other_build(const struct symbolizer *symbolizer)
{
	return symbolizer->other_build;
}

const char *symbolizer_unsymboled(const struct symbolizer *symbolizer)
{
	return symbolizer->unsymboled;
}

const char *symbolizer_unanswered(const struct symbolizer *symbolizer)
{
	return symbolizer->unanswered;
}

const char *symbolizer_32_bit(const struct symbolizer *symbolizer)
{
	return symbolizer->program_32_bit;
}

void symbolizer_each_missing(const struct symbolizer *symbolizer,
			     void (*call)(void *data, const char *build_id), void *data)
{
	char id[BUILD_ID_BYTES];

	for (size_t i = 0; i < symbolizer->module_count; i++) {
		const struct module *module = symbolizer->modules[i];

		if (module->info && debug_info_missing(module->info, id))
			call(data, id);
	}
}

int symbolizer_preload(struct symbolizer *symbolizer)
{
	for (size_t i = 0; symbolizer->space && i < symbolizer->space->mappings.count; i++)
		if (!find_module(symbolizer, &symbolizer->space->mappings.items[i]))
			return -ENOMEM;
	return load_kernel(symbolizer);
}

const struct mapping *symbolizer_mapping(const struct symbolizer *symbolizer, uint64_t address)
{
	return mappings_find(&symbolizer->space->mappings, address);
}

/* Of a process that has ended nothing can be read: it is not tried for each word of each stack. */
static size_t read_space(struct space *space, uint64_t address, void *into, size_t bytes)
{
	size_t got;

	if (space->unread == UNREAD_MAX)
		return 0;
	got = opener_memory(space->pid, address, into, bytes, NULL);
	space->unread = got ? 0 : space->unread + 1;
	return got;
}

/* As call_site_read. */
static size_t read_code(void *data, uint64_t address, void *into, size_t bytes)
{
	struct symbolizer *symbolizer = data;
	const struct mapping *mapping = symbolizer_mapping(symbolizer, address);
	struct module *module = mapping ? find_module(symbolizer, mapping) : NULL;

	if (!mapping)
		return read_space(symbolizer->space, address, into, bytes);
	return module && module->object
		       ? object_bytes(module->object, address_in(module, mapping, address), into,
				      bytes)
		       : 0;
}

/* As code.object. */
static struct object *code_object(void *data, const struct mapping *mapping, uint64_t address,
				  uint64_t *ret_address)
{
	struct module *module = find_module(data, mapping);

	if (!module || !module->object)
		return NULL;
	*ret_address = address_in(module, mapping, address);
	return module->object;
}

/* As code.mapping. */
static const struct mapping *code_mapping(void *data, uint64_t address)
{
	return symbolizer_mapping(data, address);
}

struct code_view symbolizer_code(struct symbolizer *symbolizer)
{
	return (struct code_view){.data = symbolizer,
				  .mapping = code_mapping,
				  .object = code_object,
				  .read = read_code,
				  .calls = &symbolizer->space->calls};
}

bool symbolizer_variable(struct symbolizer *symbolizer, const char *part, const char *name,
			 uint64_t *ret_address, const char **ret_path)
{
	const struct mappings *mappings = &symbolizer->space->mappings;

	for (size_t i = 0; i < mappings->count; i++) {
		const struct mapping *mapping = &mappings->items[i];
		const char *slash = strrchr(mapping->path, '/');
		struct module *module;
		uint64_t begin;

		if (!slash || !strstr(slash, part))
			continue;
		module = find_module(symbolizer, mapping);
		if (!module || !module->object ||
		    !object_variable(module->object, name, ret_address) ||
		    !object_address(module->object, mapping->offset, &begin))
			continue;
		*ret_address += mapping->start - begin;
		*ret_path = module->path;
		return true;
	}
	return false;
}

struct symbolizer_counts symbolizer_counts(const struct symbolizer *symbolizer)
{
	return symbolizer->counts;
}
