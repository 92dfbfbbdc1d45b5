// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/helper.h"
#include "base/proc_stat.h"
#include "symbol/mappings.h"
#include "symbol/opener.h"

const struct runtime_ops *const runtimes[] = {
#define X(name) &runtime_##name,
	RUNTIMES(X)
#undef X
};
const size_t runtime_count = ARRAY_SIZE(runtimes);

const char *const runtime_packages[] = {
	/* of Rust */
	"tokio",
	"async_std",
	"async_executor",
	"async_global_executor",
	"async_io",
	"async_lock",
	"async_task",
	"atomic_waker",
	"event_listener",
	"parking",
	"polling",
	"smol",
	"waker_fn",
	"futures",
	"futures_util",
	"futures_core",
	"futures_lite",
	"futures_executor",
	"mio",
	"hyper",
	"hyper_util",
	"tower",
	"tower_service",
	"tokio_util",
	"tokio_stream",
	/* of Node.js */
	"node",
	"v8",
	/* of Java */
	"io.netty",
	"io.vertx",
	"reactor.core",
	"reactor.netty",
	"kotlinx.coroutines",
	NULL,
};

const struct runtime_ops *runtime_find(const char *name)
{
	for (size_t i = 0; i < runtime_count; i++)
		if (!strcmp(runtimes[i]->name, name))
			return runtimes[i];
	return NULL;
}

/* Where to look, and for what. */
struct search {
	const struct runtime_ops *runtime;
	uint32_t pid;
	const char *symbols;
	struct mappings mappings; /* the parent's */
	size_t type_bytes;	  /* so far */
};

/*
 * A program that has a runtime only in its libraries (an interpreter's, or Node.js's, extensions)
 * may have an event loop of its own: those of its threads that the libraries do not run are looked
 * at as such, where loops are what they can be.
 */
static void watch_program_too(struct runtime_plan *plan, uint32_t pid)
{
	size_t used = strlen(plan->why);
	struct error refused;

	if (runtime_refuse(pid, &refused) < 0)
		return;
	plan->turns = true;
	snprintf(plan->why + used, sizeof(plan->why) - used,
		 "; of its other threads those that wait for events are loops");
}

static int search_here(struct runtime_plan *plan, const struct search *search, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < runtime_count; i++) {
		if (search->runtime && runtimes[i] != search->runtime)
			continue;
		/* its threads would look like event loops */
		if (!search->runtime && runtimes[i] == &runtime_loop)
			result = runtime_refuse(search->pid, error);
		if (result < 0)
			break;
		plan->runtime = runtimes[i];
		result = runtimes[i]->find(plan, search->pid, search->symbols, error);
	}
	if (result > 0 && !search->runtime && plan->library_count)
		watch_program_too(plan, search->pid);
	return result;
}

#define PATH_BYTES OPENER_PATH_BYTES
#define ERRNO_MAX  4095 /* include/linux/err.h */
#define TYPE_BYTES 8192 /* longer ones end here */

/* A part of the helper's answer. */
struct found_probe {
	uint64_t offset;
	uint32_t polls;
	uint16_t has_type, is_task;
	char path[PATH_BYTES];
	char type[TYPE_BYTES]; /* or the place */
};

/* Its end. */
struct found_plan {
	int32_t result;
	uint32_t runtime; /* index */
	uint32_t turns, turns_rotate, library_count;
	char libraries[RUNTIME_LIBRARIES][RUNTIME_LIBRARY_BYTES];
	char why[sizeof(((struct runtime_plan *)0)->why)];
	char error[sizeof(((struct error *)0)->text)];
};

static void *begin(const void *context)
{
	return (void *)context;
}

static size_t answer(void *data, const void *question, size_t length, void *into,
		     struct helper_parts *parts)
{
	static struct found_probe probe;
	struct runtime_plan plan = {0};
	struct error error = {""};
	struct found_plan found = {.result = search_here(&plan, data, &error)};

