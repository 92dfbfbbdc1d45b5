// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/spec_yaml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "load/params.h"
#include "load/rt_app.h"
#include "load/spec_ops.h"
#include "load/yaml_reader.h"

/* Of any part of it: Documentation/admin-guide/cgroup-v2.rst, "Avoid Name Collisions". */
static bool is_control_file(const char *name)
{
	static const char *const prefixes[] = {"cgroup.", "cpu.",     "cpuset.", "memory.", "io.",
					       "pids.",	  "hugetlb.", "rdma.",	 "misc.",   "irq."};

	for (const char *part = name; part; part = strchr(part, '/')) {
		part += *part == '/';
		for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
			if (!strncmp(part, prefixes[i], strlen(prefixes[i])))
				return true;
	}
	return false;
}

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
		return error_set(error, EINVAL, "'%s' is not the name of a cgroup", name);
	if (is_control_file(name))
		return error_set(error, EINVAL,
				 "'%s': a name that begins as those of control files do "
				 "(cgroup., cpu., memory. ...) is not for cgroups",
				 name);
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
	cgroup->cpuset_place = yaml_place(value);
	return result < 0 ? result : spec_take_text(&cgroup->cpuset, text, error);
}

static int take_works(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		      struct error *error)
{
	return yaml_read_items(reader, value, &((struct spec_cgroup *)into)->works, spec_take_work,
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

	if (cgroups->count >= SPEC_MOST_GROUPS)
		return error_set(error, EINVAL, "more than %u cgroups", SPEC_MOST_GROUPS);
	cgroup = spec_add_cgroup(cgroups);
	if (!cgroup)
		return error_set(error, ENOMEM, "out of memory");
	result = spec_take_cgroup(reader, node, cgroup, error);
	if (result >= 0 && !*cgroup->name)
		result = error_set(error, EINVAL, "a cgroup needs a `name`");
	return result;
}

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
		return error_set(error, ENOMEM, "out of memory");
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

	return result < 0 ? result
			  : spec_take_text(&((struct spec *)into)->description, text, error);
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

	if (!root)
		return error_set(error, EINVAL, "%s: there is nothing in it", reader->name);
	if (rt_app_is(reader, root))
		return rt_app_read(reader, root, error);
	return yaml_read_mapping(reader, root, "a spec", spec_keys, NULL, reader->spec, error);
}

int spec_read_text(struct spec *spec, const char *text, const char *name, struct error *error)
{
	struct yaml_reader reader = {.name = name, .spec = spec};
	cleanup_free char *readable = strdup(text);
	int result;

	if (!readable || spec_take_text(&spec->source, text, error) < 0 ||
	    spec_take_text(&spec->file, name, error) < 0)
		return error_set(error, ENOMEM, "out of memory");
	rt_app_blank_comments(readable);
	result = yaml_load(&reader, readable, error);
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
	cleanup_free char *text = NULL;
	int result = yaml_read_file(path, &text, error);

	return result < 0 ? result : spec_read_text(spec, text, yaml_file_name(path), error);
}
