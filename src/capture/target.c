// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/kernel_text.h"
#include "base/output.h"
#include "base/proc_stat.h"
#include "base/similar.h"
#include "base/text.h"
#include "capture/cgroup.h"
#include "capture/own_proc.h"
#include "capture/proc_threads.h"

/* include/uapi/linux/pidfd.h, 6.9 on */
#define PIDFD_THREAD O_EXCL

/* Held from the moment it is named: a reused id cannot stand in for it. */
static int add(struct targets *targets, uint32_t id, enum target_kind kind, int pidfd,
	       struct error *error)
{
	for (unsigned int i = 0; i < targets->count; i++) {
		if (targets->items[i].id == id && targets->items[i].kind == kind) {
			close(pidfd);
			return 0;
		}
	}
	if (targets->count == MAX_TARGETS) {
		close(pidfd);
		return error_set(error, E2BIG, "more than %d targets", MAX_TARGETS);
	}
	targets->items[targets->count++] = (struct target){.id = id, .kind = kind, .pidfd = pidfd};
	return 0;
}

/* A process that is there all the same: what the call says of the caller. */
static bool is_refusal(int code)
{
	return code == EPERM || code == EACCES || code == ENOSYS || code == EMFILE ||
	       code == ENFILE;
}

static int refuse_to_hold(uint32_t id, int code, struct error *error)
{
	return error_set(error, code, "cannot hold on to %u: pidfd_open: %s%s", id, strerror(code),
			 code == EMFILE || code == ENFILE ? ""
							  : " (a seccomp filter may refuse it)");
}

int targets_add_process(struct targets *targets, uint32_t pid, struct error *error)
{
	uint32_t leader;
	int pidfd, result = own_proc_check(OWN_PROC, error);

	if (result < 0)
		return result;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0)
		return add(targets, pid, TARGET_PROCESS, pidfd, error);
	if (is_refusal(errno))
		return refuse_to_hold(pid, errno, error);
	leader = proc_process_of(pid);
	if (leader && leader != pid)
		return error_set(error, ESRCH,
				 "%u is a thread of process %u: -p %u watches all of it (-t %u the "
				 "thread alone, in top, record and profile)",
				 pid, leader, leader, pid);
	return error_set(error, ESRCH, "no such process: %u", pid);
}

static int targets_add_thread(struct targets *targets, uint32_t tid, struct error *error)
{
	uint32_t pid;
	int pidfd, result = own_proc_check(OWN_PROC, error);

	if (result < 0)
		return result;
	pid = proc_process_of(tid);
	pidfd = pid ? (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD) : -1;
	if (pid && pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid && pidfd < 0 && is_refusal(errno))
		return refuse_to_hold(tid, errno, error);
	if (pidfd < 0)
		return error_set(error, ESRCH, "no such thread: %u", tid);
	return add(targets, tid, TARGET_THREAD, pidfd, error);
}

int targets_parse(struct targets *targets, const char *list, enum target_kind kind,
		  struct error *error)
{
	const char *at = list;

	do {
		unsigned long id;
		char *end;
		int result;

		errno = 0;
		id = strtoul(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno || !id || id > INT_MAX ||
		    (*end && *end != ','))
			return error_set(error, EINVAL,
					 "bad id list '%s': use ids with commas, from 1 to "
					 "2147483647, as 12,34",
					 list);
		result = kind == TARGET_PROCESS ? targets_add_process(targets, (uint32_t)id, error)
						: targets_add_thread(targets, (uint32_t)id, error);
		if (result < 0)
			return result;
		at = *end ? end + 1 : end;
		if (*end && !*at)
			return error_set(error, EINVAL, "bad id list '%s': it ends with a comma",
					 list);
	} while (*at);
	return 0;
}

enum match {
	MATCH_NONE,
	MATCH_PATTERN,
	MATCH_EXACT,
};

static enum match match_text(const char *text, const char *name)
{
	if (!strcmp(text, name))
		return MATCH_EXACT;
	return strpbrk(name, "*?[") && !fnmatch(name, text, 0) ? MATCH_PATTERN : MATCH_NONE;
}

bool target_process_name(uint32_t pid, char comm[TARGET_NAME_BYTES])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	return kernel_line(path, comm, TARGET_NAME_BYTES);
}

