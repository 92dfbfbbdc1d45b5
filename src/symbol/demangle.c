// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* of libiberty.h */
#include "base/array.h"

/*
 * Longer names are shown as they are. A short one can be plain text without end, as each part may
 * stand for two of those before it: it is left in the middle then.
 */
#define LONGEST	      8192
#define LONGEST_PLAIN 65536

struct plain {
	char *text;
	size_t length, room;
	bool lacks_memory;
	jmp_buf too_long;
};

/*
 * What the library has allocated at the jump stays behind, some KiB at most (an identifier in
 * Punycode): the helper's limit bounds it, and names that long are of attacks.
 */
static void append(const char *text, size_t length, void *data)
{
	struct plain *plain = data;

	if (!length)
		return;
	if (length > LONGEST_PLAIN - plain->length)
		longjmp(plain->too_long, 1);
	if (array_reserve(&plain->text, &plain->room, plain->length + length + 1, 1) < 0) {
		plain->lacks_memory = true;
		longjmp(plain->too_long, 1);
	}
	memcpy(plain->text + plain->length, text, length);
	plain->length += length;
	plain->text[plain->length] = '\0';
}

/* NULL: it is no such name, or is left as it is; *lacks_memory: or for want of memory. */
static char *demangle_by(int (*by)(const char *, int, demangle_callbackref, void *),
			 const char *name, int options, bool *lacks_memory)
{
	struct plain *plain = calloc(1, sizeof(*plain));
	char *text = NULL;

	if (!plain) {
		*lacks_memory = true;
		return NULL;
	}
	if (!setjmp(plain->too_long) && by(name, options, append, plain)) {
		text = plain->text;
		plain->text = NULL;
	}
	*lacks_memory |= plain->lacks_memory;
	free(plain->text);
	free(plain);
	return text;
}

static bool is_hash(const char *text)
{
	return strlen(text) == 17 && text[0] == 'h' && strspn(text + 1, "0123456789abcdef") == 16;
}

/* `path::name::h0123456789abcdef`: the hash distinguishes builds, not functions. */
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
	bool lacks_memory = false;

	if (!plain || strlen(plain) > LONGEST)
		return plain;
	result = demangle_by(rust_demangle_callback, plain, DMGL_NO_OPTS, &lacks_memory);
	if (result)
		drop_hash(result);
	else if (!strncmp(plain, "_Z", 2))
		result = demangle_by(cplus_demangle_v3_callback, plain, DMGL_PARAMS | DMGL_ANSI,
				     &lacks_memory);
	if (!result && !lacks_memory)
		return plain;
	free(plain);
	return result;
}
