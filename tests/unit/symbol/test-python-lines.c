// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables that CPython 3.9, 3.10 and 3.12 made of one function, and what they say of its lines. */
#include "test.h"

#include "base/array.h"
#include "symbol/python.h"

struct line {
	uint64_t begin, end; /* bytes of code */
	int number;
};

static void assert_lines(enum python_lines lines, const uint8_t *table, size_t bytes,
			 const struct line *expected, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint64_t at = expected[i].begin; at < expected[i].end; at += 2)
			assert_int_equal(python_line(lines, table, bytes, 2, at),
					 expected[i].number);
}

/* The calls go back in lines as well as on. */
static const struct line of_3_9[] = {{0, 8, 4},	   {8, 10, 7},	 {10, 12, 8},  {12, 16, 6},
				     {16, 20, 10}, {20, 22, 11}, {22, 24, 12}, {24, 28, 11},
				     {28, 36, 13}, {36, 46, 14}, {46, 50, 17}};

CASE(lnotab)
{
	static const uint8_t table[] = {0, 2, 8, 3, 2,	 1, 2, 254, 4, 4,  4,
					1, 2, 1, 2, 255, 4, 2, 8,   1, 10, 3};

	assert_lines(PYTHON_LNOTAB, table, sizeof(table), of_3_9, ARRAY_SIZE(of_3_9));
}

CASE(linetable)
{
	static const uint8_t table[] = {8, 2, 2, 3, 2,	 1, 4, 254, 4, 4, 2,
					1, 2, 1, 4, 255, 8, 2, 10,  1, 4, 3};
	static const uint8_t without[] = {2, 1, 4, 128, 2, 1};

	assert_lines(PYTHON_LINETABLE, table, sizeof(table), of_3_9, ARRAY_SIZE(of_3_9));
	assert_int_equal(python_line(PYTHON_LINETABLE, without, sizeof(without), 2, 0), 3);
	assert_int_equal(python_line(PYTHON_LINETABLE, without, sizeof(without), 2, 4), 0);
	assert_int_equal(python_line(PYTHON_LINETABLE, without, sizeof(without), 2, 6), 4);
}

CASE(locations)
{
	static const uint8_t table[] = {128, 0,	 224, 8,   9, 136, 65,	137, 5,	  128, 65, 240, 6,
					0,   9,	 10,  216, 8, 9,   240, 5,   3,	  9,   6,  128, 65,
					241, 8,	 0,   8,   9, 216, 13,	14,  216, 13,  14, 241, 3,
					1,   14, 15,  136, 1, 224, 13,	14,  242, 0,   1,  5,	15,
					136, 1,	 216, 8,   9, 136, 81,	137, 6,	  137, 1,  240, 3,
					1,   5,	 15,  240, 8, 0,   12,	13,  128, 72};
	static const struct line expected[] = {
		{0, 2, 2},    {2, 12, 4},   {12, 14, 7},  {14, 16, 8},	{16, 20, 6},
		{20, 24, 10}, {24, 26, 11}, {26, 28, 12}, {28, 34, 11}, {34, 44, 13},
		{44, 56, 14}, {56, 58, 13}, {58, 62, 17}};

	assert_lines(PYTHON_LOCATIONS, table, sizeof(table), expected, ARRAY_SIZE(expected));
}

/* Of any bytes, some line or none. */
CASE(garbage)
{
	uint8_t table[64];

	for (unsigned int seed = 1; seed < 3000; seed++) {
		unsigned int value = seed;

		for (size_t i = 0; i < sizeof(table); i++)
			table[i] = (uint8_t)((value = value * 1103515245 + 12345) >> 16);
		for (int lines = PYTHON_LNOTAB; lines <= PYTHON_LOCATIONS; lines++)
			for (size_t bytes = 0; bytes <= sizeof(table); bytes += 7)
				python_line((enum python_lines)lines, table, bytes, 1, seed % 97);
	}
	for (int lines = PYTHON_LINETABLE; lines <= PYTHON_LOCATIONS; lines++)
		assert_int_equal(python_line((enum python_lines)lines, NULL, 0, 7, 0), 0);
	assert_int_equal(python_line(PYTHON_LNOTAB, NULL, 0, 7, 0), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab),
		cmocka_unit_test(linetable),
		cmocka_unit_test(locations),
		cmocka_unit_test(garbage),
	};

	return RUN(tests);
}
