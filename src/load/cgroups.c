// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "load/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/await.h"
#include "base/clock.h"
#include "base/mount.h"
#include "base/own_limits.h"
#include "load/cgroup_write.h"
#include "load/owner.h"

#define WAIT_NS	 2000000000ULL
#define RETRY_MS 100
#define RETRIES	 3

static int make_root(struct cgroups *cgroups, const char *parent, struct error *error)
{
	char *path, name[OWNER_NAME_BYTES];

	owner_name(name);
	if (asprintf(&path, "%s/%s", parent, name) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (mkdir(path, 0755) < 0) {
		error_set(error, errno, "cannot make the cgroup %s: %s%s", path, strerror(errno),
			  errno == EACCES || errno == EROFS
				  ? "; run as root, or give a directory that is delegated to you: "
				    "--cgroup-root DIR"
				  : "");
		free(path);
		return -EACCES;
	}
	cgroups->root = path;
	return 0;
}

static void remove_orphan(const struct orphan *orphan)
{
	cgroups_remove_tree(orphan->path);
}

void cgroups_sweep(const char *parent)
{
	char mount[PATH_MAX];

	if (parent || mount_find("cgroup2", NULL, mount, sizeof(mount)))
		owner_sweep(parent ? parent : mount, remove_orphan);
}

int cgroups_init(struct cgroups *cgroups, const char *parent, struct error *error)
{
	char mount[PATH_MAX];

	*cgroups = (struct cgroups){.mount = NULL};
	if (!mount_find("cgroup2", NULL, mount, sizeof(mount)))
		return error_set(error, ENOENT,
				 "cgroup v2 is not mounted: mount -t cgroup2 none /sys/fs/cgroup");
	if (parent && (strncmp(parent, mount, strlen(mount)) != 0 ||
		       (parent[strlen(mount)] && parent[strlen(mount)] != '/')))
		return error_set(error, EINVAL,
				 "%s is not a directory of the cgroup v2 tree, which is at %s",
				 parent, mount);
	cgroups->mount = strdup(mount);
	if (!cgroups->mount)
		return error_set(error, ENOMEM, "out of memory");
	if (!parent)
		parent = cgroups->mount;
	return make_root(cgroups, parent, error);
}

uint64_t cgroups_throttled_ns(const struct cgroups *cgroups)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%s", cgroups->root);
	*strrchr(above, '/') = '\0';
	return own_throttled_ns_at(cgroups->mount, above + strlen(cgroups->mount));
}

static void path_of(char into[PATH_MAX], const struct cgroups *cgroups, const char *name,
		    const char *file)
{
	snprintf(into, PATH_MAX, "%s%s%s%s%s", cgroups->root, *name ? "/" : "", name,
		 *file ? "/" : "", file);
}

static bool has_word(const char *directory, const char *file, const char *word)
{
	char path[PATH_MAX], name[64];
	cleanup_file FILE *list = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, file) >= sizeof(path))
		return false;
	list = fopen(path, "re");
	while (list && fscanf(list, "%63s", name) == 1)
		if (!strcmp(name, word))
			return true;
	return false;
}

/* Why a controller is not there, and what to do. */
static int explain_missing(const char *mount, const char *controller, const char *what,
			   struct error *error)
{
	char v1[PATH_MAX];

	if (mount_find("cgroup", controller, v1, sizeof(v1)))
		return error_set(
			error, ENOTSUP,
			"%s needs the cgroup v2 controller '%s', which is bound to cgroup v1 "
			"at %s here: boot with cgroup_no_v1=all, or use a virtual "
			"machine",
			what, controller, v1);
	return error_set(error, ENOTSUP,
			 "%s needs the cgroup v2 controller '%s', which %s does not have: is it in "
			 "%s/cgroup.controllers?",
			 what, controller, mount, mount);
}

