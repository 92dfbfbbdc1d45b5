// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strndupa */
#include "symbol/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/helper.h"
#include "symbol/thread_memory.h"

enum kind {
	OPEN_MAPS = 1,
	OPEN_KERNEL_SYMBOLS,
	OPEN_PROGRAM,
	OPEN_MAPPING,
	OPEN_JIT_MAP,
	OPEN_SYMBOLS,
	OPEN_DEBUG_ID,
	OPEN_DEBUG_LINK,
	READ_MEMORY,
};

/* Cut off behind its text. */
struct request {
	uint32_t kind, pid; /* or tid */
	uint64_t start, end, inode;
	uint32_t text_bytes;
	char text[PATH_MAX + 1];
};

struct memory_reply {
	uint64_t switches;
	uint8_t bytes[OPENER_MEMORY_BYTES];
};

_Static_assert(sizeof(struct memory_reply) <= HELPER_REPLY_BYTES &&
		       OPENER_PATH_BYTES <= HELPER_REPLY_BYTES &&
		       sizeof(struct request) <= HELPER_MESSAGE_BYTES,
	       "they fit into a message");

static const char *symbols_path; /* NULL: none is named */

/* Neither a pipe that blocks nor a terminal that becomes ours. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

__attribute__((format(printf, 1, 2))) static int open_path(const char *format, ...)
{
	char path[OPENER_PATH_BYTES];
	va_list arguments;
	int fd;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	fd = open(path, OPEN_FLAGS);
	return fd < 0 ? -errno : fd;
}

static int serve_program(const struct request *request, char *path)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", request->pid);
	length = readlink(link, path, PATH_MAX);
	path[length > 0 ? length : 0] = '\0';
	return open_path("%s", link);
}

/*
 * A filesystem that another user's program serves (FUSE): whoever opens a file there waits for that
 * program, and can't be killed meanwhile. Asked without asking it, by the attributes that the
 * kernel has. Mounts of a user namespace are no danger: they refuse us.
 */
static bool is_served_by_others(const char *path, uint32_t pid)
{
	char mounts[64], line[PATH_MAX + 1024];
	struct statx status;
	unsigned int owner;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0)
		return false;
	snprintf(mounts, sizeof(mounts), "/proc/%" PRIu32 "/mountinfo", pid);
	cleanup_file FILE *file = fopen(mounts, "re");

	/* proc_pid_mountinfo(5): 36 35 98:0 /root /point options … - type source options */
	while (file && fgets(line, sizeof(line), file)) {
		const char *end = strstr(line, " - "), *user = end ? strstr(end, "user_id=") : NULL;
		unsigned int major, minor;

		if (user && sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
		    major == status.stx_dev_major && minor == status.stx_dev_minor &&
		    !strncmp(end, " - fuse", 7) && sscanf(user, "user_id=%u", &owner) == 1)
			return owner && owner != geteuid();
	}
	return false;
}

static int serve_mapping(const struct request *request, char *path)
{
	struct stat status;
	int fd;

	/* the file itself; needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE */
	snprintf(path, OPENER_PATH_BYTES, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 request->pid, request->start, request->end);
	if (is_served_by_others(path, request->pid))
		return -EACCES;
	fd = open(path, OPEN_FLAGS);
	if (fd >= 0 || (errno != EPERM && errno != EACCES))
		return fd < 0 ? -errno : fd;
	/* by name, as the process sees it: only if it is still the same file */
	snprintf(path, OPENER_PATH_BYTES, "/proc/%" PRIu32 "/root%s", request->pid, request->text);
	fd = open(path, OPEN_FLAGS);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && status.st_ino == request->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Of the process's own user, or of root. */
static bool is_trusted(const struct stat *status, uint32_t pid)
{
	struct stat process;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return S_ISREG(status->st_mode) &&
	       (!status->st_uid || (!stat(path, &process) && process.st_uid == status->st_uid));
}

/* Its number in its own pid namespace, which names the file. */
static uint32_t inner_pid(uint32_t pid)
{
	char path[64], line[256];
	uint32_t inner = pid;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	cleanup_file FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		for (char *at = line + 6; *at;) {
			char *end;
			unsigned long number = strtoul(at, &end, 10);

			if (end == at)
				break;
			inner = (uint32_t)number;
			at = end;
		}
	}
	return inner;
}

/* In /tmp every user may put a file of that name. */
static int serve_jit_map(const struct request *request)
{
	struct stat status;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map",
		 request->pid, inner_pid(request->pid));
	fd = open(path, OPEN_FLAGS | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && is_trusted(&status, request->pid))
		return fd;
	close(fd);
	return -EACCES;
}

