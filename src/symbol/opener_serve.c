// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader: it opens what is asked for. */
#define _GNU_SOURCE /* O_PATH */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/inner_pid.h"
#include "base/proc_stat.h"
#include "symbol/build_id.h"
#include "symbol/debuginfod.h"
#include "symbol/foreign.h"
#include "symbol/mappings.h"
#include "symbol/opener_request.h"
#include "symbol/past_maps.h"
#include "symbol/thread_memory.h"

static const char *symbols_path; /* NULL: none is named */

void opener_allow_symbols(const char *path)
{
	symbols_path = path;
}

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

/* Its program is no more. */
static bool is_gone(const struct opener_request *request)
{
	return past_maps_has(request->pid, request->time_ns);
}

/* Nor is the map that it had then. */
static bool is_past(const struct opener_request *request)
{
	return is_gone(request) ||
	       (request->time_ns && past_maps_changed(request->pid, request->time_ns));
}

/* A process that sees what this one sees, or saw. 0: none does. */
static uint32_t who_sees(const struct opener_request *request)
{
	return request->time_ns ? past_maps_viewer(request->pid, request->time_ns) : request->pid;
}

/* The file may be of a process that has begun a program since it was asked about. */
static int serve_maps(const struct opener_request *request)
{
	int fd = is_past(request)
			 ? -ESRCH
			 : open_path("/proc/%" PRIu32 "/maps", proc_living_thread(request->pid));

	if (!past_maps_followed() || !request->time_ns || (fd >= 0 && !is_past(request)))
		return fd;
	cleanup_close_fd(&fd);
	return past_maps_open(request->pid, request->time_ns);
}

/* Of a thread by which /proc has it: "exe", "root". 0 or -errno. */
static int read_process_link(uint32_t pid, const char *name, char path[OPENER_PATH_BYTES])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/%s", proc_living_thread(pid), name);
	length = readlink(link, path, PATH_MAX);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	return 0;
}

/* 0 or -errno. */
static int serve_program_path(const struct opener_request *request, char *path)
{
	if (is_gone(request)) {
		const char *program = past_maps_program(request->pid, request->time_ns);

		if (!program)
			return -ENOENT;
		snprintf(path, OPENER_PATH_BYTES, "%s", program);
		return 0;
	}
	return read_process_link(request->pid, "exe", path);
}

/* 0 or -errno. */
static int serve_root_path(const struct opener_request *request, char *path)
{
	uint32_t pid = who_sees(request);

	return pid ? read_process_link(pid, "root", path) : -ESRCH;
}

static int serve_program(const struct opener_request *request, char *path)
{
	char link[64];
	int result = serve_program_path(request, path);

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", proc_living_thread(request->pid));
	return result < 0 ? result : open_link(link, request->pid);
}

static void map_file_path(char path[OPENER_PATH_BYTES], const struct opener_request *request)
{
	snprintf(path, OPENER_PATH_BYTES, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 proc_living_thread(request->pid), request->start, request->end);
}

/* What the kernel says of the mapping, or a part of it: the helper is not asked. 0 or -errno. */
static int read_mapping(const struct opener_request *request, struct mapping *ret_mapping,
			char **line)
{
	size_t room = 0;
	int fd = serve_maps(request);

	if (fd < 0)
		return fd;
	cleanup_file FILE *file = file_reading(fd);

	if (!file)
		return -ENOMEM;
	while (getline(line, &room, file) > 0)
		if (mapping_parse(*line, ret_mapping) && ret_mapping->start <= request->start &&
		    ret_mapping->end >= request->end)
			return 0;
	return -ENOENT;
}

/* To a clock tick, and what a file system's times are behind. */
#define START_SLACK_NS NS_PER_S

/* 0: it is not known. */
static uint64_t age_of_process(uint32_t pid)
{
	struct proc_stat process;

	return proc_stat_read(pid, pid, &process) ? clock_ns(CLOCK_BOOTTIME) - process.start_ns : 0;
}

static int64_t since(struct timespec then)
{
	return (int64_t)(clock_realtime_ns() -
			 ((uint64_t)then.tv_sec * NS_PER_S + (uint64_t)then.tv_nsec));
}

