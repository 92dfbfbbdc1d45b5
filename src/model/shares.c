// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/shares.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

_Static_assert(sizeof(struct share_key) == 20, "compared by its bytes: no gaps");

void shares_begin(struct shares *shares, struct share_keys *keys)
{
	*shares = (struct shares){.keys = keys};
	keys->names.bytes_max = keys->names.bytes_max
					? (size_t)SHARE_PROGRAMS_MAX * SHARE_NAME_BYTES
					: (size_t)SHARE_PROGRAMS_MAX / 2 * SHARE_NAME_BYTES;
	keys->functions.bytes_max =
		keys->functions.bytes_max ? SHARE_CODE_BYTES_MAX : SHARE_CODE_BYTES_MAX / 2;
	keys->keys.bytes_max = keys->keys.bytes_max ? SHARE_KEYS_MAX * sizeof(struct share_key)
						    : SHARE_KEYS_MAX / 2 * sizeof(struct share_key);
}

void shares_release(struct shares *shares)
{
	free(shares->items);
	free(shares->unmeasured);
	reason_marks_release(&shares->marks);
	*shares = (struct shares){0};
}

void share_keys_release(struct share_keys *keys)
{
	interned_release(&keys->names);
	interned_release(&keys->functions);
	interned_release(&keys->keys);
}

const struct series *shares_find(const struct shares *shares, size_t key)
{
	const struct series *series = key < shares->count ? &shares->items[key] : NULL;

	return series && series_total_ns(series) ? series : NULL;
}

const char *share_name(const struct share_keys *keys, uint32_t number)
{
	return (const char *)keys->names.bytes + keys->names.items[number].at;
}

const char *share_function(const struct share_keys *keys, uint32_t number)
{
	return (const char *)keys->functions.bytes + keys->functions.items[number].at;
}

const struct share_key *share_key_at(const struct share_keys *keys, size_t number)
{
	return (const void *)(keys->keys.bytes + keys->keys.items[number].at);
}

/*
 * Where the number of a key is to be, or INTERNED_FULL, or INTERNED_NONE. Threads of the kernel's
 * work queues are named by CPU and number, which say nothing about what they do.
 */
static size_t program_of(struct shares *shares, const char *process)
{
	static const char worker[] = "kworker/";
	char name[SHARE_NAME_BYTES] = "";
	size_t length = strnlen(process, sizeof(name));

	if (!strncmp(process, worker, sizeof(worker) - 1))
		length = sizeof(worker) - 2;
	memcpy(name, process, length);
	return interned_add(&shares->keys->names, name, sizeof(name));
}

/* Zeros up to the number of a key. */
static int reserve(struct shares *shares, size_t number)
{
	if (number < shares->count)
		return 0;
	if (array_reserve(&shares->items, &shares->room, number + 1, sizeof(*shares->items)) < 0)
		return -ENOMEM;
	memset(shares->items + shares->count, 0,
	       (number + 1 - shares->count) * sizeof(*shares->items));
	shares->count = number + 1;
	return 0;
}

/* NULL: no room for that many, and *ret_result is 0; or no memory. */
static struct series *series_of(struct shares *shares, const struct share_key *key, int *ret_result)
{
	size_t number = interned_add(&shares->keys->keys, key, sizeof(*key));

	*ret_result = number == INTERNED_NONE ? -ENOMEM : 0;
	if (number == INTERNED_NONE || number == INTERNED_FULL)
		return NULL;
	*ret_result = reserve(shares, number);
	return *ret_result < 0 ? NULL : &shares->items[number];
}

static int add_time(struct shares *shares, const struct share_key *key, uint64_t ns)
{
	int result;
	struct series *series = series_of(shares, key, &result);

	if (series)
		series_add(series, &shares->batches, ns);
	else
		shares->folded_ns += ns;
	return result;
}

