// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "model/blame_thieves.h"

/* The threads of an interval. */
struct known {
	const struct interval *interval;
	const struct blame_places *places;
	const struct blame_party *parties;
	const struct wire_member *members;
	size_t member_count;
};

static const char *const culprit_keys[WIRE_CULPRIT_KINDS_COUNT] = {
#define X(name, number, key, help) [number] = key,
	WIRE_CULPRIT_KINDS(X)
#undef X
};

const char *culprit_key(enum wire_culprit_kind kind)
{
	return culprit_keys[kind];
}

bool state_is_lost(enum state state)
{
	return state >= STATE_RUNNABLE && state != STATE_SLEEP && state != STATE_IDLE &&
	       state != STATE_STOPPED;
}

static int feed_holder(struct blames *blames, const struct wire_header *record)
{
	if (record->size != sizeof(struct wire_holder))
		return -EBADMSG;
	if (array_reserve(&blames->holders, &blames->holder_room, blames->holder_count + 1,
			  sizeof(*blames->holders)) < 0)
		return -ENOMEM;
	memcpy(&blames->holders[blames->holder_count++], record, record->size);
	return 0;
}

static int feed_member(struct blames *blames, const struct wire_header *record)
{
	if (record->size != sizeof(struct wire_member))
		return -EBADMSG;
	if (array_reserve(&blames->members, &blames->member_room, blames->member_count + 1,
			  sizeof(*blames->members)) < 0)
		return -ENOMEM;
	memcpy(&blames->members[blames->member_count++], record, record->size);
	return 0;
}

/* `into` has room for all of it. */
static void copy_lost(struct wire_blame *into, const struct wire_blame *blame)
{
	const struct wire_culprit *from = (const struct wire_culprit *)(blame + 1);
	struct wire_culprit *to = (struct wire_culprit *)(into + 1);

	*into = *blame;
	into->count = 0;
	for (__u32 i = 0; i < blame->count; i++)
		if (from[i].state < WIRE_STATES && state_is_lost(state_of_wait(from[i].state)))
			to[into->count++] = from[i];
	into->header.size = (__u32)(sizeof(*into) + into->count * sizeof(*to));
}

int blames_feed(struct blames *blames, const struct wire_header *record)
{
	const struct wire_blame *blame = (const void *)record;
	size_t room = (record->size + 7U) & ~(size_t)7;
	struct wire_blame *copy;

	if (record->kind == WIRE_HOLDER)
		return feed_holder(blames, record);
	if (record->kind == WIRE_MEMBER)
		return feed_member(blames, record);
	if (record->size < sizeof(*blame) ||
	    blame->count > (record->size - sizeof(*blame)) / sizeof(struct wire_culprit))
		return -EBADMSG;
	if (array_reserve(&blames->records, &blames->record_room, blames->record_count + 1,
			  sizeof(*blames->records)) < 0 ||
	    array_reserve(&blames->bytes, &blames->byte_room, blames->used + room, 1) < 0)
		return -ENOMEM;
	blames->records[blames->record_count++] =
		(struct blame_record){blame->origin_ns, record->time_ns, blame->tid, blames->used};
	copy = (struct wire_blame *)(void *)(blames->bytes + blames->used);
	if (blames->only_lost)
		copy_lost(copy, blame);
	else
		memcpy(copy, record, record->size);
	blames->used += (copy->header.size + 7U) & ~(size_t)7;
	return 0;
}

static const struct wire_blame *bytes_of(const struct blames *blames,
					 const struct blame_record *record)
{
	return (const struct wire_blame *)(const void *)(blames->bytes + record->at);
}

static int by_victim(const void *left, const void *right)
{
	const struct blame_record *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->origin_ns > b->origin_ns) - (a->origin_ns < b->origin_ns);
}

static int by_place(const void *left, const void *right)
{
	const struct blame_record *a = left, *b = right;

	return (a->at > b->at) - (a->at < b->at);
}

static uint32_t start_of(const struct row *row)
{
	return (uint32_t)(row->start_ns >> 20);
}

/* Where the search for a thread begins; it ends at an empty place. */
static size_t place_of(const struct blame_places *places, uint32_t tid)
{
	return (size_t)(hash_bytes(places->key, &tid, sizeof(tid)) >> 24) & (places->count - 1);
}

static size_t next_place(const struct blame_places *places, size_t place)
{
	return (place + 1) & (places->count - 1);
}

/* NULL: none of its threads is known. */
static const struct blame_place *process_of(const struct known *known, uint32_t pid)
{
	const struct blame_place *places = known->places->items;
	size_t at = place_of(known->places, pid);

	while (places[at].tid && places[at].tid != pid)
		at = next_place(known->places, at);
	return places[at].tid ? &places[at] : NULL;
}

