// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem, memrchr */
#include "model/cgroup_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define ID_DIGITS     64 /* of containers: a SHA-256 */
#define SHOWN_DIGITS  12
#define UID_LENGTH    36 /* RFC 9562 */
#define STATIC_LENGTH 32 /* of a pod that the kubelet has from a file: an MD5 */

/*
 * How engines name the cgroup of a container, before its id: ID.scope below systemd, ID alone else.
 * "libpod-payload-" is below a unit that Podman runs in (--cgroups=split).
 */
static const char *const engines[] = {"docker-",	 "libpod-payload-", "libpod-", "crio-",
				      "cri-containerd-", "nerdctl-",	    ""};

/* Of a group of containers: of Podman's pods, for root and for others. */
static const char *const podman_pods[] = {"machine-libpod_pod_", "user-libpod_pod_"};

/* Of engines whose containers have names, and how the name ends: systemd's write \x2d for a hyphen.
 */
static const struct {
	const char *prefix, *suffix;
} named[] = {
	{"lxc.payload.", ""},
	{"lxc.monitor.", ""},
	{"machine-", ".scope"},
	{"systemd-nspawn@", ".service"},
};

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

/* Which systemd-escape(1) writes for a hyphen, as slices have levels by it. */
static void unescape_hyphens(char *name)
{
	char *hyphen;

	while ((hyphen = strstr(name, "\\x2d"))) {
		*hyphen = '-';
		memmove(hyphen + 1, hyphen + 4, strlen(hyphen + 4) + 1);
	}
}

static bool take_named(struct cgroup_names *names, const char *part, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		size_t prefix = strlen(named[i].prefix), suffix = strlen(named[i].suffix);

		if (length <= prefix + suffix || !begins(part, length, named[i].prefix) ||
		    (suffix && !ends(part, length, named[i].suffix)))
			continue;
		copy(names->container, sizeof(names->container), part + prefix,
		     length - prefix - suffix);
		unescape_hyphens(names->container);
		return true;
	}
	return false;
}

/* "pod0123…", and below systemd "kubepods-burstable-pod0123….slice" */
static bool ends_in_pod(const char *part, size_t length, size_t uid)
{
	return length >= uid + 3 && !memcmp(part + length - uid - 3, "pod", 3) &&
	       (length == uid + 3 || memmem(part, length, "kubepods-", strlen("kubepods-")));
}

/*
 * Of the kubelet, whose own slice may come first ("kubelet-kubepods-…"). systemd's driver writes
 * underscores for hyphens, which are levels of slices.
 */
static bool take_uid(struct cgroup_names *names, const char *part, size_t length)
{
	const char *uid;
	size_t at = 0;

	if (ends_in_pod(part, length, STATIC_LENGTH) &&
	    hex_digits(part + length - STATIC_LENGTH, STATIC_LENGTH) == STATIC_LENGTH) {
		copy(names->pod, sizeof(names->pod), part + length - STATIC_LENGTH, STATIC_LENGTH);
		return true;
	}
	if (!ends_in_pod(part, length, UID_LENGTH))
		return false;
	uid = part + length - UID_LENGTH;
	for (; at < UID_LENGTH; at++)
		if (!memchr("0123456789abcdef-_", uid[at], 18))
			return false;
	copy(names->pod, sizeof(names->pod), uid, UID_LENGTH);
	for (char *c = names->pod; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

/*
 * A pod's slice. containerd whose driver is not the kubelet's takes what is meant for systemd as
 * one name: "kubepods-pod0123….slice:cri-containerd:0123…".
 */
static bool take_pod(struct cgroup_names *names, const char *part, size_t length)
{
	const char *colon = memchr(part, ':', length);
	size_t slice = colon ? (size_t)(colon - part) : length;

	for (size_t i = 0; i < ARRAY_SIZE(podman_pods); i++)
		if (begins(part, length, podman_pods[i]) &&
		    hex_digits(part + strlen(podman_pods[i]), length - strlen(podman_pods[i])) ==
			    ID_DIGITS) {
			copy(names->pod, sizeof(names->pod), part + strlen(podman_pods[i]),
			     SHOWN_DIGITS);
			return true;
		}
	if (!take_uid(names, part, ends(part, slice, ".slice") ? slice - 6 : slice))
		return false;
	colon = colon ? memrchr(part, ':', length) : NULL;
	if (colon)
		take_id(names, colon + 1, length - (size_t)(colon + 1 - part));
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
