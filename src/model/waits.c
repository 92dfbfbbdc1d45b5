// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/waits.h"

#include <string.h>

#include "base/least.h"

struct parts {
	struct wait_part *items;
	size_t count;
};

static bool is_wait(struct wire_wait_site site)
{
	return site.state > WIRE_RUNNABLE && site.state < WIRE_STATES &&
	       state_is_blocked(state_of_wait(site.state));
}

static struct wait_part *find(const struct parts *parts, struct wire_wait_site site)
{
	for (size_t i = 0; i < parts->count; i++)
		if (!memcmp(&parts->items[i].site, &site, sizeof(site)))
			return &parts->items[i];
	return NULL;
}

static void add(struct parts *parts, struct wire_wait_site site, uint64_t ns)
{
	struct wait_part *part = find(parts, site);

	if (!ns || !is_wait(site))
		return;
	if (part)
		part->ns += ns;
	else if (parts->count < WAITS_MAX)
		parts->items[parts->count++] =
			(struct wait_part){state_of_wait(site.state), site, ns};
}

/* The wait that goes on at the end. */
static void add_last(struct parts *parts, const struct row *row, const struct session_info *session)
{
	if (row_has_state(row, session) && is_wait(row->site))
		add(parts, row->site,
		    least(least(row->in_state_ns, row->observed_ns),
			  row->states_ns[state_of_wait(row->site.state)]));
}

static uint64_t known_ns(const struct parts *parts, enum state state)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < parts->count; i++)
		if (parts->items[i].state == state)
			ns += parts->items[i].ns;
	return ns;
}

/* The one wakeup ended the wait at the beginning: what is not of the last wait is of that one. */
static bool knows_first(const struct row *row, const struct session_info *session)
{
	return session_has(session, WIRE_METRIC_STATE) &&
	       session_has(session, WIRE_METRIC_WAKEUPS) && row->woken == 1 && is_wait(row->began);
}

static void add_first(struct parts *parts, const struct row *row,
		      const struct session_info *session)
{
	enum state state;

	if (!knows_first(row, session))
		return;
	state = state_of_wait(row->began.state);
	add(parts, row->began, row->states_ns[state] - known_ns(parts, state));
}

static void take_off(struct wait_part *part, uint64_t *excess_ns)
{
	uint64_t ns = part ? least(part->ns, *excess_ns) : 0;

	if (part)
		part->ns -= ns;
	*excess_ns -= ns;
}

/*
 * Waits come whole when they end: what is more than the state's time in the interval was before it,
 * and of the wait at its beginning. What is left of it, as where that has been recognized later, is
 * the longest one's.
 */
static void cut(struct parts *parts, const struct row *row, enum state state)
{
	uint64_t known = known_ns(parts, state), excess_ns;

	if (known <= row->states_ns[state])
		return;
	excess_ns = known - row->states_ns[state];
	if (is_wait(row->began) && state_of_wait(row->began.state) == state)
		take_off(find(parts, row->began), &excess_ns);
	while (excess_ns) {
		struct wait_part *longest = NULL;

		for (size_t i = 0; i < parts->count; i++)
			if (parts->items[i].state == state &&
			    (!longest || parts->items[i].ns > longest->ns))
				longest = &parts->items[i];
		take_off(longest, &excess_ns);
	}
}

static size_t drop_empty(struct parts *parts)
{
	size_t kept = 0;

	for (size_t i = 0; i < parts->count; i++)
		if (parts->items[i].ns)
			parts->items[kept++] = parts->items[i];
	return kept;
}

size_t waits_of(struct wait_part into[WAITS_MAX], const struct reason_marks *marks,
		const struct row *row, const struct session_info *session)
{
	struct parts parts = {.items = into};
	const struct wire_reason *reasons;
	size_t count;

	if (!marks->count || !marks->has_before) {
		add_last(&parts, row, session);
		add_first(&parts, row, session);
		return parts.count;
	}
	add_last(&parts, row, session);
	count = reason_marks_of(marks, row->tid, row->origin_ns, &reasons);
	for (size_t i = 0; i < count; i++)
		add(&parts, reasons[i].site, reason_marks_ended(marks, &reasons[i]));
	for (int state = 0; state < STATES; state++)
		if (state_is_blocked((enum state)state))
			cut(&parts, row, (enum state)state);
	return drop_empty(&parts);
}
