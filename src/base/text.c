// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* wcwidth, vasprintf */
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/window.h"

#define REPLACEMENT 0xfffd

size_t text_decode(const char *text, size_t length, uint32_t *ret_character)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)text[0];
	size_t bytes = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
	uint32_t character = first;

	if (bytes == 1) {
		*ret_character = first;
		return 1;
	}
	*ret_character = REPLACEMENT;
	if (bytes > length || first < 0xc0 || first > 0xf4)
		return 1;
	character = first & (0xffu >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 1;
		character = character << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (character < smallest[bytes] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 1;
	*ret_character = character;
	return bytes;
}

size_t text_encode(char into[4], uint32_t character)
{
	if (character < 0x80) {
		into[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		into[0] = (char)(0xc0 | character >> 6);
		into[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		into[0] = (char)(0xe0 | character >> 12);
		into[1] = (char)(0x80 | (character >> 6 & 0x3f));
		into[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	into[0] = (char)(0xf0 | character >> 18);
	into[1] = (char)(0x80 | (character >> 12 & 0x3f));
	into[2] = (char)(0x80 | (character >> 6 & 0x3f));
	into[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

char *text_valid(const char *text)
{
	size_t left = strlen(text), used = 0;
	char *valid = malloc(3 * left + 1); /* 0xfffd has three bytes */

	while (valid && left) {
		uint32_t character;
		char bytes[4];
		size_t length = text_decode(text, left, &character);
		size_t more = text_encode(bytes, character);

		memcpy(valid + used, bytes, more);
		used += more;
		text += length;
		left -= length;
	}
	if (valid)
		valid[used] = '\0';
	return valid;
}

const char *text_ending(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end) ? text + length - tail : NULL;
}

bool text_is_hostile(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x115f ||
	       c == 0x1160 || c == 0x17b4 || c == 0x17b5 || (c >= 0x180b && c <= 0x180f) ||
	       c == 0x3164 || c == 0xffa0 || c == REPLACEMENT || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

/* What follows the last conversion of a format. */
static const char *suffix_of(const char *format)
{
	const char *suffix = format;

	for (const char *at = format; (at = strchr(at, '%'));) {
		at += 1 + strspn(at + 1, "-+ #0123456789.*'hljztL");
		at += *at != '\0';
		suffix = at;
	}
	return suffix;
}

static size_t count_lines(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += text[i] == '\n';
	return count;
}

static bool is_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)(text[i] - 0x20) >= 0x5f)
			return false;
	return true;
}

size_t text_tame(char *text, size_t length, const char *format)
{
	size_t before = strcspn(format, "%"), middle = strlen(format), after, end, used;
	bool lines;

	if (before == middle || is_plain(text, length))
		return length;
	after = strlen(suffix_of(format));
	end = length - after;
	if (is_plain(text + before, end - before))
		return length;
	lines = count_lines(text + before, end - before) ==
		count_lines(format + before, middle - before - after);
	used = before;
	for (size_t at = before, bytes; at < end; at += bytes) {
		uint32_t character;

		bytes = text_decode(text + at, end - at, &character);
		if (text_is_hostile(character) && !(character == '\n' && lines)) {
			text[used++] = '?';
			continue;
		}
		memmove(text + used, text + at, bytes);
		used += bytes;
	}
	memmove(text + used, text + end, after);
	return used + after;
}

char *text_format(char *room, size_t bytes, size_t *ret_length, const char *format, va_list args)
{
	char *text = room;
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(room, bytes, format, args);
	if (length >= (int)bytes && vasprintf(&text, format, again) < 0) {
		text = NULL;
		length = (int)bytes - 1;
	}
	va_end(again);
	if (length < 0) {
		text = NULL;
		*room = '\0';
	}
	*ret_length = length < 0 ? 0 : text_tame(text ? text : room, (size_t)length, format);
	return text;
}

size_t text_printable(char *into, size_t room, const char *from, size_t columns)
{
	size_t length = strlen(from);
	size_t used = 0, width = 0;

	while (length && room) {
		uint32_t character;
		size_t bytes = text_decode(from, length, &character);
		bool hostile = text_is_hostile(character);
		int wide = hostile || character < 0x80 ? 1 : wcwidth((wchar_t)character);

		if (wide < 0) {
			hostile = true;
			wide = 1;
		}
		if (width + (size_t)wide > columns || used + (hostile ? 1 : bytes) >= room)
			break;
		if (hostile)
			into[used++] = '?';
		else
			memcpy(into + used, from, bytes);
		used += hostile ? 0 : bytes;
		width += (size_t)wide;
		from += bytes;
		length -= bytes;
	}
	if (room)
		into[used] = '\0';
	return width;
}

void text_end(char *into, size_t room, const char *from, size_t columns)
{
	size_t length = strlen(from), characters = 0, at = 0, used;
	uint32_t character;

	for (size_t i = 0; i < length; characters++)
		i += text_decode(from + i, length - i, &character);
	/* one column less for the sign that it is cut */
	for (size_t left = characters; characters > columns && left > columns - 1; left--)
		at += text_decode(from + at, length - at, &character);
	used = (size_t)snprintf(into, room, "%s", at ? "…" : "");
	text_printable(into + used, room - used, from + at, columns - (at > 0));
}

size_t text_middle(char *into, size_t room, const char *from, size_t columns)
{
	static const char ellipsis[] = "…";
	char shown[1024], part[1024];
	const char *end = shown;
	/* a third of it from the beginning, the rest from the end */
	size_t head, used;

	if (text_printable(shown, sizeof(shown), from, sizeof(shown)) <= columns)
		return text_printable(into, room, shown, columns);
	head = text_printable(into, room, shown, columns / 3);
	used = strlen(into);
	if (used + sizeof(ellipsis) > room)
		return head;
	memcpy(into + used, ellipsis, sizeof(ellipsis));
	used += sizeof(ellipsis) - 1;
	while (text_printable(part, sizeof(part), end, sizeof(part)) > columns - head - 1) {
		uint32_t character;

		end += text_decode(end, strlen(end), &character);
	}
	return head + 1 + text_printable(into + used, room - used, end, columns - head - 1);
}

void text_padded(struct output *out, const char *from, size_t columns)
{
	char shown[1024];
	size_t used = text_printable(shown, sizeof(shown), from, columns);

	output_string(out, shown);
	for (; used < columns; used++)
		output_char(out, ' ');
}

/* Of its first `length` bytes. */
static size_t width_of(const char *text, size_t length)
{
	size_t width = 0;

	while (length) {
		uint32_t character;
		size_t bytes = text_decode(text, length, &character);
		int wide = character < 0x80 ? 1 : wcwidth((wchar_t)character);

		width += wide < 0 ? 1 : (size_t)wide;
		text += bytes;
		length -= bytes;
	}
	return width;
}

void text_wrapped(struct output *out, const char *text, size_t indent, size_t columns)
{
	size_t at = indent;

	while (*text) {
		size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");
		size_t width = width_of(text + blanks, word);

		if (columns && at > indent && at + blanks + width > columns) {
			output_format(out, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			output_bytes(out, text, blanks);
			at += blanks;
		}
		output_bytes(out, text + blanks, word);
		at += width;
		text += blanks + word;
	}
}

/* In JSON it stands for itself. */
static bool is_literal(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many of the first characters do. */
static size_t literal_length(const char *text)
{
	size_t length = 0;

	while (is_literal(text[length]))
		length++;
	return length;
}

/* Beyond 16 bits JSON has two halves of a character. */
static void escape_json(struct output *out, uint32_t character)
{
	if (character < 0x10000)
		output_format(out, "\\u%04x", (unsigned int)character);
	else
		output_format(out, "\\u%04x\\u%04x", (unsigned int)(0xd7c0 + (character >> 10)),
			      (unsigned int)(0xdc00 | (character & 0x3ff)));
}

void text_json(struct output *out, const char *text)
{
	size_t plain = literal_length(text);
	size_t length = text[plain] ? strlen(text + plain) : 0;

	output_char(out, '"');
	output_bytes(out, text, plain);
	text += plain;
	while (length) {
		uint32_t character;
		size_t bytes = text_decode(text, length, &character);

		if (character == '"' || character == '\\')
			output_format(out, "\\%c", (char)character);
		else if (character == REPLACEMENT)
			output_string(out, "\xef\xbf\xbd");
		else if (text_is_hostile(character))
			escape_json(out, character);
		else
			output_bytes(out, text, bytes);
		text += bytes;
		length -= bytes;
	}
	output_char(out, '"');
}

/* NULL: a character stands for itself. */
static const char *entity_of(uint32_t character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return text_is_hostile(character) ? "\xef\xbf\xbd" : NULL;
	}
}

void text_html(struct output *out, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		uint32_t character;
		size_t bytes = text_decode(text, length, &character);
		const char *entity = entity_of(character);

		if (entity)
			output_string(out, entity);
		else
			output_bytes(out, text, bytes);
		text += bytes;
		length -= bytes;
	}
}

static void write_csv(struct output *out, const char *text, bool has_lines)
{
	size_t length = strlen(text);
	int quote = strpbrk(text, has_lines ? ",\" \n" : ",\" ") != NULL;

	if (!quote && is_plain(text, length) && !strchr("=+-@", *text)) {
		output_bytes(out, text, length);
		return;
	}

	if (quote)
		output_char(out, '"');
	/* a spreadsheet would take it for a formula, and run it */
	if (*text && strchr("=+-@\t\r", *text))
		output_char(out, '\'');
	while (length) {
		uint32_t character;
		size_t bytes = text_decode(text, length, &character);

		if (text_is_hostile(character) && !(has_lines && character == '\n'))
			output_char(out, '?');
		else
			output_bytes(out, text, bytes);
		if (character == '"')
			output_char(out, '"');
		text += bytes;
		length -= bytes;
	}
	if (quote)
		output_char(out, '"');
}

void text_csv(struct output *out, const char *text)
{
	write_csv(out, text, false);
}

void text_csv_lines(struct output *out, const char *text)
{
	write_csv(out, text, true);
}

uint64_t text_hash(const char *text)
{
	uint64_t value = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 0x100000001b3ULL;
	return value;
}

void text_line(struct output *out, size_t indent, const char *format, ...)
{
	char room[TEXT_LINE_BYTES], *text;
	size_t length;
	va_list args;

	va_start(args, format);
	text = text_format(room, sizeof(room), &length, format, args);
	va_end(args);
	text_wrapped(out, text ? text : room, indent, window_columns(out->fd));
	output_char(out, '\n');
	if (text != room)
		free(text);
}
