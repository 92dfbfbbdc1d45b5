// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without libiberty (-Ddemangle=disabled): names as linkers see them. */
#include <string.h>

#include "symbol/demangle.h"

char *demangle(const char *name)
{
	return strdup(name);
}
