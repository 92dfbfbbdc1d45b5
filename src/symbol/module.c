// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/module.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "symbol/opener.h"

void symbol_frames_free(struct symbol_frame *frames, unsigned int count)
{
	for (unsigned int i = 0; frames && i < count; i++) {
		free((char *)frames[i].function);
		free((char *)frames[i].file);
	}
	free(frames);
}

void module_release(struct module *module)
{
	for (size_t i = 0; i < module->known_room; i++)
		symbol_frames_free(module->known[i].frames, module->known[i].count);
	free(module->known);
	(void)module_close(module);
}

static struct known *slot(const struct module *module, uint64_t key)
{
	size_t mask = module->known_room - 1;
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ULL >> 32) & mask;

	while (module->known[at].key && module->known[at].key != key)
		at = (at + 1) & mask;
	return &module->known[at];
}

static int grow(struct module *module)
{
	struct module bigger = *module;

	bigger.known_room = module->known_room ? module->known_room * 2 : 256;
	bigger.known = calloc(bigger.known_room, sizeof(*bigger.known));
	if (!bigger.known)
		return -ENOMEM;
	for (size_t i = 0; i < module->known_room; i++)
		if (module->known[i].key)
			*slot(&bigger, module->known[i].key) = module->known[i];
	free(module->known);
	module->known = bigger.known;
	module->known_room = bigger.known_room;
	return 0;
}

struct known *module_known(struct module *module, uint64_t address)
{
	if ((module->known_count + 1) * 2 > module->known_room && grow(module) < 0)
		return NULL;
	return slot(module, address + 1);
}

/* NULL: no ELF file. `fd` stays the caller's. */
static struct object *open_object(int fd)
{
	struct object *object;
	int its = dup(fd);

	return its >= 0 && object_open(&object, its) >= 0 ? object : NULL;
}

/* The module's own file is open, if it can be. */
static void take_symbols(struct module *module, int fd, uint32_t pid)
{
	char build_id[BUILD_ID_BYTES] = "";

	module->names = open_object(fd);
	if (module->names)
		object_build_id(module->names, build_id);
	module->has_other_symbols =
		*build_id && *module->build_id && strcmp(build_id, module->build_id) != 0;
	if (!module->has_other_symbols) {
		module->info = debug_info_open(fd, NULL, pid);
		return;
	}
	object_free(module->names);
	module->names = NULL;
}

void module_open(struct module *module, const struct mapping *mapping, uint32_t pid,
		 const char *symbols)
{
	cleanup_close int fd = mapping_open(mapping, pid);
	cleanup_close int symbols_fd = module->executable && symbols ? opener_symbols() : -1;

	module->asked = pid;
	module->asked_ns = mapping->time_ns;
	module->may_never_answer = fd == -EREMOTE;
	if (fd >= 0)
		module->object = open_object(fd);
	module->is_no_program = fd >= 0 && !module->object;
	if (module->object)
		object_build_id(module->object, module->build_id);
	if (symbols_fd >= 0)
		take_symbols(module, symbols_fd, pid);
	if (fd < 0)
		return;
	if (!module->info)
		module->info = debug_info_open(fd, mapping, pid);
	if (module->info)
		module->bytes = debug_info_bytes(module->info);
}

uint64_t module_close(struct module *module)
{
	uint64_t bytes = module->bytes;

	debug_info_close(module->info);
	object_free(module->names);
	object_free(module->object);
	module->info = NULL;
	module->names = module->object = NULL;
	module->asked = 0;
	module->bytes = 0;
	return bytes;
}

/* It is in no file, but the same in all processes of one kind: so also in this one. */
void module_open_vdso(struct module *module)
{
	const ElfW(Ehdr) *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = image ? image->e_shoff + (size_t)image->e_shentsize * image->e_shnum : 0;
	int fd = bytes ? file_in_memory("vdso") : -1;

	*module = (struct module){.inode = 1, .path = (char *)"[vdso]"};
	if (fd < 0)
		return;
	if (write(fd, image, bytes) != (ssize_t)bytes) {
		close(fd);
		return;
	}
	if (object_open(&module->object, fd) < 0)
		module->object = NULL;
}
