// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_seeds.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/syscalls.h"

/* A thread that tells nothing by then is none of the runtime's. */
#define LOOKS_MAX 8

/* Snapshots without any worker, after which names have to do. */
#define SETTLE_ROUNDS 4

/* Threads that are remembered; when there were more, all are asked about anew. */
#define SEEDS_MAX 16384

/* NULL: no memory. */
static struct seed *seed_of(struct span_seeds *seeds, uint32_t tid, uint64_t start_ns)
{
	size_t known, index;

	if (seeds->threads.count >= SEEDS_MAX)
		identities_clear(&seeds->threads);
	known = seeds->threads.count;
	if (array_reserve(&seeds->items, &seeds->room, known + 1, sizeof(*seeds->items)) < 0)
		return NULL;
	index = identities_add(&seeds->threads, tid, start_ns);
	if (index == IDENTITY_NONE)
		return NULL;
	if (index == known)
		seeds->items[index] = (struct seed){.start_ns = start_ns};
	return &seeds->items[index];
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

/* A full table means very many threads: then polls tell of them. */
static void send_verdict(struct span_seeds *seeds, struct seed *seed, uint32_t tid,
			 struct span_verdict *verdict, enum wire_found_by found_by)
{
	verdict->start_ns = seed->start_ns;
	seed->decided = true;
	seed->found_by = (__u8)found_by;
	seeds->found |= verdict->kind != SPAN_POOL;
	bpf_map_update_elem(seeds->verdicts, &tid, verdict, BPF_ANY);
}

static int take(struct span_seeds *seeds, struct span_stacks *stacks, struct seed *seed,
		const struct span_stack *raw, uint64_t since_ns, struct record_sink sink)
{
	struct span_verdict verdict = {.since_ns = since_ns};
	struct span_signs signs = {0};
	uint32_t id;
	int result = span_stacks_take(stacks, raw, &id, &signs, sink);

	bool named = *stacks->options->prefix;

	seed->looks++;
	if (result < 0)
		return result;
	if (!decide(&signs, &verdict)) {
		if (!named)
			return 0;
		/* the user knows */
		verdict.kind = stacks->options->turns ? SPAN_TURN : SPAN_POLL;
	}
	seed->stack = id;
	seed->since_ns = since_ns;
	send_verdict(seeds, seed, raw->tid, &verdict,
		     named ? WIRE_FOUND_BY_PREFIX : WIRE_FOUND_BY_STACK);
	return 0;
}

/*
 * As much of the stack as there is: what lies behind its end is not readable. (Not by
 * process_vm_readv(), which kernels may be built without.)
 */
static uint32_t read_stack(uint32_t tid, uint64_t from, uint8_t into[SPAN_USER_BYTES])
{
	char path[32];
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	bytes = pread(fd, into, SPAN_USER_BYTES, (off_t)from);
	close(fd);
	return bytes > 0 ? (uint32_t)bytes : 0;
}

/*
 * How often a thread that sleeps has been switched, as /proc tells; 0: it runs, or is gone. The
 * count changes when it leaves its CPU, so of one that runs it says nothing.
 */
static uint64_t switches_asleep(uint32_t tid)
{
	char path[32], line[256], state = 'R';
	uint64_t sum = 0, number;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		(void)!sscanf(line, "State: %c", &state);
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &number) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &number) == 1)
			sum += number;
	}
	fclose(file);
	return state == 'S' || state == 'D' ? sum : 0;
}

int span_seeds_take(struct span_seeds *seeds, struct span_stacks *stacks,
		    const struct span_seed *raw, struct record_sink sink)
{
	const struct span_options *options = stacks->options;
	struct seed *seed = seed_of(seeds, raw->tid, raw->start_ns);
	struct span_stack *stack;
	int result = 0;

	if (!seed)
		return -ENOMEM;
	memcpy(seed->comm, raw->comm, sizeof(raw->comm));
	if (seed->decided || seed->looks >= LOOKS_MAX)
		return 0;
	if (options->turns && raw->where.state == WIRE_IDLE &&
	    syscalls_is_event_wait(raw->where.syscall)) {
		struct span_verdict verdict = {.kind = SPAN_TURN};

		send_verdict(seeds, seed, raw->tid, &verdict,
			     *options->prefix ? WIRE_FOUND_BY_PREFIX : WIRE_FOUND_BY_TYPE);
		return 0;
	}
	/* of a loop the stack tells nothing */
	if (!options->marks.poll && !*options->prefix)
		return 0;
	stack = malloc(sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	memset(stack, 0, offsetof(struct span_stack, user));
	stack->header.time_ns = raw->header.time_ns;
	stack->tid = stack->worker_tid = raw->tid;
	stack->of = SPAN_STACK_SEED;
	stack->where = raw->where;
	stack->frame = raw->frame;
	stack->user_bytes = read_stack(raw->tid, raw->frame.stack - SPAN_RED_ZONE, stack->user);
	/* it may have run meanwhile; then what was read is of two times */
	if (stack->user_bytes && switches_asleep(raw->tid) == raw->switches)
		result = take(seeds, stacks, seed, stack, raw->since_ns, sink);
	free(stack);
	return result;
}

int span_seeds_sample(struct span_seeds *seeds, struct span_stacks *stacks,
		      const struct span_stack *raw, struct record_sink sink)
{
	struct seed *seed = seed_of(seeds, raw->tid, raw->span_ns);

	if (!seed)
		return -ENOMEM;
	return seed->decided ? 0 : take(seeds, stacks, seed, raw, 0, sink);
}

/* The latest of that tid. */
static const struct seed *find(const struct span_seeds *seeds, uint32_t tid)
{
	for (size_t i = seeds->threads.count; i > 0; i--)
		if (seeds->threads.items[i - 1].tid == tid)
			return &seeds->items[i - 1];
	return NULL;
}

void span_seeds_uproot(struct span_seeds *seeds, uint32_t tid)
{
	const struct seed *seed = find(seeds, tid);
	struct span_verdict verdict = {.kind = SPAN_ROOT, .start_ns = seed ? seed->start_ns : 0};

	bpf_map_update_elem(seeds->verdicts, &tid, &verdict, BPF_ANY);
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

static bool has_known_name(const struct seed *seed, const struct span_options *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(options->marks.names); i++)
		if (options->marks.names[i] && !strcmp(seed->comm, options->marks.names[i]))
			return true;
	return false;
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

/* One of the largest group of threads whose names differ by a number; NULL: there are none. */
static const struct seed *find_group(const struct span_seeds *seeds)
{
	const struct seed *best = NULL;
	size_t most = 1;

	for (size_t i = 0; i < seeds->threads.count; i++) {
		size_t count = 0;

		for (size_t j = 0; j < seeds->threads.count; j++)
			count += is_of_group(&seeds->items[j], &seeds->items[i]);
		if (count > most) {
			most = count;
			best = &seeds->items[i];
		}
	}
	return best;
}

void span_seeds_settle(struct span_seeds *seeds, const struct span_options *options)
{
	struct span_verdict verdict = {.kind = SPAN_POLL};
	enum wire_found_by found_by = WIRE_FOUND_BY_NAME;
	const struct seed *group = NULL;
	bool named = false;

	if (seeds->found || !options->marks.poll || ++seeds->rounds < SETTLE_ROUNDS)
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
	free(seeds->items);
}
