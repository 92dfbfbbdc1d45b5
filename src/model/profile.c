// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/profile_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"

/* Standard errors that chance does not exceed. */
#define CHANCE 3

/* By how much fewer samples on a CPU may come than were asked for: timers run late. */
#define SAMPLES_LATE 0.05

struct profile *profile_new(void)
{
	return calloc(1, sizeof(struct profile));
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	stacks_release(&profile->stacks);
	stack_numbers_release(&profile->numbers);
	identities_release(&profile->thread_ids);
	identities_release(&profile->cell_ids);
	identities_release(&profile->path_ids);
	free(profile->accounts);
	free(profile->rows);
	free(profile->cells);
	free(profile->sums);
	free(profile->paths);
	free(profile->spots);
	free(profile);
}

double estimate_error(const struct estimate *estimate)
{
	return estimate->variance > 0 ? sqrt(estimate->variance) : 0;
}

struct account *profile_account(struct profile *profile, uint32_t tid, uint32_t pid,
				uint64_t start_ns, size_t *ret_index)
{
	size_t known = profile->thread_ids.count;
	size_t index = identities_add(&profile->thread_ids, tid, start_ns);

	if (index == IDENTITY_NONE || array_reserve(&profile->accounts, &profile->account_room,
						    index + 1, sizeof(*profile->accounts)) < 0)
		return NULL;
	if (index == known)
		profile->accounts[index] = (struct account){
			.thread = {.tid = tid, .pid = pid, .start_ns = start_ns, .threads = 1}};
	*ret_index = index;
	return &profile->accounts[index];
}

void weight_add(struct weight *sum, const struct weight *more)
{
	sum->seen += more->seen;
	sum->unseen += more->unseen;
	sum->spread += more->spread;
}

/* Of that length, taken with the probability 1 / `inverse`. */
static struct weight weight_of(double length, double inverse)
{
	return (struct weight){
		.seen = length,
		.unseen = length * (inverse - 1),
		.spread = (1 - 1 / inverse) * length * inverse * length * inverse,
	};
}

/*
 * What a time of it in that state was for. Who waits for a CPU after another wait was woken. What
 * is in no words of the reason (reason_format()) is left out, so that one reason is one site.
 */
static struct wire_wait_site site_in(const struct wire_spent *spent, enum state state)
{
	struct wire_wait_site site = spent->site;

	if (is_on_cpu(state))
		return (struct wire_wait_site){.state = WIRE_ON_CPU, .syscall = WIRE_SYSCALL_NONE};
	if (state == STATE_RUNNABLE && site.state != WIRE_RUNNABLE)
		site = (struct wire_wait_site){.state = WIRE_RUNNABLE, .detail = WIRE_DETAIL_WOKEN};
	if (site.state == WIRE_RUNNABLE && site.detail)
		site.syscall = WIRE_SYSCALL_NONE;
	return site;
}

static uint64_t cell_key(enum state state, struct wire_wait_site site, uint32_t stack)
{
	return (uint64_t)(uint16_t)site.syscall << 48 | (uint64_t)site.detail << 40 |
	       (uint64_t)state << 32 | stack;
}

/* `shared`: its stack was added before. */
static int add(struct profile *profile, const struct wire_spent *spent, enum state state,
	       struct weight weight, bool shared)
{
	size_t known = profile->cell_ids.count, thread, index;
	uint32_t stack = stack_numbers_of(&profile->numbers, spent->stack);
	const struct wire_wait_site site = site_in(spent, state);
	struct cell *cell;

	if (!profile_account(profile, spent->tid, spent->pid, spent->start_ns, &thread))
		return -ENOMEM;
	index = identities_add(&profile->cell_ids, (uint32_t)thread, cell_key(state, site, stack));
	if (index == IDENTITY_NONE || array_reserve(&profile->cells, &profile->cell_room, index + 1,
						    sizeof(*profile->cells)) < 0)
		return -ENOMEM;
	cell = &profile->cells[index];
	if (index == known)
		*cell = (struct cell){
			.thread = (uint32_t)thread, .state = state, .site = site, .stack = stack};
	/* one stack, in however many parts */
	if (!(spent->flags & WIRE_SPENT_MORE) || !cell->count) {
		cell->count++;
		cell->shared += shared;
	}
	weight_add(&cell->weight, &weight);
	if (weight.unseen > 0) {
		cell->uncertain += weight.seen + weight.unseen;
		cell->uncertain_count++;
	}
	return 0;
}

