// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits by reason. For each group and state its reasons, COUNTERS_OTHER and COUNTERS_UNKNOWN are
 * together the group's time in that state: so a reason counts on its own only while its group does,
 * and what it counts otherwise is the group's, wherever that is booked.
 */
#include "model/counters_parts.h"

#include <string.h>

#include "model/reason.h"
#include "model/waits.h"

/* What a thread loses is worth more than the time in which it wants nothing, which most of it is.
 */
#define WEIGHT_OF_LOSS 16

static bool is_loss(enum state state)
{
	return state != STATE_SLEEP && state != STATE_IDLE;
}

/* By its words, which are a label's: two sites may have the same. NULL: it has none. */
static struct leader *find_reason(struct counters *counters, const struct leader *group,
				  enum state state, struct wire_wait_site site,
				  const struct session_info *session)
{
	char reason[REASON_BYTES], state_text[2] = {(char)('A' + state), '\0'};
	struct counters_key key;

	reason_format(reason, sizeof(reason), site, session_is_native(session));
	if (!*reason)
		return NULL;
	counters_key_set(&key, group->name);
	counters_key_add(&key, state_text);
	counters_key_add(&key, reason);
	return key.is_cut ? &counters->reasons.rest
			  : leaders_at(&counters->reasons, key.bytes, key.length - 1);
}

static struct leader *reason_near(struct counters *counters, struct counters_near *near,
				  const struct leader *group, const struct wait_part *part,
				  const struct session_info *session)
{
	struct wire_wait_site site = part->site;
	size_t at = ((uintptr_t)group / sizeof(*group) + (size_t)site.syscall * 31 +
		     (size_t)site.detail * 7 + site.state) %
		    COUNTERS_REASONS_NEAR;

	near += at;
	if (near->group != group || memcmp(&near->site, &site, sizeof(site)) != 0)
		*near = (struct counters_near){
			group, site, find_reason(counters, group, part->state, site, session)};
	return near->reason;
}

void counters_count_reasons(struct counters *counters, struct counters_near *near,
			    struct leader *group, const struct row *row,
			    const struct session_info *session)
{
	struct wait_part parts[WAITS_MAX];
	size_t count = waits_of(parts, &counters->marks, row, session);

	for (int state = 0; state < STATES; state++)
		if (state_is_blocked((enum state)state))
			group->fresh[COUNTERS_UNKNOWN + state] += row->states_ns[state];
	for (size_t i = 0; i < count; i++) {
		const struct wait_part *part = &parts[i];
		struct leader *reason = group->name
						? reason_near(counters, near, group, part, session)
						: &counters->reasons.rest;

		if (!reason)
			continue;
		group->fresh[COUNTERS_UNKNOWN + part->state] -= part->ns;
		if (reason == &counters->reasons.rest) {
			group->fresh[COUNTERS_OTHER + part->state] += part->ns;
			continue;
		}
		reason->fresh[0] += part->ns;
		reason->fresh_weight += is_loss(part->state) ? WEIGHT_OF_LOSS * part->ns : part->ns;
	}
}

struct wait_key counters_wait_key(const struct leader *reason)
{
	struct wait_key key = {.group = reason->name};
	const char *state = key.group + strlen(key.group) + 1;

	key.state = (enum state)(*state - 'A');
	key.reason = state + 2;
	return key;
}

bool counters_reason_leads(const struct counters *counters, const struct leader *reason)
{
	const char *name = reason->name;
	const struct leader *group = leaders_find(&counters->groups, name, strlen(name));

	return reason->leads && group && group->leads;
}

static void give_to_group(struct counters *counters, struct leader *reason)
{
	struct wait_key key = counters_wait_key(reason);
	struct leader *group = leaders_find(&counters->groups, key.group, strlen(key.group));

	if (!group)
		group = &counters->groups.rest;
	group->fresh[COUNTERS_OTHER + key.state] += reason->fresh[0];
	reason->fresh[0] = 0;
}

void counters_settle_reasons(struct counters *counters, uint64_t now_ns)
{
	struct leaders *reasons = &counters->reasons;

	for (size_t i = 0; i < reasons->count; i++) {
		struct leader *reason = reasons->items[i];
		const struct leader *group;

		if (!reason->fresh_weight)
			continue;
		group = leaders_find(&counters->groups, reason->name, strlen(reason->name));
		/* so that it takes no place from others */
		if (!group || !group->leads)
			reason->fresh_weight = 0;
	}
	leaders_elect(reasons, now_ns);
	for (size_t i = 0; i < reasons->count; i++)
		if (reasons->items[i]->fresh[0] &&
		    !counters_reason_leads(counters, reasons->items[i]))
			give_to_group(counters, reasons->items[i]);
}
