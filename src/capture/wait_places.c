// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/wait_places.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "capture/wait_names.h"
#include "symbol/call_scan.h"
#include "symbol/code_address.h"
#include "symbol/objects.h"
#include "symbol/opener.h"

struct places {
	struct objects objects;
	/* of the process asked about last, as it was in this round of questions */
	struct mappings mappings;
	uint32_t mappings_pid;
};

static const struct mapping *find_mapping(struct places *places, uint32_t pid, uint64_t address)
{
	if (places->mappings_pid != pid) {
		places->mappings_pid = pid;
		mappings_release(&places->mappings);
		/* not readable: as if nothing were mapped */
		if (mappings_load(&places->mappings, pid, 0) < 0)
			return NULL;
	}
	return mappings_find(&places->mappings, address);
}

/* A part of a thread's memory: most frames are small. */
struct memory_part {
	uint32_t tid;
	uint64_t start;
	size_t bytes;
	uint8_t memory[2048];
};

static void read_part(struct memory_part *part, uint64_t address)
{
	part->start = address;
	part->bytes = opener_memory(part->tid, address, part->memory, sizeof(part->memory), NULL);
}

static bool read_word(struct memory_part *part, uint64_t address, __u64 *ret_word)
{
	uint64_t offset = address - part->start;

	if (offset >= part->bytes || part->bytes - offset < sizeof(*ret_word)) {
		read_part(part, address);
		offset = 0;
	}
	if (part->bytes < sizeof(*ret_word))
		return false;
	memcpy(ret_word, part->memory + offset, sizeof(*ret_word));
	return true;
}

/* The way up from a wait. */
struct walk {
	struct places *places;
	struct site_key key; /* of the present place */
	struct site_frame frame;
	uint32_t tid;
	uint16_t own_locks; /* of the program: enum own_locks */
	/* of such: it waits for a condition variable, and the file whose code does */
	bool is_condition;
	const struct object *waiting;
	const struct object *maker; /* whose code makes the wait, the C library aside */
	bool has_left;		    /* and the present place is of what called that */
	bool is_return;		    /* the present place: behind a call */
	bool is_guessed;   /* a caller was looked for on the stack, which must not change meanwhile:
			    */
	uint64_t switches; /* of the thread when it was read; 0: it did not wait there any more */
	uint64_t stack_at; /* its stack pointer */
	struct memory_part stack;
	unsigned int scans; /* of the stack, words that may still be looked up */
};

/* As call_site_read. */
static size_t read_memory(void *data, uint64_t address, void *into, size_t bytes)
{
	const struct walk *walk = data;

	return opener_memory(walk->tid, address, into, bytes, NULL);
}

/* As code.mapping. */
static const struct mapping *code_mapping(void *data, uint64_t address)
{
	struct walk *walk = data;

	return find_mapping(walk->places, walk->key.pid, address);
}

/* As code.object. */
static struct object *code_object(void *data, const struct mapping *mapping, uint64_t address,
				  uint64_t *ret_address)
{
	struct walk *walk = data;
	struct object *object = objects_find(&walk->places->objects, mapping, walk->key.pid);

	return object && object_address(object, address - mapping->start + mapping->offset,
					ret_address)
		       ? object
		       : NULL;
}

static struct code_view code_of(struct walk *walk)
{
	return (struct code_view){
		.data = walk, .mapping = code_mapping, .object = code_object, .read = read_memory};
}

/* The file that holds an address, and what the address is there; NULL: none. */
static struct object *object_at(struct walk *walk, uint64_t address, uint64_t *ret_address)
{
	const struct mapping *mapping = code_mapping(walk, address);

	return mapping ? code_object(walk, mapping, address, ret_address) : NULL;
}

static const char *name_at(struct walk *walk, uint64_t address)
{
	uint64_t in_file;
	struct object *object = object_at(walk, address, &in_file);

	return object ? object_function(object, in_file) : NULL;
}

/*
 * What the function is called by whom it returns to: it may have jumped on to one that has no name,
 * and left no frame.
 */
