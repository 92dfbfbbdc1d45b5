// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_group_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command/parsing.h"
#include "load/spec.h"
#include "load/spec_yaml.h"

static int take_work(void *spec, const char *value, struct error *error)
{
	struct spec_cgroups *cgroups = &((struct spec *)spec)->cgroups;
	struct spec_work *work;

	if (!cgroups->count && !spec_add_cgroup(cgroups))
		return error_set(error, ENOMEM, "out of memory");
	work = spec_add_work(&cgroups->items[0].works);
	return work ? spec_parse_work(work, value, error)
		    : error_set(error, ENOMEM, "out of memory");
}

/* The work that other options are of; NULL: there is none, which is the mistake. */
static struct spec_work *last_work(struct spec *spec, struct error *error)
{
	struct spec_cgroups *cgroups = &spec->cgroups;
	struct spec_works *works =
		cgroups->count ? &cgroups->items[cgroups->count - 1].works : NULL;

	if (works && works->count)
		return &works->items[works->count - 1];
	error_set(error, EINVAL,
		  "options of a group (--workers, --cpus, --affinity, --policy, --nice, --mode) "
		  "follow its --work; a spec says them itself");
	return NULL;
}

static int take_workers(void *spec, const char *value, struct error *error)
{
	struct spec_work *work = last_work(spec, error);
	unsigned long workers;
	char *end;

	if (!work)
		return -EINVAL;
	workers = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || !workers || workers > SPEC_MAX_WORKERS)
		return error_set(error, EINVAL, "--workers needs a number from 1 to %u, not '%s'",
				 SPEC_MAX_WORKERS, value);
	work->workers = (unsigned int)workers;
	return 0;
}

static int take_affinity(void *spec, const char *value, struct error *error)
{
	struct spec_work *work = last_work(spec, error);

	return !work ? -EINVAL : spec_parse_affinity(&work->affinity, value, error);
}

static int take_policy(void *spec, const char *value, struct error *error)
{
	struct spec_work *work = last_work(spec, error);

	return !work ? -EINVAL : spec_parse_policy(&work->policy, value, error);
}

static int take_nice(void *spec, const char *value, struct error *error)
{
	struct spec_work *work = last_work(spec, error);
	char *end;
	long nice = strtol(value, &end, 10);

	if (!work)
		return -EINVAL;
	if (end == value || *end || nice < -20 || nice > 19)
		return error_set(error, EINVAL, "--nice needs a number from -20 to 19, not '%s'",
				 value);
	work->nice_given = true;
	work->nice = (int)nice;
	return 0;
}

static int take_mode(void *spec, const char *value, struct error *error)
{
	struct spec_work *work = last_work(spec, error);

	if (!work)
		return -EINVAL;
	work->threads = !strcmp(value, "thread");
	return work->threads || !strcmp(value, "fork")
		       ? 0
		       : parsing_unknown(error, "mode", value, "fork or thread");
}

const struct command_option load_group_option_table[] = {
	OPTION_GROUP(1, "What to run:"),
	TAKEN_OPTION("work", 0, "TYPE[:NAME=VALUE,...]", take_work,
		     "a group of workers of that type"),
	TAKEN_OPTION("workers", 'w', "N", take_workers, "how many (one team of the type)"),
	TAKEN_OPTION("cpus", 0, "CPUS", take_affinity,
		     "where: 0-3, llc:0, numa:0, disjoint:0/2, overlap:0/2:0.5, 0.0-0.5"),
	TAKEN_OPTION("affinity", 0, "HOW", take_affinity,
		     "inherit, single, spread, random:N, llc, smt-pair, cross-cgroup, or CPUS"),
	TAKEN_OPTION("policy", 0, "POLICY", take_policy,
		     "normal, batch, idle, fifo:PRIORITY, rr:PRIORITY, "
		     "deadline:RUNTIME/DEADLINE/PERIOD or ext"),
	TAKEN_OPTION("nice", 0, "N", take_nice, "-20 to 19"),
	TAKEN_OPTION("mode", 0, "MODE", take_mode,
		     "fork, or thread: one process, for comparison (fork)"),
	END_OF_OPTIONS,
};