#define DEBUG_DIRECTORY "/usr/lib/debug"

/* `resolve`: RESOLVE_* of openat2(2). */
static int open_below(const char *directory, const char *name, uint64_t resolve)
{
	struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_BENEATH | resolve};
	cleanup_close int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long fd = at < 0 ? -1 : syscall(SYS_openat2, at, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* What the user of the process could not read, it cannot have us read. */
static int check_debug_file(int fd, uint32_t pid)
{
	struct stat status;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &status) && is_trusted(&status, pid) &&
	    (status.st_uid || status.st_mode & S_IROTH))
		return fd;
	close(fd);
	return -EACCES;
}

static int serve_debug_id(const struct request *request)
{
	static const char digits[] = "0123456789abcdef";
	char name[2 * 64 + 32] = ".build-id/";
	size_t used = strlen(name);
	int fd;

	if (request->text_bytes < 2 || request->text_bytes > 64)
		return -EINVAL;
	for (uint32_t i = 0; i < request->text_bytes; i++) {
		uint8_t byte = (uint8_t)request->text[i];

		name[used++] = digits[byte >> 4];
		name[used++] = digits[byte & 15];
		if (!i)
			name[used++] = '/';
	}
	snprintf(name + used, sizeof(name) - used, ".debug");
	/* links in it lead to where packages put the file */
	fd = open_below(DEBUG_DIRECTORY, name, 0);
	return check_debug_file(fd, request->pid);
}

/* A bare name, for what is mapped: where that lies is what the kernel says. */
static int serve_debug_link(const struct request *request)
{
	char link[96], beside[PATH_MAX], directory[2 * PATH_MAX + 64], name[NAME_MAX + 16];
	ssize_t length;
	char *slash;
	int fd;

	if (!*request->text || strchr(request->text, '/') || strlen(request->text) > NAME_MAX)
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 request->pid, request->start, request->end);
	length = readlink(link, beside, sizeof(beside) - 1);
	if (length < 0)
		return -errno;
	beside[length] = '\0';
	slash = strrchr(beside, '/');
	if (*beside != '/' || !slash)
		return -ENOENT;
	slash[slash == beside] = '\0';
	snprintf(directory, sizeof(directory), DEBUG_DIRECTORY "%s", beside);
	fd = check_debug_file(open_below(directory, request->text, RESOLVE_NO_SYMLINKS),
			      request->pid);
	if (fd >= 0)
		return fd;
	snprintf(directory, sizeof(directory), "/proc/%" PRIu32 "/root%s", request->pid, beside);
	fd = check_debug_file(open_below(directory, request->text, RESOLVE_NO_SYMLINKS),
			      request->pid);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), ".debug/%s", request->text);
	return check_debug_file(open_below(directory, name, RESOLVE_NO_SYMLINKS), request->pid);
}

/*
 * How often a thread that sleeps has been switched, as /proc says; 0: it runs, or is gone. The
 * count changes when it leaves its CPU, so of one that runs it says nothing.
 */
static uint64_t switches_asleep(uint32_t tid)
{
	char path[32], line[256], state = 'R';
	uint64_t sum = 0, number;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tid);
	cleanup_file FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		(void)!sscanf(line, "State: %c", &state);
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &number) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &number) == 1)
			sum += number;
	}
	return state == 'S' || state == 'D' ? sum : 0;
}

/* `end` - `start` bytes; with the switches if `inode` is set. How many were read. */
static size_t serve_memory(const struct request *request, struct memory_reply *reply)
{
	cleanup_memory struct thread_memory memory = thread_memory_open(request->pid);
	uint64_t bytes = request->end - request->start;
	size_t got;

	if (bytes > sizeof(reply->bytes))
		return 0;
	got = thread_memory_read(&memory, request->start, reply->bytes, bytes);
	reply->switches = request->inode ? switches_asleep(request->pid) : 0;
	return got;
}

int opener_serve(const void *bytes, size_t length, void *reply, size_t *ret_length)
{
	static struct request request;
	int fd = -EINVAL;

	*ret_length = 0;
	if (length < offsetof(struct request, text) || length >= sizeof(request))
		return -EINVAL;
	memcpy(&request, bytes, length);
	((char *)&request)[length] = '\0';
	if (request.text_bytes != length - offsetof(struct request, text))
		return -EINVAL;
	switch (request.kind) {
	case OPEN_MAPS:
		return open_path("/proc/%" PRIu32 "/maps", request.pid);
	case OPEN_KERNEL_SYMBOLS:
		return open_path("/proc/kallsyms");
	case OPEN_PROGRAM:
		fd = serve_program(&request, reply);
		break;
	case OPEN_MAPPING:
		fd = serve_mapping(&request, reply);
		break;
	case OPEN_JIT_MAP:
		return serve_jit_map(&request);
	case OPEN_SYMBOLS:
		return symbols_path ? open_path("%s", symbols_path) : -ENOENT;
	case OPEN_DEBUG_ID:
		return serve_debug_id(&request);
	case OPEN_DEBUG_LINK:
		return serve_debug_link(&request);
	case READ_MEMORY:
		*ret_length = offsetof(struct memory_reply, bytes) + serve_memory(&request, reply);
		return -1;
	}
	if (fd >= 0)
		*ret_length = strlen(reply) + 1;
	return fd;
}

