// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/build_id.h"

#include <elfutils/libdwelf.h>
#include <stdint.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

void build_id_format(char into[BUILD_ID_BYTES], const void *bytes, ssize_t length)
{
	const uint8_t *byte = bytes;
	size_t used = 0;

	if (length < 0 || 2 * length >= BUILD_ID_BYTES)
		length = 0;
	for (ssize_t i = 0; i < length; i++) {
		into[used++] = digits[byte[i] >> 4];
		into[used++] = digits[byte[i] & 15];
	}
	into[used] = '\0';
}

void build_id_read(char into[BUILD_ID_BYTES], Elf *elf)
{
	const void *bytes = NULL;
	ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes);

	build_id_format(into, bytes, length);
}

bool build_id_is_sound(const char *text)
{
	size_t length = strlen(text);

	/* a directory is named by the first byte, and the file in it by the others */
	return length >= 4 && length < BUILD_ID_BYTES && length % 2 == 0 &&
	       strspn(text, digits) == length;
}
