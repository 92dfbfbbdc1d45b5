// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH */
#include "symbol/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/forked.h"
#include "base/library.h"
#include "symbol/build_id.h"
#include "symbol/foreign.h"

/* elfutils/debuginfod.h: loaded when it is needed, as libdw does, so that dwell needs none. */
#define LIBRARY	 "libdebuginfod.so.1"
#define PACKAGES "libdebuginfod1 or elfutils-debuginfod-client"

struct client_calls {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int length, char **path);
};

bool debuginfod_is_set(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

/* As the client finds it. False: there is none. */
static bool cache_directory(char path[PATH_MAX])
{
	const char *given = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	struct stat status;
	int length = 0;

	if (given && *given)
		length = snprintf(path, PATH_MAX, "%s", given);
	else if (home)
		/* where clients had it before they knew $XDG_CACHE_HOME; still used if it is there
		 */
		length = snprintf(path, PATH_MAX, "%s/.debuginfod_client_cache", home);
	if (given && *given)
		return length < PATH_MAX;
	if (length > 0 && length < PATH_MAX && !stat(path, &status))
		return true;
	if (cache && *cache)
		length = snprintf(path, PATH_MAX, "%s/debuginfod_client", cache);
	else if (home)
		length = snprintf(path, PATH_MAX, "%s/.cache/debuginfod_client", home);
	return length > 0 && length < PATH_MAX;
}

int debuginfod_open(const char *build_id)
{
	char path[PATH_MAX], name[BUILD_ID_BYTES + 16];
	int fd;

	if (!debuginfod_is_set() || !build_id_is_sound(build_id) || !cache_directory(path))
		return -ENOENT;
	cleanup_close int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return -errno;
	snprintf(name, sizeof(name), "%s/debuginfo", build_id);
	fd = foreign_path(directory, name, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return fd < 0 ? fd : foreign_reopen(fd, 0);
}

/* Half the length of the text. */
static int to_bytes(const char *text, unsigned char bytes[BUILD_ID_BYTES / 2])
{
	int length = 0;

	for (; text[0] && text[1]; text += 2) {
		const char pair[3] = {text[0], text[1]};

		bytes[length++] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return length;
}

static bool load(struct client_calls *calls)
{
	const struct library_call names[] = {
		{"debuginfod_begin", (void **)&calls->begin},
		{"debuginfod_find_debuginfo", (void **)&calls->find},
	};

	return library_load(LIBRARY, PACKAGES, names, ARRAY_SIZE(names), NULL) != NULL;
}

/* In the child, which has what the client keeps and starts (curl, its threads): answers a number
 * for each, 0 or a negative errno. */
_Noreturn static void fetch(const char *const *build_ids, size_t count)
{
	struct client_calls calls = {0};
	unsigned char bytes[BUILD_ID_BYTES / 2];
	int result = load(&calls) ? 0 : -ENOSYS;
	void *client = result < 0 ? NULL : calls.begin();

	if (!result && !client)
		result = -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int fd = result < 0
				 ? result
				 : calls.find(client, bytes, to_bytes(build_ids[i], bytes), NULL);
		int answer = fd < 0 ? fd : 0;

		if (fd >= 0)
			close(fd);
		if (write(STDOUT_FILENO, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

static const char *words_of(int answer)
{
	switch (answer) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return "no server can be reached";
	case -ETIME:
		return "no server answered in time";
	default:
		return strerror(-answer);
	}
}

/* What the client says of one file; 0: go on. */
static int take(int answer, struct error *error)
{
	switch (answer) {
	case 0:
	case -ENOENT: /* no server has it */
		return 0;
	case -ENOSYS:
		return error_set(error, ENOSYS,
				 "debuginfod is not asked: no %s is installed (package %s)",
				 LIBRARY, PACKAGES);
	default:
		return error_set(error, -answer, "debuginfod cannot be asked: %s",
				 words_of(answer));
	}
}

static int await_answers(int from, size_t count, void (*progress)(void *, size_t, size_t),
			 void *data, size_t *ret_fetched, struct error *error)
{
	int answer, result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++) {
		ssize_t got;

		progress(data, i, count);
		do
			got = read(from, &answer, sizeof(answer));
		while (got < 0 && errno == EINTR);
		if (got != sizeof(answer))
			return error_set(error, EIO, "debuginfod's client has died");
		*ret_fetched += !answer;
		result = take(answer, error);
	}
	return result;
}

int debuginfod_fetch(const char *const *build_ids, size_t count,
		     void (*progress)(void *data, size_t done, size_t count), void *data,
		     size_t *ret_fetched, struct error *error)
{
	pid_t parent = getpid(), child;
	int ends[2], result;

	*ret_fetched = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	cleanup_close int from = ends[0];

	child = fork();
	if (!child) {
		forked_prepare(parent, ends[1], STDERR_FILENO);
		fetch(build_ids, count);
	}
	result = child < 0 ? error_set(error, errno, "cannot start a process: %s", strerror(errno))
			   : 0;
	close(ends[1]);
	if (result < 0)
		return result;
	result = await_answers(from, count, progress, data, ret_fetched, error);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return result;
}
