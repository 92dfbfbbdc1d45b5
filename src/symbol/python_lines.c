// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/python.h"

#include <limits.h>

/* Pairs of bytes: so many bytes of code further on, so many lines (signed). */
static int64_t lnotab(const uint8_t *table, size_t bytes, int64_t line, uint64_t at)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return line;
}

/* Pairs of bytes: so many bytes of code are so many lines further on; -128: have no line. */
static int64_t linetable(const uint8_t *table, size_t bytes, int64_t line, uint64_t at)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != -128)
			line += delta;
		if (end > at)
			return delta == -128 ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, the lowest first; the seventh says that there are more. */
static unsigned int read_varint(const uint8_t *table, size_t bytes, size_t *at)
{
	unsigned int value = 0;

	for (unsigned int shift = 0; *at < bytes && shift < 30; shift += 6) {
		uint8_t byte = table[(*at)++];

		value |= (byte & 63U) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int read_signed(const uint8_t *table, size_t bytes, size_t *at)
{
	unsigned int value = read_varint(table, bytes, at);

	return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* An entry begins with a byte whose highest bit is set: four bits of kind, three of length - 1. */
static int64_t locations(const uint8_t *table, size_t bytes, int64_t line, uint64_t at)
{
	enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
	uint64_t end = 0;

	for (size_t i = 0; i < bytes;) {
		unsigned int kind = table[i] >> 3 & 15;

		end += ((table[i] & 7) + 1) * 2ULL;
		i++;
		if (kind == NO_COLUMNS || kind == LONG)
			line += read_signed(table, bytes, &i);
		else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
			line += (int)kind - ONE_LINE_0;
		if (end > at)
			return kind == NONE ? 0 : line;
		while (i < bytes && !(table[i] & 128))
			i++;
	}
	return 0;
}

int python_line(enum python_lines lines, const uint8_t *table, size_t bytes, int first_line,
		uint64_t at)
{
	int64_t line = 0;

	switch (lines) {
	case PYTHON_LNOTAB:
		line = lnotab(table, bytes, first_line, at);
		break;
	case PYTHON_LINETABLE:
		line = linetable(table, bytes, first_line, at);
		break;
	case PYTHON_LOCATIONS:
		line = locations(table, bytes, first_line, at);
		break;
	}
	return line > 0 && line <= INT_MAX ? (int)line : 0;
}
