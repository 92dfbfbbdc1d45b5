// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/scenarios.h"
#include "load/spec_set.h"
#include "load/spec_yaml.h"

static int parse_seed(struct spec *spec, const char *value, struct error *error)
{
	char *end;

	errno = 0;
	spec->seed = strtoull(value, &end, 0);
	if (*value < '0' || *value > '9' || *end || errno)
		return error_set(error, EINVAL, "--seed needs a whole number, not '%s'", value);
	spec->seed_given = true;
	return 0;
}

static int read_spec(struct spec *spec, const char *path, struct error *error)
{
	const struct scenario *scenario = scenario_find(path);

	if (spec->cgroups.count)
		return error_set(error, EINVAL,
				 "a spec (%s) and --work cannot be combined: write the group into "
				 "the spec",
				 path);
	/* a file wins: its name may well be that of a scenario */
	if (scenario && access(path, F_OK) < 0)
		return spec_read_text(spec, scenario->text, scenario->name, error);
	if (!scenario && strcmp(path, "-") != 0 && access(path, F_OK) < 0)
		return scenario_unknown(path, error);
	return spec_read_file(spec, path, error);
}

static int add_check(struct spec *spec, const char *given, struct error *error)
{
	cleanup_free char *name = strdup(given);
	char *value = name ? strchr(name, '=') : NULL;

	if (!name)
		return error_set(error, ENOMEM, "out of memory");
	if (value)
		*value++ = '\0';
	return spec_parse_check(&spec->checks, name, value ? value : "true", error);
}

static int set_value(struct spec *spec, const char *given, struct error *error)
{
	cleanup_free char *name = strdup(given);
	char *value = name ? strchr(name, '=') : NULL;
	int result;

	if (!name)
		return error_set(error, ENOMEM, "out of memory");
	if (!value)
		return error_set(error, EINVAL, "--set needs NAME=VALUE, as workers=4, not '%s'",
				 given);
	*value++ = '\0';
	result = spec_set_value(spec, name, value, error);
	return result < 0 ? error_wrap(error, result, "--set") : 0;
}

int load_given_add(const struct load_given *given, struct spec *spec, struct error *error)
{
	int result = given->path ? read_spec(spec, given->path, error) : 0;

	if (result >= 0 && given->seed)
		result = parse_seed(spec, given->seed, error);
	if (given->duration_ns)
		spec->duration_ns = given->duration_ns;
	for (unsigned int i = 0; result >= 0 && i < given->check_count; i++)
		result = add_check(spec, given->checks[i], error);
	for (unsigned int i = 0; result >= 0 && i < given->set_count; i++)
		result = set_value(spec, given->sets[i], error);
	if (result >= 0 && !*spec->name)
		snprintf(spec->name, sizeof(spec->name), "%s",
			 spec->cgroups.items[0].works.items[0].type->name);
	return result;
}