/* In `directory`, and in all above it; what was switched on outside our own tree is noted. */
static int enable_in(struct cgroups *cgroups, const char *directory, const char *controller,
		     const char *what, struct error *error)
{
	char path[PATH_MAX], text[64];
	int result;

	if (has_word(directory, "cgroup.subtree_control", controller))
		return 0;
	if (!has_word(directory, "cgroup.controllers", controller)) {
		char above[PATH_MAX];

		snprintf(above, sizeof(above), "%s", directory);
		if (strlen(directory) <= strlen(cgroups->mount))
			return explain_missing(cgroups->mount, controller, what, error);
		*strrchr(above, '/') = '\0';
		result = enable_in(cgroups, above, controller, what, error);
		if (result < 0)
			return result;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", directory) >=
	    sizeof(path))
		return error_set(error, ENAMETOOLONG, "%s: the name is too long", directory);
	snprintf(text, sizeof(text), "+%s", controller);
	result = cgroup_write(path, text, error);
	if (result == -EBUSY)
		return error_set(error, EBUSY,
				 "%s: %s has processes of its own, and cgroup v2 gives controllers "
				 "only to those that have none: put the work into nested cgroups",
				 what, directory);
	if (result < 0)
		return error_wrap(error, result, "%s", what);
	/* our own go with us */
	if (strncmp(directory, cgroups->root, strlen(cgroups->root)) != 0 &&
	    !array_reserve(&cgroups->enabled, &cgroups->enabled_room, cgroups->enabled_count + 1,
			   sizeof(*cgroups->enabled)) &&
	    asprintf(&cgroups->enabled[cgroups->enabled_count], "%s%c%s", directory, '\0',
		     controller) >= 0)
		cgroups->enabled_count++;
	return 0;
}

/* For the cgroup `name`: its files appear when its parent passes the controller on. */
static int enable(struct cgroups *cgroups, const char *name, const char *controller,
		  const char *what, struct error *error)
{
	char parent[PATH_MAX];

	path_of(parent, cgroups, name, "");
	*strrchr(parent, '/') = '\0';
	return enable_in(cgroups, parent, controller, what, error);
}

/* What the cgroup around it may use. */
static bool cpus_around(const struct cgroups *cgroups, const char *name, char *into, int room)
{
	char path[PATH_MAX];
	cleanup_file FILE *file = NULL;

	path_of(path, cgroups, name, "../cpuset.cpus.effective");
	file = fopen(path, "re");
	return file && fgets(into, room, file);
}

int cgroups_set_cpus(struct cgroups *cgroups, const char *name, const struct cpus *cpus,
		     struct error *error)
{
	char path[PATH_MAX], list[16384] = "";
	int result = enable(cgroups, name, "cpuset", "a cpuset", error);

	if (result < 0)
		return result;
	if (cpus)
		cpus_format(list, sizeof(list), cpus);
	path_of(path, cgroups, name, "cpuset.cpus");
	/* an empty write is none: the kernel wants a line */
	result = cgroup_write(path, *list ? list : "\n", error);
	/* nothing can be taken from tasks: all there is comes to the same */
	if (result == -ENOSPC && !cpus && cpus_around(cgroups, name, list, sizeof(list)))
		result = cgroup_write(path, list, error);
	return result;
}

int cgroups_set_limits(struct cgroups *cgroups, const char *name, const struct spec_limits *limits,
		       struct error *error)
{
	char path[PATH_MAX];
	int result = 0;

	for (size_t i = 0; result >= 0 && i < SPEC_LIMITS; i++) {
		if (!limits->values[i])
			continue;
		result = enable(cgroups, name, limit_info[i].controller, limit_info[i].key, error);
		if (result < 0)
			break;
		path_of(path, cgroups, name, limit_info[i].file);
		result = cgroup_write(path, limits->values[i], error);
	}
	return result;
}

static struct made_cgroup *find_made(const struct cgroups *cgroups, const char *name)
{
	for (size_t i = 0; i < cgroups->count; i++)
		if (!strcmp(cgroups->made[i].path, name))
			return &cgroups->made[i];
	return NULL;
}

