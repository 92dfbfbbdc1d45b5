// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

void words_add(struct words *words, const char *bytes, size_t length)
{
	if (words->used + length > WORDS_BYTES_MAX) {
		size_t drop = words->used < WORDS_BYTES_MAX / 2 ? words->used : WORDS_BYTES_MAX / 2;

		memmove(words->text, words->text + drop, words->used - drop);
		words->used -= drop;
		words->cut = true;
	}
	if (length > WORDS_BYTES_MAX / 2) {
		bytes += length - WORDS_BYTES_MAX / 2;
		length = WORDS_BYTES_MAX / 2;
		words->cut = true;
	}
	if (array_reserve(&words->text, &words->room, words->used + length + 1, 1) < 0) {
		words->cut = true;
		return;
	}
	memcpy(words->text + words->used, bytes, length);
	words->used += length;
	words->text[words->used] = '\0';
}

bool words_read(struct words *words, int fd)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(fd, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			words_add(words, bytes, (size_t)got);
	return got < 0 && errno == EAGAIN;
}

void words_release(struct words *words)
{
	free(words->text);
	*words = (struct words){.text = NULL};
}
