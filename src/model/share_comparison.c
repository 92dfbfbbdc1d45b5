// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/share_comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Reasons are of waits that have ended: where those that go on are more than this, they say little
 */
#define REASONS_COVER 0.9

/* Programs and their states; reasons, culprits and code. */
#define FAMILIES 2

static bool is_measured(const struct shares *shares, uint32_t program, enum state state)
{
	uint32_t unmeasured = program < shares->program_count ? shares->unmeasured[program] : 0;

	return shares->session.states & 1U << wire_of_state(state) && !(unmeasured & 1U << state);
}

static bool is_targeted(const struct shares *shares)
{
	return shares->session.flags & WIRE_SESSION_TARGETED;
}

/* Where the whole machine was recorded on the other side, what is not here was not asked for. */
static bool is_watched(const struct share_comparison *comparison, uint32_t program, int side)
{
	return comparison->programs[program].observed_ns[side] ||
	       !is_targeted(comparison->sides[side]) || is_targeted(comparison->sides[!side]);
}

/* What is not there may have been too much to be kept. */
static bool is_known(const struct share_comparison *comparison, const struct share_key *key,
		     const struct series *series, int side)
{
	const struct shares *shares = comparison->sides[side];

	return is_measured(shares, key->program, (enum state)key->state) &&
	       (series || !shares_folded(shares)) && is_watched(comparison, key->program, side);
}

static bool is_anyone(const struct share_key *key)
{
	return key->level == SHARE_CULPRIT &&
	       (key->kind == WIRE_CULPRIT_UNKNOWN || key->kind == WIRE_CULPRIT_OTHERS);
}

static int sum_programs(struct share_comparison *comparison)
{
	const struct share_keys *keys = comparison->sides[0]->keys;

	comparison->program_count = keys->names.count;
	comparison->programs = calloc(comparison->program_count + 1, sizeof(*comparison->programs));
	if (!comparison->programs)
		return -ENOMEM;
	for (size_t i = 0; i < keys->keys.count; i++) {
		const struct share_key *key = share_key_at(keys, i);
		struct share_program *program = &comparison->programs[key->program];

		for (int side = 0; side < 2; side++) {
			const struct series *series = shares_find(comparison->sides[side], i);
			uint64_t ns = series ? series_total_ns(series) : 0;

			if (key->level == SHARE_STATE) {
				program->states_ns[side][key->state] = ns;
				program->observed_ns[side] += ns;
			} else if (key->level == SHARE_REASON) {
				program->reasons_ns[side][key->state] += ns;
			} else if (key->level == SHARE_CODE) {
				program->code_ns[side][key->state] += ns;
			} else if (is_anyone(key)) {
				program->unknown_ns[side][key->state] += ns;
			}
		}
	}
	return 0;
}

static bool reasons_cover(const struct share_comparison *comparison, const struct share_key *key)
{
	const struct share_program *program = &comparison->programs[key->program];

	for (int side = 0; side < 2; side++)
		if ((double)program->reasons_ns[side][key->state] <
		    REASONS_COVER * (double)program->states_ns[side][key->state])
			return false;
	return true;
}

static bool is_compared(const struct share_comparison *comparison, const struct share_key *key)
{
	if (key->level == SHARE_CULPRIT)
		return comparison->sides[0]->has_blame && comparison->sides[1]->has_blame;
	if (key->level == SHARE_CODE)
		return comparison->sides[0]->has_code && comparison->sides[1]->has_code;
	return key->level != SHARE_REASON || reasons_cover(comparison, key);
}

