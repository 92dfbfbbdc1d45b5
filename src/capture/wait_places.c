// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/wait_places.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "symbol/code_address.h"
#include "symbol/objects.h"
#include "symbol/opener.h"

struct places {
	struct objects objects;
	/* of the process asked about last, as it was in this round of questions */
	struct mappings mappings;
	uint32_t mappings_pid;
};

/*
 * Parts of function names, mangled (Rust and C++ write identifiers literally; a number before one
 * is its length in the mangling, and keeps `park` from matching `spark`). The first match counts.
 */
static const struct {
	const char *part;
	enum site_verdict verdict;
} names[] = {
	/* Rust's standard library, parking_lot, Abseil: taking a contended lock */
	{"lock_contended", SITE_LOCK},
	{"read_contended", SITE_LOCK},
	{"write_contended", SITE_LOCK},
	{"lock_slow", SITE_LOCK},
	{"lock_shared_slow", SITE_LOCK},
	{"lock_exclusive_slow", SITE_LOCK},
	{"lock_upgradable_slow", SITE_LOCK},
	{"LockSlow", SITE_LOCK},
	{"4once5futex", SITE_LOCK},
	/* glibc, musl */
	{"lll_lock_wait", SITE_LOCK},
	{"pthread_mutex_", SITE_LOCK},
	{"pthread_rwlock_", SITE_LOCK},
	{"pthread_once", SITE_LOCK},
	{"cxa_guard_acquire", SITE_LOCK},
	{"pthread_cond_", SITE_CONDITION},
	{"pthread_join", SITE_CONDITION},
	{"pthread_timedjoin", SITE_CONDITION},
	{"pthread_clockjoin", SITE_CONDITION},
	{"pthread_barrier_wait", SITE_CONDITION},
	{"sem_wait", SITE_CONDITION},
	{"sem_timedwait", SITE_CONDITION},
	{"sem_clockwait", SITE_CONDITION},
	/* the Go runtime */
	{"runtime.lock", SITE_LOCK},
	{"runtime.notesleep", SITE_CONDITION},
	{"runtime.notetsleep", SITE_CONDITION},
	/* parking_lot's locks and condition variables both wait here */
	{"parking_lot_core", SITE_CALLER},
	{"ThreadParker", SITE_CALLER},
	/* Rust's and others' condition variables and parked threads; libstdc++'s futures, atomics
	 */
	{"condvar", SITE_CONDITION},
	{"Condvar", SITE_CONDITION},
	{"CondVar", SITE_CONDITION},
	{"Parker", SITE_CONDITION},
	{"thread_parking", SITE_CONDITION},
	{"6thread4park", SITE_CONDITION},
	{"functions4park", SITE_CONDITION},
	{"park_timeout", SITE_CONDITION},
	{"__atomic_futex_unsigned", SITE_CONDITION},
	{"__platform_wait", SITE_CONDITION},
	{"__atomic_wait", SITE_CONDITION},
	/* wrappers */
	{"futex", SITE_CALLER},
	{"Futex", SITE_CALLER},
	{"PerThreadSem", SITE_CALLER},
	{"syscall", SITE_CALLER},
	{"timedwait", SITE_CALLER},
};

int places_classify(const char *function)
{
	/* a library's inner functions are not in the dynamic symbols that stripping leaves */
	if (!function)
		return SITE_CALLER;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(function, names[i].part))
			return names[i].verdict;
	return SITE_OPERATION;
}

static const struct mapping *find_mapping(struct places *places, uint32_t pid, uint64_t address)
{
	if (places->mappings_pid != pid) {
		places->mappings_pid = pid;
		mappings_release(&places->mappings);
		/* not readable: as if nothing were mapped */
		if (mappings_load(&places->mappings, pid) < 0)
			return NULL;
	}
	return mappings_find(&places->mappings, address);
}

