// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH */
#include "symbol/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/helper.h"
#include "base/identities.h"
#include "base/inner_pid.h"
#include "symbol/build_id.h"
#include "symbol/debuginfod.h"
#include "symbol/foreign.h"
#include "symbol/map_events.h"
#include "symbol/map_history.h"
#include "symbol/mappings.h"
#include "symbol/thread_memory.h"

enum kind {
	OPEN_MAPS = 1,
	OPEN_KERNEL_SYMBOLS,
	OPEN_PROGRAM,
	READ_PROGRAM_PATH,
	OPEN_MAPPING,
	OPEN_JIT_MAP,
	OPEN_SYMBOLS,
	OPEN_DEBUG_ID,
	OPEN_DEBUG_LINK,
	OPEN_DEBUGINFOD,
	READ_MEMORY,
	READ_WAIT,
};

/* Cut off behind its text. */
struct request {
	uint32_t kind, pid; /* or tid */
	uint64_t time_ns;   /* when that was; 0: now */
	uint64_t start, end;
	uint32_t with_switches; /* of memory */
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

/* What processes had mapped; NULL: it is not known. */
static bool follows_processes;
static struct map_events *map_events;
static struct map_history *map_history;

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

/* The magic links of /proc lead to the file itself, even if another one has its name now. */
static int open_link(const char *link, uint32_t pid)
{
	int fd = open(link, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : foreign_reopen(fd, pid);
}

void opener_follow_processes(void)
{
	follows_processes = true;
}

int opener_watch(void)
{
	map_history = follows_processes ? map_history_new() : NULL;
	map_events = map_history ? map_events_open() : NULL;
	if (map_events)
		return map_events_descriptor(map_events);
	map_history_free(map_history);
	map_history = NULL;
	return -1;
}

void opener_tend(void)
{
	map_events_read(map_events, map_history);
}

/* Whether it is about what is no more: then the history has it, or nothing does. */
static bool is_past(const struct request *request)
{
	const struct timespec settling = {.tv_nsec = MAP_EVENTS_SETTLED_NS};

	if (!map_history || !request->time_ns)
		return false;
	if (clock_monotonic_ns() < request->time_ns + MAP_EVENTS_SETTLED_NS)
		nanosleep(&settling, NULL);
	map_events_read(map_events, map_history);
	return !map_history_is_now(map_history, request->pid, request->time_ns);
}

/* As map_history_now. */
static int read_maps_now(void *data, uint32_t pid, struct mappings *mappings)
{
	uint64_t time_ns = clock_monotonic_ns();
	char path[64];
	int result;

	(void)data;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	cleanup_file FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	result = mappings_read(mappings, file);
	map_events_read(map_events, map_history);
	return result < 0 || map_history_is_now(map_history, pid, time_ns) ? result : -ESRCH;
}

static int find_past(const struct request *request, struct mappings *ret_mappings)
{
	return map_history_find(map_history, request->pid, request->time_ns, read_maps_now, NULL,
				ret_mappings);
}

static int serve_past_maps(const struct request *request)
{
	cleanup_mappings struct mappings mappings = {0};
	int result = find_past(request, &mappings), fd, copy;

	if (result < 0)
		return result;
	fd = file_in_memory("maps");
	copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	cleanup_file FILE *file = copy < 0 ? NULL : fdopen(copy, "w");

	if (!file) {
		cleanup_close_fd(&fd);
		return -ENOMEM;
	}
	for (size_t i = 0; i < mappings.count; i++)
		mapping_write(&mappings.items[i], file);
	if (fflush(file) || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}

/* The file may be of a process that has begun a program since it was asked about. */
static int serve_maps(const struct request *request)
{
	int fd = is_past(request) ? -ESRCH : open_path("/proc/%" PRIu32 "/maps", request->pid);

	if (!map_history || !request->time_ns || (fd >= 0 && !is_past(request)))
		return fd;
	cleanup_close_fd(&fd);
	return serve_past_maps(request);
}

/* 0 or -errno. */
static int serve_program_path(const struct request *request, char *path)
{
	char link[64];
	ssize_t length;

	if (is_past(request)) {
		const char *program =
			map_history_program(map_history, request->pid, request->time_ns);

		if (!program)
			return -ENOENT;
		snprintf(path, OPENER_PATH_BYTES, "%s", program);
		return 0;
	}

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", request->pid);
	length = readlink(link, path, PATH_MAX);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	return 0;
}

static int serve_program(const struct request *request, char *path)
{
	char link[64];
	int result = serve_program_path(request, path);

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", request->pid);
	return result < 0 ? result : open_link(link, request->pid);
}

static void map_file_path(char path[OPENER_PATH_BYTES], const struct request *request)
{
	snprintf(path, OPENER_PATH_BYTES, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 request->pid, request->start, request->end);
}

/* What the kernel says of the mapping: the helper is not asked. 0 or -errno. */
static int read_mapping(const struct request *request, struct mapping *ret_mapping, char **line)
{
	size_t room = 0;
	int fd = serve_maps(request);

	if (fd < 0)
		return fd;
	cleanup_file FILE *file = file_reading(fd);

	if (!file)
		return -ENOMEM;
	while (getline(line, &room, file) > 0)
		if (mapping_parse(*line, ret_mapping) && ret_mapping->start == request->start &&
		    ret_mapping->end == request->end)
			return 0;
	return -ENOENT;
}

#define ANCESTORS_MAX 16

/* A process that sees what this one sees, or saw: itself, or the next of its parents. 0: none does.
 */
static uint32_t who_sees(const struct request *request)
{
	uint64_t time_ns = request->time_ns;
	uint32_t pid = request->pid;

	/* pids are used again: one may seem to be its own ancestor */
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (!map_history || !pid || map_history_is_now(map_history, pid, time_ns))
			return pid;
		pid = map_history_parent(map_history, pid, time_ns);
	}
	return 0;
}

/* By its name, as the process sees it: only if it is still the same file. */
static int serve_mapping_by_name(const struct request *request, char *path)
{
	cleanup_free char *line = NULL;
	struct mapping mapping;
	struct stat status;
	int result = read_mapping(request, &mapping, &line);
	uint32_t pid = request->time_ns ? who_sees(request) : request->pid;
	cleanup_close int root = result < 0 ? result : foreign_root(pid);
	int fd = root;

	if (root < 0)
		return root;
	fd = foreign_path(root, mapping.path, RESOLVE_IN_ROOT);
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0 || status.st_ino != mapping.inode ||
	    major(status.st_dev) != mapping.device >> 32 ||
	    minor(status.st_dev) != (uint32_t)mapping.device) {
		close(fd);
		return -ESTALE;
	}
	if (pid)
		snprintf(path, OPENER_PATH_BYTES, "/proc/%" PRIu32 "/root%s", pid, mapping.path);
	else
		snprintf(path, OPENER_PATH_BYTES, "%s", mapping.path);
	return foreign_reopen(fd, pid);
}

static int serve_mapping(const struct request *request, char *path)
{
	int fd;

	if (is_past(request))
		return serve_mapping_by_name(request, path);
	/* the file itself; needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE */
	map_file_path(path, request);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		return foreign_reopen(fd, request->pid);
	return errno == EPERM || errno == EACCES ? serve_mapping_by_name(request, path) : -errno;
}

/* In /tmp every user may put a file of that name. */
static int serve_jit_map(const struct request *request)
{
	char name[32];

	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", inner_pid(request->pid));
	return foreign_open_below(request->pid, "/tmp", name, 0, RESOLVE_NO_SYMLINKS);
}

#define DEBUG_DIRECTORY "/usr/lib/debug"

static int serve_debug_id(const struct request *request)
{
	char name[BUILD_ID_BYTES + 32];

	if (!build_id_is_sound(request->text))
		return -EINVAL;
	snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", request->text, request->text + 2);
	/* links in it lead to where packages put the file */
	return foreign_open_below(0, DEBUG_DIRECTORY, name, 0, 0);
}

/* A bare name, for what is mapped: where that lies is what the kernel says. */
static int serve_debug_link(const struct request *request)
{
	char directory[PATH_MAX + 32], name[NAME_MAX + 16];
	cleanup_free char *line = NULL;
	const char *text = request->text;
	struct mapping mapping;
	uint32_t pid = request->time_ns ? who_sees(request) : request->pid;
	char *beside, *slash;
	int fd, result;

	if (!*text || strchr(text, '/') || strlen(text) > NAME_MAX)
		return -EINVAL;
	result = read_mapping(request, &mapping, &line);
	if (result < 0)
		return result;
	beside = mapping.path;
	slash = strrchr(beside, '/');
	if (*beside != '/' || !slash)
		return -ENOENT;
	slash[slash == beside] = '\0';
	snprintf(directory, sizeof(directory), DEBUG_DIRECTORY "%s", beside);
	fd = foreign_open_below(0, directory, text, 0, RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		fd = foreign_open_below(pid, beside, text, RESOLVE_NO_SYMLINKS, 0);
	snprintf(name, sizeof(name), ".debug/%s", text);
	return fd < 0 ? foreign_open_below(pid, beside, name, RESOLVE_NO_SYMLINKS, 0) : fd;
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

/* `end` - `start` bytes; with the switches if they are asked for. How many were read. */
static size_t serve_memory(const struct request *request, struct memory_reply *reply)
{
	cleanup_memory struct thread_memory memory = thread_memory_open(request->pid);
	uint64_t bytes = request->end - request->start;
	size_t got;

	if (bytes > sizeof(reply->bytes))
		return 0;
	got = thread_memory_read(&memory, request->start, reply->bytes, bytes);
	reply->switches = request->with_switches ? switches_asleep(request->pid) : 0;
	return got;
}

/* As opener_waits_at(). Who may not read where it waits knows no more than that it does. */
static uint64_t serve_wait(const struct request *request)
{
	char path[32], text[256] = "";
	uint64_t stack = request->start;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/syscall", request->pid);
	cleanup_file FILE *file = fopen(path, "re");

	/* proc_pid_syscall(5): number, six arguments, stack pointer, address; or `running` */
	if (file && fgets(text, sizeof(text), file) &&
	    sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %" SCNx64, &stack) != 1)
		return 0;
	return stack == request->start ? switches_asleep(request->pid) : 0;
}

int opener_serve(const void *bytes, size_t length, void *reply, size_t *ret_length, int *ret_fd)
{
	static struct request request;
	bool with_path = false;
	uint64_t switches;
	int fd = -EINVAL;

	*ret_length = 0;
	*ret_fd = -1;
	if (length < offsetof(struct request, text) || length >= sizeof(request))
		return -EINVAL;
	memcpy(&request, bytes, length);
	((char *)&request)[length] = '\0';
	if (request.text_bytes != length - offsetof(struct request, text))
		return -EINVAL;
	switch (request.kind) {
	case OPEN_MAPS:
		fd = serve_maps(&request);
		break;
	case OPEN_KERNEL_SYMBOLS:
		fd = open_path("/proc/kallsyms");
		break;
	case OPEN_PROGRAM:
		fd = serve_program(&request, reply);
		with_path = true;
		break;
	case READ_PROGRAM_PATH:
		fd = serve_program_path(&request, reply);
		*ret_length = fd < 0 ? 0 : strlen(reply) + 1;
		return fd;
	case OPEN_MAPPING:
		fd = serve_mapping(&request, reply);
		with_path = true;
		break;
	case OPEN_JIT_MAP:
		fd = serve_jit_map(&request);
		break;
	case OPEN_SYMBOLS:
		fd = symbols_path ? open_path("%s", symbols_path) : -ENOENT;
		break;
	case OPEN_DEBUG_ID:
		fd = serve_debug_id(&request);
		break;
	case OPEN_DEBUG_LINK:
		fd = serve_debug_link(&request);
		break;
	case OPEN_DEBUGINFOD:
		fd = debuginfod_open(request.text);
		break;
	case READ_MEMORY:
		*ret_length = offsetof(struct memory_reply, bytes) + serve_memory(&request, reply);
		return 0;
	case READ_WAIT:
		*ret_length = sizeof(uint64_t);
		switches = serve_wait(&request);
		memcpy(reply, &switches, sizeof(switches));
		return 0;
	}
	if (fd < 0)
		return fd;
	*ret_length = with_path ? strlen(reply) + 1 : 0;
	*ret_fd = fd;
	return 0;
}

/* By the reader, or else by ourselves. 0 or -errno. */
static int ask(struct request *request, size_t text_bytes, void *reply, size_t *ret_length,
	       int *ret_fd)
{
	size_t length = offsetof(struct request, text) + text_bytes;
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

static int ask_for_file(struct request request, const void *text, size_t text_bytes)
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
static int ask_with_path(struct request request, char path[OPENER_PATH_BYTES], int *ret_fd)
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
static int ask_for_object(struct request request, char path[OPENER_PATH_BYTES])
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
	return ask_for_file((struct request){.kind = OPEN_MAPS, .pid = pid, .time_ns = time_ns},
			    NULL, 0);
}

int opener_kernel_symbols(void)
{
	return ask_for_file((struct request){.kind = OPEN_KERNEL_SYMBOLS}, NULL, 0);
}

int opener_program(uint32_t pid, char path[OPENER_PATH_BYTES])
{
	return ask_for_object((struct request){.kind = OPEN_PROGRAM, .pid = pid}, path);
}

int opener_program_path(uint32_t pid, uint64_t time_ns, char path[OPENER_PATH_BYTES])
{
	int fd, result = ask_with_path(
			(struct request){.kind = READ_PROGRAM_PATH, .pid = pid, .time_ns = time_ns},
			path, &fd);

	if (result >= 0)
		cleanup_close_fd(&fd);
	return result;
}

int opener_mapping(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end,
		   char path[OPENER_PATH_BYTES])
{
	return ask_for_object((struct request){.kind = OPEN_MAPPING,
					       .pid = pid,
					       .time_ns = time_ns,
					       .start = start,
					       .end = end},
			      path);
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
	return allowed(ask_for_file((struct request){.kind = OPEN_SYMBOLS}, NULL, 0));
}

static int ask_for_build(enum kind kind, const char *build_id)
{
	return allowed(ask_for_file((struct request){.kind = kind}, build_id, strlen(build_id)));
}

int opener_debug_id(const char *build_id)
{
	return ask_for_build(OPEN_DEBUG_ID, build_id);
}

int opener_debuginfod(const char *build_id)
{
	return ask_for_build(OPEN_DEBUGINFOD, build_id);
}

int opener_debug_link(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end,
		      const char *name)
{
	return allowed(ask_for_file((struct request){.kind = OPEN_DEBUG_LINK,
						     .pid = pid,
						     .time_ns = time_ns,
						     .start = start,
						     .end = end},
				    name, strlen(name)));
}

size_t opener_memory(uint32_t tid, uint64_t address, void *into, size_t bytes, uint64_t *switches)
{
	struct request request = {.kind = READ_MEMORY,
				  .pid = tid,
				  .start = address,
				  .end = address + bytes,
				  .with_switches = switches != NULL};
	static struct memory_reply reply;
	size_t length = 0, got;
	int fd;

	if (bytes > sizeof(reply.bytes) || ask(&request, 0, &reply, &length, &fd) < 0 ||
	    length < offsetof(struct memory_reply, bytes))
		return 0;
	got = length - offsetof(struct memory_reply, bytes);
	got = got < bytes ? got : bytes;
	memcpy(into, reply.bytes, got);
	if (switches)
		*switches = reply.switches;
	return got;
}

uint64_t opener_waits_at(uint32_t tid, uint64_t stack)
{
	struct request request = {.kind = READ_WAIT, .pid = tid, .start = stack};
	static uint8_t reply[HELPER_REPLY_BYTES];
	uint64_t switches = 0;
	size_t length;
	int fd, result = ask(&request, 0, reply, &length, &fd);

	if (result == 0 && length == sizeof(switches))
		memcpy(&switches, reply, sizeof(switches));
	return switches;
}
