// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as what a hostile guest sends: nothing may appear outside of the directory that was
 * asked for. So that the checksum is no wall, most of it is put into frames: a kind, two bytes of
 * length, a payload; kind 0 is sent as it is. '@' at the beginning of a name is that directory.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/incoming.h"

#define DEPTH 64

static char top[64], wanted[80], dump[80];
static struct pulled_files pulled;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	if (at->level)
		remove(path);
	return 0;
}

static void tidy_up(void)
{
	nftw(top, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
	rmdir(top);
}

static void make_places(void)
{
	snprintf(top, sizeof(top), "/tmp/dwell-fuzz-XXXXXX");
	if (!mkdtemp(top))
		abort();
	snprintf(wanted, sizeof(wanted), "%s/wanted", top);
	snprintf(dump, sizeof(dump), "%s/dump", wanted);
	if (pulled_files_add(&pulled, "/", wanted, true) < 0)
		abort();
	atexit(tidy_up);
}

/* In `top`, which is the working directory meanwhile, there is but the one that was asked for. */
static void check_places(void)
{
	DIR *directory = opendir(top);
	struct dirent *entry;

	if (!directory)
		abort();
	while ((entry = readdir(directory)))
		if (*entry->d_name != '.' && strcmp(entry->d_name, "wanted") != 0)
			abort();
	closedir(directory);
}

static void check_receiving(const struct receiving *receiving)
{
	size_t length = strlen(wanted);

	if (receiving->file.fd < 0)
		return;
	if (strncmp(receiving->path, wanted, length) != 0 || receiving->path[length] != '/' ||
	    strstr(receiving->path + length, "/.") || (receiving->mode & ~0777U))
		abort();
}

/* What frame_write() makes of it. */
static void send_frame(struct incoming *incoming, enum frame_kind kind, const char *payload,
		       size_t length)
{
	static char bytes[FRAME_BYTES_MAX + sizeof(struct frame_header)];
	int fd = memfd_create("frame", MFD_CLOEXEC);
	struct error error;
	ssize_t got;

	if (fd < 0 || frame_write(fd, kind, payload, length) < 0)
		abort();
	got = pread(fd, bytes, sizeof(bytes), 0);
	close(fd);
	if (got < 0 || incoming_take(incoming, QEMU_PORT, bytes, (size_t)got, &error) < 0)
		abort();
}

static void send_name(struct incoming *incoming, const char *payload, size_t length)
{
	static char made[sizeof(struct frame_file) + PATH_MAX * 2 + 65536];
	size_t head = sizeof(struct frame_file), used = head;

	if (length < head)
		return send_frame(incoming, FRAME_FILE, payload, length);
	memcpy(made, payload, head);
	payload += head;
	length -= head;
	if (length && *payload == '@') {
		memcpy(made + used, wanted, strlen(wanted));
		used += strlen(wanted);
		payload++;
		length--;
	}
	if (used + length > FRAME_BYTES_MAX)
		return;
	memcpy(made + used, payload, length);
	send_frame(incoming, FRAME_FILE, made, used + length);
	check_receiving(&incoming->receiving);
}

static void send_all(struct incoming *incoming, const char *at, size_t size)
{
	struct error error;

	while (size >= 3) {
		unsigned char kind = (unsigned char)*at;
		size_t length = (unsigned char)at[1] + 256U * (unsigned char)at[2];

		at += 3;
		size -= 3;
		if (length > size)
			length = size;
		if (!kind && length && incoming_take(incoming, QEMU_SERIAL, at, length, &error) < 0)
			abort();
		if (kind == FRAME_FILE)
			send_name(incoming, at, length);
		else if (kind)
			send_frame(incoming, kind, at, length);
		at += length;
		size -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct boot_options options = {.pulled = &pulled, .dump = dump, .dump_chosen = true};
	struct boot_result result = {.code = 0};
	struct incoming incoming = {.options = &options,
				    .result = &result,
				    .line = -1,
				    .signals = -1,
				    .dump = FILE_DRAFT_NONE,
				    .receiving = RECEIVING_NONE};
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (!*top)
		make_places();
	if (mkdir(wanted, 0700) < 0 || chdir(top) < 0)
		abort();
	incoming.fds[0] = incoming.fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	send_all(&incoming, (const char *)data, size);
	incoming_end(&incoming);
	close(incoming.fds[0]);
	check_places();
	if (fchdir(here) < 0)
		abort();
	close(here);
	nftw(top, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
	return 0;
}
