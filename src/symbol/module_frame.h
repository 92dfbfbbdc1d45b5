/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a frame at an address of a mapped file is called, and whose code it is. */
#ifndef DWELL_SYMBOL_MODULE_FRAME_H
#define DWELL_SYMBOL_MODULE_FRAME_H

#include "symbol/module.h"

/*
 * One frame, from what `source` says of it: a name as people know it, or one made of the address.
 * `runtimes`: packages of async runtimes. 0 or -ENOMEM; what there is of `frame` is to be freed in
 * either case.
 */
int module_frame(struct module *module, uint64_t address, const struct source_frame *source,
		 const char *const *runtimes, struct symbol_frame *frame) must_check;

/* Whether it is one by which glibc itself calls what it exports: `__GI_raise`. */
bool module_name_is_hidden(const char *name);

#endif