static int verdict_of_call(struct walk *walk)
{
	struct code_view code = code_of(walk);
	uint64_t called = code_call(&code, walk->frame.address).target;

	for (int i = 0; called && i <= CODE_JUMPS_MAX; i++) {
		int verdict = wait_verdict_of_name(name_at(walk, called));

		/* an entry of the linkage table may be taken for a part of another function */
		if (verdict == SITE_LOCK || verdict == SITE_CONDITION || verdict == SITE_SEMAPHORE)
			return verdict;
		called = code_jump(&code, called);
	}
	return SITE_CALLER;
}

/*
 * Without unwind tables, as in musl's libraries and in Go programs: by a word of the stack that the
 * call of this function can have left, or by the frame pointer. False: neither is sure.
 */
static bool find_return(struct walk *walk, struct frame_rule *ret_rule)
{
	struct code_view code = code_of(walk);
	struct memory_part *stack = &walk->stack;
	uint64_t address = walk->frame.address - walk->is_return;
	struct call_scan scan = {.address = address,
				 .stack = walk->frame.stack,
				 .frame = walk->frame.frame,
				 .link = walk->is_return ? 0 : walk->frame.link,
				 .memory = stack->memory,
				 .left = &walk->scans};
	__u64 word;

	read_part(stack, walk->frame.stack);
	scan.memory_start = stack->start;
	scan.memory_bytes = stack->bytes;
	if (call_scan(&code, &scan, ret_rule))
		return true;
	*ret_rule = (struct frame_rule){.base = FRAME_FROM_FRAME,
					.cfa_offset = 16,
					.return_offset = -8,
					.frame_offset = -16};
	return read_word(stack, walk->frame.frame + 8, &word) &&
	       code_leads_to(&code, code_call(&code, word & code_address_mask()), address);
}

/* What was read before may be older. */
static void begin_guessing(struct walk *walk)
{
	walk->is_guessed = true;
	walk->switches = opener_waits_at(walk->tid, walk->stack_at);
	walk->stack.bytes = 0;
}

static bool has_changed(const struct walk *walk)
{
	return walk->is_guessed &&
	       (!walk->switches || walk->switches != opener_waits_at(walk->tid, walk->stack_at));
}

/*
 * Of programs with locks of their own on condition variables: which function waits for the
 * condition says for what.
 *
 * Of MySQL and MariaDB: a storage engine that has no names left, as InnoDB in a stripped MariaDB,
 * does not wait for work where it is called for rows, but for their locks.
 *
 * Of HotSpot, all have names.
 *
 * Of CPython: take_gil() and drop_gil() are static, so where only exported functions have names,
 * those that call them decide: up to there, all is in the same file, or it may be an extension.
 */
static __u8 verdict_of_own_locks(struct walk *walk, __u8 verdict, const struct object *object,
				 const char *function)
{
	static const char *const rows[] = {"_ZN7handler"};
	static const char *const interpreter[] = {"PyEval_", "_PyEval_", "_Py_HandlePending",
						  "PyThreadState_", "_PyThreadState_"};
	bool is_database = walk->own_locks == OWN_LOCKS_DATABASE;
	bool is_python = walk->own_locks == OWN_LOCKS_PYTHON;
	bool is_java = walk->own_locks == OWN_LOCKS_JAVA;

	if (!is_database && !is_python && !is_java)
		return verdict;
	if (verdict == SITE_CONDITION) {
		walk->is_condition = true;
		return SITE_SEMAPHORE;
	}
	if (!walk->is_condition)
		return verdict;
	if (!walk->waiting)
		walk->waiting = object;
	if (verdict != SITE_OPERATION || is_java)
		return verdict;
	if (is_database)
		return name_begins_with_any(function, rows, ARRAY_SIZE(rows)) ? SITE_LOCK : verdict;
	return object == walk->waiting &&
			       name_begins_with_any(function, interpreter, ARRAY_SIZE(interpreter))
		       ? SITE_LOCK
		       : verdict;
}

