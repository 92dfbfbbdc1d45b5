/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes from elsewhere made safe to show. Names of threads, programs and cgroups are chosen by the
 * process under study: any bytes at all.
 */
#ifndef DWELL_BASE_TEXT_H
#define DWELL_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"

/*
 * Decodes one character of `length` >= 1 bytes at `text`. Returns the bytes it took (1 to 4) and
 * the code point, or 0xfffd and 1 byte if they are not valid UTF-8 (overlong, surrogate, cut
 * short).
 */
size_t text_decode(const char *text, size_t length, uint32_t *ret_character);

/* The other way; returns how many bytes (1 to 4). */
size_t text_encode(char into[4], uint32_t character);

/* A copy that is valid UTF-8: 0xfffd in place of each byte that is not. NULL: no memory. */
char *text_valid(const char *text);

/*
 * Characters that move the cursor, change the writing direction or cannot be seen; and 0xfffd,
 * which stands for bytes that may do so where they are not read as UTF-8.
 */
bool text_is_hostile(uint32_t character);

/* Where `end` begins, which `text` ends with; NULL: it does not. */
const char *text_ending(const char *text, const char *end);

/* The ending of a noun behind a count. */
static inline const char *text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/*
 * Copies a NUL-terminated string into `room` bytes so that it cannot disturb a terminal: valid
 * UTF-8 stays, control characters (C0, DEL, C1), invisible direction marks and invalid bytes become
 * '?'. At most `columns` terminal columns; returns how many it takes. Always terminates.
 */
size_t text_printable(char *into, size_t room, const char *from, size_t columns);

/* The same; of what takes more columns the end, which says more of a long name, behind an ellipsis.
 */
void text_end(char *into, size_t room, const char *from, size_t columns);

/* text_printable(); of what takes more columns (8 at least) the middle is an ellipsis: of paths the
 * end says more, the beginning what it is about. Returns how many columns it takes. */
size_t text_middle(char *into, size_t room, const char *from, size_t columns);

/*
 * What printf() made of `format`, in place: of what the arguments brought, the same characters
 * become '?', and so do line ends. What the format has before its first and behind its last
 * conversion is left, and so are its line ends in between, as long as there are no others. Returns
 * the length, which is not larger.
 */
size_t text_tame(char *text, size_t length, const char *format);

/*
 * vprintf() with its arguments tamed: in `room`, or, where that is too small, in memory that the
 * caller frees. NULL: there is none; `room` has what fits then.
 */
__attribute__((format(printf, 4, 0))) char *
text_format(char *room, size_t bytes, size_t *ret_length, const char *format, va_list args);

/* text_printable() to an output, filled up with blanks to the full number of columns (240 at most).
 */
void text_padded(struct output *out, const char *from, size_t columns);

/*
 * Broken at blanks, so that no line has more than `columns`, where a word is not longer than that;
 * 0: not at all. The first line goes on at column `indent`, where the others begin.
 */
void text_wrapped(struct output *out, const char *text, size_t indent, size_t columns);

/* A line of what text_format() makes of it, wrapped where it goes to a terminal. */
#define TEXT_LINE_BYTES 1024
__attribute__((format(printf, 3, 4))) void text_line(struct output *out, size_t indent,
						     const char *format, ...);

/* As a JSON string with its quotes. Hostile characters are escaped; invalid bytes become U+FFFD. */
void text_json(struct output *out, const char *text);

/* As text of an HTML page, also in a quoted attribute. Hostile characters and invalid bytes become
 * U+FFFD. */
void text_html(struct output *out, const char *text);

/* As a CSV field (RFC 4180): quoted when needed; controls and invalid bytes become '?'. What a
 * spreadsheet would run as a formula (=, +, - or @ comes first) gets a ' before it. */
void text_csv(struct output *out, const char *text);
/* The same of a text of several lines, whose ends stay; the field is then no line of its own. */
void text_csv_lines(struct output *out, const char *text);

/* Any hash of a text, the same everywhere: FNV-1a. Who chooses the text can make two collide. */
uint64_t text_hash(const char *text);

#endif
