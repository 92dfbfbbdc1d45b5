// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/shape.h"

#include <errno.h>
#include <stdio.h>

#include "guest/presets.h"

static int explain(const char *text, struct error *error)
{
	const char *guess = shape_preset_guess(text);

	return guess ? error_set(error, EINVAL, "bad topology '%s': did you mean '%s'?", text,
				 guess)
		     : error_set(error, EINVAL,
				 "bad topology '%s': nodes, caches, cores of each cache, threads "
				 "of each core, as 1n2l4c1t, or a name of `dwell guest --list`",
				 text);
}

int shape_parse(const char *text, struct shape *ret_shape, struct error *error)
{
	const struct shape_preset *preset = shape_preset_find(text);
	struct shape shape;
	int used = 0;

	if (preset) {
		*ret_shape = preset->shape;
		return 0;
	}
	if (sscanf(text, "%4un%4ul%4uc%4ut%n", &shape.nodes, &shape.llcs, &shape.cores,
		   &shape.threads, &used) != 4 ||
	    !used || text[used])
		return explain(text, error);
	if (!shape.nodes || !shape.llcs || !shape.cores || !shape.threads)
		return error_set(error, EINVAL, "topology '%s': none of the four can be 0", text);
	if (shape.llcs % shape.nodes)
		return error_set(error, EINVAL,
				 "topology '%s': %u caches cannot be divided evenly among %u nodes",
				 text, shape.llcs, shape.nodes);
	if (shape_cpus(&shape) > SHAPE_CPUS_MAX)
		return error_set(error, EINVAL,
				 "topology '%s' has %u CPUs, more than the %u there can be", text,
				 shape_cpus(&shape), SHAPE_CPUS_MAX);
	*ret_shape = shape;
	return 0;
}

void shape_format(char *into, size_t room, const struct shape *shape)
{
	snprintf(into, room, "%un%ul%uc%ut", shape->nodes, shape->llcs, shape->cores,
		 shape->threads);
}

void shape_smp(char *into, size_t room, const struct shape *shape)
{
	snprintf(into, room, "%u,sockets=%u,cores=%u,threads=%u", shape_cpus(shape), shape->llcs,
		 shape->cores, shape->threads);
}
