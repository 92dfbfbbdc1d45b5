// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/rt_app.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "base/similar.h"
#include "load/rt_app_parts.h"

/* Settings; of a task without phases also what is read with the task. */
static const char *const setting_keys[] = {
	"loop",		 "policy",     "priority",  "cpus",	   "membind_nodes",
	"nodes_membind", "dl-runtime", "dl-period", "dl-deadline", NULL};
static const char *const task_keys[] = {"instance", "delay", "taskgroup", "phases", NULL};

static int unsupported(const struct import *import, const yaml_node_t *key)
{
	struct similar similar = {.wanted = rt_app_text(key)};

	for (int kind = 0; kind < RT_APP_KINDS; kind++)
		similar_try(&similar, rt_app_events[kind]);
	return rt_app_mistake(import, key,
			      similar_error(import->error, EINVAL, &similar, "",
					    "'%.40s' is not supported", rt_app_text(key)));
}

static int write_events(const struct import *import, struct imported *task, const yaml_node_t *node,
			bool is_task)
{
	enum rt_app_kind kind;
	int result = 0;

	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     result >= 0 && pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = rt_app_node(import, pair->key);

		if (rt_app_is_one_of(rt_app_text(key), setting_keys) ||
		    (is_task && rt_app_is_one_of(rt_app_text(key), task_keys)))
			continue;
		if (!rt_app_find_event(rt_app_text(key), &kind))
			return unsupported(import, key);
		result = rt_app_write_event(import, task, kind, rt_app_node(import, pair->value));
	}
	return result;
}

static int write_phases(const struct import *import, struct imported *task,
			const yaml_node_t *phases)
{
	int result = 0;

	if (phases->type != YAML_MAPPING_NODE)
		return RT_APP_REFUSE(import, phases, "phases are an object");
	for (const yaml_node_pair_t *pair = phases->data.mapping.pairs.start;
	     result >= 0 && pair < phases->data.mapping.pairs.top; pair++) {
		const yaml_node_t *phase = rt_app_node(import, pair->value);

		if (phase->type != YAML_MAPPING_NODE)
			return RT_APP_REFUSE(import, phase, "a phase is an object");
		output_string(&task->words, " phase");
		result = rt_app_write_settings(import, task, phase, false);
		if (result >= 0)
			result = write_events(import, task, phase, false);
	}
	return result;
}

/* Beside phases there are no events. */
static int check_keys(const struct import *import, const yaml_node_t *node)
{
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = rt_app_node(import, pair->key);
		enum rt_app_kind kind;

		if (rt_app_is_one_of(rt_app_text(key), setting_keys) ||
		    rt_app_is_one_of(rt_app_text(key), task_keys))
			continue;
		if (rt_app_find_event(rt_app_text(key), &kind))
			return RT_APP_REFUSE(import, key,
					     "events are in the phases, where there are any");
		return unsupported(import, key);
	}
	return 0;
}

static int take_task(struct import *import, const yaml_node_t *key, const yaml_node_t *node)
{
	struct imported *task = &import->tasks[import->count];
	const yaml_node_t *phases = yaml_find(import->reader, node, "phases");
	const yaml_node_t *instance = yaml_find(import->reader, node, "instance");
	const yaml_node_t *group = yaml_find(import->reader, node, "taskgroup");
	const char *name = NULL;
	uint64_t instances = 1, delay = 0;
	int result;

	if (import->count == RT_APP_TASKS_MAX)
		return RT_APP_REFUSE(import, key, "more than %d tasks", RT_APP_TASKS_MAX);
	if (node->type != YAML_MAPPING_NODE)
		return RT_APP_REFUSE(import, node, "a task is an object");
	result = rt_app_name(import, key, &name);
	if (result >= 0 && instance)
		result = rt_app_mistake(import, instance,
					yaml_number(import->reader, instance, 0, SPEC_MAX_WORKERS,
						    &instances, import->error));
	if (result >= 0)
		result = rt_app_usec(import, node, "delay", 0, &delay);
	/* without an instance no thread begins, but by fork, which is not supported */
	if (result < 0 || !instances)
		return result;
	if (output_init(&task->words, -1) < 0)
		return error_set(import->error, ENOMEM, "out of memory");
	import->count++;
	snprintf(task->name, sizeof(task->name), "%s", name);
	task->node = key;
	task->instances = (unsigned int)instances;
	task->taskgroup = group && *rt_app_text(group) ? rt_app_text(group) : NULL;
	output_format(&task->words, "task=%s", name);
	if (instances > 1)
		output_format(&task->words, " instances=%u", task->instances);
	if (delay)
		output_format(&task->words, " delay=%lluus", (unsigned long long)delay);
	result = rt_app_write_settings(import, task, node, true);
	if (result >= 0 && phases)
		result = check_keys(import, node);
	if (result >= 0 && phases)
		return write_phases(import, task, phases);
	output_string(&task->words, " phase");
	return result < 0 ? result : write_events(import, task, node, true);
}