bool spent_is_possible(const struct wire_spent *spent)
{
	return spent->header.size == sizeof(*spent) && spent->site.state < WIRE_STATES &&
	       spent->inverse >= WIRE_SPENT_CERTAIN && spent->left_ns <= spent->ready_ns &&
	       spent->ready_ns <= spent->header.time_ns;
}

static int add_spent(struct profile *profile, const struct wire_spent *spent)
{
	uint64_t begin_ns = profile->begin_ns, left_ns = spent->left_ns, ready_ns = spent->ready_ns;
	double inverse = (double)spent->inverse / WIRE_SPENT_CERTAIN;
	/* how likely it was is not known: one among very many */
	static const struct weight instant = {.unseen = 1, .spread = 1};
	int result = 0;

	if (!spent_is_possible(spent))
		return -EBADMSG;
	if (!begin_ns || spent->header.time_ns <= begin_ns)
		return 0;
	if (spent->site.state == WIRE_ON_CPU)
		return add(profile, spent, spent_state_on_cpu(spent), instant, false);
	left_ns = left_ns < begin_ns ? begin_ns : left_ns;
	ready_ns = ready_ns < begin_ns ? begin_ns : ready_ns;
	if (ready_ns > left_ns)
		result = add(profile, spent, state_of_wait(spent->site.state),
			     weight_of((double)(ready_ns - left_ns), inverse), false);
	if (result >= 0 && spent->header.time_ns > ready_ns)
		result = add(profile, spent, STATE_RUNNABLE,
			     weight_of((double)(spent->header.time_ns - ready_ns), inverse),
			     ready_ns > left_ns);
	return result;
}

/* Counts of a session go on: those of another one are less. */
static struct wire_profile quality_since(const struct wire_profile *now,
					 const struct wire_profile *before)
{
	struct wire_profile since = *now;

	if (now->frames < before->frames || now->stacks_complete < before->stacks_complete)
		return since;
	since.stacks_complete -= before->stacks_complete;
	since.stacks_truncated -= before->stacks_truncated;
	since.stacks_failed -= before->stacks_failed;
	since.frames -= before->frames;
	since.frames_named -= before->frames_named;
	since.frames_with_lines -= before->frames_with_lines;
	since.lost -= before->lost;
	return since;
}

void profile_pass(struct profile *profile, const struct wire_header *record)
{
	if (record->kind == WIRE_PROFILE && record->size == sizeof(profile->passed))
		profile->passed = *(const struct wire_profile *)record;
}

void profile_begin(struct profile *profile, uint64_t begin_ns)
{
	profile->begin_ns = begin_ns;
}

int profile_feed(struct profile *profile, const struct wire_header *record)
{
	switch (record->kind) {
	case WIRE_FRAME:
		return stack_numbers_frame(&profile->numbers, &profile->stacks,
					   (const struct wire_frame *)record);
	case WIRE_STACK:
		return stack_numbers_stack(&profile->numbers, &profile->stacks,
					   (const struct wire_stack *)record);
	case WIRE_RESTART:
		stack_numbers_restart(&profile->numbers);
		return 0;
	case WIRE_SPENT:
		return add_spent(profile, (const struct wire_spent *)record);
	case WIRE_PROFILE:
		if (record->size != sizeof(profile->quality))
			return -EBADMSG;
		profile->quality =
			quality_since((const struct wire_profile *)record, &profile->passed);
		return 0;
	case WIRE_INTERVAL:
		/* the first sets the baseline */
		if (!profile->begin_ns)
			profile->begin_ns = ((const struct wire_interval *)record)->end_ns;
		return 0;
	}
	return 0;
}

