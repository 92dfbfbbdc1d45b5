// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "base/cleanup.h"
#include "serve/web_accept.h"

static const char *const gzip[] = {"gzip", "x-gzip", "*", NULL};

CASE(a_list_says_how_much_it_wants_what_it_names)
{
	static const struct {
		const char *list;
		int quality;
	} known[] = {
		{"gzip", 1000},
		{"GZip", 1000},
		{"deflate, gzip ,br", 1000},
		{"gzip;q=0.5", 500},
		{"gzip\t;\tQ=0.123", 123},
		{"gzip;q=1.000", 1000},
		{"gzip;q=0", 0},
		{"gzip; q=0", 0},
		{"gzip ; q=0.000, br", 0},
		{"gzip;q=0.001", 1},
		{"gzip;q=0.0015", 1},
		{"gzip;level=\"a;q=0,b\";q=0.2", 200},
		{"gzip;q=0.2, gzip;q=0.7, gzip;q=0.4", 700},
		{"br;q=0, gzip", 1000},
		{"*;q=0.3", 300},
		{"*, gzip;q=0", 0},
		{"x-gzip;q=0.4, *", 400},
		{"gzip;q=9", 1000},
		{"gzip;q=", 0},
		{"gzip;q=-1", 0},
		{"gzip;q=high", 0},
		{",, ,gzip", 1000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		int quality = web_accept_quality(known[i].list, gzip);

		if (quality != known[i].quality)
			fail_msg("%s: %d", known[i].list, quality);
	}
}

CASE(what_is_not_in_a_list_has_no_quality)
{
	static const char *const lists[] = {
		NULL,	     "",
		",",	     ";",
		";q=1",	     "x-gzip-foo",
		"gzipped",   "not gz",
		"g zip",     "br, deflate",
		"br;a=gzip", "\"",
		"br;a=\"\\", "br;a=\", gzip",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		assert_int_equal(web_accept_quality(lists[i], gzip), -1);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_list_says_how_much_it_wants_what_it_names),
		cmocka_unit_test(what_is_not_in_a_list_has_no_quality),
	};

	return RUN(cases);
}
