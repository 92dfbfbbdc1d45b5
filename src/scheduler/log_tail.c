// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/log_tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

void log_tail_add(struct log_tail *tail, const char *bytes, size_t length)
{
	if (tail->used + length > LOG_TAIL_BYTES_MAX) {
		size_t drop =
			tail->used < LOG_TAIL_BYTES_MAX / 2 ? tail->used : LOG_TAIL_BYTES_MAX / 2;

		memmove(tail->text, tail->text + drop, tail->used - drop);
		tail->used -= drop;
		tail->cut = true;
	}
	if (length > LOG_TAIL_BYTES_MAX / 2) {
		bytes += length - LOG_TAIL_BYTES_MAX / 2;
		length = LOG_TAIL_BYTES_MAX / 2;
		tail->cut = true;
	}
	if (array_reserve(&tail->text, &tail->room, tail->used + length + 1, 1) < 0) {
		tail->cut = true;
		return;
	}
	memcpy(tail->text + tail->used, bytes, length);
	tail->used += length;
	tail->text[tail->used] = '\0';
}

bool log_tail_read(struct log_tail *tail, int fd)
{
	char bytes[4096];
	size_t read_bytes = 0;
	ssize_t got = 1;

	while (read_bytes < LOG_TAIL_BYTES_MAX &&
	       ((got = read(fd, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR)))
		if (got > 0) {
			log_tail_add(tail, bytes, (size_t)got);
			read_bytes += (size_t)got;
		}
	return got > 0 || (got < 0 && errno == EAGAIN);
}

void log_tail_release(struct log_tail *tail)
{
	free(tail->text);
	*tail = (struct log_tail){.text = NULL};
}
