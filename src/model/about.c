// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/about.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void about_release(struct about *about)
{
	for (size_t i = 0; i < about->cgroup_ids.count && i < about->path_room; i++)
		free(about->cgroup_paths[i]);
	free(about->cgroup_paths);
	identities_release(&about->cgroup_ids);
	*about = (struct about){0};
}

static int add_cgroup(struct about *about, const struct wire_cgroup *record)
{
	size_t known = about->cgroup_ids.count, index;
	char *path;

	if (!record->id)
		return 0;
	path = strdup(record->path);
	if (!path || array_reserve(&about->cgroup_paths, &about->path_room, known + 1,
				   sizeof(*about->cgroup_paths)) < 0) {
		free(path);
		return -ENOMEM;
	}
	index = identities_add(&about->cgroup_ids, 0, record->id);
	if (index == IDENTITY_NONE) {
		free(path);
		return -ENOMEM;
	}
	if (index < known)
		free(about->cgroup_paths[index]);
	about->cgroup_paths[index] = path;
	return 0;
}

static void set_missing(struct about *about, const struct wire_missing *record)
{
	size_t at = 0;

	while (at < about->missing_count && strcmp(about->missing[at].source, record->source))
		at++;
	if (!*record->why) {
		if (at < about->missing_count)
			about->missing[at] = about->missing[--about->missing_count];
	} else if (at < ABOUT_MISSING_MAX) {
		about->missing[at] = *record;
		if (at == about->missing_count)
			about->missing_count++;
	}
}

int about_feed(struct about *about, const struct wire_header *record)
{
	int result;

	switch (record->kind) {
	case WIRE_SESSION:
		about->session = *(const struct wire_session *)record;
		return 1;
	case WIRE_MISSING:
		set_missing(about, (const struct wire_missing *)record);
		return 1;
	case WIRE_CGROUP:
		result = add_cgroup(about, (const struct wire_cgroup *)record);
		return result < 0 ? result : 1;
	}
	return 0;
}

const char *about_cgroup(const struct about *about, uint64_t id)
{
	size_t index = identities_find(&about->cgroup_ids, 0, id);

	return index == IDENTITY_NONE ? NULL : about->cgroup_paths[index];
}

const char *about_source(const struct about *about)
{
	switch (about->session.source) {
	case WIRE_SOURCE_TASKSTATS:
		return "taskstats";
	case WIRE_SOURCE_PROCFS:
		return "procfs";
	}
	return "bpf";
}

const char *about_states_kind(const struct about *about)
{
	if (about->session.sample_ns)
		return "sampled";
	return about->session.source == WIRE_SOURCE_TASKSTATS ? "counters" : "exact";
}

bool about_misses(const struct about *about, const char *source)
{
	for (size_t i = 0; i < about->missing_count; i++)
		if (!strcmp(about->missing[i].source, source))
			return true;
	return false;
}

bool about_is_native(const struct about *about)
{
#if defined(__x86_64__)
	static const char machine[] = "x86_64";
#elif defined(__aarch64__)
	static const char machine[] = "aarch64";
#else
#error "name this architecture as uname -m does"
#endif

	return !strcmp(about->session.machine, machine) &&
	       about->session.word_bits == sizeof(long) * 8;
}
