// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/helper.h"
#include "symbol/opener.h"

/* The more specific first. */
const struct runtime_ops *const runtimes[] = {&runtime_tokio, &runtime_loop};
const size_t runtime_count = ARRAY_SIZE(runtimes);

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
};

static int search_here(struct runtime_plan *plan, const struct search *search, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < runtime_count; i++) {
		if (search->runtime && runtimes[i] != search->runtime)
			continue;
		plan->runtime = runtimes[i];
		result = runtimes[i]->find(plan, search->pid, search->symbols, error);
	}
	return result;
}

#define PATH_BYTES 4096
#define TYPE_BYTES 8192 /* longer ones end here */

/* A part of the helper's answer. */
struct found_probe {
	uint64_t offset;
	uint32_t polls;
	uint32_t has_type;
	char path[PATH_BYTES];
	char type[TYPE_BYTES];
};

/* Its end. */
struct found_plan {
	int32_t result;
	uint32_t runtime; /* index */
	uint32_t turns;
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
		snprintf(probe.path, sizeof(probe.path), "%s", item->path);
		snprintf(probe.type, sizeof(probe.type), "%s", item->type ? item->type : "");
		helper_part(parts, &probe,
			    offsetof(struct found_probe, type) + strlen(probe.type) + 1);
	}
	while (runtimes[found.runtime] != plan.runtime)
		found.runtime++;
	found.turns = plan.turns;
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

/* A probe is an instruction in a file: only in one that the process itself has mapped. */
static bool is_of_process(const char *path, uint32_t pid)
{
	char beginning[32];

	snprintf(beginning, sizeof(beginning), "/proc/%u/", pid);
	return !strncmp(path, beginning, strlen(beginning)) && !strstr(path, "/../");
}

#define PROBES_MAX 65536

/* False: this is no probe. */
static bool take_probe(struct runtime_plan *plan, uint32_t pid, const uint8_t *bytes, size_t length)
{
	static struct found_probe found;

	if (length <= offsetof(struct found_probe, type) || length > sizeof(found) ||
	    plan->count == PROBES_MAX)
		return false;
	memcpy(&found, bytes, length);
	if (((char *)&found)[length - 1] || !memchr(found.path, 0, sizeof(found.path)) ||
	    found.polls > POLLS_WORKERS || !is_of_process(found.path, pid))
		return false;
	return runtime_plan_add(plan, (struct runtime_probe){
					      .path = strdup(found.path),
					      .offset = found.offset,
					      .polls = found.polls,
					      .type = found.has_type ? strdup(found.type) : NULL,
				      }) >= 0;
}

static int take_plan(struct runtime_plan *plan, const uint8_t *bytes, size_t length,
		     struct error *error)
{
	struct found_plan found;

	if (length != sizeof(found))
		return -EPROTO;
	memcpy(&found, bytes, sizeof(found));
	if (found.runtime >= runtime_count || found.result > 1)
		return -EPROTO;
	plan->runtime = runtimes[found.runtime];
	plan->turns = found.turns;
	snprintf(plan->why, sizeof(plan->why), "%.*s", (int)sizeof(found.why), found.why);
	if (found.result < 0)
		error_set(error, -found.result, "%.*s", (int)sizeof(found.error), found.error);
	return found.result;
}

static int search_in_helper(struct runtime_plan *plan, const struct search *search,
			    struct helper *helper, struct error *error)
{
	static uint8_t bytes[HELPER_MESSAGE_BYTES];
	enum helper_state state;
	bool wrong = false;

	if (!helper_ask(helper, "", 0))
		return error_set(error, EAGAIN, "cannot ask the helper that reads programs");
	do {
		uint64_t number;
		size_t length = 0;

		state = helper_next(helper, UINT64_MAX, UINT64_MAX, &number, bytes, &length);
		if (state == HELPER_PART)
			wrong |= !take_probe(plan, search->pid, bytes, length);
		if (state == HELPER_ANSWERED && !wrong)
			return take_plan(plan, bytes, length, error);
	} while (state == HELPER_PART);
	if (state == HELPER_NONE)
		return error_set(error, EINTR, "interrupted");
	return error_set(error, EIO,
			 "process %u hangs or kills who reads the files that it has mapped",
			 search->pid);
}

int runtime_plan_make(struct runtime_plan *plan, const struct runtime_ops *runtime, uint32_t pid,
		      const char *symbols, struct error *error)
{
	const struct search search = {runtime, pid, symbols};
	struct helper *helper;
	int result;

	if (runtime && !runtime->reads_files) {
		result = search_here(plan, &search, error);
	} else {
		opener_allow_symbols(symbols);
		result = helper_start(&helper, &search_work, &search, error);
		if (result < 0)
			return result;
		result = search_in_helper(plan, &search, helper, error);
		helper_end(helper);
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
	}
	free(plan->probes);
	*plan = (struct runtime_plan){0};
}
