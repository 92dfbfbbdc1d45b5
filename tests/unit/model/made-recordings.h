/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two recordings, made of intervals, that are compared. */
#ifndef DWELL_UNIT_MODEL_MADE_RECORDINGS_H
#define DWELL_UNIT_MODEL_MADE_RECORDINGS_H

#include <math.h>

#include "code_time.h"
#include "model/code_shares.h"
#include "model/share_comparison.h"

#define MS 1000000ULL

/* Two recordings, made of intervals of 100 ms unless a case says so. */
struct pair {
	struct share_keys keys;
	struct shares sides[2];
	struct session_info sessions[2];
	struct share_comparison comparison;
	uint64_t now_ns;
};

static inline void begin(struct pair *pair)
{
	*pair = (struct pair){.now_ns = 1000 * MS};
	for (int i = 0; i < 2; i++) {
		shares_begin(&pair->sides[i], &pair->keys);
		pair->sessions[i].wire = (struct wire_session){.source = WIRE_SOURCE_BPF,
							       .states = ~0U,
							       .metrics = ~0U,
							       .flags = WIRE_SESSION_BLAME};
	}
}

static inline void end(struct pair *pair)
{
	share_comparison_release(&pair->comparison);
	shares_release(&pair->sides[0]);
	shares_release(&pair->sides[1]);
	share_keys_release(&pair->keys);
}

static inline struct row row_of(uint32_t tid, const char *process)
{
	struct row row = {.tid = tid, .pid = tid, .threads = 1};

	snprintf(row.process, sizeof(row.process), "%s", process);
	return row;
}

/* What of an interval is not spent in `state` is idle. */
static inline struct row waiting(uint32_t tid, const char *process, enum state state, uint64_t ns,
				 uint64_t length_ns)
{
	struct row row = row_of(tid, process);

	row.observed_ns = length_ns;
	row.states_ns[state] = ns;
	row.states_ns[STATE_IDLE] = ns < length_ns ? length_ns - ns : 0;
	return row;
}

static inline void add(struct pair *pair, int side, uint64_t length_ns, struct row *rows,
		       size_t row_count, struct blame *blames, size_t blame_count)
{
	struct interval interval = {.start_ns = pair->now_ns,
				    .end_ns = pair->now_ns + length_ns,
				    .rows = rows,
				    .row_count = row_count,
				    .blames = blames,
				    .blame_count = blame_count,
				    .session = &pair->sessions[side]};

	pair->now_ns += length_ns;
	assert_int_equal(shares_add(&pair->sides[side], &interval), 0);
}

/* `program` waits `ns` of each of `count` intervals, give or take a little. */
static inline void add_many(struct pair *pair, int side, int count, const char *program,
			    enum state state, uint64_t ns)
{
	for (int i = 0; i < count; i++) {
		uint64_t off_ns = (uint64_t)(i * 7 % 5) * MS / 4;
		struct row row = waiting(1, program, state, ns ? ns + off_ns : 0, 100 * MS);

		add(pair, side, 100 * MS, &row, 1, NULL, 0);
	}
}

static inline void compare(struct pair *pair)
{
	assert_int_equal(share_comparison_make(&pair->comparison, &pair->sides[0], &pair->sides[1]),
			 0);
}

/* The first row of that; NULL: there is none. */
static inline const struct share_row *find(const struct pair *pair, enum share_level level,
					   const char *program, enum state state)
{
	for (size_t i = 0; i < pair->comparison.count; i++) {
		const struct share_row *row = &pair->comparison.rows[i];

		if (row->key->level == level &&
		    !strncmp(share_name(&pair->keys, row->key->program), program,
			     SHARE_NAME_BYTES) &&
		    (level == SHARE_PROGRAM || row->key->state == state))
			return row;
	}
	return NULL;
}

static inline enum share_verdict verdict_of(uint64_t a_ns, uint64_t b_ns, enum state state,
					    int count)
{
	struct pair pair;
	const struct share_row *row;
	enum share_verdict verdict;

	begin(&pair);
	add_many(&pair, 0, count, "db", state, a_ns);
	add_many(&pair, 1, count, "db", state, b_ns);
	compare(&pair);
	row = find(&pair, SHARE_STATE, "db", state);
	verdict = row ? row->verdict : SHARE_IS_UNKNOWN;
	end(&pair);
	return verdict;
}

#endif
