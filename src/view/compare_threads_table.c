// SPDX-License-Identifier: GPL-2.0-or-later
/* What two recordings of threads differ in, for people: what got worse because of whom, first. */
#include <math.h>

#include "base/duration.h"
#include "base/text.h"
#include "view/compare_threads.h"

#define PATH_COLUMNS	60
#define PROGRAM_COLUMNS 16
#define SENTENCES	3
#define DEFAULT_ROWS	20

static void write_side(struct output *out, const struct thread_comparison *pair, int side)
{
	const struct shares *shares = pair->comparison->sides[side];
	char path[PATH_COLUMNS * 4 + 1], length[16];

	text_printable(path, sizeof(path), pair->paths[side], PATH_COLUMNS);
	duration_format(length, sizeof(length), batches_duration_ns(&shares->batches));
	output_format(out, "%c  %s  %s in %llu interval%s\n", 'A' + side, path, length,
		      (unsigned long long)shares->intervals, shares->intervals == 1 ? "" : "s");
}

static bool is_state_worse(const struct share_comparison *comparison, const struct share_row *row)
{
	const struct share_row *state = share_comparison_state(comparison, row);

	return state && share_verdict_is_worse(state->verdict);
}

/* A state that is worse, or, where it is not, what is worse in it. */
static bool is_sentence(const struct share_comparison *comparison, const struct share_row *row)
{
	if (row->key->level == SHARE_PROGRAM || !share_verdict_is_worse(row->verdict))
		return false;
	return row->key->level == SHARE_STATE || !is_state_worse(comparison, row);
}

/* Below it, a change that is not more than chance among so many may be more than that alone. */
#define NEARLY 0.05

/* The largest change for the worse that may be chance; NULL: there is none. */
static const struct share_row *find_undecided(const struct share_comparison *comparison)
{
	for (size_t i = 0; i < comparison->count; i++) {
		const struct share_row *row = &comparison->rows[i];

		if (row->key->level == SHARE_STATE && row->is_lost && row->change > 0 &&
		    (row->verdict == SHARE_IS_UNDECIDED ||
		     (row->verdict == SHARE_IS_CHANCE && row->p < NEARLY)))
			return row;
	}
	return NULL;
}

static void write_no_sentence(struct output *out, const struct share_comparison *comparison)
{
	const struct share_row *undecided = find_undecided(comparison);

	if (share_comparison_is_short(comparison))
		output_format(out,
			      "undecided: A has %u intervals of full length and B %u; it takes %d "
			      "of each to distinguish a change from chance. Record for longer, or "
			      "with a shorter --interval\n",
			      comparison->batches[0], comparison->batches[1], SHARE_BATCHES_LEAST);
	else
		output_string(out, "nothing got worse by more than chance\n");
	if (!undecided)
		return;
	output_string(out, "the largest change that may be chance, which a longer recording "
			   "decides:\n  ");
	compare_threads_sentence(out, comparison, undecided);
}

static bool is_asleep(const struct share_row *row)
{
	return row->key->state == STATE_SLEEP;
}

static bool is_computed(const struct share_row *row)
{
	return row->key->state == STATE_USER || row->key->state == STATE_KERNEL;
}

/* The largest that is more than before; by code where that is known. NULL: nothing. */
static const struct share_row *find_more(const struct share_comparison *comparison,
					 bool is_meant(const struct share_row *row))
{
	const struct share_row *found = NULL;

	for (size_t i = 0; i < comparison->count; i++) {
		const struct share_row *row = &comparison->rows[i];

		if (row->verdict != SHARE_IS_MORE || !is_meant(row))
			continue;
		if (row->key->level == SHARE_CODE)
			return row;
		if (row->key->level != SHARE_CULPRIT)
			found = found ? found : row;
	}
	return found;
}

/* It is no loss, but may be the cause of one. */
static void write_more(struct output *out, const struct share_comparison *comparison,
		       const char *verb, bool is_meant(const struct share_row *row))
{
	const struct share_row *row = find_more(comparison, is_meant);
	char name[PROGRAM_COLUMNS * 4 + 1], because[CULPRIT_WORDS_BYTES], a[32], b[32];

	if (!row)
		return;
	compare_threads_name(name, sizeof(name), comparison, row->key->program);
	compare_threads_because(because, sizeof(because), comparison, row->key);
	compare_threads_percent(a, sizeof(a), row->sides[0].share);
	compare_threads_percent(b, sizeof(b), row->sides[1].share);
	output_format(out,
		      row->key->level == SHARE_REASON ? "%s %s more%s(%s): %s -> %s of the time\n"
						      : "%s %s more%s%s: %s -> %s of the time\n",
		      name, verb, *because ? " " : "", because, a, b);
}

/* What got worse, the largest first. */
static void write_sentences(struct output *out, const struct share_comparison *comparison)
{
	size_t said = 0, worse = 0;

	/* those that are worse are among the first */
	for (size_t i = 0; i < comparison->count; i++) {
		const struct share_row *row = &comparison->rows[i];

		if (!share_verdict_is_worse(row->verdict) && !share_verdict_is_better(row->verdict))
			break;
		if (!is_sentence(comparison, row))
			continue;
		worse++;
		if (said == SENTENCES)
			continue;
		said++;
		compare_threads_sentence(out, comparison, row);
	}
	if (worse > said)
		output_format(out, "and %zu more got worse\n", worse - said);
	if (!worse)
		write_no_sentence(out, comparison);
}

