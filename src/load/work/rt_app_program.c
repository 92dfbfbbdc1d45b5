// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work/rt_app_program.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/size.h"

#define INSTANCES_MAX 10000
#define UNIQUE	      "unique"

const char *const rt_app_events[RT_APP_KINDS] = {
	[RT_APP_RUN] = "run",	    [RT_APP_RUNTIME] = "runtime", [RT_APP_SLEEP] = "sleep",
	[RT_APP_TIMER] = "timer",   [RT_APP_LOCK] = "lock",	  [RT_APP_UNLOCK] = "unlock",
	[RT_APP_WAIT] = "wait",	    [RT_APP_SIGNAL] = "signal",	  [RT_APP_BROAD] = "broad",
	[RT_APP_SYNC] = "sync",	    [RT_APP_BARRIER] = "barrier", [RT_APP_SUSPEND] = "suspend",
	[RT_APP_RESUME] = "resume", [RT_APP_YIELD] = "yield",	  [RT_APP_MEM] = "mem",
	[RT_APP_IORUN] = "iorun",
};

struct parsing {
	struct rt_app_program *program;
	struct rt_app_task *task; /* NULL: none has begun */
	struct rt_app_phase *phase;
	struct rt_app_settings *settings;
	struct error *error;
};

static int wrong(const struct parsing *parsing, const char *word, const char *value)
{
	return error_set(parsing->error, EINVAL, "tasks: '%s%s%s' cannot be read", word,
			 *value ? "=" : "", value);
}

static int parse_integer(const struct parsing *parsing, const char *word, const char *value,
			 int64_t min, int64_t max, int64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoll(value, &end, 10);
	if (end == value || *end || errno || *ret_number < min || *ret_number > max)
		return error_set(parsing->error, EINVAL,
				 "%s: '%s' is not a whole number from %lld to %lld", word, value,
				 (long long)min, (long long)max);
	return 0;
}

/* The number of a name, which is new or not. */
static int number_of(const struct parsing *parsing, struct rt_app_names *names, const char *name,
		     unsigned int *ret_number)
{
	if (!*name || strlen(name) >= RT_APP_NAME_BYTES)
		return error_set(parsing->error, EINVAL, "'%.60s': a name has 1 to %d bytes", name,
				 RT_APP_NAME_BYTES - 1);
	for (*ret_number = 0; *ret_number < names->count; ++*ret_number)
		if (!strcmp(names->items[*ret_number], name))
			return 0;
	if (names->count == RT_APP_RESOURCES_MAX)
		return error_set(parsing->error, EINVAL, "more than %d names of a kind",
				 RT_APP_RESOURCES_MAX);
	memcpy(names->items[names->count++], name, strlen(name) + 1);
	return 0;
}

static int begin_task(struct parsing *parsing, const char *name)
{
	struct rt_app_program *program = parsing->program;

	if (!*name || strlen(name) >= RT_APP_NAME_BYTES)
		return error_set(parsing->error, EINVAL, "'%.60s': a task's name has 1 to %d bytes",
				 name, RT_APP_NAME_BYTES - 1);
	if (program->count == RT_APP_TASKS_MAX)
		return error_set(parsing->error, EINVAL, "more than %d tasks", RT_APP_TASKS_MAX);
	if (array_reserve(&program->tasks, &program->room, program->count + 1,
			  sizeof(*program->tasks)) < 0)
		return error_set(parsing->error, ENOMEM, "out of memory");
	parsing->task = &program->tasks[program->count++];
	*parsing->task = (struct rt_app_task){.instances = 1, .loop = -1};
	memcpy(parsing->task->name, name, strlen(name) + 1);
	parsing->phase = NULL;
	parsing->settings = &parsing->task->settings;
	return 0;
}

static int begin_phase(struct parsing *parsing)
{
	struct rt_app_task *task = parsing->task;

	if (array_reserve(&task->phases, &task->room, task->count + 1, sizeof(*task->phases)) < 0)
		return error_set(parsing->error, ENOMEM, "out of memory");
	parsing->phase = &task->phases[task->count++];
	*parsing->phase = (struct rt_app_phase){.loop = 1};
	parsing->settings = &parsing->phase->settings;
	return 0;
}

static int parse_cpus(struct parsing *parsing, const char *value)
{
	struct rt_app_settings *settings = parsing->settings;

	if (!settings->cpus)
		settings->cpus = calloc(1, sizeof(*settings->cpus));
	if (!settings->cpus)
		return error_set(parsing->error, ENOMEM, "out of memory");
	return cpus_parse(value, settings->cpus, parsing->error);
}