/*
 * Whether the library whose code the present place is in waits itself. It may also have called what
 * waits: a task, the body of a loop.
 */
static bool is_its_own(struct walk *walk, const struct object *object, const char *path)
{
	if (!walk->maker && !wait_is_of_c_library(path))
		walk->maker = object;
	walk->has_left |= walk->maker && object != walk->maker;
	return !walk->has_left;
}

/* False: there is no code at this address. */
static bool explain(struct walk *walk, struct site *ret_site)
{
	uint64_t address;
	struct code_view code = code_of(walk);
	const struct mapping *mapping =
		find_mapping(walk->places, walk->key.pid, walk->frame.address);
	struct object *object;
	struct frame_rule rule;
	const char *name;
	__u8 nowhere; /* the verdict if its caller is not found */
	bool is_own;
	int called;

	if (!mapping)
		return false;
	*ret_site = (struct site){.verdict = SITE_UNNAMED};
	/* what belongs to a call is before its return address */
	object = object_at(walk, walk->frame.address - 1, &address);
	if (!object)
		return true;
	name = object_function(object, address);
	ret_site->verdict = (__u8)wait_verdict_of_name(name);
	called = walk->is_return && (ret_site->verdict == SITE_CALLER ||
				     ret_site->verdict == SITE_OPERATION)
			 ? verdict_of_call(walk)
			 : SITE_CALLER;
	if (called != SITE_CALLER)
		ret_site->verdict = (__u8)called;
	is_own = is_its_own(walk, object, mapping->path);
	if (wait_is_of_library(mapping->path)) {
		if (is_own &&
		    (ret_site->verdict == SITE_CALLER || ret_site->verdict == SITE_OPERATION))
			ret_site->verdict = SITE_SEMAPHORE;
		else if (!is_own && ret_site->verdict == SITE_SEMAPHORE)
			ret_site->verdict = SITE_OPERATION;
	}
	ret_site->verdict = verdict_of_own_locks(walk, ret_site->verdict, object, name);
	if (ret_site->verdict != SITE_CALLER && ret_site->verdict != SITE_SEMAPHORE)
		return true;
	nowhere = ret_site->verdict == SITE_CALLER ? SITE_UNNAMED : SITE_CONDITION;
	/* an unvalidated frame pointer is better than nothing where there are names to be found */
	if (!code_frame(&code, walk->frame.address - 1, &rule)) {
		if (!walk->is_guessed)
			begin_guessing(walk);
		if (!find_return(walk, &rule) && !name_at(walk, walk->frame.address - 1)) {
			ret_site->verdict = nowhere;
			return true;
		}
	}
	if (rule.outermost || rule.indirect) {
		ret_site->verdict = nowhere;
		return true;
	}
	ret_site->frame_base = rule.base == FRAME_FROM_FRAME;
	ret_site->cfa_offset = rule.cfa_offset;
	ret_site->return_offset = rule.return_offset;
	ret_site->frame_offset = rule.frame_offset;
	return true;
}

/*
 * Where nothing has a name. musl makes all its waits by one function, which returns at once: the
 * value that it waits with says nothing. A process that may not be read is taken by the operation,
 * as its next waits are, of which nothing is asked.
 */
static enum site_verdict nameless_verdict(struct walk *walk)
{
	static const uint8_t x86_ret = 0xc3, arm_ret[] = {0xc0, 0x03, 0x5f, 0xd6};
	uint8_t code[sizeof(arm_ret)];
	bool returns;

	if (read_memory(walk, walk->frame.address, code, sizeof(code)) != sizeof(code))
		return SITE_OPERATION;
	returns = CALL_SITE_HERE == CALL_SITE_AARCH64 ? !memcmp(code, arm_ret, sizeof(arm_ret))
						      : code[0] == x86_ret;
	return returns ? SITE_OPAQUE : SITE_UNNAMED;
}

/* As site_walk() in the hooks, for another thread: its stack is read while it waits. */
static enum site_verdict walk_up(struct walk *walk, struct places_answer *answer)
{
	enum site_verdict nameless = nameless_verdict(walk), otherwise = nameless;