static int take_tasks(struct import *import, const yaml_node_t *tasks)
{
	int result = 0;

	if (tasks->type != YAML_MAPPING_NODE)
		return RT_APP_REFUSE(import, tasks, "tasks are an object");
	for (const yaml_node_pair_t *pair = tasks->data.mapping.pairs.start;
	     result >= 0 && pair < tasks->data.mapping.pairs.top; pair++)
		result = take_task(import, rt_app_node(import, pair->key),
				   rt_app_node(import, pair->value));
	return result >= 0 && !import->count ? RT_APP_REFUSE(import, tasks, "there are no tasks")
					     : result;
}

/* The keys of `global` that say how rt-app writes its own logs, and how it measures a loop. */
static const char *const ignored_keys[] = {"calibration", "logdir",	      "log_basename",
					   "log_size",	  "ftrace",	      "gnuplot",
					   "frag",	  "cumulative_slack", NULL};

static int take_global_key(struct import *import, const yaml_node_t *key, const yaml_node_t *value)
{
	const char *name = rt_app_text(key), *text = rt_app_text(value);
	uint64_t number = 0;
	long seconds = 0;
	int result = 0;

	if (!strcmp(name, "duration")) {
		result = rt_app_signed(import, value, -1, 1000000, &seconds);
		if (result >= 0 && seconds > 0)
			import->reader->spec->duration_ns = (uint64_t)seconds * NS_PER_S;
	} else if (!strcmp(name, "default_policy")) {
		import->default_policy = text;
	} else if (!strcmp(name, "pi_enabled") || !strcmp(name, "lock_pages")) {
		if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
			return RT_APP_REFUSE(import, value, "'%.40s' is neither true nor false",
					     text);
		*(*name == 'p' ? &import->inherit : &import->lock_pages) =
			!strcasecmp(text, "true");
	} else if (!strcmp(name, "mem_buffer_size")) {
		result = rt_app_number(import, value, &number);
		import->buffer = number;
	} else if (!strcmp(name, "io_device")) {
		if (strcmp(text, "/dev/null") != 0)
			return RT_APP_REFUSE(import, value,
					     "io_device: only /dev/null is written to");
	} else if (!rt_app_is_one_of(name, ignored_keys)) {
		return unsupported(import, key);
	}
	return result;
}

static int take_global(struct import *import, const yaml_node_t *global)
{
	int result = 0;

	if (global && global->type != YAML_MAPPING_NODE)
		return RT_APP_REFUSE(import, global, "global is an object");
	for (const yaml_node_pair_t *pair = global ? global->data.mapping.pairs.start : NULL;
	     result >= 0 && pair && pair < global->data.mapping.pairs.top; pair++)
		result = take_global_key(import, rt_app_node(import, pair->key),
					 rt_app_node(import, pair->value));
	return result;
}

static bool have_common(const struct imported *a, const struct imported *b)
{
	for (size_t i = 0; i < a->common_count; i++)
		for (size_t k = 0; k < b->common_count; k++)
			if (!strcmp(a->commons[i].name, b->commons[k].name))
				return true;
	return false;
}

/* Each task is a part of the first one that it is connected to, over any number of others. */
static void connect(struct import *import)
{
	for (size_t i = 0; i < import->count; i++)
		import->tasks[i].part_of = i;
	for (size_t i = 0; i < import->count; i++)
		for (size_t k = 0; k < i; k++) {
			size_t from = import->tasks[i].part_of, to = import->tasks[k].part_of;

			if (from == to || !have_common(&import->tasks[i], &import->tasks[k]))
				continue;
			for (size_t n = 0; n < import->count; n++)
				if (import->tasks[n].part_of == (from > to ? from : to))
					import->tasks[n].part_of = from > to ? to : from;
		}
}

/* Who resumes a task that is not there waits for nothing, and is a misspelling. */
static int check_resumes(const struct import *import)
{
	for (size_t i = 0; i < import->count; i++)
		for (size_t k = 0; k < import->tasks[i].common_count; k++) {
			const char *name = import->tasks[i].commons[k].name;
			bool found = strncmp(name, "task ", strlen("task ")) != 0;

			for (size_t n = 0; !found && n < import->count; n++)
				found = !strcmp(import->tasks[n].name, name + strlen("task "));
			if (!found)
				return RT_APP_REFUSE(import, import->tasks[i].node,
						     "%s resumes %s, which is no task",
						     import->tasks[i].name, name + strlen("task "));
		}
	return 0;
}

