// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers of container engines: whole, cut, and with each byte changed. */
#include "test.h"

#include <errno.h>

#include "serve/container_answer.h"

static const char whole[] =
	"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
	"[{\"Id\":\"0123456789abcdef\",\"Names\":[\"/web\"]},{\"Id\":\"ba9876543210\",\"Names\":"
	"[\"/\\u001b[31m\\u00e4\",\"/other\"]}]\n";
#define LENGTH (sizeof(whole) - 1)

CASE(names_are_read_and_printable)
{
	struct container_name names[4];

	assert_int_equal(container_answer_read(whole, LENGTH, names, 4), 2);
	assert_string_equal(names[0].id, "0123456789ab");
	assert_string_equal(names[0].name, "web");
	assert_string_equal(names[1].name, "?[31m\xc3\xa4");
	assert_int_equal(container_answer_read(whole, LENGTH, names, 1), 1);
}

CASE(an_error_is_no_answer)
{
	static const char refused[] = "HTTP/1.1 403 Forbidden\r\n\r\n[]";
	struct container_name names[1];

	assert_int_equal(container_answer_read(refused, sizeof(refused) - 1, names, 1), -EPROTO);
}

static void assert_sound(const char *bytes, size_t length)
{
	/* exactly as long, so that a sanitizer sees what reads beyond */
	char *copy = malloc(length ? length : 1);
	struct container_name names[2];
	int count;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	count = container_answer_read(copy, length, names, 2);
	assert_true(count == -EBADMSG || count == -EPROTO || (count >= 0 && count <= 2));
	for (int i = 0; i < count; i++) {
		assert_int_equal(strlen(names[i].id), CONTAINER_ID_BYTES - 1);
		assert_true(*names[i].name);
		assert_true(memchr(names[i].name, '\0', sizeof(names[i].name)) != NULL);
	}
	free(copy);
}

CASE(what_is_cut_or_changed_is_bounded)
{
	static const char others[] = {'\0', '"', '\\', '{', '[', '\r', '9', '\xff'};
	char changed[LENGTH];

	for (size_t length = 0; length <= LENGTH; length++)
		assert_sound(whole, length);
	for (size_t at = 0; at < LENGTH; at++)
		for (size_t i = 0; i < sizeof(others); i++) {
			memcpy(changed, whole, LENGTH);
			changed[at] = others[i];
			assert_sound(changed, LENGTH);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_and_printable),
		cmocka_unit_test(an_error_is_no_answer),
		cmocka_unit_test(what_is_cut_or_changed_is_bounded),
	};

	return RUN(tests);
}
