// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_seeds.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/interned.h"
#include "base/kernel_text.h"
#include "capture/syscalls.h"

/* A thread that shows nothing by then is not one of the runtime's. */
#define LOOKS_MAX 8

/* Where only loops are looked for, which show by their waits: threads of which one look is taken,
 * as they may be in a turn that began before we came. */
#define TURNS_LOOKED_AT 256

/* Snapshots without any worker, after which names have to do. */
#define SETTLE_ROUNDS 4

/* Threads that are remembered; when there were more, all are asked about again. */
#define SEEDS_MAX 16384

/* Of that tid, the thread of that number came last. -ENOMEM */
static int note_latest(struct span_seeds *seeds, uint32_t tid, size_t number)
{
	size_t index;

	if (array_reserve(&seeds->latest, &seeds->latest_room, seeds->tids.count + 1,
			  sizeof(*seeds->latest)) < 0)
		return -ENOMEM;
	index = identities_add(&seeds->tids, tid, 0);
	if (index == IDENTITY_NONE)
		return -ENOMEM;
	seeds->latest[index] = number;
	return 0;
}

/* NULL: no memory. */
static struct seed *seed_of(struct span_seeds *seeds, uint32_t tid, uint64_t start_ns)
{
	size_t known, index;

	if (seeds->threads.count >= SEEDS_MAX) {
		identities_clear(&seeds->threads);
		identities_clear(&seeds->tids);
	}
	known = seeds->threads.count;
	if (array_reserve(&seeds->items, &seeds->room, known + 1, sizeof(*seeds->items)) < 0)
		return NULL;
	index = identities_add(&seeds->threads, tid, start_ns);
	if (index == IDENTITY_NONE)
		return NULL;
	if (index < known)
		return &seeds->items[index];
	seeds->items[index] = (struct seed){.start_ns = start_ns};
	return note_latest(seeds, tid, index) < 0 ? NULL : &seeds->items[index];
}

static bool decide(const struct span_signs *signs, struct span_verdict *verdict)
{
	unsigned int polls = signs->polls > signs->harnesses ? signs->polls : signs->harnesses;

	if (signs->single) {
		verdict->kind = SPAN_POLL;
		verdict->root = 1;
		verdict->in_poll = polls > 0;
	} else if (signs->worker) {
		verdict->kind = SPAN_POLL;
		/* the first is the one it lives in */
		verdict->in_poll = polls > 1;
	} else if (signs->pool) {
		verdict->kind = SPAN_POOL;
	} else if (signs->root) {
		verdict->kind = SPAN_ROOT;
		verdict->root = 1;
	}
	return verdict->kind;
}

/* A full table means very many threads: then polls find the workers. */
static void send_verdict(struct span_seeds *seeds, struct seed *seed, uint32_t tid,
			 struct span_verdict *verdict, enum wire_found_by found_by)
{
	verdict->start_ns = seed->start_ns;
	seed->decided = true;
	seed->found_by = (__u8)found_by;
	seed->is_root = verdict->root;
	seeds->found |= verdict->kind != SPAN_POOL;
	bpf_map_update_elem(seeds->verdicts, &tid, verdict, BPF_ANY);
}

static bool only_loops(const struct span_options *options)
{
	return options->turns && !span_turns_are_judged(options);
}

/* True: its stack may say what it is. */
static bool is_wanted(const struct seed *seed, const struct span_options *options)
{
	return !seed->decided && seed->looks < (only_loops(options) ? 1 : LOOKS_MAX);
}

bool span_seed_waits_for_events(const struct span_seed *raw)
{
	return raw->site.state == WIRE_IDLE && syscalls_is_event_wait(raw->site.syscall);
}

int span_seeds_meet(struct span_seeds *seeds, const struct span_options *options,
		    const struct span_seed *raw)
{
	struct seed *seed = seed_of(seeds, raw->tid, raw->start_ns);

	if (!seed)
		return -ENOMEM;
	memcpy(seed->comm, raw->comm, sizeof(raw->comm));
	if (!is_wanted(seed, options))
		return 0;
	if (only_loops(options) && span_seed_waits_for_events(raw)) {
		struct span_verdict verdict = {.kind = SPAN_TURN};

		send_verdict(seeds, seed, raw->tid, &verdict,
			     *options->prefix ? WIRE_FOUND_BY_PREFIX : WIRE_FOUND_BY_TYPE);
		/* from which functions its loop waits */
		return 1;
	}
	if (only_loops(options) && !*options->prefix)
		return seeds->threads.count <= TURNS_LOOKED_AT;
	return options->stacks.marks.poll || span_turns_are_judged(options) || *options->prefix;
}