/* Parents of nested ones too, where the spec does not name them; it may do so later. */
static int make(struct cgroups *cgroups, const char *name, struct error *error)
{
	struct made_cgroup *made;
	char path[PATH_MAX];
	char *copy;

	for (const char *slash = strchr(name, '/');; slash = strchr(slash + 1, '/')) {
		copy = slash ? strndup(name, (size_t)(slash - name)) : strdup(name);
		if (!copy || array_reserve(&cgroups->made, &cgroups->room, cgroups->count + 1,
					   sizeof(*cgroups->made)) < 0) {
			free(copy);
			return error_set(error, ENOMEM, "out of memory");
		}
		path_of(path, cgroups, copy, "");
		if (!mkdir(path, 0755)) {
			cgroups->made[cgroups->count++] =
				(struct made_cgroup){.path = copy, .is_named = !slash};
		} else {
			int reason = errno;

			free(copy);
			made = reason == EEXIST && !slash ? find_made(cgroups, name) : NULL;
			if (made && !made->is_named)
				made->is_named = true;
			else if (reason != EEXIST || !slash)
				return error_set(
					error, reason, "cannot make the cgroup %s: %s", path,
					reason == EAGAIN ? "cgroup.max.depth or "
							   "cgroup.max.descendants of one above "
							   "it is reached"
							 : strerror(reason));
		}
		if (!slash)
			return 0;
	}
}

int cgroups_add(struct cgroups *cgroups, const char *name, const struct spec_limits *limits,
		const struct cpus *cpus, struct error *error)
{
	int result = make(cgroups, name, error);

	if (result >= 0 && cpus)
		result = cgroups_set_cpus(cgroups, name, cpus, error);
	return result < 0 ? result : cgroups_set_limits(cgroups, name, limits, error);
}

int cgroups_move(struct cgroups *cgroups, const char *name, const pid_t *pids, size_t count,
		 struct error *error)
{
	char path[PATH_MAX];
	int result = 0;

	path_of(path, cgroups, name, "cgroup.procs");
	for (size_t i = 0; result >= 0 && i < count; i++) {
		char text[16];
		int tries = 0;

		snprintf(text, sizeof(text), "%d", pids[i]);
		do {
			/* a sched_ext scheduler may be about to prepare for it */
			if (tries)
				clock_sleep_ms(RETRY_MS);
			result = cgroup_write(path, text, error);
		} while (result == -EBUSY && tries++ < RETRIES);
		if (result == -ESRCH)
			result = 0;
	}
	return result < 0 ? error_wrap(error, result, "cannot move a task") : 0;
}

/* Until a line of cgroup.events says so: the kernel wakes those that poll the file. */
static bool await_event(const char *directory, const char *line)
{
	uint64_t deadline_ns = clock_monotonic_ns() + WAIT_NS;
	char path[PATH_MAX], text[256];
	cleanup_close int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.events", directory) >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0) {
		struct pollfd event = {.fd = fd, .events = POLLPRI};
		ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

		if (got < 0)
			return false;
		text[got] = '\0';
		if (strstr(text, line))
			return true;
		if (await_ready(&event, 1, deadline_ns) <= 0)
			return false;
	}
	return false;
}

int cgroups_freeze(struct cgroups *cgroups, const char *name, bool freeze, struct error *error)
{
	char path[PATH_MAX];
	int result;

	path_of(path, cgroups, name, "cgroup.freeze");
	result = cgroup_write(path, freeze ? "1" : "0", error);
	path_of(path, cgroups, name, "");
	/* thawed is what is not frozen by a cgroup around it, which need not be waited for */
	if (result >= 0 && freeze && !await_event(path, "frozen 1"))
		result = error_set(error, ETIMEDOUT, "the cgroup %s was not frozen within 2 s",
				   name);
	return result;
}

static int remove_empty(const char *path)
{
	/* the last task may still be on its way out */
	if (rmdir(path) < 0 && errno == EBUSY && await_event(path, "populated 0"))
		return rmdir(path) < 0 ? -errno : 0;
	return access(path, F_OK) < 0 ? 0 : -EBUSY;
}

static void forget_made(struct cgroups *cgroups, const char *name)
{
	struct made_cgroup *made = find_made(cgroups, name);

	if (!made)
		return;
	free(made->path);
	memmove(made, made + 1, (size_t)(cgroups->made + --cgroups->count - made) * sizeof(*made));
}

/* Those that the spec does not name, with the last one in them. */
static void remove_parents(struct cgroups *cgroups, const char *name)
{
	char parent[SPEC_NAME_BYTES], path[PATH_MAX];
	const struct made_cgroup *made;
	char *slash;

	snprintf(parent, sizeof(parent), "%s", name);
	while ((slash = strrchr(parent, '/'))) {
		*slash = '\0';
		made = find_made(cgroups, parent);
		path_of(path, cgroups, parent, "");
		if (!made || made->is_named || rmdir(path) < 0)
			return;
		forget_made(cgroups, parent);
	}
}