	(void)question;
	(void)length;
	for (size_t i = 0; i < plan.count; i++) {
		const struct runtime_probe *item = &plan.probes[i];

		probe.offset = item->offset;
		probe.polls = item->polls;
		probe.has_type = item->type != NULL;
		probe.is_task = item->is_task;
		snprintf(probe.path, sizeof(probe.path), "%s", item->path);
		snprintf(probe.type, sizeof(probe.type), "%s",
			 item->type    ? item->type
			 : item->place ? item->place
				       : "");
		helper_part(parts, &probe,
			    offsetof(struct found_probe, type) + strlen(probe.type) + 1);
	}
	while (runtimes[found.runtime] != plan.runtime)
		found.runtime++;
	found.turns = plan.turns;
	found.turns_rotate = plan.turns_rotate;
	found.library_count = (uint32_t)plan.library_count;
	memcpy(found.libraries, plan.libraries, sizeof(found.libraries));
	snprintf(found.why, sizeof(found.why), "%s", plan.why);
	snprintf(found.error, sizeof(found.error), "%s", error.text);
	memcpy(into, &found, sizeof(found));
	return sizeof(found);
}

static const struct helper_work search_work = {
	.begin = begin,
	.answer = answer,
	.serve = opener_serve,
	.memory_bytes = 192 << 20,
	.memory_max_bytes = 2ULL << 30,
	.patience_ns = 30 * NS_PER_S,
};

/*
 * A probe is an instruction in a file: only in one that the process itself has mapped. And it is in
 * effect in that process alone, in whichever file it is (span_probes.c).
 */
static bool is_of_process(const char *path, const struct search *search)
{
	char beginning[64];
	uint64_t start, end;
	struct proc_stat stat;
	uint32_t tid;
	int used = 0;

	/* where its first thread has exited, by another one of the process */
	if (sscanf(path, "/proc/%" SCNu32 "/", &tid) != 1 ||
	    !proc_stat_read(search->pid, tid, &stat))
		return false;
	snprintf(beginning, sizeof(beginning), "/proc/%u/exe", tid);
	if (!strcmp(path, beginning))
		return true;
	snprintf(beginning, sizeof(beginning), "/proc/%u/map_files/", tid);
	if (!strncmp(path, beginning, strlen(beginning)))
		return sscanf(path + strlen(beginning), "%" SCNx64 "-%" SCNx64 "%n", &start, &end,
			      &used) == 2 &&
		       !path[strlen(beginning) + (size_t)used];
	snprintf(beginning, sizeof(beginning), "/proc/%u/root", tid);
	if (strncmp(path, beginning, strlen(beginning)) != 0)
		return false;
	for (size_t i = 0; i < search->mappings.count; i++)
		if (search->mappings.items[i].inode &&
		    !strcmp(search->mappings.items[i].path, path + strlen(beginning)))
			return true;
	return false;
}

#define PROBES_MAX	16384
#define TYPES_BYTES_MAX (16 << 20) /* of all of them */

/* 0, -ENOMEM, -E2BIG, or -EPROTO: this is no probe. */
static int take_probe(struct runtime_plan *plan, struct search *search, const uint8_t *bytes,
		      size_t length)
{
	static struct found_probe found;

	if (length <= offsetof(struct found_probe, type) || length > sizeof(found))
		return -EPROTO;
	memcpy(&found, bytes, length);
	if (((char *)&found)[length - 1] || !memchr(found.path, 0, sizeof(found.path)) ||
	    found.polls >= POLLS_COUNT || !is_of_process(found.path, search))
		return -EPROTO;
	search->type_bytes += length - offsetof(struct found_probe, type);
	if (plan->count == PROBES_MAX || search->type_bytes > TYPES_BYTES_MAX)
		return -E2BIG;
	return runtime_plan_add(plan, (struct runtime_probe){
					      .path = strdup(found.path),
					      .offset = found.offset,
					      .polls = found.polls,
					      .type = found.has_type ? strdup(found.type) : NULL,
					      .place = found.has_type ? NULL : strdup(found.type),
					      .is_task = found.is_task,
				      });
}

static int take_plan(struct runtime_plan *plan, const uint8_t *bytes, size_t length,
		     struct error *error)
{
	struct found_plan found;