/* Since then, or, of one that is asked about as it is now, since the process began. */
static bool is_unchanged(const struct stat *file, const struct opener_request *request)
{
	uint64_t age_ns = request->time_ns ? clock_monotonic_ns() - request->time_ns
					   : age_of_process(request->pid);

	return age_ns && since(file->st_ctim) + (int64_t)START_SLACK_NS > (int64_t)age_ns;
}

/*
 * Where a filesystem has parts (subvolumes of btrfs, layers of overlayfs), a mapping shows the
 * device of the whole, and a file of another part may have the same inode number: one that has been
 * put in its place since is taken for another.
 */
static bool is_file_of(int fd, const struct mapping *mapping, const struct opener_request *request)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || status.st_ino != mapping->inode)
		return false;
	if (major(status.st_dev) == mapping->device >> 32 &&
	    minor(status.st_dev) == (uint32_t)mapping->device)
		return true;
	return foreign_is_on(fd, who_sees(request), mapping->device) &&
	       is_unchanged(&status, request);
}

/* By its name, as the process sees it: only if it is still the same file. */
static int serve_mapping_by_name(const struct opener_request *request, char *path)
{
	cleanup_free char *line = NULL;
	struct mapping mapping;
	int result = read_mapping(request, &mapping, &line);
	uint32_t pid = who_sees(request);
	cleanup_close int root = result < 0 ? result : foreign_root(pid);
	int fd = root;

	if (root < 0)
		return root;
	fd = foreign_path(root, mapping.path, RESOLVE_IN_ROOT);
	if (fd < 0)
		return fd;
	if (!is_file_of(fd, &mapping, request)) {
		close(fd);
		return -ESTALE;
	}
	if (pid)
		snprintf(path, OPENER_PATH_BYTES, "/proc/%" PRIu32 "/root%s",
			 proc_living_thread(pid), mapping.path);
	else
		snprintf(path, OPENER_PATH_BYTES, "%s", mapping.path);
	return foreign_reopen(fd, pid);
}

/* What the process has there now may be another file than it had then. */
static bool is_still_mapped(const struct opener_request *request, int fd)
{
	cleanup_free char *line = NULL;
	struct mapping mapping;

	return !is_past(request) ||
	       (read_mapping(request, &mapping, &line) >= 0 && is_file_of(fd, &mapping, request));
}

static int serve_mapping(const struct opener_request *request, char *path)
{
	int fd;

	if (is_gone(request))
		return serve_mapping_by_name(request, path);
	/* the file itself; needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE */
	map_file_path(path, request);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && is_still_mapped(request, fd))
		return foreign_reopen(fd, request->pid);
	if (fd >= 0 || is_past(request)) {
		cleanup_close_fd(&fd);
		return serve_mapping_by_name(request, path);
	}
	return errno == EPERM || errno == EACCES ? serve_mapping_by_name(request, path) : -errno;
}

/* Whether a file is of before the process began: of one that had its pid. */
static bool is_of_before(int fd, uint32_t pid)
{
	uint64_t age_ns = age_of_process(pid);
	struct stat file;

	return age_ns && !fstat(fd, &file) &&
	       since(file.st_mtim) > (int64_t)(age_ns + START_SLACK_NS);
}

/* In /tmp every user may put a file of that name, and programs leave theirs there. */
static int serve_jit_map(const struct opener_request *request)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", inner_pid(request->pid));
	fd = foreign_open_below(request->pid, "/tmp", name, 0, RESOLVE_NO_SYMLINKS);
	if (fd < 0 || !is_of_before(fd, request->pid))
		return fd;
	close(fd);
	return -ESTALE;
}

#define DEBUG_DIRECTORY "/usr/lib/debug"

static int serve_debug_id(const struct opener_request *request)
{
	char name[BUILD_ID_BYTES + 32];

	if (!build_id_is_sound(request->text))
		return -EINVAL;
	snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", request->text, request->text + 2);
	/* links in it lead to where packages put the file */
	return request->pid ? foreign_open_below(who_sees(request), DEBUG_DIRECTORY, name,
						 RESOLVE_NO_SYMLINKS, 0)
			    : foreign_open_below(0, DEBUG_DIRECTORY, name, 0, 0);
}

