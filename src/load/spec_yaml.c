// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/spec_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "load/params.h"
#include "load/spec_ops.h"
#include "load/yaml_reader.h"

#define MOST_GROUPS 10000

static int out_of_memory(struct error *error)
{
	return error_set(error, ENOMEM, "out of memory");
}

static int take_text(char **into, const char *text, struct error *error)
{
	free(*into);
	*into = strdup(text);
	return *into ? 0 : out_of_memory(error);
}

/* ----- work ----- */

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

	return result < 0 ? result : take_text(&affinity->cpus, text, error);
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

static int take_mode(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec_work *work = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	work->threads = !strcmp(text, "thread");
	return work->threads || !strcmp(text, "fork")
		       ? 0
		       : error_set(error, EINVAL, "'%s' is neither fork nor thread", text);
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
		{"static-nodes", 1 << 15},
		{"relative-nodes", 1 << 14},
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

	memory->given = true;
	return yaml_read_mapping(reader, value, "memory", keys, NULL, memory, error);
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
	return text->error ? out_of_memory(error) : 0;
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
		return out_of_memory(error);
	result = join(reader, value, &joined, error);
	if (result >= 0)
		result = param_set(param, work->params, joined.buffer, error);
	output_release(&joined);
	return result;
}

static const char *param_name(const void *into, size_t number)
{
	const struct param *params = ((const struct spec_work *)into)->type->params;

	for (; params && params->name; params++)
		if (!number--)
			return params->name;
	return NULL;
}

static int take_work(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		     struct error *error)
{
	static const struct yaml_key keys[] = {
		{"type", NULL}, /* read first: what else there may be depends on it */
		{"workers", take_workers},
		{"affinity", take_affinity},
		{"policy", take_policy},
		{"nice", take_nice},
		{"memory", take_memory},
		{"mode", take_mode},
		{NULL, NULL},
	};
	static const struct yaml_others others = {take_param, param_name};
	struct spec_works *works = into;
	const yaml_node_t *type = yaml_find(reader, node, "type");
	struct spec_work *work;
	const char *text;
	int result;

	if (++reader->groups > MOST_GROUPS)
		return error_set(error, EINVAL, "more than %u groups", MOST_GROUPS);
	if (node->type == YAML_SCALAR_NODE)
		type = node;
	if (!type)
		return error_set(error, EINVAL, "work needs a `type`");
	work = spec_add_work(works);
	if (!work)
		return out_of_memory(error);
	work->place = yaml_place(node);
	result = yaml_text(reader, type, &text, error);
	if (result >= 0)
		result = spec_parse_work(work, text, error);
	if (result < 0)
		return yaml_error_at(reader, type, error_wrap(error, result, "type"), error);
	return type == node ? 0
			    : yaml_read_mapping(reader, node, work->type->name, keys, &others, work,
						error);
}

/* ----- cgroups ----- */

static int check_name(const char *name, struct error *error)
{
	if (!*name || strlen(name) >= SPEC_NAME_BYTES)
		return error_set(error, EINVAL, "a name has 1 to %d bytes", SPEC_NAME_BYTES - 1);
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return error_set(error, EINVAL,
					 "'%s': blanks and control characters cannot be in a name",
					 name);
	if (*name == '/' || name[strlen(name) - 1] == '/' || strstr(name, "//") ||
	    strstr(name, "..") || *name == '.' || strstr(name, "/."))
		return error_set(error, EINVAL, "'%s' is no name of a cgroup", name);
	return 0;
}

int spec_take_cgroup_name(struct yaml_reader *reader, const yaml_node_t *value,
			  char into[SPEC_NAME_BYTES], struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result >= 0)
		result = check_name(text, error);
	if (result >= 0)
		snprintf(into, SPEC_NAME_BYTES, "%s", text);
	return result;
}

static int take_cgroup_name(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			    struct error *error)
{
	struct spec_cgroup *cgroup = into;

	return *cgroup->name ? error_set(error, EINVAL, "it has a name already")
			     : spec_take_cgroup_name(reader, value, cgroup->name, error);
}

static int take_cpuset(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	struct spec_cgroup *cgroup = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (cgroup->cpuset)
		return error_set(error, EINVAL, "it has a cpuset already");
	return result < 0 ? result : take_text(&cgroup->cpuset, text, error);
}

static int take_works(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		      struct error *error)
{
	return yaml_read_items(reader, value, &((struct spec_cgroup *)into)->works, take_work,
			       error);
}

static int take_limit(struct yaml_reader *reader, const char *key, const yaml_node_t *value,
		      void *into, struct error *error)
{
	const char *text;
	int result;

	if (!spec_is_limit(key))
		return 1;
	result = yaml_text(reader, value, &text, error);
	return result < 0
		       ? result
		       : spec_parse_limit(&((struct spec_cgroup *)into)->limits, key, text, error);
}

static const char *limit_name(const void *into, size_t number)
{
	(void)into;
	return number < SPEC_LIMITS ? limit_info[number].key : NULL;
}