int profile_add_interval(struct profile *profile, const struct interval *interval)
{
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		size_t index;
		struct account *account =
			profile_account(profile, row->tid, row->pid, row->start_ns, &index);
		struct profile_thread *thread;

		if (!account)
			return -ENOMEM;
		account->is_measured = true;
		account->has_ended = row->exited;
		thread = &account->thread;
		memcpy(thread->comm, row->comm, sizeof(thread->comm));
		memcpy(thread->process, row->process, sizeof(thread->process));
		for (int state = 0; state < STATES; state++)
			thread->states_ns[state] += row->states_ns[state];
	}
	return 0;
}

/* By how much there is more than what stacks stand for. */
struct surplus {
	bool is_by_chance; /* that explains it */
	double doubt;	   /* how much of all is beyond one standard error, and may have no stack */
};

/*
 * Of stacks that stand for `stand_for`, with that variance. It grows with what there is: of few,
 * most of it was not met.
 */
static struct surplus surplus_of(double there_is, double stand_for, double variance)
{
	double more = there_is - stand_for, error;

	if (!(stand_for > 0))
		return (struct surplus){.is_by_chance = false};
	error = sqrt(variance * fmax(there_is, 0) / stand_for);
	return (struct surplus){.is_by_chance = more <= CHANCE * error,
				.doubt = more > error ? (more - error) / there_is : 0};
}

/* Where all that was taken is of one place, the next might have been of another. */
static double missed_of(const struct cells_sum *sum)
{
	double mean = sum->uncertain_count ? sum->uncertain / (double)sum->uncertain_count : 0;

	return mean * mean;
}

static struct surplus surplus_of_wait(const struct cells_sum *sum)
{
	return surplus_of((double)sum->total_ns - sum->weight.seen, sum->weight.unseen,
			  sum->weight.spread + sum->missed);
}

/*
 * Samples on a CPU miss short turns that begin with the interrupt of a timer, as the next one is
 * far. User and kernel time are one, for how that is divided is sampled itself, by the kernel's
 * tick. `period_ns`: between samples; 0: not known.
 */
static struct surplus surplus_on_cpu(const struct profile *profile, size_t row, double period_ns)
{
	struct surplus by_chance = {.is_by_chance = true};
	double all_ns = 0, samples = 0;

	for (int state = 0; state < STATES; state++)
		if (is_on_cpu((enum state)state)) {
			const struct cells_sum *sum = profile_sum(profile, row, (enum state)state);

			all_ns += (double)sum->total_ns;
			samples += sum->weight.unseen;
		}
	return period_ns > 0 ? surplus_of(all_ns / period_ns * (1 - SAMPLES_LATE), samples, samples)
			     : by_chance;
}

/*
 * The same of one state of threads that are taken together. Of one that no tick meets the kernel
 * counts all CPU time as user time: samples say that some of it was in the kernel.
 */
static struct surplus surplus_in_state(const struct cells_sum *sum, struct surplus on_cpu,
				       double period_ns)
{
	double samples = sum->weight.unseen;

	if (period_ns > 0)
		on_cpu.doubt =
			fmax(on_cpu.doubt,
			     surplus_of((double)sum->total_ns / period_ns, samples, samples).doubt);
	return on_cpu;
}

/*
 * What was seen keeps its length, and what it stands for fills up the account's total: chance in
 * what is rarely taken does not move what is known. Where that is too little for chance to explain,
 * or nothing, it stands for `each_ns`, and the rest is not spread over it.
 */
static void end_sum(struct cells_sum *sum, struct surplus surplus, double each_ns)
{
	const struct weight *weight = &sum->weight;
	double rest_ns = (double)sum->total_ns - weight->seen;

	sum->seen_factor = 1;
	sum->is_whole = true;
	/* a wait's ends are at other instants than its account's, by a microsecond or two */
	if (rest_ns < 0) {
		sum->seen_factor = (double)sum->total_ns / weight->seen;
	} else if (surplus.is_by_chance || rest_ns < weight->unseen * each_ns) {
		sum->unseen_factor = rest_ns / weight->unseen;
		sum->doubt = surplus.doubt;
	} else {
		sum->unseen_factor = each_ns;
		sum->left_ns = rest_ns - weight->unseen * each_ns;
		sum->is_whole = false;
	}
}

