// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/about.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void about_release(struct about *about)
{
	for (size_t i = 0; i < about->cgroup_room; i++)
		free(about->cgroups[i].path);
	free(about->cgroups);
	*about = (struct about){0};
}

static struct about_cgroup *slot(const struct about *about, uint64_t id)
{
	size_t mask = about->cgroup_room - 1;
	size_t at = (size_t)(id * 0x9e3779b97f4a7c15ULL >> 32) & mask;

	while (about->cgroups[at].id && about->cgroups[at].id != id)
		at = (at + 1) & mask;
	return &about->cgroups[at];
}

static int grow(struct about *about)
{
	struct about bigger = *about;

	bigger.cgroup_room = about->cgroup_room ? about->cgroup_room * 2 : 64;
	bigger.cgroups = calloc(bigger.cgroup_room, sizeof(*bigger.cgroups));
	if (!bigger.cgroups)
		return -ENOMEM;
	for (size_t i = 0; i < about->cgroup_room; i++)
		if (about->cgroups[i].id)
			*slot(&bigger, about->cgroups[i].id) = about->cgroups[i];
	free(about->cgroups);
	about->cgroups = bigger.cgroups;
	about->cgroup_room = bigger.cgroup_room;
	return 0;
}

static int add_cgroup(struct about *about, const struct wire_cgroup *record)
{
	struct about_cgroup *entry;
	char *path;

	if (!record->id)
		return 0;
	if ((about->cgroup_count + 1) * 2 > about->cgroup_room && grow(about) < 0)
		return -ENOMEM;
	path = strdup(record->path);
	if (!path)
		return -ENOMEM;
	entry = slot(about, record->id);
	about->cgroup_count += !entry->id;
	free(entry->path);
	*entry = (struct about_cgroup){record->id, path};
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
	if (!id || !about->cgroup_room)
		return NULL;
	return slot(about, id)->path;
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
