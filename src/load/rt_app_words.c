// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of load/work/rt_app_program.h, from JSON. */
#include "load/rt_app_parts.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"

#define REALTIME_PRIORITY 10	       /* without `priority` */
#define USEC_MAX	  (1ULL << 50) /* some 35 years */

const char *rt_app_text(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

const yaml_node_t *rt_app_node(const struct import *import, int number)
{
	return yaml_document_get_node(&import->reader->document, number);
}

int rt_app_mistake(const struct import *import, const yaml_node_t *node, int result)
{
	return result < 0 ? yaml_error_at(import->reader, node, result, import->error) : result;
}

int rt_app_number(const struct import *import, const yaml_node_t *node, uint64_t *ret_number)
{
	return rt_app_mistake(
		import, node,
		yaml_number(import->reader, node, 0, USEC_MAX, ret_number, import->error));
}

int rt_app_signed(const struct import *import, const yaml_node_t *node, long min, long max,
		  long *ret_number)
{
	char *end;

	*ret_number = strtol(rt_app_text(node), &end, 10);
	if (!*rt_app_text(node) || *end || *ret_number < min || *ret_number > max)
		return RT_APP_REFUSE(import, node, "'%.40s' is not a whole number from %ld to %ld",
				     rt_app_text(node), min, max);
	return 0;
}

int rt_app_name(const struct import *import, const yaml_node_t *node, const char **ret_name)
{
	*ret_name = rt_app_text(node);
	if (!**ret_name || strlen(*ret_name) >= RT_APP_NAME_BYTES - 1 ||
	    strpbrk(*ret_name, " =/@\t\n"))
		return RT_APP_REFUSE(
			import, node,
			"'%.60s': a name has 1 to %d bytes, none of them a blank, '=', '/' "
			"or '@'",
			*ret_name, RT_APP_NAME_BYTES - 2);
	return 0;
}

static int add_common(const struct import *import, struct imported *task, const char *kind,
		      const char *name)
{
	if (array_reserve(&task->commons, &task->common_room, task->common_count + 1,
			  sizeof(*task->commons)) < 0)
		return error_set(import->error, ENOMEM, "out of memory");
	snprintf(task->commons[task->common_count++].name, sizeof(task->commons->name), "%s %s",
		 kind, name);
	return 0;
}

/* What an object has to have: its member of that name. */
static int member_at(const struct import *import, const yaml_node_t *node, const char *key,
		     const yaml_node_t **ret_member)
{
	*ret_member = yaml_find(import->reader, node, key);
	return *ret_member ? 0 : RT_APP_REFUSE(import, node, "it needs \"%s\"", key);
}

static int write_timer(const struct import *import, struct imported *task, const yaml_node_t *node)
{
	const yaml_node_t *ref, *period, *mode = yaml_find(import->reader, node, "mode");
	bool absolute = mode && !strcmp(rt_app_text(mode), "absolute");
	const char *name = NULL;
	uint64_t usec = 0;
	int result = member_at(import, node, "ref", &ref);

	if (result >= 0)
		result = member_at(import, node, "period", &period);
	if (result >= 0)
		result = rt_app_name(import, ref, &name);
	if (result >= 0)
		result = rt_app_number(import, period, &usec);
	if (result >= 0 && !usec)
		result = RT_APP_REFUSE(import, period, "a period is more than 0");
	if (result >= 0 && mode && !absolute && strcmp(rt_app_text(mode), "relative") != 0)
		result = RT_APP_REFUSE(import, mode, "'%.40s' is neither relative nor absolute",
				       rt_app_text(mode));
	if (result < 0)
		return result;
	output_format(&task->words, " timer=%s/%lluus%s", name, (unsigned long long)usec,
		      absolute ? "/absolute" : "");
	return strncmp(name, "unique", strlen("unique")) != 0
		       ? add_common(import, task, "timer", name)
		       : 0;
}

/* wait and sync */
static int write_wait(const struct import *import, struct imported *task, const char *word,
		      const yaml_node_t *node)
{
	const yaml_node_t *ref, *mutex;
	const char *name = NULL, *lock = NULL;
	int result = member_at(import, node, "ref", &ref);

	if (result >= 0)
		result = member_at(import, node, "mutex", &mutex);
	if (result >= 0)
		result = rt_app_name(import, ref, &name);
	if (result >= 0)
		result = rt_app_name(import, mutex, &lock);
	if (result < 0)
		return result;
	output_format(&task->words, " %s=%s/%s", word, name, lock);
	result = add_common(import, task, "condition", name);
	return result < 0 ? result : add_common(import, task, "lock", lock);
}

static int write_name(const struct import *import, struct imported *task, enum rt_app_kind kind,
		      const yaml_node_t *node)
{
	const char *name = NULL;
	int result = rt_app_name(import, node, &name);

	if (result < 0)
		return result;
	output_format(&task->words, " %s=%s", rt_app_events[kind], name);
	return add_common(import, task,
			  kind == RT_APP_BARRIER			  ? "barrier"
			  : kind == RT_APP_RESUME			  ? "task"
			  : kind == RT_APP_SIGNAL || kind == RT_APP_BROAD ? "condition"
									  : "lock",
			  name);
}

int rt_app_write_event(const struct import *import, struct imported *task, enum rt_app_kind kind,
		       const yaml_node_t *node)
{
	uint64_t amount = 0;
	int result;

	switch (kind) {
	case RT_APP_TIMER:
		return write_timer(import, task, node);
	case RT_APP_WAIT:
	case RT_APP_SYNC:
		return write_wait(import, task, rt_app_events[kind], node);
	case RT_APP_SUSPEND:
		output_string(&task->words, " suspend");
		return add_common(import, task, "task", task->name);
	case RT_APP_YIELD:
		output_string(&task->words, " yield");
		return 0;
	case RT_APP_RUN:
	case RT_APP_RUNTIME:
	case RT_APP_SLEEP:
	case RT_APP_MEM:
	case RT_APP_IORUN:
		result = rt_app_number(import, node, &amount);
		/* of no length it does nothing */
		if (result >= 0 && amount)
			output_format(&task->words, " %s=%llu%s", rt_app_events[kind],
				      (unsigned long long)amount, kind >= RT_APP_MEM ? "" : "us");
		else if (result >= 0)
			output_string(&task->words, " run=0");
		return result;
	default:
		return write_name(import, task, kind, node);
	}
}

bool rt_app_find_event(const char *key, enum rt_app_kind *ret_kind)
{
	size_t longest = 0;

	for (int kind = 0; kind < RT_APP_KINDS; kind++) {
		size_t length = strlen(rt_app_events[kind]);

		if (length <= longest || strncmp(key, rt_app_events[kind], length) != 0 ||
		    islower((unsigned char)key[length]))
			continue;
		longest = length;
		*ret_kind = (enum rt_app_kind)kind;
	}
	return longest > 0;
}

/* [0, 2] or a single one, as "0,2" */
static int write_list(const struct import *import, struct imported *task, const char *word,
		      const yaml_node_t *node, uint64_t most)
{
	uint64_t number;
	int result = 0;

	if (node->type == YAML_SEQUENCE_NODE &&
	    node->data.sequence.items.start == node->data.sequence.items.top)
		return RT_APP_REFUSE(import, node, "the list is empty");
	output_format(&task->words, " %s=", word);
	if (node->type != YAML_SEQUENCE_NODE) {
		result = rt_app_mistake(
			import, node,
			yaml_number(import->reader, node, 0, most, &number, import->error));
		output_u64(&task->words, number);
		return result;
	}
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     result >= 0 && item < node->data.sequence.items.top; item++) {
		const yaml_node_t *part = rt_app_node(import, *item);

		result = rt_app_mistake(
			import, part,
			yaml_number(import->reader, part, 0, most, &number, import->error));
		if (result < 0)
			break;
		if (item > node->data.sequence.items.start)
			output_char(&task->words, ',');
		output_u64(&task->words, number);
	}
	return result;
}