struct estimate profile_estimate(const struct cells_sum *sum, const struct part *part)
{
	const struct weight *weight = &part->weight;
	double factor = sum->unseen_factor, others = sum->weight.spread - weight->spread;
	double share = sum->weight.unseen > 0 ? weight->unseen / sum->weight.unseen : 0;
	double of_whole = sum->is_whole ? share : 0, doubt = sum->doubt * weight->unseen;
	double variance = (1 - of_whole) * (1 - of_whole) * weight->spread +
			  of_whole * of_whole * (others > 0 ? others : 0) + sum->missed * share +
			  doubt * doubt;

	return (struct estimate){.ns = weight->seen * sum->seen_factor + weight->unseen * factor,
				 .variance = variance * factor * factor};
}

static int by_time(const void *left, const void *right)
{
	const struct profile_path *a = left, *b = right;

	return a->time.ns < b->time.ns ? 1 : a->time.ns > b->time.ns ? -1 : 0;
}

static void end_row(struct profile *profile, size_t index)
{
	uint32_t frequency = profile->quality.frequency;
	double period_ns = frequency ? (double)NS_PER_S / frequency : 0;
	const struct surplus on_cpu = surplus_on_cpu(profile, index, period_ns);

	for (int state = 0; state < STATES; state++) {
		struct cells_sum *sum = profile_sum(profile, index, (enum state)state);
		struct profile_state *all = &profile->states[state];

		sum->missed = missed_of(sum);
		if (sum->count && is_on_cpu((enum state)state))
			end_sum(sum,
				profile->rows[index].pooled
					? surplus_in_state(sum, on_cpu, period_ns)
					: on_cpu,
				period_ns);
		else if (sum->count)
			end_sum(sum, surplus_of_wait(sum), 1);
		profile->rows[index].sampled[state] = sum->count;
		all->total_ns += sum->total_ns;
		all->sampled_ns += sum->count ? sum->total_ns - (uint64_t)(sum->left_ns + 0.5) : 0;
		all->count += sum->count;
		all->unseen_ns +=
			sum->weight.unseen * (is_on_cpu((enum state)state) ? period_ns : 1);
		all->scaled_ns += sum->weight.unseen * sum->unseen_factor;
	}
}

static void sum_up(struct profile *profile)
{
	for (size_t i = 0; i < profile->thread_ids.count; i++)
		for (int state = 0; state < STATES; state++) {
			size_t row = profile_row_of(profile, i, (enum state)state);

			profile_sum(profile, row, (enum state)state)->total_ns +=
				profile->accounts[i].thread.states_ns[state];
		}
	for (size_t i = 0; i < profile->cell_ids.count; i++) {
		const struct cell *cell = &profile->cells[i];
		size_t row = profile_row_of(profile, cell->thread, cell->state);
		struct cells_sum *sum = profile_sum(profile, row, cell->state);

		weight_add(&sum->weight, &cell->weight);
		sum->uncertain += cell->uncertain;
		sum->uncertain_count += cell->uncertain_count;
		sum->count += cell->count;
	}
}

/* Of the threads that are one row, those on one stack for one reason are one path. */
static int make_paths(struct profile *profile)
{
	cleanup_free struct part *parts = calloc(profile->cell_ids.count + 1, sizeof(*parts));

	identities_clear(&profile->path_ids);
	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < profile->cell_ids.count; i++) {
		const struct cell *cell = &profile->cells[i];
		size_t row = profile_row_of(profile, cell->thread, cell->state);
		size_t known = profile->path_ids.count;
		size_t index = identities_add(&profile->path_ids, (uint32_t)row,
					      cell_key(cell->state, cell->site, cell->stack));

		if (index == IDENTITY_NONE)
			return -ENOMEM;
		if (index == known)
			profile->paths[index] = (struct profile_path){.thread = (uint32_t)row,
								      .stack = cell->stack,
								      .state = cell->state,
								      .site = cell->site};
		weight_add(&parts[index].weight, &cell->weight);
		profile->paths[index].count += cell->count;
		profile->paths[index].shared += cell->shared;
	}
	for (size_t i = 0; i < profile->path_ids.count; i++) {
		struct profile_path *path = &profile->paths[i];

		path->time = profile_estimate(profile_sum(profile, path->thread, path->state),
					      &parts[i]);
	}
	qsort(profile->paths, profile->path_ids.count, sizeof(*profile->paths), by_time);
	return 0;
}