static void set_sides(struct share_comparison *comparison, struct share_row *row,
		      const struct series *const series[2], const bool known[2])
{
	struct welch_set sets[2];

	for (int side = 0; side < 2; side++) {
		series_measure(series[side], &comparison->sides[side]->batches, &sets[side],
			       &row->sides[side].independent);
		row->sides[side].known = known[side];
		row->sides[side].total_ns = series[side] ? series_total_ns(series[side]) : 0;
		row->sides[side].share = sets[side].mean;
	}
	row->change = row->relative = row->p = row->adjusted = NAN;
	if (!known[0] || !known[1])
		return;
	row->change = sets[1].mean - sets[0].mean;
	row->relative = row->change == 0   ? 0
			: sets[0].mean > 0 ? row->change / sets[0].mean
					   : INFINITY;
	/*
	 * Shares so small that no difference of them could pass the gate need no test. The sum
	 * says nothing about the difference, so leaving them out makes the others not less sure.
	 */
	if (sets[0].mean + sets[1].mean >= SHARE_GATE_ABSOLUTE &&
	    !share_comparison_is_short(comparison))
		row->p = series_p(&sets[0], &sets[1]);
}

static void add_key(struct share_comparison *comparison, size_t number)
{
	const struct share_key *key = share_key_at(comparison->sides[0]->keys, number);
	struct share_program *program = &comparison->programs[key->program];
	const struct series *series[2];
	struct share_row *row;
	bool known[2];

	for (int side = 0; side < 2; side++) {
		series[side] = shares_find(comparison->sides[side], number);
		known[side] = is_known(comparison, key, series[side], side);
	}
	if ((!series[0] && !series[1]) || !is_compared(comparison, key))
		return;
	row = &comparison->rows[comparison->count++];
	*row = (struct share_row){.key = key, .is_lost = state_is_lost((enum state)key->state)};
	set_sides(comparison, row, series, known);
	if (key->level != SHARE_STATE || !row->is_lost || !known[0] || !known[1])
		return;
	for (int side = 0; side < 2; side++)
		for (int i = 0; series[side] && i < BATCHES_MAX; i++)
			program->lost[side].ns[i] += series[side]->ns[i];
}

/* Of each program that lost anything: in the states that both know. */
static void add_programs(struct share_comparison *comparison)
{
	static const bool known[2] = {true, true};
	struct share_key *keys = comparison->program_keys;

	for (size_t i = 0; i < comparison->program_count; i++) {
		struct share_program *program = &comparison->programs[i];
		const struct series *series[2] = {&program->lost[0], &program->lost[1]};
		struct share_row *row = &comparison->rows[comparison->count];

		keys[i] = (struct share_key){.program = (uint32_t)i, .level = SHARE_PROGRAM};
		if (!series_total_ns(series[0]) && !series_total_ns(series[1]))
			continue;
		*row = (struct share_row){.key = &keys[i], .is_lost = true};
		set_sides(comparison, row, series, known);
		comparison->count++;
	}
}

/* What a program did in all, and in a state; the others are parts of that. */
static bool is_whole(const struct share_row *row)
{
	return row->key->level == SHARE_PROGRAM || row->key->level == SHARE_STATE;
}

static int by_p(const void *left, const void *right)
{
	double a = (*(struct share_row *const *)left)->p,
	       b = (*(struct share_row *const *)right)->p;

	return (a > b) - (a < b);
}

/*
 * Holm: the k-th smallest of m is multiplied by m - k + 1, and none is below those before. And by
 * FAMILIES: each has its part of the error that all together may make.
 */
static void adjust_family(struct share_row **tested, size_t count)
{
	double largest = 0;

	qsort(tested, count, sizeof(*tested), by_p);
	for (size_t i = 0; i < count; i++) {
		double adjusted = tested[i]->p * (double)(FAMILIES * (count - i));

		largest = fmax(largest, fmin(adjusted, 1));
		tested[i]->adjusted = largest;
	}
}

static int adjust(struct share_comparison *comparison)
{
	cleanup_free struct share_row **tested =
		reallocarray(NULL, comparison->count + 1, sizeof(*tested));

	if (!tested)
		return -ENOMEM;
	for (int family = 0; family < FAMILIES; family++) {
		size_t count = 0;

		for (size_t i = 0; i < comparison->count; i++) {
			struct share_row *row = &comparison->rows[i];

			if (!isnan(row->p) && is_whole(row) == !family)
				tested[count++] = row;
		}
		adjust_family(tested, count);
		comparison->tested += count;
	}
	return 0;
}

