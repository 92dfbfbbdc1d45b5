// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "tui/background.h"

#define PARSE(text) background_parse(text, sizeof(text) - 1)

CASE(answers_of_terminals)
{
	assert_int_equal(PARSE("\033]11;rgb:ffff/ffff/ffff\033\\"), 1); /* xterm */
	assert_int_equal(PARSE("\033]11;rgb:0000/0000/0000\033\\"), 0);
	assert_int_equal(PARSE("\033]11;rgb:ff/ff/ff\a"), 1);
	assert_int_equal(PARSE("\033]11;rgb:00/00/00\a"), 0);
	assert_int_equal(PARSE("\033]11;rgb:f/f/f\a"), 1); /* XParseColor takes one to four */
	assert_int_equal(PARSE("\033]11;rgb:fff/fff/eee\a"), 1);
	assert_int_equal(PARSE("\033]11;rgb:1e1e/1e1e/1e1e\a"), 0);
	assert_int_equal(PARSE("\033]11;rgb:FDF6/E3E3/D5D5\a"), 1);
	/* see-through: rxvt, foot */
	assert_int_equal(PARSE("\033]11;rgba:ffff/ffff/ffff/8000\033\\"), 1);
	assert_int_equal(PARSE("\033]11;rgba:0000/0000/0000/ffff\033\\"), 0);
	/* among what was typed, and with the answer to the second question */
	assert_int_equal(PARSE("jk\033]11;rgb:ffff/ffff/ffff\033\\\033[?62;22cq"), 1);
}

static const char *typed(const char *answer, size_t length)
{
	static char text[sizeof(((struct typed_ahead *)0)->bytes) + 1];
	struct typed_ahead ahead;

	background_typed(&ahead, answer, length);
	memcpy(text, ahead.bytes, ahead.count);
	text[ahead.count] = '\0';
	return text;
}

#define TYPED(text) typed(text, sizeof(text) - 1)

CASE(what_was_typed_is_kept)
{
	static const char answer[] = "jk\033]11;rgb:ffff/ffff/ffff\033\\\033[?62;22cq";
	char many[1000];

	assert_string_equal(TYPED(answer), "jkq");
	assert_string_equal(TYPED("q"), "q");
	assert_string_equal(TYPED("\033]11;rgb:ff/ff/ff\aq\r"), "q\r");
	assert_string_equal(TYPED("\033[A\033[5~x\033[?1;2c"), "x");
	assert_string_equal(TYPED("a\0\303\244b"), "ab");
	assert_string_equal(TYPED("\033jqx"), "qx");
	assert_string_equal(TYPED("\033\033[Bq\033OPx"), "qx");
	/* what is cut short may be anything */
	for (size_t length = 0; length < sizeof(answer); length++)
		assert_true(strspn(typed(answer, length), "jkq\0") <= 3);
	memset(many, 'x', sizeof(many));
	assert_int_equal(strlen(typed(many, sizeof(many))), 64);
}

CASE(colours_are_as_light_as_they_look)
{
	assert_int_equal(PARSE("\033]11;rgb:ffff/0000/0000\a"), 0);
	assert_int_equal(PARSE("\033]11;rgb:0000/ffff/0000\a"), 1);
	assert_int_equal(PARSE("\033]11;rgb:0000/0000/ffff\a"), 0);
}

CASE(what_is_cut_short_says_nothing)
{
	static const char whole[] = "\033]11;rgb:ffff/ffff/ffff\a";

	for (size_t length = 0; length < sizeof(whole) - 2; length++)
		assert_int_equal(background_parse(whole, length), -1);
	assert_int_equal(background_parse(whole, sizeof(whole) - 1), 1);
}

CASE(hostile_bytes_say_nothing)
{
	unsigned int random = 1;

	assert_int_equal(PARSE(""), -1);
	assert_int_equal(PARSE("\033[?62;22c"), -1);
	assert_int_equal(PARSE("rgb:"), -1);
	assert_int_equal(PARSE("rgb:///\a"), -1);
	assert_int_equal(PARSE("rgb:zz/zz/zz\a"), -1);
	assert_int_equal(PARSE("rgb:-1/-1/-1\a"), -1);
	assert_int_equal(PARSE("rgb: f/ f/ f\a"), -1);
	assert_int_equal(PARSE("rgb:0x/0x/0x\a"), -1);
	assert_int_equal(PARSE("rgb:fffff/ffff/ffff\a"), -1);
	assert_int_equal(PARSE("rgb:ff\0ff/ffff/ffff\a"), -1);
	assert_int_equal(PARSE("\0\0\0\377\377\377"), -1);
	/* any bytes behind the beginning of an answer */
	for (int i = 0; i < 100000; i++) {
		static const char letters[] = "0f/rgba:\a\033\\\0\377";
		char answer[24] = "rgb:";
		size_t length = 4 + (unsigned int)i % 20;
		int light;

		for (size_t at = 4; at < length; at++) {
			random = random * 1103515245 + 12345;
			answer[at] = letters[(random >> 16) % (sizeof(letters) - 1)];
		}
		light = background_parse(answer, length);
		assert_true(light >= -1 && light <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(answers_of_terminals),
		cmocka_unit_test(what_was_typed_is_kept),
		cmocka_unit_test(colours_are_as_light_as_they_look),
		cmocka_unit_test(what_is_cut_short_says_nothing),
		cmocka_unit_test(hostile_bytes_say_nothing),
	};

	return RUN(cases);
}
