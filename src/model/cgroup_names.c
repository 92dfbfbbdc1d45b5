// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/cgroup_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define ID_DIGITS    64 /* of containers: a SHA-256 */
#define SHOWN_DIGITS 12
#define UID_LENGTH   36 /* RFC 9562 */

/* How engines name the cgroup of a container, before its id: ID.scope below systemd, ID alone else.
 */
static const char *const engines[] = {"docker-", "libpod-", "crio-", "cri-containerd-", ""};

/* Of engines whose containers have names. */
static const char *const named[] = {"lxc.payload.", "lxc.monitor.", "machine-"};

static size_t hex_digits(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && memchr("0123456789abcdef", text[count], 16))
		count++;
	return count;
}

static bool begins(const char *part, size_t length, const char *with)
{
	return length > strlen(with) && !strncmp(part, with, strlen(with));
}

static bool ends(const char *part, size_t length, const char *with)
{
	return length > strlen(with) && !memcmp(part + length - strlen(with), with, strlen(with));
}

static void copy(char *into, size_t room, const char *from, size_t length)
{
	snprintf(into, room, "%.*s", (int)length, from);
}

/* "docker-0123….scope", "0123…" */
static bool take_id(struct cgroup_names *names, const char *part, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		size_t prefix = strlen(engines[i]);
		const char *id = part + prefix;
		size_t left;

		if (length <= prefix || strncmp(part, engines[i], prefix) != 0)
			continue;
		left = length - prefix;
		if (hex_digits(id, left) != ID_DIGITS ||
		    (left != ID_DIGITS && !(left == ID_DIGITS + 6 && ends(part, length, ".scope"))))
			continue;
		copy(names->container, sizeof(names->container), id, SHOWN_DIGITS);
		return true;
	}
	return false;
}

static bool take_named(struct cgroup_names *names, const char *part, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		size_t prefix = strlen(named[i]);

		if (!begins(part, length, named[i]))
			continue;
		if (ends(part, length, ".scope"))
			length -= 6;
		copy(names->container, sizeof(names->container), part + prefix, length - prefix);
		return true;
	}
	return false;
}

/*
 * "pod0123…", "kubepods-burstable-pod0123….slice", where systemd's driver writes underscores for
 * hyphens, which are levels of slices.
 */
static bool take_pod(struct cgroup_names *names, const char *part, size_t length)
{
	const char *uid = part;
	size_t left = length, at = 0;

	if (ends(part, length, ".slice"))
		left -= 6;
	if (left < UID_LENGTH + 3)
		return false;
	uid = part + left - UID_LENGTH;
	if (memcmp(uid - 3, "pod", 3) != 0 ||
	    (left != UID_LENGTH + 3 && !begins(part, length, "kubepods")))
		return false;
	for (; at < UID_LENGTH; at++)
		if (!memchr("0123456789abcdef-_", uid[at], 18))
			return false;
	copy(names->pod, sizeof(names->pod), uid, UID_LENGTH);
	for (char *c = names->pod; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

static bool is_unit(const char *part, size_t length)
{
	return ends(part, length, ".service") || ends(part, length, ".scope") ||
	       ends(part, length, ".slice") || ends(part, length, ".socket") ||
	       ends(part, length, ".mount") || ends(part, length, ".swap");
}

void cgroup_names_find(struct cgroup_names *ret_names, const char *path)
{
	bool is_lxc = false;

	memset(ret_names, 0, sizeof(*ret_names));
	while (*path) {
		size_t length = strcspn(path, "/");

		if (take_pod(ret_names, path, length) || take_id(ret_names, path, length) ||
		    take_named(ret_names, path, length)) {
			/* units inside of a container are its own */
		} else if (is_lxc && length) {
			copy(ret_names->container, sizeof(ret_names->container), path, length);
		} else if (is_unit(path, length) && !*ret_names->container && !*ret_names->pod) {
			copy(ret_names->unit, sizeof(ret_names->unit), path, length);
		}
		is_lxc = length == 3 && !memcmp(path, "lxc", 3);
		path += length;
		path += *path == '/';
	}
}
