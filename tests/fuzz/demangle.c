// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the name of a function. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/frame_kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), *plain;

	memcpy(name, data, size);
	name[size] = '\0';
	plain = demangle(name);
	if (!plain || strlen(plain) > 65536 + size)
		abort();
	(void)frame_kind_of(plain, NULL, name, false, NULL);
	(void)frame_kind_of(plain, name, "/usr/bin/x", true, NULL);
	free(plain);
	free(name);
	return 0;
}
