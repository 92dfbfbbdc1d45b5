/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last that was said, a bounded length of it, as text. */
#ifndef DWELL_SCHEDULER_WORDS_H
#define DWELL_SCHEDULER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define WORDS_BYTES_MAX (256 * 1024)

struct words {
	char *text; /* ended by a NUL; NULL: nothing was said */
	size_t used, room;
	bool cut; /* the beginning is missing */
};

/* Without memory the new bytes are lost, and the words are cut. */
void words_add(struct words *words, const char *bytes, size_t length);

/* What can be read now of a descriptor that does not block. False: it has ended. */
bool words_read(struct words *words, int fd);

void words_release(struct words *words);

#endif
