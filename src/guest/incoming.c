// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/incoming.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/text.h"
#include "scheduler/scheduler.h"

static void take_scheduler(struct incoming *incoming, const char *payload, size_t length)
{
	struct boot_result *result = incoming->result;
	struct frame_scheduler message;
	bool knew = result->scheduler == BOOT_SCHEDULER_DIED;
	char after[16];

	if (length != sizeof(message))
		return;
	memcpy(&message, payload, sizeof(message));
	message.reason[sizeof(message.reason) - 1] = '\0';
	result->scheduler = message.state == SCHEDULER_DIED	 ? BOOT_SCHEDULER_DIED
			    : message.state == SCHEDULER_STOPPED ? BOOT_SCHEDULER_STOPPED
								 : BOOT_SCHEDULER_ALIVE;
	result->scheduler_after_ns = message.after_ns;
	text_printable(result->scheduler_reason, sizeof(result->scheduler_reason), message.reason,
		       sizeof(result->scheduler_reason));
	if (knew || result->scheduler != BOOT_SCHEDULER_DIED || incoming->options->judged)
		return;
	duration_format(after, sizeof(after), message.after_ns);
	dprintf(incoming->fds[1], "dwell guest: %s: the scheduler died: %s\n", after,
		result->scheduler_reason);
}

static void note(struct incoming *incoming, const struct error *error)
{
	if (!*incoming->file_error.text)
		incoming->file_error = *error;
}

static int write_dump(struct incoming *incoming, const char *bytes, size_t length)
{
	struct file_draft *dump = &incoming->dump;
	int result = 0;

	/* a name that was asked for may be there from the last run; one that we chose is not */
	if (dump->fd < 0)
		result = file_draft_open(dump, AT_FDCWD, incoming->options->dump, 0666,
					 !incoming->options->dump_chosen);
	if (result >= 0 && incoming->dump_bytes + length > INCOMING_DUMP_MAX)
		return -EFBIG;
	incoming->dump_bytes += length;
	if (result >= 0)
		result = file_write(dump->fd, bytes, length);
	/* as far as it has come: the guest may die of what killed its scheduler */
	return result < 0 ? result : file_draft_keep(dump);
}

static void take_dump(struct incoming *incoming, const char *bytes, size_t length)
{
	struct error error;
	int result = write_dump(incoming, bytes, length);

	if (result >= 0) {
		incoming->result->dumped = true;
		return;
	}
	(void)error_set(&error, -result, "cannot write %s: %s", incoming->options->dump,
			strerror(-result));
	note(incoming, &error);
}

/* Until there is room for PIPE_BUF bytes. */
static int await_room(struct incoming *incoming, int fd, struct error *error)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT},
				{.fd = incoming->signals, .events = POLLIN}};
	int result = 0;

	while (result >= 0 && !fds[0].revents) {
		int count = await_ready(fds, ARRAY_SIZE(fds), incoming->give_up_ns ?: NO_DEADLINE);

		if (count < 0)
			return error_set(error, -count, "cannot wait: %s", strerror(-count));
		if (!count)
			return error_set(error, EINTR, "interrupted, and its output is not read");
		if (fds[1].revents)
			result = incoming->on_signal(incoming->data, error);
	}
	return result;
}

static int take_output(struct incoming *incoming, int fd, const char *bytes, size_t length,
		       struct error *error)
{
	while (length) {
		int result = await_room(incoming, fd, error);
		ssize_t written;

		if (result < 0)
			return result;
		written = write(fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
		incoming->result->unread |= written < 0 && errno == EPIPE;
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return error_set(error, errno, "cannot write what the command prints: %s",
					 strerror(errno));
		bytes += written > 0 ? written : 0;
		length -= written > 0 ? (size_t)written : 0;
	}
	incoming->heard_ns = clock_monotonic_ns();
	return 0;
}

/* One that another follows, or the command's end, before it was complete. */
static void note_cut(struct incoming *incoming)
{
	struct error error;

	if (receiving_cut(&incoming->receiving, &error) < 0)
		note(incoming, &error);
}

/* The command has ended meanwhile: what else there is to come back does. */
static void take_file(struct incoming *incoming, enum frame_kind kind, const char *payload,
		      size_t length)
{
	struct receiving *receiving = &incoming->receiving;
	struct error error = {""};
	bool begun = receiving->file.fd >= 0;
	int result;

	if (kind == FRAME_FILE) {
		note_cut(incoming);
		result = receiving_begin(receiving, incoming->options->pulled, payload, length,
					 &error);
	} else if (kind == FRAME_DATA) {
		result = receiving_take(receiving, payload, length, &error);
	} else {
		result = receiving_end(receiving, payload, length, &error);
	}
	incoming->result->files += kind == FRAME_FILE_END && begun && result >= 0;
	if (result < 0)
		note(incoming, &error);
}

static void take_ready(struct incoming *incoming, int line, const char *payload, size_t length)
{
	incoming->line = line;
	incoming->result->ready_ns = clock_monotonic_ns() - incoming->started_ns;
	snprintf(incoming->result->release, sizeof(incoming->result->release), "%.*s", (int)length,
		 payload);
}

static void take_exit(struct incoming *incoming, const char *payload, size_t length)
{
	int32_t code;

	if (length != sizeof(code))
		return;
	memcpy(&code, payload, sizeof(code));
	note_cut(incoming);
	incoming->result->code = code;
	incoming->result->ended = true;
	incoming->ended_ns = clock_monotonic_ns();
}

static int take_frame(struct incoming *incoming, int line, enum frame_kind kind,
		      const char *payload, size_t length, struct error *error)
{
	incoming->heard_ns = clock_monotonic_ns();
	switch (kind) {
	case FRAME_READY:
		take_ready(incoming, line, payload, length);
		break;
	case FRAME_OUT:
	case FRAME_ERROR:
		return take_output(incoming, incoming->fds[kind == FRAME_ERROR], payload, length,
				   error);
	case FRAME_EXIT:
		take_exit(incoming, payload, length);
		break;
	case FRAME_FAILED:
		snprintf(incoming->failed, sizeof(incoming->failed), "%.*s", (int)length, payload);
		break;
	case FRAME_SCHEDULER:
		take_scheduler(incoming, payload, length);
		break;
	case FRAME_DUMP:
		incoming->returned_ns = incoming->heard_ns;
		take_dump(incoming, payload, length);
		break;
	case FRAME_FILE:
	case FRAME_DATA:
	case FRAME_FILE_END:
		incoming->returned_ns = incoming->heard_ns;
		take_file(incoming, kind, payload, length);
		break;
	case FRAME_ALIVE:
	case FRAME_SIGNAL:
		break;
	}
	return 0;
}

int incoming_take(struct incoming *incoming, int line, const char *bytes, size_t length,
		  struct error *error)
{
	struct frame_reader *readers = incoming->readers, *reader = &readers[line - QEMU_SERIAL];
	enum frame_kind kind;
	const char *payload;
	int result = frame_feed(reader, bytes, length);

	if (result < 0)
		return error_set(error, ENOMEM, "out of memory");
	while (result >= 0 && !incoming->result->ended &&
	       frame_next(reader, &kind, &payload, &length))
		result = take_frame(incoming, line, kind, payload, length, error);
	incoming->result->damaged = readers[0].damaged + readers[1].damaged;
	return result;
}

void incoming_end(struct incoming *incoming)
{
	for (int i = 0; i < INCOMING_LINES; i++)
		frame_release(&incoming->readers[i]);
	receiving_abort(&incoming->receiving);
	file_draft_close(&incoming->dump);
}
