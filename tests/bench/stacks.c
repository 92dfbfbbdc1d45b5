// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each way to get a stack costs: `bench-stacks CALLS BYTES MILLISECONDS`. A thread that is so
 * many calls deep, each with so many bytes, switches with another one on one CPU. Prints lines
 * `method ns stacks misses frames`: ns of the hook for each stack, and for `unwind` those of
 * unwinding one copy outside the kernel.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <alloca.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/stacks.h"
#include "stacks.skel.h"
#include "symbol/symbolizer.h"
#include "symbol/unwind.h"

static const char *const names[METHODS] = {"none", "copy", "layout", "tables"};

/* The last copy of a stack that came from each of a few addresses: it leaves its CPU when it waits,
 * and when who it has woken takes it. */
#define PLACES 8
static struct copied places[PLACES];
static struct layout layouts[PLACES];
static size_t place_count;

static void ping_pong(int from, int to)
{
	char byte = 0;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
}

/* So that no compiler makes a loop of it. */
static void (*volatile next)(int calls, size_t bytes, const int ends[2]);

static void call(int calls, size_t bytes, const int ends[2])
{
	volatile char *room = alloca(bytes + 1);

	room[bytes] = (char)calls;
	if (calls > 0)
		next(calls - 1, bytes, ends);
	else
		ping_pong(ends[0], ends[1]);
	room[0] = room[bytes];
}

static pid_t start(int calls, size_t bytes, const int ends[2], cpu_set_t *cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setaffinity(0, sizeof(*cpu), cpu);
	next = call;
	next(calls, bytes, ends);
	_exit(0);
}

static int take(void *data, void *bytes, size_t length)
{
	(void)data;
	const struct copied *copied = bytes;
	size_t at = 0;

	if (length < offsetof(struct copied, memory) || length > sizeof(*places))
		return 0;
	while (at < place_count && places[at].address != copied->address)
		at++;
	if (at == PLACES)
		return 0;
	place_count += at == place_count;
	memcpy(&places[at], copied, length);
	return 0;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The rows of one mapped file. */
static uint32_t add_rows(const struct mapping *mapping, pid_t pid, struct row *rows, uint32_t count)
{
	int fd = mapping_open(mapping, (uint32_t)pid);
	struct object *object = NULL;
	uint64_t base, until;
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;

	if (!cfi || object_open(&object, dup(fd)) < 0 ||
	    !object_address(object, mapping->offset, &base))
		return count;
	until = base + (mapping->end - mapping->start);
	for (uint64_t at = base; at < until && count < ROWS_MAX;) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr from = at, to = at + 16;
		struct frame_rule rule;
		struct row row = {.start = mapping->start + (at - base)};

		if (!dwarf_cfi_addrframe(cfi, at, &frame))
			dwarf_frame_info(frame, &from, &to, NULL);
		free(frame);
		if (object_frame(object, at, &rule) && !rule.indirect &&
		    (rule.outermost || rule.return_offset == -8))
			row = (struct row){.start = row.start,
					   .cfa_offset = rule.cfa_offset,
					   .frame_offset = rule.frame_offset,
					   .known = 1,
					   .from_frame = rule.base == FRAME_FROM_FRAME,
					   .outermost = rule.outermost};
		if (!count || row.known || rows[count - 1].known)
			rows[count++] = row;
		at = to > at ? to : at + 1;
	}
	object_free(object);
	return count;
}

static uint32_t make_rows(pid_t pid, struct row *rows)
{
	struct mappings mappings = {0};
	uint32_t count = 0;

	if (mappings_load(&mappings, (uint32_t)pid, 0) < 0)
		return 0;
	for (size_t i = 0; i < mappings.count; i++)
		if (mappings.items[i].inode)
			count = add_rows(&mappings.items[i], pid, rows, count);
	mappings_release(&mappings);
	return count;
}

/* As dwell's helper does. */
static unsigned int unwind_copy(struct symbolizer *symbolizer, const struct copied *copied,
				uint64_t addresses[UNWIND_MAX])
{
	const struct unwind_start start = {.address = copied->address,
					   .stack = copied->stack,
					   .frame = copied->frame,
					   .memory = copied->memory,
					   .memory_start = copied->stack,
					   .memory_bytes = copied->bytes};
	enum unwind_end end;

	return unwind(symbolizer, &start, addresses, &end, NULL);
}

/* Where the return addresses lie in it. */
static struct layout learn(struct symbolizer *symbolizer, const struct copied *copied)
{
	uint64_t addresses[UNWIND_MAX], at = 0;
	unsigned int count = unwind_copy(symbolizer, copied, addresses);
	struct layout layout = {0};