/* The thread itself, and none that had its id before or after it. */
static const struct blame_party *thread_of(const struct known *known,
					   const struct wire_culprit *culprit)
{
	const struct blame_place *places = known->places->items;

	for (size_t at = place_of(known->places, culprit->tid); places[at].tid;
	     at = next_place(known->places, at))
		if (places[at].tid == culprit->tid &&
		    known->parties[places[at].row].start == culprit->start)
			return &known->parties[places[at].row];
	return NULL;
}

static int by_pid(const void *left, const void *right)
{
	const struct wire_member *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Of a process of which no thread is known; 0: not known. */
static uint64_t cgroup_of(const struct known *known, uint32_t pid)
{
	const struct wire_member key = {.pid = pid}, *member = NULL;

	if (pid && known->member_count)
		member = bsearch(&key, known->members, known->member_count, sizeof(key), by_pid);
	return member ? member->cgroup_id : 0;
}

static struct blame *add(struct blames *blames)
{
	if (array_reserve(&blames->items, &blames->room, blames->count + 1,
			  sizeof(*blames->items)) < 0)
		return NULL;
	memset(&blames->items[blames->count], 0, sizeof(*blames->items));
	return &blames->items[blames->count++];
}

static void set_party(struct blame_party *party, const struct row *row)
{
	party->tid = row->tid;
	party->pid = row->pid;
	party->start = start_of(row);
	party->cgroup_id = row->cgroup_id;
	memcpy(party->comm, row->comm, sizeof(party->comm));
	memcpy(party->process, row->process, sizeof(party->process));
}

/* Recordings may say anything. */
static bool has_meanwhile(const struct wire_culprit *culprit)
{
	return culprit->flags & WIRE_CULPRIT_MEANWHILE && culprit->meanwhile.state < WIRE_STATES;
}

static void set_culprit(struct blame *blame, const struct wire_culprit *culprit,
			const struct known *known)
{
	const struct blame_party *party = culprit->tid ? thread_of(known, culprit) : NULL;
	const struct blame_place *process;

	blame->kind = (enum wire_culprit_kind)culprit->kind;
	blame->has_meanwhile = has_meanwhile(culprit);
	blame->meanwhile = culprit->meanwhile;
	blame->is_targets = culprit->flags & WIRE_CULPRIT_TARGET;
	blame->culprit.cgroup_id = wire_limit_cgroup(culprit);
	if (blame->kind == WIRE_CULPRIT_THROTTLE || blame->kind == WIRE_CULPRIT_DEVICE)
		memcpy(blame->culprit.comm, culprit->comm, sizeof(culprit->comm));
	if (blame->kind != WIRE_CULPRIT_THREAD)
		return;
	if (party) {
		blame->culprit = *party;
		return;
	}
	blame->culprit.tid = culprit->tid;
	blame->culprit.pid = culprit->pid;
	blame->culprit.start = culprit->start;
	memcpy(blame->culprit.comm, culprit->comm, sizeof(culprit->comm));
	/* another process may have the pid of one that was this thread */
	if (culprit->pid && culprit->tid != culprit->pid) {
		process = process_of(known, culprit->pid);
		party = process ? &known->parties[process->row] : NULL;
	}
	memcpy(blame->culprit.process, party ? party->process : blame->culprit.comm,
	       sizeof(blame->culprit.process));
	blame->culprit.cgroup_id = party ? party->cgroup_id : cgroup_of(known, culprit->pid);
	if (party && !culprit->tid) /* several of its threads */
		memcpy(blame->culprit.comm, party->process, sizeof(party->process));
}

static bool same_party(const struct blame_party *party, const struct wire_culprit *culprit)
{
	if (culprit->kind == WIRE_CULPRIT_THROTTLE) {
		if (party->cgroup_id != wire_limit_cgroup(culprit))
			return false;
	} else {
		if (party->tid != culprit->tid || party->pid != culprit->pid ||
		    party->start != culprit->start)
			return false;
		if (culprit->tid || culprit->pid)
			return true;
	}
	return !strncmp(party->comm, (const char *)culprit->comm, sizeof(culprit->comm));
}

static bool same_culprit(const struct blame *blame, enum state state,
			 const struct wire_culprit *culprit)
{
	return blame->state == state && blame->kind == (enum wire_culprit_kind)culprit->kind &&
	       same_party(&blame->culprit, culprit) &&
	       blame->is_targets == !!(culprit->flags & WIRE_CULPRIT_TARGET) &&
	       blame->has_meanwhile == has_meanwhile(culprit) &&
	       !memcmp(&blame->meanwhile, &culprit->meanwhile, sizeof(blame->meanwhile));
}

/* One of a victim whose blame begins at `first`. */
static int add_share(struct blames *blames, size_t first, const struct blame_party *victim,
		     const struct wire_culprit *culprit, const struct known *known)
{
	enum state state = state_of_wait(culprit->state);
	struct blame *blame = NULL;

	/* not known then, and not known now */
	if (culprit->kind == WIRE_CULPRIT_UNKNOWN && culprit->flags & WIRE_CULPRIT_EARLIER)
		return 0;
	for (size_t i = first; i < blames->count && !blame; i++)
		if (same_culprit(&blames->items[i], state, culprit))
			blame = &blames->items[i];
	if (!blame) {
		blame = add(blames);
		if (!blame)
			return -ENOMEM;
		blame->victim = *victim;
		blame->state = state;
		set_culprit(blame, culprit, known);
		if (blame_thieves_may(blame)) {
			if (array_reserve(&blames->thefts, &blames->theft_room,
					  blames->theft_count + 1, sizeof(*blames->thefts)) < 0)
				return -ENOMEM;
			blames->thefts[blames->theft_count++] = blames->count - 1;
		}
	}
	if (culprit->flags & WIRE_CULPRIT_EARLIER) {
		blame->earlier_ns += culprit->total_ns;
	} else {
		blame->total_ns += culprit->total_ns;
		blame->count += culprit->count;
	}
	return 0;
}

static int add_rest(struct blames *blames, const struct blame_party *victim, enum state state,
		    enum wire_culprit_kind kind, uint64_t rest_ns, bool goes_on)
{
	struct blame *blame;

	if (!rest_ns)
		return 0;
	blame = add(blames);
	if (!blame)
		return -ENOMEM;
	blame->victim = *victim;
	blame->state = state;
	blame->kind = kind;
	blame->goes_on = goes_on;
	blame->total_ns = rest_ns;
	return 0;
}

/*
 * A turn's end moves some microseconds from a wait to the time on a CPU (bpf/turn.h), behind what
 * was charged: they are taken from those who were charged most.
 */
static void take_back(struct blames *blames, size_t first, enum state state, uint64_t surplus_ns)
{
	while (surplus_ns) {
		struct blame *most = NULL;
		uint64_t part_ns;

		for (size_t i = first; i < blames->count; i++)
			if (blames->items[i].state == state &&
			    (!most || blames->items[i].total_ns > most->total_ns))
				most = &blames->items[i];
		if (!most || !most->total_ns)
			return;
		part_ns = most->total_ns < surplus_ns ? most->total_ns : surplus_ns;
		most->total_ns -= part_ns;
		surplus_ns -= part_ns;
	}
}

/* Of the row, which waits for a lock at the interval's end: who has that. */
static void name_holder(const struct blames *blames, struct blame *blame, const struct row *row,
			const struct known *known)
{
	for (size_t i = 0; i < blames->holder_count; i++) {
		const struct wire_holder *holder = &blames->holders[i];
		const struct blame_place *process;

		if (holder->tid != row->tid || holder->origin_ns != row->origin_ns ||
		    holder->header.time_ns != known->interval->end_ns)
			continue;
		blame->holder.tid = holder->holder_tid;
		blame->holder.pid = holder->holder_pid;
		memcpy(blame->holder.comm, holder->holder_comm, sizeof(holder->holder_comm));
		process = process_of(known, holder->holder_tid);
		if (process && !known->interval->rows[process->row].exited)
			blame->holder = known->parties[process->row];
	}
}

/* What the records of a victim say beside its shares. */
struct beside {
	uint32_t folded;	  /* as in struct wire_blame */
	uint64_t open_ns[STATES]; /* WIRE_CULPRIT_OPEN */
};

/* What of the state's time no culprit has been charged with. */
static int complete(struct blames *blames, size_t first, const struct row *row,
		    const struct blame_party *victim, enum state state, const struct beside *beside)
{
	uint64_t charged_ns = 0, rest_ns, open_ns = beside->open_ns[state];
	enum wire_culprit_kind kind = WIRE_CULPRIT_UNKNOWN;
	bool any = false;
	int result = 0;

	if (state == STATE_STOLEN)
		return add_rest(blames, victim, state, WIRE_CULPRIT_STEAL, row->states_ns[state],
				false);
	if (state == STATE_IRQ)
		return add_rest(blames, victim, state, WIRE_CULPRIT_IRQ, row->states_ns[state],
				false);
	for (size_t i = first; i < blames->count; i++) {
		if (blames->items[i].state != state)
			continue;
		charged_ns += blames->items[i].total_ns;
		any = true;
	}
	if (charged_ns > row->states_ns[state]) {
		take_back(blames, first, state, charged_ns - row->states_ns[state]);
		return 0;
	}
	if (!any && !state_is_lost(state))
		return 0;
	rest_ns = row->states_ns[state] - charged_ns;
	if (row->site.state == wire_of_state(state))
		open_ns += row->in_state_ns;
	if (row->exited)
		open_ns = 0;
	else if (open_ns > rest_ns)
		open_ns = rest_ns;
	result = add_rest(blames, victim, state, WIRE_CULPRIT_UNKNOWN, open_ns, true);
	if (beside->folded & 1U << wire_of_state(state))
		kind = WIRE_CULPRIT_OTHERS;
	if (result >= 0)
		result = add_rest(blames, victim, state, kind, rest_ns - open_ns, false);
	return result;
}

/*
 * A hook may send what the reader is just reading (blame_freeze() in bpf/blame.bpf.h): the same
 * shares, as of the same instant.
 */
static bool is_repeated(const struct blame_record *records, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (records[i].time_ns == records[index].time_ns)
			return true;
	return false;
}

static int add_victim(struct blames *blames, const struct known *known, size_t number,
		      const struct blame_record *records, size_t count)
{
	const struct row *row = &known->interval->rows[number];
	const struct blame_party *victim = &known->parties[number];
	size_t first = blames->count;
	struct beside beside = {0};
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		const struct wire_blame *record = bytes_of(blames, &records[i]);
		const struct wire_culprit *culprits = (const struct wire_culprit *)(record + 1);

		if (is_repeated(records, i))
			continue;
		beside.folded |= record->folded;
		for (__u32 j = 0; result >= 0 && j < record->count; j++) {
			const struct wire_culprit *culprit = &culprits[j];

			if (culprit->state < WIRE_RUNNABLE || culprit->state >= WIRE_STATES ||
			    culprit->kind >= WIRE_CULPRIT_KINDS_COUNT)
				continue;
			if (culprit->flags & WIRE_CULPRIT_OPEN)
				beside.open_ns[state_of_wait(culprit->state)] += culprit->total_ns;
			else
				result = add_share(blames, first, victim, culprit, known);
		}
	}
	/* beyond our pid namespace: a number that is the kernel's own */
	for (size_t i = first; i < blames->count; i++)
		if (!blames->items[i].culprit.pid)
			blames->items[i].culprit.tid = 0;
	for (int state = STATE_RUNNABLE; result >= 0 && state < STATES; state++)
		result = complete(blames, first, row, victim, (enum state)state, &beside);
	for (size_t i = first; i < blames->count; i++)
		if (blames->items[i].goes_on && blames->items[i].state == STATE_LOCK)
			name_holder(blames, &blames->items[i], row, known);
	return result;
}

