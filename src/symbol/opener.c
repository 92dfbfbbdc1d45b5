// SPDX-License-Identifier: GPL-2.0-or-later
/* Who asks. */
#include "symbol/opener.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/helper.h"
#include "base/identities.h"
#include "symbol/opener_request.h"

/* By the reader, or else by ourselves. 0 or -errno. */
static int ask(struct opener_request *request, size_t text_bytes, void *reply, size_t *ret_length,
	       int *ret_fd)
{
	size_t length = offsetof(struct opener_request, text) + text_bytes;
	int result;

	request->text_bytes = (uint32_t)text_bytes;
	result = helper_request(request, length, reply, ret_length, ret_fd);
	if (!result)
		return opener_serve(request, length, reply, ret_length, ret_fd);
	return result < 0 ? result : 0;
}

/* What is read of a larger file takes more memory; of the same file, once. */
static void allow_for(int fd)
{
	static struct identities known;
	struct stat status;
	size_t count = known.count;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !status.st_blocks)
		return;
	/* the device is cut: two files at one place share their memory then */
	if (identities_add(&known, (uint32_t)status.st_dev, status.st_ino) == count)
		helper_allow_memory((uint64_t)status.st_blocks * 512);
}

static int ask_for_file(struct opener_request request, const void *text, size_t text_bytes)
{
	static uint8_t reply[HELPER_REPLY_BYTES];
	size_t length;
	int fd, result;

	if (text_bytes > PATH_MAX)
		return -ENAMETOOLONG;
	if (text_bytes)
		memcpy(request.text, text, text_bytes);
	result = ask(&request, text_bytes, reply, &length, &fd);
	return result < 0 ? result : fd < 0 ? -EIO : fd;
}

/* *ret_fd may be -1. 0 or -errno. */
static int ask_with_path(struct opener_request request, char path[OPENER_PATH_BYTES], int *ret_fd)
{
	static char reply[HELPER_REPLY_BYTES];
	size_t length;
	int result = ask(&request, 0, reply, &length, ret_fd);

	if (result < 0)
		return result;
	if (!length || length > OPENER_PATH_BYTES || reply[length - 1]) {
		cleanup_close_fd(ret_fd);
		return -EIO;
	}
	memcpy(path, reply, length);
	return 0;
}

/* A file that is read whole, and not only looked at. */
static int ask_for_object(struct opener_request request, char path[OPENER_PATH_BYTES])
{
	int fd, result = ask_with_path(request, path, &fd);

	if (result < 0 || fd < 0)
		return result < 0 ? result : -EIO;
	allow_for(fd);
	return fd;
}

static int allowed(int fd)
{
	if (fd >= 0)
		allow_for(fd);
	return fd;
}

int opener_maps(uint32_t pid, uint64_t time_ns)
{
	return ask_for_file(
		(struct opener_request){.kind = OPEN_MAPS, .pid = pid, .time_ns = time_ns}, NULL,
		0);
}

int opener_maps_differences(uint32_t pid, uint64_t from_ns, uint64_t time_ns)
{
	return ask_for_file((struct opener_request){.kind = OPEN_MAPS_DIFFERENCES,
						    .pid = pid,
						    .time_ns = time_ns,
						    .start = from_ns},
			    NULL, 0);
}

/* An answer of eight bytes; 0: there is none. */
static uint64_t ask_for_number(struct opener_request request)
{
	static uint8_t reply[HELPER_REPLY_BYTES];
	uint64_t number = 0;
	size_t length;
	int fd, result = ask(&request, 0, reply, &length, &fd);

	if (result == 0 && length == sizeof(number))
		memcpy(&number, reply, sizeof(number));
	return number;
}

struct opener_unchanged opener_unchanged(uint32_t pid, uint64_t time_ns)
{
	struct opener_request request = {.kind = READ_UNCHANGED, .pid = pid, .time_ns = time_ns};
	static uint8_t reply[HELPER_REPLY_BYTES];
	struct opener_unchanged unchanged = {0};
	size_t length;
	int fd, result = ask(&request, 0, reply, &length, &fd);

	if (result == 0 && length == sizeof(unchanged))
		memcpy(&unchanged, reply, sizeof(unchanged));
	return unchanged;
}