/* Also says what the process is called, for a list of candidates. */
static enum match match_process(uint32_t pid, const char *name, char comm[TARGET_NAME_BYTES])
{
	char path[64], link[PATH_MAX];
	enum match match = MATCH_NONE, by_program;
	ssize_t length;
	char *base;

	if (target_process_name(pid, comm))
		match = match_text(comm, name);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", proc_living_thread(pid));
	length = readlink(path, link, sizeof(link) - 1);
	if (length <= 0)
		return match;
	link[length] = '\0';
	base = strrchr(link, '/');
	base = base ? base + 1 : link;
	if (length > 10 && !strcmp(link + length - 10, " (deleted)"))
		link[length - 10] = '\0';
	by_program = match_text(base, name);
	return by_program > match ? by_program : match;
}

/* Dead, with all its threads, and perhaps not yet waited for by its parent. */
static bool is_dead(uint32_t pid)
{
	uint32_t tid = proc_living_thread(pid);
	struct proc_stat stat;

	return !proc_stat_read(pid, tid, &stat) || stat.state == 'Z';
}

#define LISTED 8

struct candidates {
	uint32_t *pids;
	size_t room;
	char comms[LISTED][TARGET_NAME_BYTES];
	unsigned int count;
	enum match match;
	char similar[TARGET_NAME_BYTES]; /* a name that may have been meant; "": none */
	size_t distance;
};

static void note_similar(struct candidates *found, const char *name, const char *comm)
{
	struct similar similar = {.wanted = name};

	similar_try(&similar, comm);
	if (!similar.best || (*found->similar && similar.distance >= found->distance))
		return;
	found->distance = similar.distance;
	text_printable(found->similar, sizeof(found->similar), comm, 15);
}

static int find_candidates(const char *name, struct candidates *found)
{
	cleanup_dir DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		char comm[TARGET_NAME_BYTES];
		enum match match;

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == (uint32_t)getpid())
			continue;
		match = match_process(pid, name, comm);
		if (match == MATCH_NONE)
			note_similar(found, name, comm);
		if (match < found->match || match == MATCH_NONE || is_dead(pid))
			continue;
		if (match > found->match)
			found->count = 0;
		found->match = match;
		if (array_reserve(&found->pids, &found->room, found->count + 1,
				  sizeof(*found->pids)) < 0)
			return -ENOMEM;
		if (found->count < LISTED)
			text_printable(found->comms[found->count], sizeof(found->comms[0]), comm,
				       15);
		found->pids[found->count++] = pid;
	}
	return 0;
}

static void release_candidates(struct candidates *found)
{
	free(found->pids);
}

#define GENERATIONS 64

/* The oldest of the processes that are forked from each other, with no exec() in between. */
static uint32_t first_of_forked(uint32_t pid, uint64_t *ret_stack_start)
{
	struct proc_stat stat, parent;

	*ret_stack_start = 0;
	if (!proc_stat_read(pid, pid, &stat) || !stat.stack_start)
		return pid;
	*ret_stack_start = stat.stack_start;
	for (int i = 0; i < GENERATIONS; i++) {
		if (!proc_stat_read(stat.parent_pid, stat.parent_pid, &parent) ||
		    parent.stack_start != stat.stack_start)
			break;
		pid = stat.parent_pid;
		stat = parent;
	}
	return pid;
}

/* The candidate that has forked all others; 0: none. */
static uint32_t forked_all(const struct candidates *found, const char *name)
{
	char comm[TARGET_NAME_BYTES];
	uint64_t stack_start, others;
	uint32_t first = first_of_forked(found->pids[0], &stack_start);

	if (!stack_start || match_process(first, name, comm) == MATCH_NONE)
		return 0;
	for (unsigned int i = 1; i < found->count; i++)
		if (first_of_forked(found->pids[i], &others) != first || others != stack_start)
			return 0;
	return first;
}

/* Those of a pattern, with what their workers will fork; what has ended meanwhile is left out. */
static int add_all(struct targets *targets, const struct candidates *found, struct error *error)
{
	uint64_t stack_start;
	int result = 0;

	for (unsigned int i = 0; i < found->count; i++) {
		result = targets_add_process(targets, found->pids[i], error);
		if (result < 0 && result != -ESRCH)
			return result;
		if (first_of_forked(found->pids[i], &stack_start) != found->pids[i])
			targets->children = true;
	}
	return targets->count ? 0 : result;
}