static int note_unmeasured(struct shares *shares, size_t program, uint32_t states)
{
	size_t before = shares->program_count;

	if (program >= before) {
		if (array_reserve(&shares->unmeasured, &shares->program_room, program + 1,
				  sizeof(*shares->unmeasured)) < 0)
			return -ENOMEM;
		memset(shares->unmeasured + before, 0,
		       (program + 1 - before) * sizeof(*shares->unmeasured));
		shares->program_count = program + 1;
	}
	shares->unmeasured[program] |= states;
	return 0;
}

static int add_row(struct shares *shares, const struct row *row)
{
	size_t program = program_of(shares, row->process);
	struct share_key key = {.program = (uint32_t)program, .level = SHARE_STATE};
	int result;

	if (program == INTERNED_NONE)
		return -ENOMEM;
	if (program == INTERNED_FULL) {
		shares->folded_ns += row->observed_ns;
		return 0;
	}
	result = note_unmeasured(shares, program, row->unmeasured);
	for (int state = 0; result >= 0 && state < STATES; state++) {
		if (!row->states_ns[state])
			continue;
		key.state = (uint8_t)state;
		result = add_time(shares, &key, row->states_ns[state]);
	}
	return result;
}

static int by_tid(const void *left, const void *right)
{
	const struct row *const *a = left, *const *b = right;

	return ((*a)->tid > (*b)->tid) - ((*a)->tid < (*b)->tid);
}

/* Waits of one thread and reason that have ended in the interval. */
static int add_ended(struct shares *shares, const struct wire_reason *reason, const char *process,
		     uint64_t ns)
{
	struct share_key key = {.level = SHARE_REASON, .reason = reason->site};
	size_t program = program_of(shares, process);
	struct series *series;
	int result;

	if (program == INTERNED_NONE)
		return -ENOMEM;
	if (program == INTERNED_FULL || reason->site.state < WIRE_RUNNABLE ||
	    reason->site.state >= WIRE_STATES)
		return 0;
	key.program = (uint32_t)program;
	key.state = (uint8_t)state_of_wait(reason->site.state);
	series = series_of(shares, &key, &result);
	if (series)
		series_add_back(series, &shares->batches, ns);
	else
		shares->folded_ns += ns;
	return result;
}

/* The name of a reason's process is in the row of its thread. */
static const char *process_of(const struct row *const *rows, size_t count, uint32_t tid)
{
	struct row key = {.tid = tid};
	const struct row *wanted = &key;
	const struct row *const *found =
		count ? bsearch(&wanted, rows, count, sizeof(wanted), by_tid) : NULL;

	return found ? (*found)->process : NULL;
}

static int add_reasons(struct shares *shares, const struct interval *interval)
{
	cleanup_free const struct row **rows = NULL;
	const struct reason_marks *marks = &shares->marks;
	const struct interval base = {.reasons = interval->base_reasons,
				      .reason_count = interval->base_reason_count};
	int result = 0;

	/* a rotated file begins in the middle of a session, and what follows a gap does, too */
	if (interval->is_first)
		result = reason_marks_turn(&shares->marks, &base);
	if (result >= 0 && !interval->reason_count && !marks->count)
		return 0;
	if (result >= 0)
		result = reason_marks_turn(&shares->marks, interval);
	rows = reallocarray(NULL, interval->row_count + 1, sizeof(*rows));
	if (!rows || result < 0)
		return -ENOMEM;
	for (size_t i = 0; i < interval->row_count; i++)
		rows[i] = &interval->rows[i];
	qsort(rows, interval->row_count, sizeof(*rows), by_tid);
	for (size_t i = 0; result >= 0 && i < marks->count; i++) {
		const struct wire_reason *reason = &marks->now[i];
		const char *process = process_of(rows, interval->row_count, reason->tid);
		uint64_t ns = reason_marks_ended(marks, reason);

		if (process && ns)
			result = add_ended(shares, reason, process, ns);
	}
	shares->has_reasons |= marks->count > 0;
	return result;
}