static bool has_known_name(const struct seed *seed, const struct span_options *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(options->stacks.marks.names); i++)
		if (options->stacks.marks.names[i] &&
		    !strcmp(seed->comm, options->stacks.marks.names[i]))
			return true;
	return false;
}

/* Of one that no snapshot has met yet. */
static void read_name(struct seed *seed, uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	kernel_line(path, seed->comm, sizeof(seed->comm));
}

/*
 * Of a process whose libraries have the runtime: a thread that waits for events with nothing of
 * those on its stack runs a loop of the program's.
 */
static bool is_own_loop(const struct span_options *options, struct seed *seed,
			const struct seed_look *look, const struct span_signs *signs)
{
	if (!span_turns_are_judged(options) || !look->waits_for_events || !signs->complete ||
	    signs->library)
		return false;
	if (!*seed->comm)
		read_name(seed, options->pid, look->tid);
	return *seed->comm && !has_known_name(seed, options);
}

/* Whom the user has named, of whom the stack says nothing. */
static enum span_kind kind_of_named(const struct span_options *options,
				    const struct seed_look *look)
{
	if (!span_turns_are_judged(options))
		return options->turns ? SPAN_TURN : SPAN_POLL;
	return look->waits_for_events ? SPAN_POLL : SPAN_NONE;
}

int span_seeds_take(struct span_seeds *seeds, const struct span_options *options,
		    const struct seed_look *look, const struct span_found *found)
{
	struct seed *seed = seed_of(seeds, look->tid, look->start_ns);
	struct span_verdict verdict = {.since_ns = look->since_ns};
	bool named = *options->prefix;
	bool is_own;

	if (!seed)
		return -ENOMEM;
	seed->asks |= look->waits_for_events && found->is_read && found->signs.asks;
	is_own = is_own_loop(options, seed, look, &found->signs);
	/* one that was seen in a block_on() of a library may have a loop of its own around that */
	if ((!is_wanted(seed, options) && !(seed->is_root && is_own)) || !found->is_read)
		return 0;
	/* of loops only their waits say something */
	seed->looks += look->waits_for_events || !span_turns_are_judged(options);
	if (!decide(&found->signs, &verdict)) {
		if (is_own)
			verdict.kind = SPAN_TURN;
		else if (named)
			verdict.kind = kind_of_named(options, look);
		else if (only_loops(options) && found->signs.loop)
			verdict.kind = SPAN_TURN;
		/* of several that the user has named, who does not wait for events may have no
		   loop */
		verdict.in_poll = verdict.kind == SPAN_TURN && look->is_in_turn &&
				  (found->signs.loop || (named && options->named == 1));
		if (!verdict.kind)
			return 0;
	}
	seed->stack = found->id;
	seed->since_ns = look->since_ns;
	send_verdict(seeds, seed, look->tid, &verdict,
		     named ? WIRE_FOUND_BY_PREFIX : WIRE_FOUND_BY_STACK);
	return 0;
}

/* The latest of that tid. */
static struct seed *find(const struct span_seeds *seeds, uint32_t tid)
{
	size_t index = identities_find(&seeds->tids, tid, 0);

	return index == IDENTITY_NONE ? NULL : &seeds->items[seeds->latest[index]];
}

void span_seeds_doubt(struct span_seeds *seeds, uint32_t tid)
{
	struct seed *seed = find(seeds, tid);

	if (seed)
		seed->doubted = true;
}

bool span_seeds_doubted(const struct span_seeds *seeds, uint32_t tid)
{
	const struct seed *seed = find(seeds, tid);

	return seed && seed->doubted;
}

bool span_seeds_asks(const struct span_seeds *seeds, uint32_t tid)
{
	const struct seed *seed = find(seeds, tid);

	return seed && seed->asks;
}

