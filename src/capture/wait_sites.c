// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/wait_sites.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "symbol/code_address.h"
#include "symbol/objects.h"

#define QUESTIONS_MAX 16384
/*
 * Reading a large file's symbols takes long; a snapshot must not wait for many of them. The first
 * round may: only there can the waits that began before dwell still be corrected.
 */
#define ANSWER_NS	(100 * NS_PER_MS)
#define FIRST_ANSWER_NS (2 * NS_PER_S)

struct wait_sites {
	int sites_fd, answers_fd;
	unsigned int site_count;
	struct objects objects;
	/* of the process asked about last, as it was in this round of answers */
	struct mappings mappings;
	uint32_t mappings_pid;
	struct site_question questions[QUESTIONS_MAX];
	unsigned int question_count;
	bool answered_once;
	uint32_t answered[MAX_SITE_ANSWERS]; /* tids */
	unsigned int answered_count;
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

int wait_sites_classify(const char *function)
{
	/* a library's inner functions are not in the dynamic symbols that stripping leaves */
	if (!function)
		return SITE_CALLER;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(function, names[i].part))
			return names[i].verdict;
	return SITE_OPERATION;
}

struct wait_sites *wait_sites_new(int sites_fd, int answers_fd)
{
	struct wait_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return NULL;
	sites->sites_fd = sites_fd;
	sites->answers_fd = answers_fd;
	return sites;
}

void wait_sites_free(struct wait_sites *sites)
{
	if (!sites)
		return;
	objects_release(&sites->objects);
	mappings_release(&sites->mappings);
	free(sites);
}

void wait_sites_preload(struct wait_sites *sites, uint32_t pid)
{
	struct mappings mappings = {0};
	struct frame_rule rule;

	if (mappings_load(&mappings, pid) < 0)
		return;
	for (size_t i = 0; i < mappings.count; i++) {
		struct object *object = objects_find(&sites->objects, &mappings.items[i], pid);

		if (!object)
			continue;
		(void)object_function(object, 0);
		(void)object_frame(object, 0, &rule);
	}
	mappings_release(&mappings);
}

void wait_sites_ask(struct wait_sites *sites, const struct site_question *question)
{
	if (sites->question_count < QUESTIONS_MAX)
		sites->questions[sites->question_count++] = *question;
}

static const struct mapping *find_mapping(struct wait_sites *sites, uint32_t pid, uint64_t address)
{
	if (sites->mappings_pid != pid) {
		sites->mappings_pid = pid;
		mappings_release(&sites->mappings);
		/* not readable: as if nothing were mapped */
		if (mappings_load(&sites->mappings, pid) < 0)
			return NULL;
	}
	return mappings_find(&sites->mappings, address);
}

/* By the file that holds the code. False: there is no code at this address. */
static bool explain(struct wait_sites *sites, const struct site_key *key, struct site *ret_site)
{
	const struct mapping *mapping = find_mapping(sites, key->pid, key->address);
	struct object *object;
	struct frame_rule rule;
	uint64_t address;

	if (!mapping)
		return false;
	*ret_site = (struct site){.verdict = SITE_OPERATION};
	object = objects_find(&sites->objects, mapping, key->pid);
	/* it is a return address: what belongs to the call is before it */
	if (!object ||
	    !object_address(object, key->address - 1 - mapping->start + mapping->offset, &address))
		return true;
	ret_site->verdict = (__u8)wait_sites_classify(object_function(object, address));
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

/* Most are of processes that have ended; the others' are asked for again. */
static void forget_sites(struct wait_sites *sites)
{
	struct site_key key;

	while (!bpf_map_get_next_key(sites->sites_fd, NULL, &key) &&
	       !bpf_map_delete_elem(sites->sites_fd, &key))
		;
	sites->site_count = 0;
}

/* The site of a key: known already, or explained now and told to the hooks. */
static bool find_site(struct wait_sites *sites, const struct site_key *key, struct site *ret_site)
{
	if (!bpf_map_lookup_elem(sites->sites_fd, key, ret_site))
		return true;
	if (!explain(sites, key, ret_site))
		return false;
	if (sites->site_count == MAX_SITES)
		forget_sites(sites);
	if (!bpf_map_update_elem(sites->sites_fd, key, ret_site, BPF_ANY))
		sites->site_count++;
	return true;
}

/* Of the memory behind a descriptor. */
static bool read_word(int memory, uint64_t address, __u64 *ret_word)
{
	return pread(memory, ret_word, sizeof(*ret_word), (off_t)address) == sizeof(*ret_word);
}

/* As site_walk() in the hooks, for another thread: its stack is read while it waits. */
static enum site_verdict walk(struct wait_sites *sites, const struct site_question *question)
{
	struct site_key key = question->key;
	struct site_frame frame = question->frame;
	struct site site;
	char path[64];

	/* not process_vm_readv(), which small kernels leave out */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", (uint32_t)question->tid);
	cleanup_close int memory = open(path, O_RDONLY | O_CLOEXEC);

	for (int i = 0; i <= SITE_CALLERS; i++) {
		uint64_t cfa;

		key.address = frame.address;
		if (!find_site(sites, &key, &site))
			return SITE_OPERATION;
		if (site.verdict != SITE_CALLER)
			return site.verdict;
		cfa = (site.frame_base ? frame.frame : frame.stack) + (uint64_t)site.cfa_offset;
		if (!site.return_offset)
			frame.address = frame.link;
		else if (!read_word(memory, cfa + (uint64_t)site.return_offset, &frame.address))
			return SITE_OPERATION;
		frame.address &= code_address_mask();
		if (site.frame_offset &&
		    !read_word(memory, cfa + (uint64_t)site.frame_offset, &frame.frame))
			return SITE_OPERATION;
		frame.stack = cfa;
	}
	return SITE_OPERATION;
}

static void answer_one(struct wait_sites *sites, const struct site_question *question)
{
	struct site_answer answer = {.since_ns = question->since_ns};

	answer.verdict = walk(sites, question);
	if (answer.verdict == SITE_OPERATION || sites->answered_count == MAX_SITE_ANSWERS)
		return;
	if (!bpf_map_update_elem(sites->answers_fd, &question->tid, &answer, BPF_ANY))
		sites->answered[sites->answered_count++] = question->tid;
}

void wait_sites_answer(struct wait_sites *sites)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + (sites->answered_once ? ANSWER_NS : FIRST_ANSWER_NS);
	unsigned int done = 0;

	while (done < sites->question_count && clock_monotonic_ns() < deadline_ns)
		answer_one(sites, &sites->questions[done++]);
	sites->answered_once |= done > 0;
	sites->question_count -= done;
	memmove(sites->questions, sites->questions + done,
		sites->question_count * sizeof(sites->questions[0]));
	sites->mappings_pid = 0;
}

void wait_sites_forget(struct wait_sites *sites)
{
	for (unsigned int i = 0; i < sites->answered_count; i++)
		bpf_map_delete_elem(sites->answers_fd, &sites->answered[i]);
	sites->answered_count = 0;
}
