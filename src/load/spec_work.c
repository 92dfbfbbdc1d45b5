// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups of workers of a spec in YAML. */
#include "load/spec_ops.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>

#include "base/output.h"
#include "load/params.h"

int spec_take_text(char **into, const char *text, struct error *error)
{
	free(*into);
	*into = strdup(text);
	return *into ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int take_workers(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			struct error *error)
{
	struct spec_work *work = into;
	uint64_t workers;
	int result = yaml_number(reader, value, 1, SPEC_MAX_WORKERS, &workers, error);

	if (result >= 0)
		work->workers = (unsigned int)workers;
	return result;
}

static int take_cpus(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec_affinity *affinity = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result : spec_take_text(&affinity->cpus, text, error);
}

static int take_count(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		      struct error *error)
{
	struct spec_affinity *affinity = into;
	uint64_t count;
	int result = yaml_number(reader, value, 1, CPUS_MAX, &count, error);

	if (result >= 0)
		affinity->count = (unsigned int)count;
	return result;
}

static int take_random(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	static const struct yaml_key keys[] = {
		{"from", take_cpus},
		{"count", take_count},
		{NULL, NULL},
	};

	((struct spec_affinity *)into)->kind = AFFINITY_RANDOM;
	return yaml_read_mapping(reader, value, "random", keys, NULL, into, error);
}

/* A word, or {random: {from: CPUS, count: N}}, {cpus: CPUS}. */
int spec_take_affinity(struct yaml_reader *reader, const yaml_node_t *value,
		       struct spec_affinity *affinity, struct error *error)
{
	static const struct yaml_key keys[] = {
		{"cpus", take_cpus},
		{"random", take_random},
		{NULL, NULL},
	};
	const char *text;
	int result;

	if (value->type == YAML_SCALAR_NODE) {
		result = yaml_text(reader, value, &text, error);
		return result < 0 ? result : spec_parse_affinity(affinity, text, error);
	}
	if (value->type != YAML_MAPPING_NODE ||
	    value->data.mapping.pairs.top != value->data.mapping.pairs.start + 1)
		return error_set(error, EINVAL,
				 "use a word, {cpus: \"0,2\"} or {random: {from: "
				 "\"0-3\", count: 2}}");
	free(affinity->cpus);
	*affinity = (struct spec_affinity){.kind = AFFINITY_CPUS};
	return yaml_read_mapping(reader, value, "an affinity", keys, NULL, affinity, error);
}

static int take_affinity(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			 struct error *error)
{
	return spec_take_affinity(reader, value, &((struct spec_work *)into)->affinity, error);
}

static int take_policy(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result
			  : spec_parse_policy(&((struct spec_work *)into)->policy, text, error);
}

static int take_nice(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec_work *work = into;
	const char *text;
	char *end;
	long nice;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	nice = strtol(text, &end, 10);
	if (!*text || *end || nice < -20 || nice > 19)
		return error_set(error, EINVAL, "'%s' is not a whole number from -20 to 19", text);
	work->nice = (int)nice;
	work->nice_given = true;
	return 0;
}

/* A list, of words or of pairs: "a+b:c", as on the command line. */
static int join(struct yaml_reader *reader, const yaml_node_t *value, struct output *text,
		struct error *error)
{
	for (const yaml_node_item_t *item = value->data.sequence.items.start;
	     item < value->data.sequence.items.top; item++) {
		const yaml_node_t *node = yaml_document_get_node(&reader->document, *item);
		const char *part;
		int result;

		if (text->used)
			output_char(text, '+');
		if (node->type == YAML_MAPPING_NODE &&
		    node->data.mapping.pairs.top == node->data.mapping.pairs.start + 1) {
			const yaml_node_pair_t *pair = node->data.mapping.pairs.start;

			result = yaml_text(reader,
					   yaml_document_get_node(&reader->document, pair->key),
					   &part, error);
			if (result < 0)
				return result;
			output_string(text, part);
			output_char(text, ':');
			node = yaml_document_get_node(&reader->document, pair->value);
		}
		result = yaml_text(reader, node, &part, error);
		if (result < 0)
			return result;
		output_string(text, part);
	}
	output_char(text, '\0');
	return text->error ? error_set(error, ENOMEM, "out of memory") : 0;
}

static int take_param(struct yaml_reader *reader, const char *key, const yaml_node_t *value,
		      void *into, struct error *error)
{
	struct spec_work *work = into;
	const struct param *param = params_find(work->type->params, key);
	struct output joined = {.fd = -1};
	const char *text;
	int result;

	if (!param)
		return 1;
	if (param->kind != PARAM_TEXT || value->type != YAML_SEQUENCE_NODE) {
		result = yaml_text(reader, value, &text, error);
		return result < 0 ? result : param_set(param, work->params, text, error);
	}
	if (output_init(&joined, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = join(reader, value, &joined, error);
	if (result >= 0)
		result = param_set(param, work->params, joined.buffer, error);
	output_release(&joined);
	return result;
}

static int take_mode(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec_work *work = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	if (!strcmp(text, "thread") || !strcmp(text, "fork")) {
		work->threads = *text == 't';
		return 0;
	}
	/* another word may be one of the type, as the `pi` of priority-inversion */
	result = take_param(reader, "mode", value, work, error);
	return result > 0 ? error_set(error, EINVAL, "'%s' is neither fork nor thread", text)
			  : result;
}

struct flag_name {
	const char *name;
	int value;
};

static int find_flag(const struct flag_name *names, const char *text, int *ret_value,
		     struct error *error)
{
	char known[160] = "";

	for (; names->name; names++) {
		size_t used = strlen(known);

		if (!strcmp(names->name, text)) {
			*ret_value = names->value;
			return 0;
		}
		snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", names->name);
	}
	return error_set(error, EINVAL, "unknown '%s'; use one of %s", text, known);
}

/* MPOL_F_STATIC_NODES, MPOL_F_RELATIVE_NODES: linux/mempolicy.h */
#define FLAG_STATIC   (1 << 15)
#define FLAG_RELATIVE (1 << 14)

static int take_memory_policy(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			      struct error *error)
{
	static const struct flag_name names[] = {
		{"default", MPOL_DEFAULT},
		{"bind", MPOL_BIND},
		{"preferred", MPOL_PREFERRED},
		{"interleave", MPOL_INTERLEAVE},
		{"local", MPOL_LOCAL},
		{"preferred-many", 5},	    /* Linux 5.15 */
		{"weighted-interleave", 6}, /* Linux 6.9 */
		{NULL, 0},
	};
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result
			  : find_flag(names, text, &((struct spec_memory *)into)->mode, error);
}

static int take_memory_flag(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			    struct error *error)
{
	static const struct flag_name names[] = {
		{"static-nodes", FLAG_STATIC},
		{"relative-nodes", FLAG_RELATIVE},
		{"numa-balancing", 1 << 13},
		{NULL, 0},
	};
	const char *text;
	int flag = 0, result = yaml_text(reader, value, &text, error);

	if (result >= 0)
		result = find_flag(names, text, &flag, error);
	((struct spec_memory *)into)->flags |= flag;
	return result;
}

static int take_memory_flags(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			     struct error *error)
{
	return yaml_read_items(reader, value, into, take_memory_flag, error);
}

static int take_memory_node(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			    struct error *error)
{
	uint64_t node;
	int result = yaml_number(reader, value, 0, 63, &node, error);

	if (result >= 0)
		((struct spec_memory *)into)->nodes |= 1ULL << node;
	return result;
}

static int take_memory_nodes(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			     struct error *error)
{
	return yaml_read_items(reader, value, into, take_memory_node, error);
}

/* What set_mempolicy(2) would refuse of every worker. */
static int check_memory(const struct spec_memory *memory, struct error *error)
{
	bool none = memory->mode == MPOL_DEFAULT || memory->mode == MPOL_LOCAL;

	if (none && memory->nodes)
		return error_set(error, EINVAL, "the policies default and local take no nodes");
	if (!none && memory->mode != MPOL_PREFERRED && !memory->nodes)
		return error_set(error, EINVAL, "that policy needs `nodes`");
	if (memory->flags & FLAG_STATIC && memory->flags & FLAG_RELATIVE)
		return error_set(error, EINVAL,
				 "flags: static-nodes and relative-nodes contradict each other");
	if (memory->flags & (FLAG_STATIC | FLAG_RELATIVE) && !memory->nodes)
		return error_set(error, EINVAL,
				 "flags: static-nodes and relative-nodes need "
				 "`nodes`, and there are none");
	return 0;
}

static int take_memory(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	static const struct yaml_key keys[] = {
		{"policy", take_memory_policy},
		{"nodes", take_memory_nodes},
		{"flags", take_memory_flags},
		{NULL, NULL},
	};
	struct spec_memory *memory = &((struct spec_work *)into)->memory;
	int result = 1;

	/* a policy is a mapping; a single value may be one of the type, as the size of a cache */
	if (value->type == YAML_SCALAR_NODE)
		result = take_param(reader, "memory", value, into, error);
	if (result <= 0)
		return result;
	memory->given = true;
	result = yaml_read_mapping(reader, value, "memory", keys, NULL, memory, error);
	return result < 0 ? result : check_memory(memory, error);
}

static const char *param_name(const void *into, size_t number)
{
	const struct param *params = ((const struct spec_work *)into)->type->params;

	for (; params && params->name; params++)
		if (!number--)
			return params->name;
	return NULL;
}

const struct yaml_key spec_work_keys[] = {
	{"type", NULL}, /* read first: what else there may be depends on it */
	{"workers", take_workers},
	{"affinity", take_affinity},
	{"policy", take_policy},
	{"nice", take_nice},
	{"memory", take_memory},
	{"mode", take_mode},
	{NULL, NULL},
};

int spec_take_work(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		   struct error *error)
{
	static const struct yaml_others others = {take_param, param_name};
	struct spec_works *works = into;
	const yaml_node_t *type = yaml_find(reader, node, "type");
	struct spec_work *work;
	const char *text;
	int result;

	if (++reader->groups > SPEC_MOST_GROUPS)
		return error_set(error, EINVAL, "more than %u groups", SPEC_MOST_GROUPS);
	if (node->type == YAML_SCALAR_NODE)
		type = node;
	if (!type)
		return error_set(error, EINVAL, "work needs a `type`");
	work = spec_add_work(works);
	if (!work)
		return error_set(error, ENOMEM, "out of memory");
	work->place = yaml_place(node);
	result = yaml_text(reader, type, &text, error);
	if (result >= 0)
		result = spec_parse_work(work, text, error);
	if (result < 0)
		return yaml_error_at(reader, type, error_wrap(error, result, "type"), error);
	return type == node ? 0
			    : yaml_read_mapping(reader, node, work->type->name, spec_work_keys,
						&others, work, error);
}