uint64_t opener_changed_groups(uint64_t since_ns, uint8_t ret_bits[OPENER_GROUPS / 8])
{
	struct opener_request request = {.kind = READ_CHANGED_GROUPS, .time_ns = since_ns};
	static uint8_t reply[HELPER_REPLY_BYTES];
	uint64_t until_ns = 0;
	size_t length;
	int fd, result = ask(&request, 0, reply, &length, &fd);

	if (result < 0 || length != sizeof(until_ns) + OPENER_GROUPS / 8)
		return 0;
	memcpy(&until_ns, reply, sizeof(until_ns));
	memcpy(ret_bits, reply + sizeof(until_ns), OPENER_GROUPS / 8);
	return until_ns;
}

int opener_kernel_symbols(void)
{
	return ask_for_file((struct opener_request){.kind = OPEN_KERNEL_SYMBOLS}, NULL, 0);
}

int opener_program(uint32_t pid, char path[OPENER_PATH_BYTES])
{
	return ask_for_object((struct opener_request){.kind = OPEN_PROGRAM, .pid = pid}, path);
}

/* Nothing is opened. 0 or -errno. */
static int ask_for_path(struct opener_request request, char path[OPENER_PATH_BYTES])
{
	int fd, result = ask_with_path(request, path, &fd);

	if (result >= 0)
		cleanup_close_fd(&fd);
	return result;
}

int opener_program_path(uint32_t pid, uint64_t time_ns, char path[OPENER_PATH_BYTES])
{
	return ask_for_path(
		(struct opener_request){.kind = READ_PROGRAM_PATH, .pid = pid, .time_ns = time_ns},
		path);
}

int opener_root_path(uint32_t pid, uint64_t time_ns, char path[OPENER_PATH_BYTES])
{
	return ask_for_path(
		(struct opener_request){.kind = READ_ROOT_PATH, .pid = pid, .time_ns = time_ns},
		path);
}

int opener_mapping(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end,
		   char path[OPENER_PATH_BYTES])
{
	return ask_for_object((struct opener_request){.kind = OPEN_MAPPING,
						      .pid = pid,
						      .time_ns = time_ns,
						      .start = start,
						      .end = end},
			      path);
}

int opener_jit_map(uint32_t pid)
{
	return ask_for_file((struct opener_request){.kind = OPEN_JIT_MAP, .pid = pid}, NULL, 0);
}

int opener_symbols(void)
{
	return allowed(ask_for_file((struct opener_request){.kind = OPEN_SYMBOLS}, NULL, 0));
}

static int ask_for_build(struct opener_request request, const char *build_id)
{
	return allowed(ask_for_file(request, build_id, strlen(build_id)));
}

int opener_debug_id(uint32_t pid, uint64_t time_ns, const char *build_id)
{
	return ask_for_build(
		(struct opener_request){.kind = OPEN_DEBUG_ID, .pid = pid, .time_ns = time_ns},
		build_id);
}

int opener_debuginfod(const char *build_id)
{
	return ask_for_build((struct opener_request){.kind = OPEN_DEBUGINFOD}, build_id);
}

int opener_debug_link(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end,
		      const char *name)
{
	return allowed(ask_for_file((struct opener_request){.kind = OPEN_DEBUG_LINK,
							    .pid = pid,
							    .time_ns = time_ns,
							    .start = start,
							    .end = end},
				    name, strlen(name)));
}

static size_t ask_for_memory(enum opener_kind kind, uint32_t tid, uint64_t address, void *into,
			     size_t bytes, uint64_t *switches)
{
	struct opener_request request = {.kind = kind,
					 .pid = tid,
					 .start = address,
					 .end = address + bytes,
					 .with_switches = switches != NULL};
	static struct opener_memory_reply reply;
	size_t length = 0, got;
	int fd;

	if (bytes > sizeof(reply.bytes) || ask(&request, 0, &reply, &length, &fd) < 0 ||
	    length < offsetof(struct opener_memory_reply, bytes))
		return 0;
	got = length - offsetof(struct opener_memory_reply, bytes);
	got = got < bytes ? got : bytes;
	memcpy(into, reply.bytes, got);
	if (switches)
		*switches = reply.switches;
	return got;
}

size_t opener_memory(uint32_t tid, uint64_t address, void *into, size_t bytes, uint64_t *switches)
{
	return ask_for_memory(READ_MEMORY, tid, address, into, bytes, switches);
}

size_t opener_stack(uint32_t tid, uint64_t address, void *into, size_t bytes, uint64_t *switches)
{
	return ask_for_memory(READ_STACK, tid, address, into, bytes, switches);
}

uint64_t opener_waits_at(uint32_t tid, uint64_t stack)
{
	return ask_for_number(
		(struct opener_request){.kind = READ_WAIT, .pid = tid, .start = stack});
}