static int by_time(const void *left, const void *right)
{
	const struct blame *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	if (a->victim.tid != b->victim.tid)
		return a->victim.tid < b->victim.tid ? -1 : 1;
	return (a->state > b->state) - (a->state < b->state);
}

void blames_sort(struct blame *blames, size_t count)
{
	if (count)
		qsort(blames, count, sizeof(*blames), by_time);
}

/* The records of a row among those that are sorted by victim. */
static const struct blame_record *records_of(const struct blames *blames, const struct row *row,
					     size_t sorted, size_t *ret_count)
{
	size_t low = 0, high = sorted;

	*ret_count = 0;
	if (!sorted)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct blame_record *record = &blames->records[middle];

		if (record->tid < row->tid ||
		    (record->tid == row->tid && record->origin_ns < row->origin_ns))
			low = middle + 1;
		else
			high = middle;
	}
	while (high < sorted && blames->records[high].tid == row->tid &&
	       blames->records[high].origin_ns == row->origin_ns)
		high++;
	*ret_count = high - low;
	return blames->records + low;
}

/* Those of after the interval's end go behind the others; how many others there are. */
static size_t part_by_end(struct blames *blames, const struct interval *interval)
{
	size_t count = 0;

	for (size_t i = 0; i < blames->record_count; i++) {
		struct blame_record record = blames->records[i];

		if (record.time_ns > interval->end_ns && !interval->final)
			continue;
		blames->records[i] = blames->records[count];
		blames->records[count++] = record;
	}
	return count;
}

