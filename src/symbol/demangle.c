// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
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

#define FRAME ".Frame"

/*
 * GCC makes functions of a coroutine's body and of its end, whose parameter is of a type that is
 * called after the coroutine, and has its length before it:
 * `_Z5servePZ5serveiE13_Z5servei.Frame.actor`. Where that begins, and how long it is; NULL: it is
 * another name.
 */
static const char *find_coroutine(const char *name, size_t *ret_length)
{
	const char *end = NULL;

	for (const char *at = name; (at = strstr(at, FRAME ".")); at++)
		end = at;
	for (const char *at = name; end && (at = strstr(at, "_Z")) && at < end; at++) {
		size_t length = (size_t)(end - at);
		char before[24];
		int digits;

		if (length > LONGEST)
			continue;
		digits = snprintf(before, sizeof(before), "%zu", length + sizeof(FRAME) - 1);
		if (at - name < digits || strncmp(at - digits, before, (size_t)digits) != 0)
			continue;
		*ret_length = length;
		return at;
	}
	return NULL;
}

static int hex_digit(char digit)
{
	return digit >= '0' && digit <= '9'   ? digit - '0'
	       : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
					      : -1;
}

/* Of OCaml's native compiler. Its runtime's own functions are `caml_...`. */
static bool is_of_ocaml(const char *name)
{
	return !strncmp(name, "caml", 4) && name[4] >= 'A' && name[4] <= 'Z';
}

/* The number distinguishes definitions of one name, and is all that functions without one have. */
static void drop_number(char *name)
{
	static const char nameless[] = "fun";
	size_t length = strlen(name), kept = length;

	while (kept && name[kept - 1] >= '0' && name[kept - 1] <= '9')
		kept--;
	if (kept < sizeof(nameless) || kept == length || name[kept - 1] != '_' ||
	    name[kept - 2] == '_' ||
	    !strncmp(name + kept - sizeof(nameless), nameless, sizeof(nameless) - 1))
		return;
	name[kept - 1] = '\0';
}

/*
 * `camlModule__name_81`, with a dot for the two underscores since 5.1, and `$2b` for a character
 * that assemblers have in no name. In place.
 */
static void demangle_ocaml(char *name)
{
	size_t into = 0;

	drop_number(name);
	for (const char *at = name + 4; *at; at++) {
		int high = *at == '$' ? hex_digit(at[1]) : -1;
		int low = high >= 0 ? hex_digit(at[2]) : -1;

		if (low >= 0 && high * 16 + low > ' ' && high * 16 + low <= '~') {
			name[into++] = (char)(high * 16 + low);
			at += 2;
		} else if (at[0] == '_' && at[1] == '_' && at[2] && at[2] != '_') {
			name[into++] = '.';
			at++;
		} else {
			name[into++] = *at;
		}
	}
	name[into] = '\0';
}

/* What there is to read. NULL: no memory. */
static char *copy_function(const char *name)
{
	size_t length;
	const char *coroutine = find_coroutine(name, &length);

	return coroutine ? strndup(coroutine, length) : strndup(name, length_without_suffix(name));
}

char *demangle(const char *name)
{
	char *plain = copy_function(name), *result = NULL;
	bool lacks_memory = false;

	if (!plain || strlen(plain) > LONGEST)
		return plain;
	if (is_of_ocaml(plain)) {
		demangle_ocaml(plain);
		return plain;
	}
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