/* A difference of decimal fractions that just reaches its gate may miss it by rounding. */
static bool reaches(double value, double gate)
{
	return value >= gate * (1 - 1e-9);
}

/* A change that came once and stayed is one value, however many intervals it lasted. */
static bool has_enough(const struct share_row *row)
{
	return row->sides[0].independent >= SHARE_BATCHES_LEAST &&
	       row->sides[1].independent >= SHARE_BATCHES_LEAST;
}

/* Time in the state of which that side does not know what the key's level is about. */
static uint64_t unknown_ns_of(const struct share_comparison *comparison,
			      const struct share_key *key, int side)
{
	const struct share_program *program = &comparison->programs[key->program];
	uint64_t state_ns = program->states_ns[side][key->state],
		 code_ns = program->code_ns[side][key->state];

	if (key->level == SHARE_CODE)
		return state_ns > code_ns ? state_ns - code_ns : 0;
	return key->level == SHARE_CULPRIT && !is_anyone(key)
		       ? program->unknown_ns[side][key->state]
		       : 0;
}

/*
 * The side with the smaller share may have as much more of it as it has time of no known culprit or
 * without a stack: waits that had not ended, for example.
 */
static bool may_be_anyone(const struct share_comparison *comparison, const struct share_row *row)
{
	int side = row->change < 0;
	double all_ns = (double)batches_duration_ns(&comparison->sides[side]->batches);
	uint64_t unknown_ns = unknown_ns_of(comparison, row->key, side);

	if (!unknown_ns)
		return false;
	return !reaches(fabs(row->change) - (double)unknown_ns / all_ns, SHARE_GATE_ABSOLUTE);
}

static bool passes(double change, double relative, double gate)
{
	return reaches(fabs(change), gate) && reaches(fabs(relative), SHARE_GATE_RELATIVE);
}

/* Whether the time in the state that the key is about changed by both gates, by chance or not. */
static bool state_moved(const struct share_comparison *comparison, const struct share_key *key)
{
	const struct share_program *program = &comparison->programs[key->program];
	double shares[2];

	for (int side = 0; side < 2; side++)
		shares[side] = (double)program->states_ns[side][key->state] /
			       (double)batches_duration_ns(&comparison->sides[side]->batches);
	return passes(shares[1] - shares[0], (shares[1] - shares[0]) / shares[0],
		      SHARE_GATE_ABSOLUTE);
}

static double gate_of(const struct share_comparison *comparison, const struct share_row *row)
{
	return is_whole(row) || state_moved(comparison, row->key) ? SHARE_GATE_ABSOLUTE
								  : SHARE_GATE_SHIFT;
}

static enum share_verdict judge(const struct share_comparison *comparison,
				const struct share_row *row)
{
	bool grew = row->change > 0;

	if (isnan(row->change))
		return SHARE_IS_UNKNOWN;
	if (!passes(row->change, row->relative, gate_of(comparison, row)))
		return SHARE_IS_SAME;
	if (share_comparison_is_short(comparison) || may_be_anyone(comparison, row))
		return SHARE_IS_UNDECIDED;
	if (!(row->adjusted < SHARE_SIGNIFICANT))
		return has_enough(row) ? SHARE_IS_CHANCE : SHARE_IS_UNDECIDED;
	if (!row->is_lost)
		return grew ? SHARE_IS_MORE : SHARE_IS_LESS;
	if (grew)
		return row->sides[0].total_ns ? SHARE_IS_WORSE : SHARE_IS_NEW;
	return row->sides[1].total_ns ? SHARE_IS_BETTER : SHARE_IS_GONE;
}