int targets_add_name(struct targets *targets, const char *name, struct error *error)
{
	cleanup(release_candidates) struct candidates found = {0};
	uint32_t first;
	int result = own_proc_check(OWN_PROC, error);
	char list[480] = "", pids[128] = "";
	char shown[64];

	if (result < 0)
		return result;
	text_printable(shown, sizeof(shown), name, 40);
	if (!*name)
		return error_set(error, EINVAL, "empty process name");
	if (find_candidates(name, &found) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (!found.count) {
		struct similar similar = {.best = *found.similar ? found.similar : NULL};

		return similar_error(error, ESRCH, &similar, "", "no process named '%s'", shown);
	}
	if (found.count == 1)
		return targets_add_process(targets, found.pids[0], error);
	first = targets->forked_are_one ? forked_all(&found, name) : 0;
	if (first) {
		targets->children = true;
		return targets_add_process(targets, first, error);
	}
	if (targets->forked_are_one && found.match == MATCH_PATTERN)
		return add_all(targets, &found, error);
	for (unsigned int i = 0; i < found.count && i < LISTED; i++) {
		size_t used = strlen(list), pids_used = strlen(pids);

		snprintf(list + used, sizeof(list) - used, "%s%u (%s)", i ? ", " : "",
			 found.pids[i], found.comms[i]);
		snprintf(pids + pids_used, sizeof(pids) - pids_used, "%s%u", i ? "," : "",
			 found.pids[i]);
	}
	if (found.count > LISTED)
		snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), ",…");
	/* where they are not one, they cannot be watched together either */
	return error_set(error, EEXIST, "%u processes match '%s': %s%s; choose %s%s", found.count,
			 shown, list, found.count > LISTED ? ", …" : "",
			 targets->forked_are_one ? "with -p " : "one with -p",
			 targets->forked_are_one ? pids : "");
}

int targets_set_cgroup(struct targets *targets, const char *path, struct error *error)
{
	struct cgroup_location location;
	int result;

	/* as an unset variable of a script is: not the whole machine by mistake */
	if (!*path)
		return error_set(error, EINVAL, "empty path of a cgroup: / is the root");
	result = cgroup_locate(path, &location, error);
	if (result < 0)
		return result;
	free(targets->cgroup_path);
	targets->cgroup_path = strdup(path);
	if (!targets->cgroup_path)
		return error_set(error, ENOMEM, "out of memory");
	targets->cgroup_id = location.id;
	targets->cgroup_level = location.level;
	targets->cgroup_is_below_root = location.is_below_root;
	return 0;
}

bool targets_follow_cgroup(struct targets *targets)
{
	struct cgroup_location location;

	/* at another depth, as behind a link, the hooks would not look for it */
	if (!targets->cgroup_path || cgroup_locate(targets->cgroup_path, &location, NULL) < 0 ||
	    location.id == targets->cgroup_id || location.level != targets->cgroup_level)
		return false;
	targets->cgroup_id = location.id;
	return true;
}

int targets_watch(struct targets *targets)
{
	targets->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (targets->watch_fd < 0) {
		targets->watch_fd = 0;
		return -errno;
	}
	targets->alive = targets->count;
	for (unsigned int i = 0; i < targets->count; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = i};

		if (epoll_ctl(targets->watch_fd, EPOLL_CTL_ADD, targets->items[i].pidfd, &event) <
		    0)
			return -errno;
	}
	return targets->watch_fd;
}

unsigned int targets_alive(struct targets *targets)
{
	struct epoll_event event;

	/* each is reported once */
	while (targets->alive && epoll_wait(targets->watch_fd, &event, 1, 0) == 1)
		targets->alive--;
	return targets->alive;
}

bool target_has_ended(const struct target *target)
{
	struct pollfd ended = {.fd = target->pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 1;
}

void targets_release(struct targets *targets)
{
	if (targets->watch_fd > 0)
		close(targets->watch_fd);
	targets->watch_fd = 0;
	for (unsigned int i = 0; i < targets->count; i++)
		close(targets->items[i].pidfd);
	targets->count = 0;
	free(targets->cgroup_path);
	targets->cgroup_path = NULL;
}
