// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/thread_side.h"

#include <errno.h>

#include "model/code_shares.h"
#include "session/replay.h"

/* What the first records of a file show. */
struct glance {
	bool has_session, has_runtime;
};

static int look_at(void *data, const struct wire_header *record, struct error *error)
{
	struct glance *glance = data;

	(void)error;
	glance->has_session |= record->kind == WIRE_SESSION;
	glance->has_runtime |= record->kind == WIRE_RUNTIME;
	return 0;
}

static int ignore_interval(void *data, struct interval *interval, struct error *error)
{
	(void)data;
	(void)interval;
	(void)error;
	return 0;
}

int thread_side_is(const char *path, bool *ret_is, struct error *error)
{
	struct glance glance = {false, false};
	struct replay replay = {
		.audience = {.data = &glance, .interval = ignore_interval, .record = look_at}};
	int result = replay_open(&replay, path, error);

	*ret_is = false;
	if (result >= 0)
		result = replay_step(&replay, error);
	/* what is damaged at its beginning is of no kind that could be known */
	if (result >= 0 && !glance.has_session && replay_check(&replay, error) < 0)
		result = error_wrap(error, -EBADMSG, "%s", path);
	if (result >= 0)
		*ret_is = glance.has_session && !glance.has_runtime;
	replay_release(&replay);
	return result < 0 ? result : 0;
}

struct side {
	struct shares *shares;
	struct code_shares code;
};

static int take_interval(void *data, struct interval *interval, struct error *error)
{
	struct side *side = data;

	if (shares_add(side->shares, interval) < 0 ||
	    code_shares_add(&side->code, side->shares, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return 0;
}

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct side *side = data;

	/* what cannot be is passed over, as it is where time is shown */
	return code_shares_feed(&side->code, record) == -ENOMEM
		       ? error_set(error, ENOMEM, "out of memory")
		       : 0;
}

int thread_side_read(struct shares *shares, struct share_keys *keys, const char *path,
		     struct error *ret_damage, struct error *error)
{
	struct side side = {.shares = shares};
	struct replay replay = {
		.audience = {.data = &side, .interval = take_interval, .record = take_record}};
	int result;

	shares_begin(shares, keys);
	*ret_damage = (struct error){""};
	result = replay_open(&replay, path, error);
	if (result >= 0) {
		do
			result = replay_step(&replay, error);
		while (result > 0);
	}
	if (result >= 0)
		result = code_shares_end(&side.code, shares) < 0
				 ? error_set(error, ENOMEM, "out of memory")
				 : 0;
	if (result >= 0 && !shares->intervals) {
		result = replay_check(&replay, error) < 0
				 ? error_wrap(error, -EBADMSG, "%s has no whole interval", path)
				 : error_set(error, EINVAL, "%s has no whole interval", path);
	} else if (result >= 0 && replay_check(&replay, ret_damage) < 0) {
		/* what could be read is whole */
		result = 0;
	}
	code_shares_release(&side.code);
	replay_release(&replay);
	return result;
}
