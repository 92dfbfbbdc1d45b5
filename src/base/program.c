// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool program_find(const char *name, char into[PATH_MAX])
{
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/'))
		return snprintf(into, PATH_MAX, "%s", name) < PATH_MAX && is_program(into);
	for (path = path ? path : "/bin:/usr/bin"; path; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		/* an empty one is the present directory */
		if (snprintf(into, PATH_MAX, "%.*s/%s", end > path ? (int)(end - path) : 1,
			     end > path ? path : ".", name) < PATH_MAX &&
		    is_program(into))
			return true;
	}
	return false;
}
