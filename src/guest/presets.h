/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Topologies that schedulers are tried on: from one cache to as many CPUs as a guest can have. */
#ifndef DWELL_GUEST_PRESETS_H
#define DWELL_GUEST_PRESETS_H

#include "guest/shape.h"

struct shape_preset {
	const char *name;
	struct shape shape;
};

/* By what they are for; a nameless one ends them. */
extern const struct shape_preset shape_presets[];

/* NULL: there is none of that name. */
const struct shape_preset *shape_preset_find(const char *name);

/* The name that `wanted` is a misspelling of, or NULL. */
const char *shape_preset_guess(const char *wanted);

#endif
