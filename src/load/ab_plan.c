// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/ab_plan.h"

#include "base/random.h"
#include "load/compare.h"

#define FIRST_LOOK 8 /* fewer show no difference with the confidence that is left for each */
#define STEP_LEAST 4
#define STEP	   1.4
#define NOT_WORTH  2 /* as few before the end */

void ab_plan_make(struct ab_plan *plan, unsigned int pairs)
{
	unsigned int at = FIRST_LOOK;

	*plan = (struct ab_plan){.pairs = pairs};
	while (at + NOT_WORTH < pairs && plan->look_count < AB_LOOKS_MAX - 1) {
		unsigned int next = (unsigned int)(at * STEP);

		plan->looks[plan->look_count++] = at;
		at = next < at + STEP_LEAST ? at + STEP_LEAST : next;
	}
	plan->looks[plan->look_count++] = pairs;
	plan->alpha = LOAD_ALPHA / plan->look_count;
}

bool ab_plan_looks(const struct ab_plan *plan, unsigned int pairs)
{
	for (unsigned int i = 0; i < plan->look_count; i++)
		if (plan->looks[i] == pairs)
			return true;
	return false;
}

bool ab_plan_begins_with_b(uint64_t seed, unsigned int pair)
{
	bool first = random_seed(seed, pair / 2) >> 32 & 1;

	return first != (pair % 2);
}
