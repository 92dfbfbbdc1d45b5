// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/presets.h"

#include "base/similar.h"

/*
 * Odd numbers of caches find what is divided without a remainder in mind; many caches, and many
 * CPUs, what is kept in arrays and masks of a fixed size. "nosmt" have one thread to a core.
 */
const struct shape_preset shape_presets[] = {
	{"tiny-1llc", {1, 1, 4, 1}},
	{"tiny-2llc", {1, 2, 2, 1}},
	{"odd-3llc", {1, 3, 3, 1}},
	{"odd-5llc", {1, 5, 3, 1}},
	{"odd-7llc", {1, 7, 2, 1}},
	{"smt-2llc", {1, 2, 2, 2}},
	{"smt-3llc", {1, 3, 2, 2}},
	{"medium-4llc", {1, 4, 4, 2}},
	{"medium-8llc", {1, 8, 4, 2}},
	{"large-4llc", {1, 4, 16, 2}},
	{"large-8llc", {1, 8, 8, 2}},
	{"near-max-llc", {1, 15, 8, 2}},
	{"max-cpu", {1, 14, 9, 2}},
	{"medium-4llc-nosmt", {1, 4, 8, 1}},
	{"medium-8llc-nosmt", {1, 8, 8, 1}},
	{"large-4llc-nosmt", {1, 4, 32, 1}},
	{"large-8llc-nosmt", {1, 8, 16, 1}},
	{"near-max-llc-nosmt", {1, 15, 16, 1}},
	{"max-cpu-nosmt", {1, 14, 18, 1}},
	{"numa2-4llc", {2, 4, 4, 1}},
	{"numa2-8llc", {2, 8, 8, 2}},
	{"numa2-8llc-nosmt", {2, 8, 16, 1}},
	{"numa4-8llc", {4, 8, 4, 1}},
	{"numa4-12llc", {4, 12, 8, 2}},
	{NULL, {0, 0, 0, 0}},
};

const struct shape_preset *shape_preset_find(const char *name)
{
	for (const struct shape_preset *preset = shape_presets; preset->name; preset++)
		if (similar_same(preset->name, name))
			return preset;
	return NULL;
}

const char *shape_preset_guess(const char *wanted)
{
	struct similar similar = {.wanted = wanted};

	for (const struct shape_preset *preset = shape_presets; preset->name; preset++)
		similar_try(&similar, preset->name);
	return similar.best;
}
