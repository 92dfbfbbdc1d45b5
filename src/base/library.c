// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>

void *library_load(const char *file, const char *packages, const struct library_call *calls,
		   size_t count, struct error *error)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const char *fault;

	if (!library) {
		fault = dlerror();
		error_set(error, ENOENT, "cannot load %s (package %s)", fault ? fault : file,
			  packages);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		*calls[i].address = dlsym(library, calls[i].name);
		if (*calls[i].address)
			continue;
		error_set(error, ENOENT, "%s has no function '%s'", file, calls[i].name);
		dlclose(library);
		return NULL;
	}
	return library;
}

void library_unload(void *library)
{
	if (library)
		dlclose(library);
}