int spec_take_cgroup(struct yaml_reader *reader, const yaml_node_t *node,
		     struct spec_cgroup *cgroup, struct error *error)
{
	static const struct yaml_key keys[] = {
		{"name", take_cgroup_name},
		/* in ops, where the name belongs to something that is there already */
		{"cgroup", take_cgroup_name},
		{"cpuset", take_cpuset},
		{"cpus", take_cpuset},
		{"work", take_works},
		{NULL, NULL},
	};
	static const struct yaml_others others = {take_limit, limit_name};

	cgroup->place = yaml_place(node);
	return yaml_read_mapping(reader, node, "a cgroup", keys, &others, cgroup, error);
}

static int take_cgroup(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		       struct error *error)
{
	struct spec_cgroups *cgroups = into;
	struct spec_cgroup *cgroup;
	int result;

	if (cgroups->count >= MOST_GROUPS)
		return error_set(error, EINVAL, "more than %u cgroups", MOST_GROUPS);
	cgroup = spec_add_cgroup(cgroups);
	if (!cgroup)
		return out_of_memory(error);
	result = spec_take_cgroup(reader, node, cgroup, error);
	if (result >= 0 && !*cgroup->name)
		result = error_set(error, EINVAL, "a cgroup needs a `name`");
	return result;
}

/* ----- the whole ----- */

static int take_cgroups(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			struct error *error)
{
	return yaml_read_items(reader, value, &((struct spec *)into)->cgroups, take_cgroup, error);
}

/* Work outside of any cgroup of ours. */
static int take_top_work(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			 struct error *error)
{
	struct spec_cgroup *cgroup = spec_add_cgroup(&((struct spec *)into)->cgroups);

	if (!cgroup)
		return out_of_memory(error);
	cgroup->place = yaml_place(value);
	return take_works(reader, value, cgroup, error);
}

static int take_name(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct spec *spec = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	if (!*text || strlen(text) >= SPEC_NAME_BYTES || strchr(text, '/') || *text == '.')
		return error_set(
			error, EINVAL,
			"'%.70s': a name has 1 to %d bytes, none of them '/', and does not "
			"begin with a dot",
			text, SPEC_NAME_BYTES - 1);
	snprintf(spec->name, sizeof(spec->name), "%s", text);
	return 0;
}

static int take_description(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			    struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result : take_text(&((struct spec *)into)->description, text, error);
}

static int take_duration(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			 struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result
			  : duration_parse(text, &((struct spec *)into)->duration_ns, error);
}

static int take_seed(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	((struct spec *)into)->seed_given = true;
	return yaml_number(reader, value, 0, UINT64_MAX, &((struct spec *)into)->seed, error);
}

static int take_check(struct yaml_reader *reader, const char *key, const yaml_node_t *value,
		      void *into, struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result : spec_parse_check(into, key, text, error);
}

static int take_checks(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	static const struct yaml_key none[] = {{NULL, NULL}};
	static const struct yaml_others others = {take_check, NULL};

	return yaml_read_mapping(reader, value, "checks", none, &others,
				 &((struct spec *)into)->checks, error);
}

static int take_phases(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	return yaml_read_items(reader, value, &((struct spec *)into)->phases, spec_take_phase,
			       error);
}

static const struct yaml_key spec_keys[] = {
	{"name", take_name},	 {"description", take_description}, {"duration", take_duration},
	{"seed", take_seed},	 {"cgroups", take_cgroups},	    {"work", take_top_work},
	{"phases", take_phases}, {"checks", take_checks},	    {NULL, NULL},
};

static int read_document(struct yaml_reader *reader, struct error *error)
{
	const yaml_node_t *root = yaml_document_get_root_node(&reader->document);

	return root ? yaml_read_mapping(reader, root, "a spec", spec_keys, NULL, reader->spec,
					error)
		    : error_set(error, EINVAL, "%s: there is nothing in it", reader->name);
}

int spec_read_text(struct spec *spec, const char *text, const char *name, struct error *error)
{
	struct yaml_reader reader = {.name = name, .spec = spec};
	int result;

	if (take_text(&spec->source, text, error) < 0 || take_text(&spec->file, name, error) < 0)
		return out_of_memory(error);
	result = yaml_load(&reader, text, error);
	if (result >= 0) {
		result = read_document(&reader, error);
		yaml_document_delete(&reader.document);
	}
	if (result >= 0 && !*spec->name)
		snprintf(spec->name, sizeof(spec->name), "%s", "spec");
	return result;
}

int spec_read_file(struct spec *spec, const char *path, struct error *error)
{
	cleanup_free char *text = malloc(SPEC_BYTES_MAX + 2);
	cleanup_file FILE *file = NULL;
	size_t length;

	if (!text)
		return out_of_memory(error);
	file = strcmp(path, "-") ? fopen(path, "re") : fdopen(dup(STDIN_FILENO), "re");
	if (!file)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	length = fread(text, 1, SPEC_BYTES_MAX + 1, file);
	if (ferror(file))
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	if (length > SPEC_BYTES_MAX)
		return error_set(error, EINVAL, "%s is larger than 1 MiB: that is no spec", path);
	text[length] = '\0';
	if (strlen(text) != length)
		return error_set(error, EINVAL, "%s is no text: there is a NUL in it", path);
	return spec_read_text(spec, text, strcmp(path, "-") ? path : "standard input", error);
}
