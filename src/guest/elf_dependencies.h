/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs of another system need to run: their loader and libraries, found below the root
 * directory of that system (a sysroot) without running anything of it.
 */
#ifndef DWELL_GUEST_ELF_DEPENDENCIES_H
#define DWELL_GUEST_ELF_DEPENDENCIES_H

#include <stdint.h>

#include "base/error.h"

/* e_machine of a program or library; 0: it is neither, or cannot be read. */
uint16_t elf_machine(const char *path);

/* `name` is a path as that system sees it; `path` is valid during the call only. */
typedef int elf_dependency_found(void *data, const char *name, const char *path,
				 struct error *error);

/*
 * What the file itself asks for, not what its libraries do: found() is called for each, and its
 * error ends it. -ENOENT: one is not there.
 */
int elf_dependencies_find(const char *sysroot, const char *path, elf_dependency_found *found,
			  void *data, struct error *error) must_check;

#endif
