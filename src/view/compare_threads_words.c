// SPDX-License-Identifier: GPL-2.0-or-later
/* What two recordings of threads differ in, in sentences. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/reason.h"
#include "view/blame.h"
#include "view/compare_threads.h"

#define NAME_COLUMNS 16
#define CODE_COLUMNS (COMPARE_BECAUSE_COLUMNS - 3) /* behind "in " */
/* From less than this part of it a share is new, for a person. */
#define TIMES_MOST 100
/* As many more or fewer threads are worth a word. */
#define THREADS_DIFFER 0.1

const char *const share_verdict_keys[SHARE_VERDICTS_COUNT] = {
#define X(name, key) [SHARE_IS_##name] = key,
	SHARE_VERDICTS(X)
#undef X
};

void compare_threads_percent(char *into, size_t room, double share)
{
	double percent = 100 * share, size = fabs(percent);
	int decimals = size >= 9.95 || size < 0.005 ? 0 : size >= 0.995 ? 1 : 2;

	snprintf(into, room, "%.*f %%", decimals, size < 0.005 ? 0 : percent);
}

void compare_threads_name(char *into, size_t room, const struct share_comparison *comparison,
			  uint32_t name)
{
	char bytes[SHARE_NAME_BYTES + 1] = "";

	memcpy(bytes, share_name(comparison->sides[0]->keys, name), SHARE_NAME_BYTES);
	text_printable(into, room, *bytes ? bytes : "(no name)", NAME_COLUMNS);
}

bool compare_threads_native(const struct share_comparison *comparison)
{
	struct session_info session[2] = {{.wire = comparison->sides[0]->session},
					  {.wire = comparison->sides[1]->session}};

	return session_is_native(&session[0]) && session_is_native(&session[1]);
}

static void describe_culprit(char *into, size_t room, const struct share_comparison *comparison,
			     const struct share_key *key)
{
	char name[NAME_COLUMNS * 4 + 1];

	compare_threads_name(name, sizeof(name), comparison, key->culprit);
	snprintf(into, room, "%s %s%s%s%s",
		 key->state == STATE_RUNNABLE ? "ran instead:" : "ended by", name,
		 key->culprit == key->program ? " itself" : "",
		 key->flags & SHARE_MEANWHILE ? ", meanwhile " : "",
		 key->flags & SHARE_MEANWHILE ? meanwhile_key(key->meanwhile) : "");
}

static void describe_code(char *into, size_t room, const struct share_comparison *comparison,
			  const struct share_key *key)
{
	const char *name = share_function(comparison->sides[0]->keys, key->culprit);
	char shown[CODE_COLUMNS * 4 + 1];

	text_end(shown, sizeof(shown), name, CODE_COLUMNS);
	snprintf(into, room, "in %s", *shown ? shown : "code that is not known");
}

void compare_threads_because(char *into, size_t room, const struct share_comparison *comparison,
			     const struct share_key *key)
{
	struct blame blame = {.state = (enum state)key->state,
			      .kind = (enum wire_culprit_kind)key->kind,
			      .goes_on = key->flags & SHARE_GOES_ON};

	*into = '\0';
	if (key->level == SHARE_REASON)
		reason_format(into, room, key->reason, compare_threads_native(comparison));
	else if (key->level == SHARE_CODE)
		describe_code(into, room, comparison, key);
	else if (key->level == SHARE_CULPRIT && key->kind == WIRE_CULPRIT_THREAD)
		describe_culprit(into, room, comparison, key);
	else if (key->level == SHARE_CULPRIT)
		blame_describe_named(into, room, &blame, "", true);
}

/* "postgres waits longer for …" */
static const char *const waits_for[STATES] = {
	[STATE_RUNNABLE] = "waits%s for a CPU",
	[STATE_DISK] = "waits%s for disks or file systems",
	[STATE_NET] = "waits%s for the network",
	[STATE_IPC] = "waits%s for other threads (IPC)",
	[STATE_LOCK] = "waits%s for locks",
	[STATE_SWAP] = "waits%s for memory",
	[STATE_STOLEN] = "loses its CPU%s to the hypervisor",
	[STATE_IRQ] = "loses its CPU%s to interrupts",
	[STATE_UNKNOWN] = "waits%s for what dwell does not recognize",
};

/* "2.1 times as long"; empty where there was (nearly) nothing. */
static void describe_times(char *into, size_t room, const struct share_row *row)
{
	double times = 1 + row->relative;

	*into = '\0';
	if (times <= TIMES_MOST)
		snprintf(into, room, "%.*f times as", times < 9.95 ? 1 : 0, times);
}