	if (length != sizeof(found))
		return -EPROTO;
	memcpy(&found, bytes, sizeof(found));
	if (found.runtime >= runtime_count || found.result > 1 || found.result < -ERRNO_MAX ||
	    found.library_count > RUNTIME_LIBRARIES)
		return -EPROTO;
	plan->runtime = runtimes[found.runtime];
	plan->turns = found.turns;
	plan->turns_rotate = found.turns_rotate;
	plan->library_count = found.library_count;
	memcpy(plan->libraries, found.libraries, sizeof(plan->libraries));
	for (size_t i = 0; i < RUNTIME_LIBRARIES; i++)
		plan->libraries[i][RUNTIME_LIBRARY_BYTES - 1] = '\0';
	snprintf(plan->why, sizeof(plan->why), "%.*s", (int)sizeof(found.why), found.why);
	if (found.result < 0)
		error_set(error, -found.result, "%.*s", (int)sizeof(found.error), found.error);
	return found.result;
}

static int search_in_helper(struct runtime_plan *plan, struct search *search, struct helper *helper,
			    struct error *error)
{
	static uint8_t bytes[HELPER_MESSAGE_BYTES];
	enum helper_state state;
	size_t length = 0;
	int result = 0;

	if (!helper_ask(helper, "", 0))
		return error_set(error, EAGAIN, "cannot ask the helper that reads programs: %s",
				 errno == EPIPE ? "it could not begin" : strerror(errno));
	do {
		uint64_t number;

		state = helper_next(helper, UINT64_MAX, UINT64_MAX, &number, bytes, &length);
		if (state == HELPER_PART)
			result = take_probe(plan, search, bytes, length);
	} while (state == HELPER_PART && result >= 0);
	if (state == HELPER_ANSWERED) {
		result = take_plan(plan, bytes, length, error);
		if (result != -EPROTO)
			return result;
	}
	if (state == HELPER_NONE)
		return error_set(error, EINTR, "interrupted");
	if (state == HELPER_LOST)
		return error_set(error, EIO,
				 "reading the files that process %u has mapped made dwell's helper "
				 "hang or die",
				 search->pid);
	if (result == -ENOMEM)
		return error_set(error, ENOMEM, "out of memory");
	if (result == -E2BIG)
		return error_set(error, E2BIG,
				 "process %u has too many functions that poll tasks, or too long "
				 "names of them",
				 search->pid);
	return error_set(error, EPROTO,
			 "dwell's helper says of process %u what cannot be: its files may have "
			 "taken it over",
			 search->pid);
}

int runtime_plan_make(struct runtime_plan *plan, const struct runtime_ops *runtime, uint32_t pid,
		      const char *symbols, struct error *error)
{
	struct search search = {.runtime = runtime, .pid = pid, .symbols = symbols};
	struct helper *helper;
	int result = runtime_refuse_32_bit(pid, error);

	if (result < 0)
		return result;
	if (runtime && !runtime->reads_files) {
		result = search_here(plan, &search, error);
	} else {
		opener_allow_symbols(symbols);
		result = helper_start(&helper, &search_work, &search, error);
		if (result < 0)
			return result;
		/* for those that lie where only their names lead */
		if (mappings_load(&search.mappings, pid, 0) < 0)
			search.mappings.count = 0;
		result = search_in_helper(plan, &search, helper, error);
		helper_end(helper);
		mappings_release(&search.mappings);
	}
	if (result == 0)
		return error_set(error, ENOENT, "%s", plan->why);
	return result < 0 ? result : 0;
}

int runtime_plan_add(struct runtime_plan *plan, struct runtime_probe probe)
{
	if (!probe.path ||
	    array_reserve(&plan->probes, &plan->room, plan->count + 1, sizeof(probe)) < 0) {
		free(probe.path);
		free(probe.type);
		free(probe.place);
		return -ENOMEM;
	}
	plan->probes[plan->count++] = probe;
	return 0;
}

void runtime_plan_release(struct runtime_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->probes[i].path);
		free(plan->probes[i].type);
		free(plan->probes[i].place);
	}
	free(plan->probes);
	*plan = (struct runtime_plan){0};
}