/* The first `count`. What is left is little as a rule, or nothing. */
static void forget(struct blames *blames, size_t count)
{
	size_t used = 0;

	blames->record_count -= count;
	memmove(blames->records, blames->records + count,
		blames->record_count * sizeof(*blames->records));
	/* in the order in which they came, so that each moves to a place that is free */
	if (blames->record_count)
		qsort(blames->records, blames->record_count, sizeof(*blames->records), by_place);
	for (size_t i = 0; i < blames->record_count; i++) {
		struct blame_record *record = &blames->records[i];
		size_t bytes = (bytes_of(blames, record)->header.size + 7U) & ~(size_t)7;

		memmove(blames->bytes + used, blames->bytes + record->at, bytes);
		record->at = used;
		used += bytes;
	}
	blames->used = used;
}

/* WIRE_SESSION_CAUSED: what the targets owe, to whomever. */
static void keep_caused(struct blames *blames)
{
	size_t kept = 0;

	for (size_t i = 0; i < blames->count; i++)
		if (blames->items[i].is_targets)
			blames->items[kept++] = blames->items[i];
	blames->count = kept;
}

static int clear_places(struct blame_places *places, size_t threads)
{
	if (!places->key)
		places->key = hash_secret(places);
	if (places->count < 2 * threads + 2) {
		for (places->count = 64; places->count < 2 * threads + 2;)
			places->count *= 2;
		free(places->items);
		places->items = reallocarray(NULL, places->count, sizeof(*places->items));
	}
	if (!places->items) {
		places->count = 0;
		return -ENOMEM;
	}
	memset(places->items, 0, places->count * sizeof(*places->items));
	return 0;
}