static void write_state(struct output *out, const struct share_row *row, const char *times)
{
	static const char mark[] = "%s";
	const char *words = waits_for[row->key->state];
	const char *gap = words ? strstr(words, mark) : NULL;

	if (!gap)
		return;
	output_bytes(out, words, (size_t)(gap - words));
	if (*times)
		output_format(out, " %s long", times);
	output_string(out, gap + sizeof(mark) - 1);
}

static void write_shares(struct output *out, const struct share_row *row)
{
	char a[32], b[32];

	compare_threads_percent(a, sizeof(a), row->sides[0].share);
	compare_threads_percent(b, sizeof(b), row->sides[1].share);
	output_format(out, ": %s -> %s of the time", a, b);
}

/* "; backup-tar ran instead (+19 %)" */
static void write_cause(struct output *out, const struct share_comparison *comparison,
			const struct share_row *cause)
{
	char because[CULPRIT_WORDS_BYTES], name[NAME_COLUMNS * 4 + 1], more[32];

	compare_threads_percent(more, sizeof(more), cause->change);
	if (cause->key->kind == WIRE_CULPRIT_THREAD && cause->key->level == SHARE_CULPRIT &&
	    cause->key->state == STATE_RUNNABLE) {
		compare_threads_name(name, sizeof(name), comparison, cause->key->culprit);
		output_format(out, "; %s%s ran instead (+%s)", name,
			      cause->key->culprit == cause->key->program ? " itself" : "", more);
		return;
	}
	if (cause->key->flags & SHARE_GOES_ON) {
		output_format(out, "; +%s in waits that had not ended", more);
		return;
	}
	compare_threads_because(because, sizeof(because), comparison, cause->key);
	output_format(out, "; %s (+%s)", because, more);
}

/* Twice as many threads lose twice as much, and none of them is worse off. */
static void write_threads(struct output *out, const struct share_comparison *comparison,
			  const struct share_row *row)
{
	double a = share_program_threads(comparison, row->key->program, 0);
	double b = share_program_threads(comparison, row->key->program, 1);

	if (a > 0 && b > a * (1 + THREADS_DIFFER))
		output_format(out, "; it had %.1f threads in A, %.1f in B", a, b);
	else if (!(a > 0))
		output_string(out, "; it did not run in A");
}

/* The state is not worse by more than chance, but something in it. */
static void write_shift(struct output *out, const struct share_comparison *comparison,
			const struct share_row *row)
{
	const struct share_row *state = share_comparison_state(comparison, row);
	char name[NAME_COLUMNS * 4 + 1];

	compare_threads_name(name, sizeof(name), comparison, row->key->program);
	output_format(out, "%s ", name);
	write_state(out, row, "");
	if (state &&
	    (state->change < SHARE_GATE_ABSOLUTE || state->relative < SHARE_GATE_RELATIVE)) {
		output_string(out, " no longer than before, but with another cause");
	} else if (state) {
		write_shares(out, state);
		output_string(out, state->verdict == SHARE_IS_CHANCE
					   ? ", which alone may be chance"
					   : ", which alone is undecided");
	}
	write_cause(out, comparison, row);
	output_char(out, '\n');
}

void compare_threads_sentence(struct output *out, const struct share_comparison *comparison,
			      const struct share_row *row)
{
	const struct share_row *cause = share_comparison_most(comparison, row, SHARE_CULPRIT);
	char name[NAME_COLUMNS * 4 + 1], times[32];

	if (row->key->level != SHARE_STATE) {
		write_shift(out, comparison, row);
		return;
	}
	if (!cause)
		cause = share_comparison_most(comparison, row, SHARE_CODE);
	if (!cause)
		cause = share_comparison_most(comparison, row, SHARE_REASON);
	compare_threads_name(name, sizeof(name), comparison, row->key->program);
	describe_times(times, sizeof(times), row);
	output_format(out, "%s %s", name, *times ? "" : "now ");
	write_state(out, row, times);
	write_shares(out, row);
	if (cause)
		write_cause(out, comparison, cause);
	write_threads(out, comparison, row);
	output_char(out, '\n');
}

void compare_threads_loss(char *into, size_t room, const struct share_comparison *comparison,
			  const struct share_row *row)
{
	char name[NAME_COLUMNS * 4 + 1], times[32], a[32], b[32];

	compare_threads_name(name, sizeof(name), comparison, row->key->program);
	describe_times(times, sizeof(times), row);
	compare_threads_percent(a, sizeof(a), row->sides[0].share);
	compare_threads_percent(b, sizeof(b), row->sides[1].share);
	snprintf(into, room, "%s loses %s%s: %s -> %s of the time", name, *times ? times : "time",
		 *times ? " much time" : " it did not lose", a, b);
}
