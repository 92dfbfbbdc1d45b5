/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is expected of profiles. */
#ifndef DWELL_UNIT_MODEL_MADE_PROFILE_H
#define DWELL_UNIT_MODEL_MADE_PROFILE_H

#include <errno.h>
#include <math.h>

#include "base/duration.h"
#include "profiles.h"

static inline const struct profile_spot *spot(struct profile *profile, uint32_t frame,
					      enum state state)
{
	const struct profile_spot *spots;
	size_t count;

	assert_int_equal(profile_spots(profile, PROFILE_BY_FUNCTION,
				       (struct profile_choice){.states = ~0U}, &spots, &count),
			 0);
	for (size_t i = 0; i < count; i++)
		if (spots[i].frame == frame && spots[i].state == state)
			return &spots[i];
	return NULL;
}

static inline void assert_near(double left, double right)
{
	assert_true(fabs(left - right) <= 1e-6 * (fabs(right) + 1));
}

#endif