void span_seeds_know(struct span_seeds *seeds, uint32_t tid, uint64_t start_ns)
{
	(void)seed_of(seeds, tid, start_ns); /* without memory, its counts stay as they are */
}

void span_seeds_note(struct span_seeds *seeds, uint32_t tid, uint64_t own_ns)
{
	struct seed *seed = find(seeds, tid);

	if (!seed)
		return;
	seed->dropped += !own_ns;
	if (own_ns > seed->longest_ns)
		seed->longest_ns = own_ns;
}

void span_seeds_correct(const struct span_seeds *seeds, struct wire_worker *worker)
{
	const struct seed *seed = find(seeds, worker->tid);

	if (!seed || seed->start_ns != worker->start_ns || !seed->dropped)
		return;
	worker->stalls -= seed->dropped < worker->stalls ? seed->dropped : worker->stalls;
	worker->longest_ns = seed->longest_ns;
}

__u8 span_seeds_found_by(struct span_seeds *seeds, const struct span_options *options,
			 const struct span_worker *worker)
{
	const struct seed *seed = find(seeds, worker->tid);

	seeds->found |= worker->kind != SPAN_POOL;
	if (*options->prefix)
		return WIRE_FOUND_BY_PREFIX;
	/* what it has polled says more than where it was seen */
	return seed && seed->decided && (!worker->spans || worker->kind == SPAN_ROOT)
		       ? seed->found_by
		       : WIRE_FOUND_BY_TYPE;
}

/* How much of "worker-12" is what others have too; 0: it has no number. */
static size_t common_part(const char *comm)
{
	size_t length = strlen(comm), end = length;

	while (end && comm[end - 1] >= '0' && comm[end - 1] <= '9')
		end--;
	return end < length ? end : 0;
}

static bool is_of_group(const struct seed *seed, const struct seed *of)
{
	size_t part = common_part(of->comm);

	return part && common_part(seed->comm) == part && !memcmp(seed->comm, of->comm, part);
}

/*
 * One of the largest group of threads whose names differ by a number; NULL: there are none, or no
 * memory to count them.
 */
static const struct seed *find_group(const struct span_seeds *seeds)
{
	struct interned names = {.bytes_max = SEEDS_MAX * sizeof(seeds->items->comm)};
	cleanup_free size_t *counts = calloc(seeds->threads.count + 1, sizeof(*counts));
	const struct seed *best = NULL;
	size_t most = 1;

	for (size_t i = 0; counts && i < seeds->threads.count; i++) {
		const struct seed *seed = &seeds->items[i];
		size_t part = common_part(seed->comm);
		size_t name = part ? interned_add(&names, seed->comm, part) : INTERNED_NONE;

		if (name < names.count && ++counts[name] > most) {
			most = counts[name];
			best = seed;
		}
	}
	interned_release(&names);
	return best;
}

void span_seeds_settle(struct span_seeds *seeds, const struct span_options *options)
{
	struct span_verdict verdict = {.kind = SPAN_POLL};
	enum wire_found_by found_by = WIRE_FOUND_BY_NAME;
	const struct seed *group = NULL;
	bool named = false;

	if (seeds->found || !options->stacks.marks.poll || ++seeds->rounds < SETTLE_ROUNDS)
		return;
	for (size_t i = 0; i < seeds->threads.count; i++)
		named |= has_known_name(&seeds->items[i], options);
	if (!named) {
		found_by = WIRE_FOUND_BY_GROUP;
		group = find_group(seeds);
	}
	for (size_t i = 0; i < seeds->threads.count; i++) {
		struct seed *seed = &seeds->items[i];

		if (seed->decided)
			continue;
		if (named ? has_known_name(seed, options) : group && is_of_group(seed, group))
			send_verdict(seeds, seed, seeds->threads.items[i].tid, &verdict, found_by);
	}
}

uint32_t span_seeds_stack(const struct span_seeds *seeds, uint32_t tid, uint64_t since_ns)
{
	const struct seed *seed = find(seeds, tid);

	if (!seed || !seed->decided || (since_ns && seed->since_ns != since_ns))
		return 0;
	return seed->stack;
}

void span_seeds_release(struct span_seeds *seeds)
{
	identities_release(&seeds->threads);
	identities_release(&seeds->tids);
	free(seeds->items);
	free(seeds->latest);
}