static int parse_nodes(struct parsing *parsing, const char *value)
{
	struct cpus *nodes = calloc(1, sizeof(*nodes));
	int result = nodes ? cpus_parse(value, nodes, parsing->error) : -ENOMEM;

	parsing->settings->memory = (struct spec_memory){
		.given = true, .mode = MPOL_BIND, .nodes = nodes ? nodes->bits[0] : 0};
	free(nodes);
	return result;
}

/* 1: it is no setting. */
static int take_setting(struct parsing *parsing, const char *word, const char *value)
{
	struct rt_app_settings *settings = parsing->settings;
	int64_t number = 0;
	int result;

	if (!strcmp(word, "policy")) {
		settings->policy_given = true;
		return spec_parse_policy(&settings->policy, value, parsing->error);
	}
	if (!strcmp(word, "nice")) {
		result = parse_integer(parsing, word, value, -20, 19, &number);
		settings->nice_given = true;
		settings->nice = (int)number;
		return result;
	}
	if (!strcmp(word, "cpus"))
		return parse_cpus(parsing, value);
	if (!strcmp(word, "nodes"))
		return parse_nodes(parsing, value);
	if (strcmp(word, "lock-pages") != 0)
		return 1;
	settings->lock_pages = true;
	return 0;
}

/* 1: it is none of a task. */
static int take_task_word(struct parsing *parsing, const char *word, const char *value)
{
	struct rt_app_task *task = parsing->task;
	int64_t number = 0;
	int result;

	if (!strcmp(word, "loop"))
		return parse_integer(parsing, word, value, -1, INT64_MAX,
				     parsing->phase ? &parsing->phase->loop : &task->loop);
	if (parsing->phase)
		return 1;
	if (!strcmp(word, "delay"))
		return duration_parse(value, &task->delay_ns, parsing->error);
	if (strcmp(word, "instances") != 0)
		return 1;
	result = parse_integer(parsing, word, value, 1, INSTANCES_MAX, &number);
	task->instances = (unsigned int)number;
	return result;
}

/* "COND/MUTEX" */
static int parse_pair(struct parsing *parsing, struct rt_app_event *event, char *value)
{
	struct rt_app_program *program = parsing->program;
	char *mutex = strchr(value, '/');
	int result;

	if (!mutex)
		return wrong(parsing, rt_app_events[event->kind], value);
	*mutex++ = '\0';
	result = number_of(parsing, &program->conditions, value, &event->resource);
	return result < 0 ? result : number_of(parsing, &program->mutexes, mutex, &event->mutex);
}

/* "NAME/PERIOD[/absolute]" */
static int parse_timer(struct parsing *parsing, struct rt_app_event *event, char *value)
{
	char *period = strchr(value, '/'), *mode = period ? strchr(period + 1, '/') : NULL;
	int result;

	if (!period || (mode && strcmp(mode + 1, "absolute") != 0))
		return wrong(parsing, rt_app_events[event->kind], value);
	*period++ = '\0';
	if (mode)
		*mode = '\0';
	event->absolute = mode != NULL;
	event->own = !strncmp(value, UNIQUE, strlen(UNIQUE));
	result = number_of(parsing, &parsing->program->timers, value, &event->resource);
	return result < 0 ? result : duration_parse(period, &event->amount, parsing->error);
}

/* Of tasks that may come later, so by name: as a condition of its own. */
static int parse_suspension(struct parsing *parsing, struct rt_app_event *event, const char *task)
{
	char name[RT_APP_NAME_BYTES * 2];

	snprintf(name, sizeof(name), "@%s", task);
	return number_of(parsing, &parsing->program->conditions, name, &event->resource);
}

