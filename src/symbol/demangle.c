// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are shown as they are: demangling can take exponential time and memory. */
#define LONGEST 8192

static bool is_hash(const char *text)
{
	return strlen(text) == 17 && text[0] == 'h' && strspn(text + 1, "0123456789abcdef") == 16;
}

/* `path::name::h0123456789abcdef`: the hash tells builds apart, not functions. */
static void drop_hash(char *name)
{
	size_t length = strlen(name);

	if (length > 19 && !strncmp(name + length - 19, "::", 2) && is_hash(name + length - 17))
		name[length - 19] = '\0';
}

/*
 * Where what the compiler appended begins. Rust's legacy names have dots of their own and end with
 * their hash; the others have none.
 */
static size_t length_without_suffix(const char *name)
{
	if (!strncmp(name, "_ZN", 3)) {
		for (const char *at = name; (at = strstr(at, "17h")); at++)
			if (strspn(at + 3, "0123456789abcdef") == 16 && at[19] == 'E')
				return (size_t)(at + 20 - name);
	}
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) ? strcspn(name, ".")
								  : strlen(name);
}

char *demangle(const char *name)
{
	char *plain = strndup(name, length_without_suffix(name)), *result = NULL;

	if (!plain || strlen(plain) > LONGEST)
		return plain;
	result = rust_demangle(plain, DMGL_NO_OPTS);
	if (result)
		drop_hash(result);
	else if (!strncmp(plain, "_Z", 2))
		result = cplus_demangle_v3(plain, DMGL_PARAMS | DMGL_ANSI);
	if (!result)
		return plain;
	free(plain);
	return result;
}