/* The cgroup that a task group is: its path, without the slash that it begins with. */
static struct spec_cgroup *cgroup_of(struct import *import, const char *taskgroup)
{
	struct spec_cgroups *cgroups = &import->reader->spec->cgroups;
	const char *name = taskgroup ? taskgroup + (*taskgroup == '/') : "";
	struct spec_cgroup *cgroup;

	for (size_t i = 0; i < cgroups->count; i++)
		if (!strcmp(cgroups->items[i].name, name))
			return &cgroups->items[i];
	cgroup = strlen(name) < SPEC_NAME_BYTES ? spec_add_cgroup(cgroups) : NULL;
	if (cgroup)
		snprintf(cgroup->name, sizeof(cgroup->name), "%s", name);
	return cgroup;
}

static int add_group(struct import *import, size_t first)
{
	const struct imported *task = &import->tasks[first];
	struct spec_cgroup *cgroup = cgroup_of(import, task->taskgroup);
	struct spec_work *work = cgroup ? spec_add_work(&cgroup->works) : NULL;
	struct output text;
	char buffer[24];
	int result;

	if (!work || output_init(&text, -1) < 0)
		return error_set(import->error, ENOMEM, "out of memory");
	work->place = yaml_place(task->node);
	for (size_t i = first; i < import->count; i++) {
		const struct imported *other = &import->tasks[i];

		if (other->part_of != first)
			continue;
		output_format(&text, "%s%.*s", text.used ? " " : "", (int)other->words.used,
			      other->words.buffer);
	}
	output_char(&text, '\0');
	result = text.error ? error_set(import->error, ENOMEM, "out of memory")
			    : spec_parse_work(work, "rt-app", import->error);
	if (result >= 0)
		result = spec_set_param(work, "tasks", text.buffer, import->error);
	if (result >= 0 && import->buffer) {
		snprintf(buffer, sizeof(buffer), "%llu", (unsigned long long)import->buffer);
		result = spec_set_param(work, "buffer", buffer, import->error);
	}
	if (result >= 0 && import->inherit)
		result = spec_set_param(work, "locks", "inherit", import->error);
	/* a team where they have something in common; else as many as there are */
	if (result >= 0)
		work->workers = task->common_count ? 0 : task->instances;
	output_release(&text);
	return rt_app_mistake(import, task->node, result);
}

static int add_groups(struct import *import)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < import->count; i++) {
		const struct imported *task = &import->tasks[i];
		const char *own = task->taskgroup ? task->taskgroup : "";
		const char *first = import->tasks[task->part_of].taskgroup;

		if (strcmp(own, first ? first : "") != 0)
			return RT_APP_REFUSE(
				import, task->node,
				"tasks that have a lock or the like in common cannot be in "
				"two task groups");
		if (task->part_of == i)
			result = add_group(import, i);
	}
	return result;
}

bool rt_app_is(struct yaml_reader *reader, const yaml_node_t *root)
{
	return yaml_find(reader, root, "tasks") != NULL;
}

int rt_app_read(struct yaml_reader *reader, const yaml_node_t *root, struct error *error)
{
	static const char *const root_keys[] = {"tasks", "global", "resources", NULL};
	struct import *import = calloc(1, sizeof(*import));
	int result = 0;

	if (!import)
		return error_set(error, ENOMEM, "out of memory");
	*import = (struct import){.reader = reader, .error = error, .lock_pages = true};
	import->default_policy = "SCHED_OTHER";
	for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     result >= 0 && pair < root->data.mapping.pairs.top; pair++)
		if (!rt_app_is_one_of(rt_app_text(rt_app_node(import, pair->key)), root_keys))
			result = unsupported(import, rt_app_node(import, pair->key));
	if (result >= 0)
		result = take_global(import, yaml_find(reader, root, "global"));
	if (result >= 0)
		result = take_tasks(import, yaml_find(reader, root, "tasks"));
	connect(import);
	if (result >= 0)
		result = check_resumes(import);
	if (result >= 0)
		result = add_groups(import);
	for (size_t i = 0; i < import->count; i++) {
		output_release(&import->tasks[i].words);
		free(import->tasks[i].commons);
	}
	free(import);
	return result;
}

void rt_app_blank_comments(char *text)
{
	bool in_string = false;
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	if (*text != '{' && strncmp(text, "/*", 2) != 0)
		return;
	for (; *text; text++) {
		if (*text == '"')
			in_string = !in_string;
		if (in_string && *text == '\\' && text[1])
			text++;
		if (in_string || strncmp(text, "/*", 2) != 0)
			continue;
		end = strstr(text + 2, "*/");
		if (!end)
			return;
		for (; text < end + 2; text++)
			if (*text != '\n')
				*text = ' ';
		text--;
	}
}
