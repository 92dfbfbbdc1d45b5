/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as people write them, from names as linkers see them. */
#ifndef DWELL_SYMBOL_DEMANGLE_H
#define DWELL_SYMBOL_DEMANGLE_H

/*
 * Rust (legacy and v0, without the hash) and C++ names, with the suffixes that compilers append
 * (`.llvm.123`, `.cold`, `.part.0`) left out; what GCC makes of a coroutine has its name. OCaml's
 * names with their modules (`List.map`). Any other name as it is. To be freed; NULL without memory.
 */
char *demangle(const char *name);

#endif