/* By the file that holds the code. False: there is no code at this address. */
static bool explain(struct places *places, const struct site_key *key, struct site *ret_site)
{
	const struct mapping *mapping = find_mapping(places, key->pid, key->address);
	struct object *object;
	struct frame_rule rule;
	uint64_t address;

	if (!mapping)
		return false;
	*ret_site = (struct site){.verdict = SITE_OPERATION};
	object = objects_find(&places->objects, mapping, key->pid);
	/* it is a return address: what belongs to the call is before it */
	if (!object ||
	    !object_address(object, key->address - 1 - mapping->start + mapping->offset, &address))
		return true;
	ret_site->verdict = (__u8)places_classify(object_function(object, address));
	if (ret_site->verdict != SITE_CALLER)
		return true;
	/* without unwind tables, as in Go programs that are stripped of them: frame pointers */
	if (!object_frame(object, address, &rule))
		rule = (struct frame_rule){.base = FRAME_FROM_FRAME,
					   .cfa_offset = 16,
					   .return_offset = -8,
					   .frame_offset = -16};
	if (rule.outermost || rule.indirect) {
		ret_site->verdict = SITE_OPERATION;
		return true;
	}
	ret_site->frame_base = rule.base == FRAME_FROM_FRAME;
	ret_site->cfa_offset = rule.cfa_offset;
	ret_site->return_offset = rule.return_offset;
	ret_site->frame_offset = rule.frame_offset;
	return true;
}

/* A part of a thread's stack: most frames are small. */
struct stack_bytes {
	uint32_t tid;
	uint64_t start;
	size_t bytes;
	uint8_t memory[2048];
};

static bool read_word(struct stack_bytes *part, uint64_t address, __u64 *ret_word)
{
	uint64_t offset = address - part->start;

	if (offset >= part->bytes || part->bytes - offset < sizeof(*ret_word)) {
		part->start = address;
		part->bytes =
			opener_memory(part->tid, address, part->memory, sizeof(part->memory), NULL);
		offset = 0;
	}
	if (part->bytes < sizeof(*ret_word))
		return false;
	memcpy(ret_word, part->memory + offset, sizeof(*ret_word));
	return true;
}

/* As site_walk() in the hooks, for another thread: its stack is read while it waits. */
static enum site_verdict walk(struct places *places, const struct site_question *question,
			      struct places_answer *answer)
{
	struct site_key key = question->key;
	struct site_frame frame = question->frame;
	struct stack_bytes memory = {.tid = question->tid};

	for (int i = 0; i <= SITE_CALLERS; i++) {
		struct site *site = &answer->places[i].site;
		uint64_t cfa;

		key.address = frame.address;
		if (!explain(places, &key, site))
			return SITE_OPERATION;
		answer->places[i].key = key;
		answer->count++;
		if (site->verdict != SITE_CALLER)
			return site->verdict;
		cfa = (site->frame_base ? frame.frame : frame.stack) + (uint64_t)site->cfa_offset;
		if (!site->return_offset)
			frame.address = frame.link;
		else if (!read_word(&memory, cfa + (uint64_t)site->return_offset, &frame.address))
			return SITE_OPERATION;
		frame.address &= code_address_mask();
		if (site->frame_offset &&
		    !read_word(&memory, cfa + (uint64_t)site->frame_offset, &frame.frame))
			return SITE_OPERATION;
		frame.stack = cfa;
	}
	return SITE_OPERATION;
}

static void preload(struct places *places, uint32_t pid)
{
	struct mappings mappings = {0};
	struct frame_rule rule;

	if (mappings_load(&mappings, pid) < 0)
		return;
	for (size_t i = 0; i < mappings.count; i++) {
		struct object *object = objects_find(&places->objects, &mappings.items[i], pid);

		if (!object)
			continue;
		(void)object_function(object, 0);
		(void)object_frame(object, 0, &rule);
	}
	mappings_release(&mappings);
}

static void *begin(const void *context)
{
	(void)context;
	return calloc(1, sizeof(struct places));
}

static size_t answer(void *data, const void *bytes, size_t length, void *into,
		     struct helper_parts *parts)
{
	struct places *places = data;
	struct places_question question;
	struct places_answer found = {.verdict = SITE_OPERATION};

	(void)parts;
	if (length != sizeof(question))
		return 0;
	memcpy(&question, bytes, sizeof(question));
	if (question.fresh)
		places->mappings_pid = 0;
	if (question.kind == PLACES_PRELOAD)
		preload(places, question.site.key.pid);
	else
		found.verdict = walk(places, &question.site, &found);
	memcpy(into, &found, sizeof(found));
	return sizeof(found);
}

_Static_assert(sizeof(struct places_answer) <= HELPER_MESSAGE_BYTES, "it fits into a message");

const struct helper_work places_work = {
	.begin = begin,
	.answer = answer,
	.serve = opener_serve,
	/* symbols of the largest programs take some 100 MiB */
	.memory_bytes = 192 << 20,
	.memory_max_bytes = 192 << 20,
	.patience_ns = 5 * NS_PER_S,
};
