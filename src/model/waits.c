// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/waits.h"

static bool is_wait(struct wire_wait_site site)
{
	return site.state > WIRE_RUNNABLE && site.state < WIRE_STATES &&
	       state_is_blocked(state_of_wait(site.state));
}

static uint64_t least(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* The one wakeup ended the wait at the beginning: what is not of the last wait is of that one. */
static bool knows_first(const struct row *row, const struct session_info *session)
{
	return session_has(session, WIRE_METRIC_STATE) &&
	       session_has(session, WIRE_METRIC_WAKEUPS) && row->woken == 1 && is_wait(row->began);
}

size_t waits_of(struct wait_part into[WAITS_MAX], const struct row *row,
		const struct session_info *session)
{
	uint64_t last_ns = 0;
	size_t count = 0;

	if (row_has_state(row, session) && is_wait(row->site)) {
		enum state state = state_of_wait(row->site.state);

		last_ns = least(least(row->in_state_ns, row->observed_ns), row->states_ns[state]);
		if (last_ns)
			into[count++] = (struct wait_part){state, row->site, last_ns};
	}
	if (knows_first(row, session)) {
		enum state state = state_of_wait(row->began.state);
		uint64_t ns = row->states_ns[state];

		if (count && into[0].state == state)
			ns -= last_ns;
		if (ns)
			into[count++] = (struct wait_part){state, row->began, ns};
	}
	return count;
}
