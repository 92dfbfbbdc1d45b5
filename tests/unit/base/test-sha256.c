// SPDX-License-Identifier: GPL-2.0-or-later
/* SHA-256 as NIST publishes it, whatever the pieces. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sha256.h"

#define MILLION 1000000

static void assert_sum(const char *bytes, size_t length, size_t piece, const char *wanted)
{
	char text[SHA256_TEXT];
	struct sha256 sum;

	sha256_begin(&sum);
	for (size_t at = 0; at < length; at += piece)
		sha256_add(&sum, bytes + at, length - at < piece ? length - at : piece);
	sha256_end(&sum, text);
	assert_string_equal(text, wanted);
}

/* https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values */
CASE(published_sums_are_the_same)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char *many = malloc(MILLION);

	assert_non_null(many);
	memset(many, 'a', MILLION);
	assert_sum("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	for (size_t piece = 1; piece < 70; piece++) {
		assert_sum("abc", 3, piece,
			   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
		assert_sum(two_blocks, sizeof(two_blocks) - 1, piece,
			   "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	}
	assert_sum(many, MILLION, 777,
		   "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(many);
}

CASE(a_file_has_that_of_its_bytes)
{
	char path[] = "/tmp/dwell-sha256-XXXXXX", text[SHA256_TEXT];
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, "abc", 3) == 3);
	close(fd);
	assert_int_equal(sha256_file(path, text), 0);
	assert_string_equal(text,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	unlink(path);
	assert_int_equal(sha256_file(path, text), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(sha256_file("/tmp", text), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(published_sums_are_the_same),
		cmocka_unit_test(a_file_has_that_of_its_bytes),
	};

	return RUN(cases);
}