int rt_app_usec(const struct import *import, const yaml_node_t *node, const char *key,
		uint64_t otherwise, uint64_t *ret_usec)
{
	const yaml_node_t *member = yaml_find(import->reader, node, key);

	*ret_usec = otherwise;
	return member ? rt_app_number(import, member, ret_usec) : 0;
}

static int write_deadline(const struct import *import, struct imported *task,
			  const yaml_node_t *node)
{
	uint64_t runtime = 0, period = 0, deadline = 0;
	struct spec_policy policy;
	char words[128];
	int result = rt_app_usec(import, node, "dl-runtime", 0, &runtime);

	if (result >= 0)
		result = rt_app_usec(import, node, "dl-period", runtime, &period);
	if (result >= 0)
		result = rt_app_usec(import, node, "dl-deadline", period, &deadline);
	if (result < 0)
		return result;
	snprintf(words, sizeof(words), "deadline:%lluus/%lluus/%lluus", (unsigned long long)runtime,
		 (unsigned long long)deadline, (unsigned long long)period);
	output_format(&task->words, " policy=%s", words);
	return rt_app_mistake(import, node, spec_parse_policy(&policy, words, import->error));
}

/* policy and priority of a task or phase; `is_task`: there is a policy by default. */
static int write_policy(const struct import *import, struct imported *task, const yaml_node_t *node,
			bool is_task)
{
	const yaml_node_t *policy = yaml_find(import->reader, node, "policy");
	const yaml_node_t *priority = yaml_find(import->reader, node, "priority");
	const char *name = policy ? rt_app_text(policy) : is_task ? import->default_policy : NULL;
	bool realtime = name && (!strcmp(name, "SCHED_FIFO") || !strcmp(name, "SCHED_RR"));
	long number = realtime ? REALTIME_PRIORITY : 0;
	int result = 0;

	if (!name && priority)
		return RT_APP_REFUSE(import, priority, "a priority of a phase needs its policy");
	if (!name)
		return 0;
	if (priority)
		result = rt_app_signed(import, priority, realtime ? 1 : -20, realtime ? 99 : 19,
				       &number);
	if (result < 0)
		return result;
	if (realtime) {
		output_format(&task->words, " policy=%s:%ld",
			      !strcmp(name, "SCHED_RR") ? "rr" : "fifo", number);
		if (import->lock_pages)
			output_string(&task->words, " lock-pages");
		return 0;
	}
	if (!strcmp(name, "SCHED_DEADLINE"))
		return write_deadline(import, task, node);
	if (strcmp(name, "SCHED_OTHER") != 0 && strcmp(name, "SCHED_IDLE") != 0)
		return RT_APP_REFUSE(
			import, policy ? policy : node,
			"unknown policy '%.40s'; there are SCHED_OTHER, SCHED_IDLE, SCHED_RR, "
			"SCHED_FIFO and SCHED_DEADLINE",
			name);
	if (policy || strcmp(name, "SCHED_OTHER") != 0)
		output_format(&task->words, " policy=%s",
			      !strcmp(name, "SCHED_IDLE") ? "idle" : "normal");
	if (priority && !strcmp(name, "SCHED_OTHER"))
		output_format(&task->words, " nice=%ld", number);
	return 0;
}

bool rt_app_is_one_of(const char *key, const char *const *keys)
{
	for (; *keys; keys++)
		if (!strcmp(key, *keys))
			return true;
	return false;
}

int rt_app_write_settings(const struct import *import, struct imported *task,
			  const yaml_node_t *node, bool is_task)
{
	const yaml_node_t *loop = yaml_find(import->reader, node, "loop");
	const yaml_node_t *cpus = yaml_find(import->reader, node, "cpus");
	const yaml_node_t *nodes = yaml_find(import->reader, node, "membind_nodes");
	long number = 0;
	int result = loop ? rt_app_signed(import, loop, -1, LONG_MAX, &number) : 0;

	if (!nodes)
		nodes = yaml_find(import->reader, node, "nodes_membind");
	if (result >= 0 && loop)
		output_format(&task->words, " loop=%ld", number);
	if (result >= 0)
		result = write_policy(import, task, node, is_task);
	if (result >= 0 && cpus)
		result = write_list(import, task, "cpus", cpus, CPUS_MAX - 1);
	if (result >= 0 && nodes)
		result = write_list(import, task, "nodes", nodes, 63);
	return result;
}