/* Lost time that changed by more than chance, what may have, other states, the rest. */
static int rank(const struct share_row *row)
{
	if (share_verdict_is_worse(row->verdict) || share_verdict_is_better(row->verdict))
		return 0;
	return row->verdict == SHARE_IS_UNDECIDED ? 1
	       : row->verdict == SHARE_IS_UNKNOWN ? 5
	       : row->verdict == SHARE_IS_SAME	  ? 4
	       : row->verdict == SHARE_IS_CHANCE  ? 3
						  : 2;
}

static double size_of(const struct share_row *row)
{
	return isnan(row->change) ? fmax(row->sides[0].share, row->sides[1].share)
				  : fabs(row->change);
}

static int by_change(const void *left, const void *right)
{
	const struct share_row *a = left, *b = right;
	double x = size_of(a), y = size_of(b);

	if (rank(a) != rank(b))
		return rank(a) - rank(b);
	if (x != y)
		return x < y ? 1 : -1;
	if (a->key->program != b->key->program)
		return a->key->program < b->key->program ? -1 : 1;
	if (a->key->level != b->key->level)
		return a->key->level < b->key->level ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

int share_comparison_make(struct share_comparison *comparison, const struct shares *a,
			  const struct shares *b)
{
	size_t key_count = a->keys->keys.count;

	*comparison = (struct share_comparison){
		.sides = {a, b},
		.batches = {batches_weight(&a->batches), batches_weight(&b->batches)},
	};
	if (sum_programs(comparison) < 0)
		return -ENOMEM;
	comparison->program_keys =
		calloc(comparison->program_count + 1, sizeof(*comparison->program_keys));
	comparison->rows =
		calloc(key_count + comparison->program_count + 1, sizeof(*comparison->rows));
	if (!comparison->rows || !comparison->program_keys)
		return -ENOMEM;
	for (size_t i = 0; i < key_count; i++)
		add_key(comparison, i);
	add_programs(comparison);
	if (adjust(comparison) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->count; i++) {
		struct share_row *row = &comparison->rows[i];

		row->verdict = judge(comparison, row);
		if (row->key->level == SHARE_STATE)
			comparison->verdicts[row->verdict]++;
	}
	qsort(comparison->rows, comparison->count, sizeof(*comparison->rows), by_change);
	for (size_t i = 0; i < comparison->count; i++) {
		const struct share_row *row = &comparison->rows[i];

		if (row->key->level == SHARE_STATE)
			comparison->programs[row->key->program].states[row->key->state] = row;
	}
	return 0;
}

void share_comparison_release(struct share_comparison *comparison)
{
	free(comparison->rows);
	free(comparison->programs);
	free(comparison->program_keys);
	*comparison = (struct share_comparison){0};
}

const struct share_row *share_comparison_worse(const struct share_comparison *comparison,
					       double share, size_t *position)
{
	while (*position < comparison->count) {
		const struct share_row *row = &comparison->rows[(*position)++];

		if (row->key->level == SHARE_PROGRAM && share_verdict_is_worse(row->verdict) &&
		    row->relative > share)
			return row;
	}
	return NULL;
}

static bool is_of(const struct share_row *row, enum share_level level, const struct share_row *of)
{
	return row->key->level == level && row->key->program == of->key->program &&
	       row->key->state == of->key->state;
}

const struct share_row *share_comparison_most(const struct share_comparison *comparison,
					      const struct share_row *of, enum share_level level)
{
	/* in the order of their changes */
	for (size_t i = 0; i < comparison->count; i++)
		if (is_of(&comparison->rows[i], level, of) &&
		    share_verdict_is_worse(comparison->rows[i].verdict))
			return &comparison->rows[i];
	return NULL;
}

const struct share_row *share_comparison_state(const struct share_comparison *comparison,
					       const struct share_row *of)
{
	return comparison->programs[of->key->program].states[of->key->state];
}

double share_program_threads(const struct share_comparison *comparison, uint32_t program, int side)
{
	uint64_t ns = batches_duration_ns(&comparison->sides[side]->batches);

	return ns ? (double)comparison->programs[program].observed_ns[side] / (double)ns : 0;
}
