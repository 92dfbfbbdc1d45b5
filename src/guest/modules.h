/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules of a guest's kernel, with all that they need. They are found in the tree that the kernel
 * was installed or unpacked in; what needs what they say themselves, for packages have no
 * modules.dep: depmod makes it where they are installed.
 */
#ifndef DWELL_GUEST_MODULES_H
#define DWELL_GUEST_MODULES_H

#include <stddef.h>

#include "base/error.h"

/* Not compressed. Those that it needs have come before. */
typedef int modules_found(void *data, const char *name, const void *bytes, size_t length,
			  struct error *error);

/*
 * `names` ends with NULL. What is built into the kernel is left out; -ENOENT: the kernel has no
 * such module, or its modules are not where they belong: ../lib/modules/VERSION, seen from the
 * kernel's vmlinuz-VERSION.
 */
int modules_find(const char *kernel, const char *const *names, modules_found *found, void *data,
		 struct error *error) must_check;

/* In the guest: loads all of a directory by order of names. Reports on stderr which could not be.
 */
void modules_load(const char *directory);

#endif