int cgroups_remove(struct cgroups *cgroups, const char *name, struct error *error)
{
	char path[PATH_MAX];
	int result;

	path_of(path, cgroups, name, "");
	result = remove_empty(path);
	if (result < 0)
		return error_set(
			error, -result,
			"cannot remove the cgroup %s: it still has tasks or nested cgroups", name);
	forget_made(cgroups, name);
	remove_parents(cgroups, name);
	return 0;
}

void cgroups_release(struct cgroups *cgroups)
{
	char path[PATH_MAX];

	if (cgroups->root)
		cgroups_remove_tree(cgroups->root);
	for (size_t i = cgroups->count; i--;)
		free(cgroups->made[i].path);
	for (size_t i = cgroups->enabled_count; i--;) {
		char text[64];
		const char *directory = cgroups->enabled[i];

		snprintf(path, sizeof(path), "%s/cgroup.subtree_control", directory);
		snprintf(text, sizeof(text), "-%s", directory + strlen(directory) + 1);
		if (cgroup_write(path, text, NULL) < 0) {
			/* another user has come to use it meanwhile: theirs now */
		}
		free(cgroups->enabled[i]);
	}
	free(cgroups->made);
	free(cgroups->enabled);
	free(cgroups->root);
	free(cgroups->mount);
	*cgroups = (struct cgroups){.mount = NULL};
}

static void kill_tasks(const char *directory)
{
	char path[PATH_MAX];
	cleanup_file FILE *tasks = NULL;
	int pid;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", directory) >= sizeof(path))
		return;
	tasks = fopen(path, "re");
	while (tasks && fscanf(tasks, "%d", &pid) == 1)
		if (pid > 0 && pid != getpid())
			kill(pid, SIGKILL);
}

void cgroups_remove_tree(const char *path)
{
	char file[PATH_MAX];
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	/* the frozen cannot die */
	if ((size_t)snprintf(file, sizeof(file), "%s/cgroup.freeze", path) < sizeof(file) &&
	    cgroup_write(file, "0", NULL) < 0) {
		/* no such file before Linux 5.2 */
	}
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
		    (size_t)snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) <
			    sizeof(file))
			cgroups_remove_tree(file);
	closedir(dir);
	kill_tasks(path);
	if (remove_empty(path) < 0)
		kill_tasks(path);
}

static int check_controller(const char *mount, const char *controller, const char *what,
			    struct error *error)
{
	return has_word(mount, "cgroup.controllers", controller)
		       ? 0
		       : explain_missing(mount, controller, what, error);
}

static int check_cgroup(const char *mount, const struct spec_cgroup *cgroup, struct error *error)
{
	int result = 0;

	if (cgroup->cpuset && *cgroup->name)
		result = check_controller(mount, "cpuset", "a cpuset", error);
	for (size_t i = 0; result >= 0 && i < SPEC_LIMITS; i++)
		if (cgroup->limits.values[i])
			result = check_controller(mount, limit_info[i].controller,
						  limit_info[i].key, error);
	return result;
}

int cgroups_check(const struct spec *spec, struct error *error)
{
	char mount[PATH_MAX];
	int result = 0;

	if (!spec_needs_cgroups(spec))
		return 0;
	if (!mount_find("cgroup2", NULL, mount, sizeof(mount)))
		return error_set(error, ENOENT,
				 "cgroup v2 is not mounted: mount -t cgroup2 none /sys/fs/cgroup");
	for (size_t i = 0; result >= 0 && i < spec->cgroups.count; i++)
		result = check_cgroup(mount, &spec->cgroups.items[i], error);
	for (size_t i = 0; result >= 0 && i < spec->phases.count; i++)
		for (size_t k = 0; result >= 0 && k < spec->phases.items[i].op_count; k++) {
			const struct spec_op *op = &spec->phases.items[i].ops[k];

			result = check_cgroup(mount, &op->cgroup, error);
			if (result >= 0 &&
			    (op->kind == OP_CLEAR_CPUSET || op->kind == OP_SWAP_CPUSETS))
				result = check_controller(mount, "cpuset", op_names[op->kind],
							  error);
		}
	return result;
}