/* A bare name, for what is mapped: where that lies is what the kernel says. */
static int serve_debug_link(const struct opener_request *request)
{
	char directory[PATH_MAX + 32], name[NAME_MAX + 16];
	cleanup_free char *line = NULL;
	const char *text = request->text;
	struct mapping mapping;
	uint32_t pid = who_sees(request);
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

/* Of /proc/TID/status: 1.4 KiB here; it grows with the number of groups, CPUs and memory nodes. */
#define STATUS_BYTES (64 << 10)

/*
 * How often a thread that sleeps or is stopped has been switched, as /proc says; 0: it runs, or is
 * gone. The count changes when it leaves its CPU, so of one that runs it says nothing.
 */
static uint64_t switches_asleep(uint32_t tid)
{
	static const char *const counts[] = {"\nvoluntary_ctxt_switches:",
					     "\nnonvoluntary_ctxt_switches:"};
	char text[STATUS_BYTES], *found;
	uint64_t sum = 0;
	ssize_t got;

	snprintf(text, sizeof(text), "/proc/%" PRIu32 "/status", tid);
	cleanup_close int fd = open(text, O_RDONLY | O_CLOEXEC);

	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[got < 0 ? 0 : got] = '\0';
	/* the name is on the first line, and has no line ends: they are escaped */
	found = strstr(text, "\nState:\t");
	if (!found || !strchr("SDTt", found[strlen("\nState:\t")]))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		found = strstr(text, counts[i]);
		sum += found ? strtoull(found + strlen(counts[i]), NULL, 10) : 0;
	}
	return sum;
}

static size_t read_memory(uint32_t tid, const struct opener_request *request, void *into)
{
	cleanup_memory struct thread_memory memory = thread_memory_open(tid);

	return (request->kind == READ_STACK ? thread_memory_read_stack : thread_memory_read)(
		&memory, request->start, into, request->end - request->start);
}

/* `end` - `start` bytes; with the switches if they are asked for. How many were read. */
static size_t serve_memory(const struct opener_request *request, struct opener_memory_reply *reply)
{
	uint32_t other;
	size_t got;

	if (request->end - request->start > sizeof(reply->bytes))
		return 0;
	got = read_memory(request->pid, request, reply->bytes);
	/* asked about afterwards: most threads live, and stacks are many */
	other = got ? request->pid : proc_living_thread(request->pid);
	if (other != request->pid)
		got = read_memory(other, request, reply->bytes);
	reply->switches = request->with_switches ? switches_asleep(request->pid) : 0;
	return got;
}

/* As opener_waits_at(). Who may not read where it waits knows no more than that it does. */
static uint64_t serve_wait(const struct opener_request *request)
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
	static struct opener_request request;
	bool with_path = false;
	struct opener_unchanged unchanged;
	uint64_t switches; /* or another answer of eight bytes */
	int fd = -EINVAL;

	*ret_length = 0;
	*ret_fd = -1;
	if (length < offsetof(struct opener_request, text) || length >= sizeof(request))
		return -EINVAL;
	memcpy(&request, bytes, length);
	((char *)&request)[length] = '\0';
	if (request.text_bytes != length - offsetof(struct opener_request, text))
		return -EINVAL;
	switch (request.kind) {
	case OPEN_MAPS:
		fd = serve_maps(&request);
		break;
	case OPEN_MAPS_DIFFERENCES:
		fd = past_maps_open_differences(request.pid, request.start, request.time_ns);
		break;
	case OPEN_KERNEL_SYMBOLS:
		fd = open_path("/proc/kallsyms");
		break;
	case OPEN_PROGRAM:
		fd = serve_program(&request, reply);
		with_path = true;
		break;
	case READ_UNCHANGED:
		unchanged = past_maps_unchanged(request.pid, request.time_ns);
		memcpy(reply, &unchanged, sizeof(unchanged));
		*ret_length = sizeof(unchanged);
		return 0;
	case READ_CHANGED_GROUPS:
		switches = past_maps_groups(request.time_ns, (uint8_t *)reply + sizeof(switches));
		memcpy(reply, &switches, sizeof(switches));
		*ret_length = switches ? sizeof(switches) + OPENER_GROUPS / 8 : sizeof(switches);
		return 0;
	case READ_PROGRAM_PATH:
		fd = serve_program_path(&request, reply);
		*ret_length = fd < 0 ? 0 : strlen(reply) + 1;
		return fd;
	case READ_ROOT_PATH:
		fd = serve_root_path(&request, reply);
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
	case READ_STACK:
		*ret_length =
			offsetof(struct opener_memory_reply, bytes) + serve_memory(&request, reply);
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
