// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "symbol/module_frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"

/* `libfoo.so+0x12`, of its function where that is known, or the bare address of code without a
 * file. */
static char *offset_name(const struct module *module, uint64_t address)
{
	const char *slash = strrchr(module->path, '/');
	char text[320];

	uint64_t start;

	if (module->object && object_function_start(module->object, address, &start))
		address = start;
	if (*module->path && module->inode)
		snprintf(text, sizeof(text), "%.256s+0x%" PRIx64, slash ? slash + 1 : module->path,
			 address);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return strdup(text);
}

#define HIDDEN "__GI_"

bool module_name_is_hidden(const char *name)
{
	return !strncmp(name, HIDDEN, strlen(HIDDEN));
}

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* Without the version of the symbol: `poll@@GLIBC_2.2.5`. */
static size_t length_without_version(const char *name)
{
	size_t length = strspn(name, NAME_CHARACTERS);
	const char *version = name + length + strspn(name + length, "@");

	return version > name + length && !version[strspn(version, NAME_CHARACTERS)] ? length
										     : strlen(name);
}

/* To be freed; NULL: no memory. */
static char *readable_name(const char *name)
{
	cleanup_free char *symbol = NULL;

	name += module_name_is_hidden(name) ? strlen(HIDDEN) : 0;
	symbol = strndup(name, length_without_version(name));
	return symbol ? demangle(symbol) : NULL;
}

/* As gdb and objdump call an entry of the linkage table. */
static char *stub_name(const char *function)
{
	cleanup_free char *name = demangle(function);
	char *text;

	return name && asprintf(&text, "%s@plt", name) >= 0 ? text : NULL;
}

/* Functions of one file of a C library that other files, or other C libraries, do not know. */
#define NEIGHBORS_MAX 16

/* Whether the function at an address lies between those of the C library. */
static bool is_among_c_library(struct object *object, uint64_t address)
{
	for (int side = -1; side <= 1; side += 2) {
		int verdict = 0;

		for (int i = 1; i <= NEIGHBORS_MAX && !verdict; i++) {
			const char *name = object_function_beside(object, address, side * i);

			verdict = name ? frame_kind_of_neighbor(name) : -1;
		}
		if (verdict <= 0)
			return false;
	}
	return true;
}

/*
 * Whether code without debug information is the C library's that is a part of the program. musl's
 * has no unwind tables either, where it has no names.
 */
static bool is_c_library(const struct module *module, const struct symbol_frame *frame,
			 uint64_t address)
{
	struct frame_rule rule;

	if (!module->executable || !module->object || !frame->function ||
	    !object_is_static(module->object))
		return false;
	if (!frame->named)
		return !object_frame(module->object, address, &rule) || rule.outermost;
	return frame_kind_is_c_library(frame->function) ||
	       (!strchr(frame->function, ':') && is_among_c_library(module->object, address));
}

static bool has_ocaml(struct module *module)
{
	struct object *names = module->names ? module->names : module->object;
	uint64_t start;

	if (!module->is_asked_for_ocaml)
		module->has_ocaml =
			names && object_function_named(names, "caml_start_program", &start);
	module->is_asked_for_ocaml = true;
	return module->has_ocaml;
}

/* What OCaml's libraries have in C is a part of each program; FRAME_KIND_UNKNOWN: none of it. */
static enum frame_kind kind_of_ocaml_stub(struct module *module, const struct symbol_frame *frame)
{
	enum frame_kind kind = module->executable && frame->named
				       ? frame_kind_of_ocaml_stub(frame->function)
				       : FRAME_KIND_UNKNOWN;

	return kind != FRAME_KIND_UNKNOWN && has_ocaml(module) ? kind : FRAME_KIND_UNKNOWN;
}

/* `file`: the function's, not of what may be inlined into it. */
static enum frame_kind kind_of_frame(struct module *module, const struct symbol_frame *frame,
				     const char *file, uint64_t address,
				     const char *const *runtimes)
{
	enum frame_kind kind;

	if (!strcmp(module->path, "[kernel]"))
		return FRAME_KIND_KERNEL;
	if (!file && is_c_library(module, frame, address))
		return FRAME_KIND_SYSTEM;
	if (!frame->function || (!frame->named && !*module->path))
		return FRAME_KIND_UNKNOWN;
	kind = kind_of_ocaml_stub(module, frame);
	return kind != FRAME_KIND_UNKNOWN
		       ? kind
		       : frame_kind_of(frame->function, file, module->path + module->root_bytes,
				       module->executable, runtimes);
}

int module_frame(struct module *module, uint64_t address, const struct source_frame *source,
		 const char *const *runtimes, struct symbol_frame *frame)
{
	frame->named = source->function;
	frame->function = source->is_stub    ? stub_name(source->function)
			  : source->function ? readable_name(source->function)
					     : offset_name(module, address);
	frame->file = source->file ? strdup(source->file) : NULL;
	frame->line = source->line;
	frame->inlined = source->inlined;
	frame->module = module->path;
	frame->build_id = *module->build_id ? module->build_id : NULL;
	frame->kind = source->is_stub
			      ? FRAME_KIND_STANDARD
			      : kind_of_frame(module, frame, source->is_bare ? NULL : frame->file,
					      address, runtimes);
	return frame->function && (frame->file || !source->file) ? 0 : -ENOMEM;
}
