// SPDX-License-Identifier: GPL-2.0-or-later
/* Phases and ops of a spec in YAML. */
#include "load/spec_ops.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/similar.h"

#define MOST_OPS 10000

static int take_command(struct yaml_reader *reader, const yaml_node_t *value, struct spec_op *op,
			struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	op->command = strdup(text);
	return op->command ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int take_from(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	return spec_take_cgroup_name(reader, value, ((struct spec_op *)into)->cgroup.name, error);
}

static int take_to(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		   struct error *error)
{
	return spec_take_cgroup_name(reader, value, ((struct spec_op *)into)->other, error);
}

/* [a, b], or {from: a, to: b} */
static int take_two(struct yaml_reader *reader, const yaml_node_t *value, struct spec_op *op,
		    struct error *error)
{
	static const struct yaml_key keys[] = {
		{"from", take_from},
		{"to", take_to},
		{NULL, NULL},
	};
	const yaml_node_item_t *items = value->data.sequence.items.start;
	int result = 0;

	if (value->type == YAML_MAPPING_NODE) {
		result =
			yaml_read_mapping(reader, value, op_names[op->kind], keys, NULL, op, error);
	} else if (value->type == YAML_SEQUENCE_NODE &&
		   value->data.sequence.items.top - items == 2) {
		result = take_from(reader, yaml_document_get_node(&reader->document, items[0]), op,
				   error);
		if (result >= 0)
			result =
				take_to(reader, yaml_document_get_node(&reader->document, items[1]),
					op, error);
	}
	if (result >= 0 && (!*op->cgroup.name || !*op->other))
		result = error_set(error, EINVAL, "it needs two cgroups: [a, b]%s",
				   op->kind == OP_MOVE_TASKS ? ", or {from: a, to: b}" : "");
	return result;
}

static int take_affinity(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			 struct error *error)
{
	return spec_take_affinity(reader, value, &((struct spec_op *)into)->affinity, error);
}

static int take_op_affinity(struct yaml_reader *reader, const yaml_node_t *value,
			    struct spec_op *op, struct error *error)
{
	static const struct yaml_key keys[] = {
		{"cgroup", take_from},
		{"affinity", take_affinity},
		{NULL, NULL},
	};

	if (!yaml_find(reader, value, "cgroup") || !yaml_find(reader, value, "affinity"))
		return error_set(error, EINVAL, "it needs {cgroup: NAME, affinity: …}");
	return yaml_read_mapping(reader, value, op_names[op->kind], keys, NULL, op, error);
}

/* What an op that describes a cgroup must and must not say. */
static int check_cgroup_op(const struct spec_op *op, struct error *error)
{
	bool limits = false;

	for (size_t i = 0; i < SPEC_LIMITS; i++)
		limits |= op->cgroup.limits.values[i] != NULL;
	if (op->kind != OP_SPAWN && !*op->cgroup.name)
		return error_set(error, EINVAL, "it needs the name of a cgroup");
	if (op->kind == OP_SPAWN && !op->cgroup.works.count)
		return error_set(error, EINVAL, "it needs `work`");
	if (op->kind == OP_SET_CPUSET && !op->cgroup.cpuset)
		return error_set(error, EINVAL, "it needs `cpus`");
	if (op->kind == OP_SET_LIMITS && !limits)
		return error_set(error, EINVAL, "it needs limits, as cpu_max: 50%%");
	if (op->kind == OP_ADD_CGROUP)
		return 0;
	if (op->kind != OP_SPAWN && op->cgroup.works.count)
		return error_set(error, EINVAL, "`work` means nothing to it");
	if (op->kind != OP_SET_CPUSET && op->cgroup.cpuset)
		return error_set(error, EINVAL, "`cpus` mean nothing to it");
	if (op->kind != OP_SET_LIMITS && limits)
		return error_set(error, EINVAL, "limits mean nothing to it");
	return 0;
}

static int take_argument(struct yaml_reader *reader, const yaml_node_t *value, struct spec_op *op,
			 struct error *error)
{
	int result;

	switch (op->kind) {
	case OP_START_SCHEDULER:
	case OP_REPLACE_SCHEDULER:
		return take_command(reader, value, op, error);
	case OP_STOP_SCHEDULER:
		return 0;
	case OP_SWAP_CPUSETS:
	case OP_MOVE_TASKS:
		return take_two(reader, value, op, error);
	case OP_SET_AFFINITY:
		return take_op_affinity(reader, value, op, error);
	case OP_ADD_CGROUP:
	case OP_SET_CPUSET:
	case OP_SET_LIMITS:
	case OP_SPAWN:
		result = spec_take_cgroup(reader, value, &op->cgroup, error);
		return result < 0 ? result : check_cgroup_op(op, error);
	default:
		return spec_take_cgroup_name(reader, value, op->cgroup.name, error);
	}
}

static int find_op(const char *name, enum op_kind *ret_kind, struct error *error)
{
	struct similar similar = {.wanted = name};

	for (int i = 0; i < OP_KINDS; i++) {
		if (similar_same(op_names[i], name)) {
			*ret_kind = (enum op_kind)i;
			return 0;
		}
		similar_try(&similar, op_names[i]);
	}
	return similar_error(error, EINVAL, &similar, "", "unknown op '%s'", name);
}

/* {freeze: back}; or a word alone where nothing needs to be said: stop-scheduler. */
static int take_op(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		   struct error *error)
{
	struct spec_phase *phase = into;
	const yaml_node_t *key = node, *value = node;
	struct spec_op *op;
	const char *name;
	int result;

	if (++reader->ops > MOST_OPS)
		return error_set(error, EINVAL, "more than %u ops", MOST_OPS);
	if (node->type == YAML_MAPPING_NODE &&
	    node->data.mapping.pairs.top == node->data.mapping.pairs.start + 1) {
		key = yaml_document_get_node(&reader->document,
					     node->data.mapping.pairs.start->key);
		value = yaml_document_get_node(&reader->document,
					       node->data.mapping.pairs.start->value);
	} else if (node->type != YAML_SCALAR_NODE) {
		return error_set(error, EINVAL, "an op is one key with its value, as freeze: back");
	}
	op = spec_add_op(phase);
	if (!op)
		return error_set(error, ENOMEM, "out of memory");
	op->place = yaml_place(node);
	result = yaml_text(reader, key, &name, error);
	if (result >= 0)
		result = find_op(name, &op->kind, error);
	if (result < 0)
		return result;
	if (key == value && op->kind != OP_STOP_SCHEDULER)
		return error_set(error, EINVAL, "%s: on what?", op_names[op->kind]);
	result = take_argument(reader, value, op, error);
	return result < 0 && !reader->placed ? error_wrap(error, result, "%s", op_names[op->kind])
					     : result;
}

static int take_ops(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		    struct error *error)
{
	return yaml_read_items(reader, value, into, take_op, error);
}

/* "40%" of the duration, or a time. */
static int take_hold(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec_phase *phase = into;
	const char *text;
	char *end;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	if (!strchr(text, '%')) {
		phase->hold = HOLD_TIME;
		return duration_parse(text, &phase->hold_ns, error);
	}
	phase->hold = HOLD_SHARE;
	phase->share = strtod(text, &end) / 100;
	if (end == text || strcmp(end, "%") != 0 || !(phase->share > 0) || !(phase->share <= 1))
		return error_set(
			error, EINVAL,
			"'%s' is neither a time, nor a percentage of the duration from 0 to "
			"100",
			text);
	return 0;
}

static int take_loop(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec_phase *phase = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result >= 0)
		result = duration_parse(text, &phase->loop_ns, error);
	if (result >= 0 && phase->loop_ns < NS_PER_MS)
		return error_set(error, EINVAL, "'%s' is too short: 1ms at least", text);
	return result;
}

int spec_take_phase(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		    struct error *error)
{
	static const struct yaml_key keys[] = {
		{"ops", take_ops},
		{"hold", take_hold},
		{"loop", take_loop},
		{NULL, NULL},
	};
	struct spec_phases *phases = into;
	struct spec_phase *phase;

	if (phases->count >= MOST_OPS)
		return error_set(error, EINVAL, "more than %u phases", MOST_OPS);
	phase = spec_add_phase(phases);
	if (!phase)
		return error_set(error, ENOMEM, "out of memory");
	phase->place = yaml_place(node);
	return yaml_read_mapping(reader, node, "a phase", keys, NULL, phase, error);
}
