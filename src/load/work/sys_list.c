// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work/sys_list.h"

#include <limits.h>
#include <stdarg.h>

bool sys_list_read(struct cpus *ret_list, const char *path, ...)
{
	cleanup_file FILE *file = NULL;
	cleanup_free char *line = NULL;
	char name[PATH_MAX];
	size_t room = 0;
	va_list args;

	*ret_list = (struct cpus){{0}};
	va_start(args, path);
	vsnprintf(name, sizeof(name), path, args);
	va_end(args);
	file = fopen(name, "re");
	return file && getline(&line, &room, file) >= 0 && !cpus_parse(line, ret_list, NULL);
}
