/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of C++ closures that have no linkage name, as those of a function that is not inline. */
#ifndef DWELL_SYMBOL_CLOSURE_NAME_H
#define DWELL_SYMBOL_CLOSURE_NAME_H

#include <elfutils/libdw.h>

/*
 * `serve(int)::{lambda:42:7}`, by the line and column where it is written: GCC's debug
 * information calls the functions of all closures `operator()`. `die`: a function, or where it was
 * inlined. To be freed; NULL: it is none of a closure, or there is no memory.
 */
char *closure_name(Dwarf_Die *die);

#endif