/* Of one interval, which ids are used again in. More are made up: each would be looked at again. */
#define SAME_ID_MAX 64

static void put_place(struct blame_places *places, uint32_t tid, uint32_t row)
{
	size_t at = place_of(places, tid), same = 0;

	for (; places->items[at].tid && same < SAME_ID_MAX; at = next_place(places, at))
		same += places->items[at].tid == tid;
	if (!places->items[at].tid)
		places->items[at] = (struct blame_place){tid, row};
}

static int list_threads(struct blames *blames, const struct interval *interval)
{
	size_t count = interval->row_count;

	if (array_reserve(&blames->victims, &blames->victim_room, count + 1,
			  sizeof(*blames->victims)) < 0 ||
	    clear_places(&blames->places, count) < 0 ||
	    array_reserve(&blames->parties, &blames->party_room, count + 1,
			  sizeof(*blames->parties)) < 0)
		return -ENOMEM;
	memset(blames->parties, 0, count * sizeof(*blames->parties));
	for (size_t i = 0; i < count; i++) {
		put_place(&blames->places, interval->rows[i].tid, (uint32_t)i);
		set_party(&blames->parties[i], &interval->rows[i]);
	}
	return 0;
}

int blames_close(struct blames *blames, struct interval *interval)
{
	size_t sorted = part_by_end(blames, interval), rows = interval->row_count, victims = 0;
	int result = list_threads(blames, interval);
	const struct known known = {interval, &blames->places, blames->parties, blames->members,
				    blames->member_count};

	blames->count = blames->theft_count = 0;
	if (blames->member_count)
		qsort(blames->members, blames->member_count, sizeof(*blames->members), by_pid);
	if (result >= 0 && sorted)
		qsort(blames->records, sorted, sizeof(*blames->records), by_victim);
	for (size_t i = 0; result >= 0 && i < rows; i++) {
		size_t count, first = blames->count;
		const struct blame_record *records =
			records_of(blames, &interval->rows[i], sorted, &count);

		result = add_victim(blames, &known, i, records, count);
		if (blames->count > first)
			blames->victims[victims++] = (struct blame_victim){
				blames->parties[i].tid, blames->parties[i].start, first,
				blames->count - first};
	}
	if (sorted)
		forget(blames, sorted);
	blames->holder_count = blames->member_count = 0;
	if (result >= 0)
		blame_thieves_find(blames->items, blames->thefts, blames->theft_count,
				   blames->victims, victims);
	if (result >= 0 && session_has_caused(interval->session))
		keep_caused(blames);
	if (!blames->only_lost)
		blames_sort(blames->items, blames->count);
	interval->blames = blames->items;
	interval->blame_count = blames->count;
	return result;
}

void blames_restart(struct blames *blames)
{
	if (blames->record_count)
		forget(blames, blames->record_count);
	blames->count = blames->holder_count = blames->member_count = 0;
}

void blames_release(struct blames *blames)
{
	blames_restart(blames);
	free(blames->records);
	free(blames->bytes);
	free(blames->holders);
	free(blames->members);
	free(blames->items);
	free(blames->places.items);
	free(blames->parties);
	free(blames->victims);
	free(blames->thefts);
	*blames = (struct blames){0};
}
