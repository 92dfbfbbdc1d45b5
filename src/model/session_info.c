// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/session_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void forget_cgroups(struct session_info *session)
{
	for (size_t i = 0; i < session->cgroup_ids.count && i < session->path_room; i++)
		free(session->cgroup_paths[i]);
	identities_clear(&session->cgroup_ids);
}

void session_release(struct session_info *session)
{
	forget_cgroups(session);
	free(session->cgroup_paths);
	identities_release(&session->cgroup_ids);
	*session = (struct session_info){0};
}

static int add_cgroup(struct session_info *session, const struct wire_cgroup *record)
{
	size_t known = session->cgroup_ids.count, index;
	char *path;

	if (!record->id) {
		forget_cgroups(session);
		return 0;
	}
	path = strdup(record->path);
	if (!path || array_reserve(&session->cgroup_paths, &session->path_room, known + 1,
				   sizeof(*session->cgroup_paths)) < 0) {
		free(path);
		return -ENOMEM;
	}
	index = identities_add(&session->cgroup_ids, 0, record->id);
	if (index == IDENTITY_NONE) {
		free(path);
		return -ENOMEM;
	}
	if (index < known)
		free(session->cgroup_paths[index]);
	session->cgroup_paths[index] = path;
	return 0;
}

static void set_missing(struct session_info *session, const struct wire_missing *record)
{
	size_t at = 0;

	while (at < session->missing_count && strcmp(session->missing[at].source, record->source))
		at++;
	if (!*record->why) {
		if (at < session->missing_count)
			session->missing[at] = session->missing[--session->missing_count];
	} else if (at < SESSION_MISSING_MAX) {
		session->missing[at] = *record;
		if (at == session->missing_count)
			session->missing_count++;
	}
}

int session_feed(struct session_info *session, const struct wire_header *record)
{
	int result;

	switch (record->kind) {
	case WIRE_SESSION:
		session->wire = *(const struct wire_session *)record;
		return 1;
	case WIRE_MISSING:
		set_missing(session, (const struct wire_missing *)record);
		return 1;
	case WIRE_CGROUP:
		result = add_cgroup(session, (const struct wire_cgroup *)record);
		return result < 0 ? result : 1;
	}
	return 0;
}

const char *session_cgroup(const struct session_info *session, uint64_t id)
{
	size_t index = identities_find(&session->cgroup_ids, 0, id);

	return index == IDENTITY_NONE ? NULL : session->cgroup_paths[index];
}

const char *session_source(const struct session_info *session)
{
	switch (session->wire.source) {
	case WIRE_SOURCE_TASKSTATS:
		return "taskstats";
	case WIRE_SOURCE_PROCFS:
		return "procfs";
	}
	return "bpf";
}

const char *session_states_kind(const struct session_info *session)
{
	if (session->wire.sample_ns)
		return "sampled";
	return session->wire.source == WIRE_SOURCE_TASKSTATS ? "counters" : "exact";
}

bool session_misses(const struct session_info *session, const char *source)
{
	for (size_t i = 0; i < session->missing_count; i++)
		if (!strcmp(session->missing[i].source, source))
			return true;
	return false;
}

bool session_is_native(const struct session_info *session)
{
#if defined(__x86_64__)
	static const char machine[] = "x86_64";
#elif defined(__aarch64__)
	static const char machine[] = "aarch64";
#else
#error "name this architecture as uname -m does"
#endif

	return !strcmp(session->wire.machine, machine) &&
	       session->wire.word_bits == sizeof(long) * 8;
}