/* By the reader, or else by ourselves. */
static int ask(struct request *request, size_t text_bytes, void *reply, size_t *ret_length)
{
	size_t length = offsetof(struct request, text) + text_bytes;
	int fd, result;

	request->text_bytes = (uint32_t)text_bytes;
	result = helper_request(request, length, reply, ret_length, &fd);
	if (!result)
		return opener_serve(request, length, reply, ret_length);
	return result < 0 ? result : fd;
}

/* What is read of a larger file takes more memory. */
static int admit(int fd)
{
	struct stat status;

	if (fd == -1)
		return -EIO;
	if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode))
		helper_allow_memory((uint64_t)status.st_blocks * 512);
	return fd;
}

static int ask_for_file(struct request request, const void *text, size_t text_bytes)
{
	uint8_t reply[HELPER_REPLY_BYTES];
	size_t length;

	if (text_bytes > PATH_MAX)
		return -ENAMETOOLONG;
	if (text_bytes)
		memcpy(request.text, text, text_bytes);
	return admit(ask(&request, text_bytes, reply, &length));
}

static int ask_with_path(struct request *request, const char *text, char path[OPENER_PATH_BYTES])
{
	char reply[HELPER_REPLY_BYTES];
	size_t length, text_bytes = strlen(text);
	int fd;

	if (text_bytes > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(request->text, text, text_bytes);
	fd = admit(ask(request, text_bytes, reply, &length));
	if (fd < 0)
		return fd;
	if (!length || length > OPENER_PATH_BYTES || reply[length - 1]) {
		close(fd);
		return -EIO;
	}
	memcpy(path, reply, length);
	return fd;
}

int opener_maps(uint32_t pid)
{
	return ask_for_file((struct request){.kind = OPEN_MAPS, .pid = pid}, NULL, 0);
}

int opener_kernel_symbols(void)
{
	return ask_for_file((struct request){.kind = OPEN_KERNEL_SYMBOLS}, NULL, 0);
}

int opener_program(uint32_t pid, char path[OPENER_PATH_BYTES])
{
	struct request request = {.kind = OPEN_PROGRAM, .pid = pid};

	return ask_with_path(&request, "", path);
}

int opener_mapping(uint32_t pid, uint64_t start, uint64_t end, const char *name, uint64_t inode,
		   char path[OPENER_PATH_BYTES])
{
	struct request request = {
		.kind = OPEN_MAPPING, .pid = pid, .start = start, .end = end, .inode = inode};

	return ask_with_path(&request, name, path);
}

int opener_jit_map(uint32_t pid)
{
	return ask_for_file((struct request){.kind = OPEN_JIT_MAP, .pid = pid}, NULL, 0);
}

void opener_allow_symbols(const char *path)
{
	symbols_path = path;
}

int opener_symbols(void)
{
	return ask_for_file((struct request){.kind = OPEN_SYMBOLS}, NULL, 0);
}

int opener_debug_id(const uint8_t *id, size_t length)
{
	return ask_for_file((struct request){.kind = OPEN_DEBUG_ID}, id, length);
}

int opener_debug_link(uint32_t pid, uint64_t start, uint64_t end, const char *name)
{
	return ask_for_file(
		(struct request){.kind = OPEN_DEBUG_LINK, .pid = pid, .start = start, .end = end},
		name, strlen(name));
}

size_t opener_memory(uint32_t tid, uint64_t address, void *into, size_t bytes, uint64_t *switches)
{
	struct request request = {.kind = READ_MEMORY,
				  .pid = tid,
				  .start = address,
				  .end = address + bytes,
				  .inode = switches != NULL};
	static struct memory_reply reply;
	size_t length = 0, got;

	if (bytes > sizeof(reply.bytes) || ask(&request, 0, &reply, &length) != -1 ||
	    length < offsetof(struct memory_reply, bytes))
		return 0;
	got = length - offsetof(struct memory_reply, bytes);
	got = got < bytes ? got : bytes;
	memcpy(into, reply.bytes, got);
	if (switches)
		*switches = reply.switches;
	return got;
}
