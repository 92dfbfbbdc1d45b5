// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a file of a queue of batches; what is taken for a batch is in it, whole. */
#include "harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "serve/push_queue.h"

#define QUEUE "https://engine.example/api/v1/write"

static char path[] = "/tmp/dwell-fuzz-queue-XXXXXX", name[48];
static int directory = -1;

static void tidy_up(void)
{
	unlinkat(directory, name, 0);
	rmdir(path);
}

static void begin(void)
{
	if (!mkdtemp(path))
		abort();
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof(name), "%016" PRIx64 "-%020d.batch", text_hash(QUEUE), 1);
	atexit(tidy_up);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct push_queue *queue = NULL;
	struct push_item item;
	struct error error;
	int fd;

	if (directory < 0)
		begin();
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	if (push_queue_open(&queue, directory, QUEUE, UINT64_MAX, &error) < 0)
		abort();
	if (push_queue_count(queue) != 1 || push_queue_bytes(queue) != size)
		abort();
	if (push_queue_first(queue, &item) > 0) {
		if (item.length >= size || memchr(item.query, '\0', sizeof(item.query)) == NULL ||
		    memcmp(item.bytes, data + size - item.length, item.length) != 0)
			abort();
		free(item.bytes);
		push_queue_remove(queue, item.id);
	}
	if (push_queue_count(queue) || push_queue_bytes(queue))
		abort();
	push_queue_close(queue);
	return 0;
}