static int key_of_blame(struct shares *shares, const struct blame *blame, struct share_key *key)
{
	size_t program = program_of(shares, blame->victim.process), culprit = 0;

	if (blame->kind == WIRE_CULPRIT_THREAD)
		culprit = program_of(shares, blame->culprit.process);
	if (program == INTERNED_NONE || culprit == INTERNED_NONE)
		return -ENOMEM;
	*key = (struct share_key){
		.program = (uint32_t)program,
		.culprit = (uint32_t)culprit,
		.level = SHARE_CULPRIT,
		.state = (uint8_t)blame->state,
		.kind = (uint8_t)blame->kind,
	};
	if (blame->goes_on)
		key->flags |= SHARE_GOES_ON;
	if (blame->has_meanwhile) {
		key->flags |= SHARE_MEANWHILE;
		key->meanwhile = blame->meanwhile.state;
	}
	return program == INTERNED_FULL || culprit == INTERNED_FULL;
}

/* A wait that went on in intervals before is owed to who has ended it now. */
static int settle(struct shares *shares, const struct share_key *key, uint64_t earlier_ns)
{
	struct share_key open = {.program = key->program,
				 .level = SHARE_CULPRIT,
				 .state = key->state,
				 .kind = WIRE_CULPRIT_UNKNOWN,
				 .flags = SHARE_GOES_ON};
	int result;
	struct series *from = series_of(shares, &open, &result), *into;

	if (!from)
		return result;
	into = series_of(shares, key, &result);
	/* a new one may have moved the others */
	from = into ? series_of(shares, &open, &result) : NULL;
	if (into && from)
		series_move_back(into, from, &shares->batches, earlier_ns);
	return result;
}

static int add_blame(struct shares *shares, const struct blame *blame)
{
	struct share_key key;
	int result;

	if (!state_is_lost(blame->state))
		return 0;
	result = key_of_blame(shares, blame, &key);
	if (result > 0) {
		shares->folded_ns += blame->total_ns;
		return 0;
	}
	if (result >= 0 && blame->total_ns)
		result = add_time(shares, &key, blame->total_ns);
	if (result >= 0 && blame->earlier_ns && !blame->goes_on)
		result = settle(shares, &key, blame->earlier_ns);
	return result;
}

int shares_add(struct shares *shares, const struct interval *interval)
{
	int result = 0;

	if (interval->end_ns <= interval->start_ns)
		return 0;
	if (batches_next(&shares->batches, interval->end_ns - interval->start_ns))
		for (size_t i = 0; i < shares->count; i++)
			series_halve(&shares->items[i]);
	shares->intervals++;
	shares->session = interval->session->wire;
	shares->has_blame = session_has_blame(interval->session);
	shares->lost += losses_all(&interval->losses);
	for (size_t i = 0; result >= 0 && i < interval->row_count; i++)
		result = add_row(shares, &interval->rows[i]);
	if (result >= 0)
		result = add_reasons(shares, interval);
	for (size_t i = 0; result >= 0 && i < interval->blame_count; i++)
		result = add_blame(shares, &interval->blames[i]);
	return result;
}

size_t shares_function(struct shares *shares, const char *function)
{
	return interned_add(&shares->keys->functions, function, strlen(function) + 1);
}

size_t shares_code_key(struct shares *shares, const char *process, enum state state,
		       size_t function)
{
	size_t program = program_of(shares, process);
	const struct share_key key = {.program = (uint32_t)program,
				      .culprit = (uint32_t)function,
				      .level = SHARE_CODE,
				      .state = (uint8_t)state};

	if (program == INTERNED_NONE || function == INTERNED_NONE)
		return INTERNED_NONE;
	shares->has_code = true;
	if (program == INTERNED_FULL || function == INTERNED_FULL)
		return INTERNED_FULL;
	return interned_add(&shares->keys->keys, &key, sizeof(key));
}

int shares_add_code(struct shares *shares, size_t key, const struct series *series)
{
	if (reserve(shares, key) < 0)
		return -ENOMEM;
	series_sum(&shares->items[key], series);
	return 0;
}
