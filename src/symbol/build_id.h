/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which build a file is of: what the linker puts into a program and into its debug file (ld(1),
 * --build-id). As text, in hex. */
#ifndef DWELL_SYMBOL_BUILD_ID_H
#define DWELL_SYMBOL_BUILD_ID_H

#include <libelf.h>
#include <stdbool.h>
#include <sys/types.h>

/* With its NUL: of 64 bytes; linkers make at most 20. Longer ones are not known. */
#define BUILD_ID_BYTES 129

/* `length` < 1: there is none, and the text is empty. */
void build_id_format(char into[BUILD_ID_BYTES], const void *bytes, ssize_t length);

/* Of a file; empty: it has none. */
void build_id_read(char into[BUILD_ID_BYTES], Elf *elf);

/* Whether the text can be one: others' files say it, and paths are made of it. */
bool build_id_is_sound(const char *text);

#endif