int profile_end(struct profile *profile)
{
	size_t count;

	if (profile_pool(profile) < 0)
		return -ENOMEM;
	count = profile->thread_ids.count;
	if (array_reserve(&profile->sums, &profile->sum_room, count * STATES + 1,
			  sizeof(*profile->sums)) < 0 ||
	    array_reserve(&profile->paths, &profile->path_room, profile->cell_ids.count + 1,
			  sizeof(*profile->paths)) < 0)
		return -ENOMEM;
	memset(profile->sums, 0, count * STATES * sizeof(*profile->sums));
	memset(profile->states, 0, sizeof(profile->states));
	sum_up(profile);
	for (size_t i = 0; i < count; i++)
		end_row(profile, i);
	return make_paths(profile);
}

const struct profile_thread *profile_threads(const struct profile *profile, size_t *ret_count)
{
	*ret_count = profile->thread_ids.count;
	return profile->rows;
}

size_t profile_thread_count(const struct profile *profile)
{
	size_t count = 0;

	for (size_t i = 0; i < profile->thread_ids.count; i++)
		count += profile->rows[i].threads;
	return count;
}

size_t profile_find_thread(const struct profile *profile, uint32_t tid, uint64_t start_ns)
{
	return identities_find(&profile->thread_ids, tid, start_ns);
}

const struct profile_path *profile_paths(const struct profile *profile, size_t *ret_count)
{
	*ret_count = profile->path_ids.count;
	return profile->paths;
}

const struct profile_state *profile_states(const struct profile *profile)
{
	return profile->states;
}

uint32_t profile_stack_of(const struct profile *profile, const struct wire_spent *spent)
{
	return stack_numbers_of(&profile->numbers, spent->stack);
}

const struct stacks *profile_stacks(const struct profile *profile)
{
	return &profile->stacks;
}

const struct wire_profile *profile_quality(const struct profile *profile)
{
	return &profile->quality;
}

/* Ways into the scheduler, which all waits have. */
static bool is_of_scheduler(const struct frame *frame)
{
	static const char *const beginnings[] = {
		"__schedule",  "schedule",	 "preempt_schedule",
		"io_schedule", "__cond_resched", "finish_task_switch",
	};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(frame->function, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* The frame in user space that ran last, if that was made at run time and has no name; 0: another.
 */
static uint32_t innermost_made(const struct stacks *stacks, const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (frame && frame->kind != WIRE_FRAME_KERNEL)
			return frame_is_made_at_run_time(frame) ? stack->frames[i] : 0;
	}
	return 0;
}

uint32_t profile_own_frame(const struct stacks *stacks, uint32_t id, enum state state)
{
	const struct stack *stack = stacks_stack(stacks, id);
	const struct frame *frame;
	uint32_t own;

	if (!stack)
		return 0;
	own = state == STATE_USER ? stack->frames[0] : innermost_made(stacks, stack);
	if (!own)
		own = stacks_named_function_of(stacks, id);
	frame = stacks_frame(stacks, own);
	/* a thread of the kernel */
	for (uint32_t i = 0; i < stack->count && frame && is_of_scheduler(frame); i++) {
		own = stack->frames[i];
		frame = stacks_frame(stacks, own);
	}
	return own;
}

uint64_t profile_stack_count(const struct profile *profile)
{
	uint64_t count = 0;

	for (size_t i = 0; i < profile->cell_ids.count; i++)
		count += profile->cells[i].count - profile->cells[i].shared;
	return count;
}

double profile_complete_share(const struct profile *profile)
{
	const struct wire_profile *quality = &profile->quality;
	uint64_t taken =
		quality->stacks_complete + quality->stacks_truncated + quality->stacks_failed;

	return taken ? (double)quality->stacks_complete / (double)taken : 0;
}