static int parse_event(struct parsing *parsing, struct rt_app_event *event, char *value)
{
	struct rt_app_program *program = parsing->program;
	int result;

	switch (event->kind) {
	case RT_APP_RUN:
	case RT_APP_RUNTIME:
	case RT_APP_SLEEP:
		/* of no length it does nothing */
		return strcmp(value, "0") != 0
			       ? duration_parse(value, &event->amount, parsing->error)
			       : 0;
	case RT_APP_MEM:
	case RT_APP_IORUN:
		program->needs_buffer = true;
		return size_parse(value, &event->amount, parsing->error);
	case RT_APP_TIMER:
		return parse_timer(parsing, event, value);
	case RT_APP_LOCK:
	case RT_APP_UNLOCK:
		return number_of(parsing, &program->mutexes, value, &event->resource);
	case RT_APP_WAIT:
	case RT_APP_SYNC:
		return parse_pair(parsing, event, value);
	case RT_APP_SIGNAL:
	case RT_APP_BROAD:
		return number_of(parsing, &program->conditions, value, &event->resource);
	case RT_APP_BARRIER:
		result = number_of(parsing, &program->barriers, value, &event->resource);
		if (result >= 0)
			program->barrier_users[event->resource] += parsing->task->instances;
		return result;
	case RT_APP_SUSPEND:
		return parse_suspension(parsing, event, parsing->task->name);
	case RT_APP_RESUME:
		return parse_suspension(parsing, event, value);
	case RT_APP_YIELD:
	case RT_APP_KINDS:
		break;
	}
	return 0;
}

static int take_event(struct parsing *parsing, const char *word, char *value)
{
	struct rt_app_phase *phase = parsing->phase;
	struct rt_app_event event = {.kind = 0};
	int result;

	while (event.kind < RT_APP_KINDS && strcmp(rt_app_events[event.kind], word) != 0)
		event.kind++;
	if (event.kind == RT_APP_KINDS || !phase)
		return wrong(parsing, word, value);
	result = parse_event(parsing, &event, value);
	if (result < 0)
		return error_wrap(parsing->error, result, "%s", word);
	if (array_reserve(&phase->events, &phase->room, phase->count + 1, sizeof(*phase->events)) <
	    0)
		return error_set(parsing->error, ENOMEM, "out of memory");
	phase->events[phase->count++] = event;
	return 0;
}

static int take_word(struct parsing *parsing, char *word)
{
	char *value = strchr(word, '='), nothing[] = "";
	int result;

	if (value)
		*value++ = '\0';
	else
		value = nothing;
	if (!strcmp(word, "task"))
		return begin_task(parsing, value);
	if (!parsing->task)
		return wrong(parsing, word, value);
	if (!strcmp(word, "phase"))
		return begin_phase(parsing);
	result = take_task_word(parsing, word, value);
	if (result == 1)
		result = take_setting(parsing, word, value);
	return result == 1 ? take_event(parsing, word, value) : result;
}

int rt_app_parse(struct rt_app_program *program, const char *text, struct error *error)
{
	struct parsing parsing = {.program = program, .error = error};
	cleanup_free char *copy = strdup(text ? text : "");
	char *rest = copy, *word;
	int result = copy ? 0 : error_set(error, ENOMEM, "out of memory");

	*program = (struct rt_app_program){.count = 0};
	while (result >= 0 && (word = strsep(&rest, " ")))
		if (*word)
			result = take_word(&parsing, word);
	for (size_t i = 0; result >= 0 && i < program->count; i++) {
		program->workers += program->tasks[i].instances;
		if (!program->tasks[i].count)
			result = error_set(error, EINVAL, "task %s has no events",
					   program->tasks[i].name);
		for (size_t k = 0; result >= 0 && k < program->tasks[i].count; k++)
			if (!program->tasks[i].phases[k].count)
				result = error_set(error, EINVAL,
						   "task %s has a phase without events",
						   program->tasks[i].name);
	}
	if (result >= 0 && !program->count)
		result = error_set(error, EINVAL, "tasks: there are none");
	return result;
}

void rt_app_release(struct rt_app_program *program)
{
	for (size_t i = 0; i < program->count; i++) {
		struct rt_app_task *task = &program->tasks[i];

		for (size_t k = 0; k < task->count; k++) {
			free(task->phases[k].settings.cpus);
			free(task->phases[k].events);
		}
		free(task->settings.cpus);
		free(task->phases);
	}
	free(program->tasks);
	*program = (struct rt_app_program){.count = 0};
}

bool rt_app_shares(const struct rt_app_program *program)
{
	for (size_t i = 0; i < program->count; i++)
		for (size_t k = 0; k < program->tasks[i].count; k++)
			for (size_t n = 0; n < program->tasks[i].phases[k].count; n++) {
				const struct rt_app_event *event =
					&program->tasks[i].phases[k].events[n];

				if ((event->kind >= RT_APP_LOCK && event->kind <= RT_APP_RESUME) ||
				    (event->kind == RT_APP_TIMER && !event->own))
					return true;
			}
	return false;
}