	for (int i = 0; i <= SITE_CALLERS; i++) {
		struct site *site = &answer->places[i].site;
		uint64_t cfa;

		walk->key.address = walk->frame.address;
		walk->is_return = i > 0;
		if (!explain(walk, site))
			break;
		if (site->verdict == SITE_UNNAMED)
			site->verdict = (__u8)nameless;
		answer->places[i].key = walk->key;
		answer->count++;
		if (site->verdict == SITE_SEMAPHORE)
			otherwise = SITE_CONDITION;
		else if (site->verdict != SITE_CALLER)
			return otherwise == SITE_CONDITION ? site_of_caller(site->verdict)
							   : site->verdict;
		cfa = (site->frame_base ? walk->frame.frame : walk->frame.stack) +
		      (uint64_t)site->cfa_offset;
		if (!site->return_offset)
			walk->frame.address = walk->frame.link;
		else if (!read_word(&walk->stack, cfa + (uint64_t)site->return_offset,
				    &walk->frame.address))
			break;
		walk->frame.address &= code_address_mask();
		if (site->frame_offset &&
		    !read_word(&walk->stack, cfa + (uint64_t)site->frame_offset,
			       &walk->frame.frame))
			break;
		walk->frame.stack = cfa;
	}
	return otherwise;
}

/* What is read of the stack is as it was when the thread began to wait. */
static void take_copy(struct memory_part *stack, const struct site_question *question)
{
	if (question->stack_bytes > sizeof(question->stack))
		return;
	stack->start = question->frame.stack;
	stack->bytes = question->stack_bytes;
	memcpy(stack->memory, question->stack, question->stack_bytes);
}

static enum site_verdict walk(struct places *places, const struct site_question *question,
			      struct places_answer *answer)
{
	struct walk way = {.places = places,
			   .key = question->key,
			   .frame = question->frame,
			   .tid = question->tid,
			   .own_locks = question->own_locks,
			   .stack_at = question->frame.stack,
			   .stack.tid = question->tid,
			   .scans = CALL_SCAN_WORDS};
	enum site_verdict verdict;
	struct site_words around;
	bool is_condition;

	take_copy(&way.stack, question);
	verdict = walk_up(&way, answer);

	/* its next wait is asked about again */
	if (has_changed(&way)) {
		answer->count = 0;
		return SITE_UNKNOWN;
	}
	if (question->is_of_events)
		return verdict == SITE_LOCK ? SITE_LOCK : SITE_OPERATION;
	is_condition = verdict == SITE_CONDITION && site_may_be_mutex(&question->futex);
	if (verdict != SITE_UNNAMED && !is_condition)
		return verdict;
	if (read_memory(&way, question->futex.address - sizeof(around.before), &around,
			sizeof(around)) != sizeof(around))
		around = (struct site_words){0}; /* nothing is mapped there */
	if (is_condition && site_of_futex(&question->futex, &around) != SITE_LOCK)
		return SITE_CONDITION;
	return site_of_futex(&question->futex, &around);
}

static void preload(struct places *places, uint32_t pid)
{
	struct mappings mappings = {0};
	struct frame_rule rule;

	if (mappings_load(&mappings, pid, 0) < 0)
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

/* Of a thread that sleeps: it waits for this lock all the time that it is read. */
static bool read_lock(const struct site_question *question, uint32_t words[LOCK_WORDS])
{
	size_t bytes = LOCK_WORDS * sizeof(words[0]);
	uint64_t switches = 0;

	return opener_memory(question->tid, question->futex.address, words, bytes, &switches) ==
		       bytes &&
	       switches;
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
	objects_close_changed(&places->objects);
	if (question.fresh) {
		places->mappings_pid = 0;
		objects_close_unused(&places->objects);
	}
	if (question.kind == PLACES_PRELOAD)
		preload(places, question.site.key.pid);
	else if (question.kind == PLACES_LOCK)
		found.has_lock = read_lock(&question.site, found.lock);
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