/*
 * What a program lost in all is the sum of its states. Changes that came once, and so are not
 * decided, are many on every machine.
 */
static bool is_shown(const struct thread_comparison *pair, const struct share_row *row)
{
	if (pair->all)
		return true;
	if (row->verdict == SHARE_IS_UNDECIDED && !share_comparison_is_short(pair->comparison))
		return false;
	/* also of what a program computes, which is no loss */
	return (row->is_lost || row->key->level == SHARE_CODE) &&
	       row->key->level != SHARE_PROGRAM && row->verdict != SHARE_IS_SAME &&
	       row->verdict != SHARE_IS_CHANCE && row->verdict != SHARE_IS_UNKNOWN;
}

static void write_share(struct output *out, const struct share_side *side)
{
	char text[32] = "-";

	if (side->known)
		compare_threads_percent(text, sizeof(text), side->share);
	output_format(out, " %8s", text);
}

static void write_change(struct output *out, const struct share_row *row)
{
	char change[32] = "-", signed_change[40], p[16] = "-";

	if (!isnan(row->change))
		compare_threads_percent(change, sizeof(change), row->change);
	if (row->adjusted < 0.001)
		snprintf(p, sizeof(p), "<.001");
	else if (!isnan(row->adjusted))
		snprintf(p, sizeof(p), "%.3f", row->adjusted);
	snprintf(signed_change, sizeof(signed_change), "%s%s", row->change > 0 ? "+" : "", change);
	output_format(out, " %9s %6s\n", signed_change, p);
}

static void write_row(struct output *out, const struct share_comparison *comparison,
		      const struct share_row *row)
{
	const char *verdict = share_verdict_keys[row->verdict];
	char name[PROGRAM_COLUMNS * 4 + 1], because[CULPRIT_WORDS_BYTES];

	compare_threads_name(name, sizeof(name), comparison, row->key->program);
	compare_threads_because(because, sizeof(because), comparison, row->key);
	output_format(out, "%-9s  ", verdict ? verdict : "-");
	text_padded(out, name, PROGRAM_COLUMNS);
	output_format(out, "  %-8s  ",
		      row->key->level == SHARE_PROGRAM ? "all lost"
						       : state_info[row->key->state].key);
	text_padded(out, because, COMPARE_BECAUSE_COLUMNS);
	write_share(out, &row->sides[0]);
	write_share(out, &row->sides[1]);
	write_change(out, row);
}

static void write_rows(struct output *out, const struct thread_comparison *pair)
{
	size_t top = pair->top ? pair->top : DEFAULT_ROWS, shown = 0, left_out = 0;

	for (size_t i = 0; i < pair->comparison->count; i++) {
		const struct share_row *row = pair->order[i];

		if (!is_shown(pair, row))
			continue;
		if (shown == top) {
			left_out++;
			continue;
		}
		if (!shown++)
			output_format(out, "\n%-9s  %-*s  %-8s  %-*s %8s %8s %9s %6s\n", "",
				      PROGRAM_COLUMNS, "PROGRAM", "STATE", COMPARE_BECAUSE_COLUMNS,
				      "BECAUSE OF", "A", "B", "CHANGE", "p");
		write_row(out, pair->comparison, row);
	}
	if (left_out)
		output_format(out, "%zu more: --top\n", left_out);
}

/* Reasons, culprits and code that got worse in a state that did not. */
static size_t count_worse_parts(const struct share_comparison *comparison)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->count; i++)
		count += comparison->rows[i].key->level != SHARE_STATE &&
			 is_sentence(comparison, &comparison->rows[i]);
	return count;
}

void compare_threads_table(struct output *out, const struct thread_comparison *pair)
{
	const size_t *verdicts = pair->comparison->verdicts;
	size_t parts = count_worse_parts(pair->comparison);

	write_sentences(out, pair->comparison);
	write_more(out, pair->comparison, "computes", is_computed);
	write_more(out, pair->comparison, "sleeps", is_asleep);
	output_char(out, '\n');
	write_side(out, pair, 0);
	write_side(out, pair, 1);
	for (size_t i = 0; i < pair->remark_count; i++)
		output_format(out, "   %s\n", pair->remarks[i]);
	write_rows(out, pair);
	output_format(out, "\nstates of programs: %zu worse, %zu better, %zu same",
		      verdicts[SHARE_IS_WORSE] + verdicts[SHARE_IS_NEW],
		      verdicts[SHARE_IS_BETTER] + verdicts[SHARE_IS_GONE], verdicts[SHARE_IS_SAME]);
	if (verdicts[SHARE_IS_MORE] + verdicts[SHARE_IS_LESS])
		output_format(out, ", %zu more or less without being lost",
			      verdicts[SHARE_IS_MORE] + verdicts[SHARE_IS_LESS]);
	if (verdicts[SHARE_IS_CHANCE])
		output_format(out, ", %zu within chance (--all)", verdicts[SHARE_IS_CHANCE]);
	if (verdicts[SHARE_IS_UNDECIDED])
		output_format(
			out,
			", %zu undecided (--all): they changed once or twice, which may be chance",
			verdicts[SHARE_IS_UNDECIDED]);
	if (verdicts[SHARE_IS_UNKNOWN])
		output_format(out, ", %zu not measured in both", verdicts[SHARE_IS_UNKNOWN]);
	if (parts)
		output_format(out,
			      "; in states that are not among the worse, %zu cause%s got worse",
			      parts, parts == 1 ? "" : "s");
	output_char(out, '\n');
}