	for (unsigned int i = 1; i < count && i < FRAMES_MAX; i++) {
		uint64_t value = 0;

		for (; at + 8 <= copied->bytes && value != addresses[i]; at += 8)
			memcpy(&value, copied->memory + at, 8);
		layout.slots[layout.count].offset = at - 8;
		layout.slots[layout.count++].address = addresses[i];
	}
	layout.bytes = (uint32_t)at;
	return layout;
}

static void print_unwinding(struct symbolizer *symbolizer)
{
	enum { TIMES = 2000 };
	uint64_t addresses[UNWIND_MAX], began_ns;
	unsigned int count = unwind_copy(symbolizer, &places[0], addresses);

	began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < TIMES; i++)
		unwind_copy(symbolizer, &places[0], addresses);
	printf("unwind %.0f %d 0 %u\n",
	       (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns) / TIMES, TIMES, count);
}

static void measure(enum method method, pid_t pid, const struct row *rows, uint32_t row_count,
		    int milliseconds)
{
	struct stacks_bpf *bpf = stacks_bpf__open();
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof(info);
	struct ring_buffer *ring;
	uint64_t end_ns;

	if (!bpf)
		die("open");
	bpf->rodata->method = method;
	bpf->rodata->tid = (uint32_t)pid;
	bpf->bss->row_count = row_count;
	if (stacks_bpf__load(bpf) < 0)
		die("load");
	ring = ring_buffer__new(bpf_map__fd(bpf->maps.ring), take, NULL, NULL);
	for (uint32_t i = 0; method == METHOD_TABLES && i < row_count; i++)
		if (bpf_map_update_elem(bpf_map__fd(bpf->maps.rows), &i, &rows[i], 0))
			die("rows");
	for (size_t i = 0; method == METHOD_LAYOUT && i < place_count; i++)
		if (bpf_map_update_elem(bpf_map__fd(bpf->maps.layouts), &places[i].address,
					&layouts[i], 0))
			die("layouts");
	if (!ring || stacks_bpf__attach(bpf) < 0)
		die("attach");
	end_ns = clock_monotonic_ns() + (uint64_t)milliseconds * 1000000;
	while (clock_monotonic_ns() < end_ns) {
		usleep(1000);
		ring_buffer__consume(ring);
	}
	bpf_obj_get_info_by_fd(bpf_program__fd(bpf->progs.on_switch), &info, &length);
	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", names[method],
	       (uint64_t)info.run_time_ns, (uint64_t)info.run_cnt, (uint64_t)bpf->bss->stacks,
	       (uint64_t)bpf->bss->misses, (uint64_t)bpf->bss->frames);
	ring_buffer__free(ring);
	stacks_bpf__destroy(bpf);
}

int main(int argc, char **argv)
{
	static const char *const no_runtimes[] = {NULL};
	struct symbolizer *symbolizer = symbolizer_new(no_runtimes);
	struct row *rows = calloc(ROWS_MAX, sizeof(*rows));
	int there[2], back[2], milliseconds;
	pid_t deep, shallow;
	uint32_t row_count;
	cpu_set_t cpu;

	libbpf_set_print(NULL);
	if (argc != 4 || !symbolizer || !rows)
		return 2;
	milliseconds = atoi(argv[3]);
	if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
		die("pipe");
	sched_getaffinity(0, sizeof(cpu), &cpu);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_COUNT(&cpu) > 1)
			CPU_CLR(i, &cpu);
	deep = start(atoi(argv[1]), (size_t)atoi(argv[2]), (const int[]){there[0], back[1]}, &cpu);
	shallow = start(0, 0, (const int[]){back[0], there[1]}, &cpu);
	(void)!write(there[1], "", 1);
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0 ||
	    symbolizer_attach(symbolizer, (uint32_t)deep, 0) < 0)
		die("prepare");
	elf_version(EV_CURRENT);
	row_count = make_rows(deep, rows);
	for (enum method method = METHOD_NONE; method < METHODS; method++) {
		measure(method, deep, rows, row_count, milliseconds);
		if (method != METHOD_COPY)
			continue;
		for (size_t i = 0; i < place_count; i++)
			layouts[i] = learn(symbolizer, &places[i]);
		print_unwinding(symbolizer);
	}
	printf("rows %u\n", row_count);
	kill(deep, SIGKILL);
	kill(shallow, SIGKILL);
	while (wait(NULL) > 0)
		;
	symbolizer_free(symbolizer);
	free(rows);
	return 0;
}
