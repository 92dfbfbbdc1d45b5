// SPDX-License-Identifier: GPL-2.0-or-later
/* One way to get the stack of one thread at each of its switches; see stacks.h. */
#include "bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "stacks.h"

const volatile __u32 method, tid;
/* not constant: the verifier would go all ways of a search of so many */
volatile __u32 row_count;
__u64 switches, stacks, misses, frames;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY); /* the thread stays on its CPU */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct copied);
} copies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64); /* the innermost address */
	__type(value, struct layout);
} layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROWS_MAX);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps");

/* A page at a time: the stack may end within one that is not there. */
static __always_inline void copy(struct copied *copied)
{
	__u64 used = 0;

	for (int i = 0; i < STACK_BYTES / 4096 + 1; i++) {
		__u64 length = 4096 - ((copied->stack + used) & 4095);

		if (used > STACK_BYTES - 4096 || length > 4096 ||
		    bpf_probe_read_user(copied->memory + used, length,
					(void *)(copied->stack + used)))
			break;
		used += length;
	}
	copied->bytes = used;
	if (bpf_ringbuf_output(&ring, copied,
			       __builtin_offsetof(struct copied, memory) +
				       (used > STACK_BYTES ? STACK_BYTES : used),
			       BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&misses, 1);
}

static __always_inline void check(struct copied *copied)
{
	const struct layout *layout = bpf_map_lookup_elem(&layouts, &copied->address);
	__u64 id;
	__u32 i;

	if (!layout || layout->bytes > STACK_BYTES ||
	    bpf_probe_read_user(copied->memory, layout->bytes, (void *)copied->stack)) {
		__sync_fetch_and_add(&misses, 1);
		return;
	}
	for (i = 0; i < FRAMES_MAX && i < layout->count; i++) {
		__u64 offset = layout->slots[i].offset & (STACK_BYTES - 8);

		if (*(__u64 *)(copied->memory + offset) != layout->slots[i].address) {
			__sync_fetch_and_add(&misses, 1);
			return;
		}
	}
	frames = layout->count;
	id = copied->address;
	bpf_ringbuf_output(&ring, &id, sizeof(id), BPF_RB_NO_WAKEUP);
}

static const struct row *row_of(__u64 address)
{
	volatile __u32 begin = 0;
	__u32 low = begin, high = row_count;

	for (int i = 0; i < SEARCH_STEPS && low < high; i++) {
		__u32 middle = (low + high) / 2;
		const struct row *row = bpf_map_lookup_elem(&rows, &middle);

		if (row && row->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	low--;
	return bpf_map_lookup_elem(&rows, &low);
}

struct walk {
	__u64 address, stack, frame;
	struct unwound *unwound;
};

static long step(__u32 index, void *data)
{
	struct walk *walk = data;
	const struct row *row = row_of(walk->address - (index > 0));
	__u64 cfa;

	if (index >= FRAMES_MAX)
		return 1;
	walk->unwound->addresses[index] = walk->address;
	walk->unwound->count = index + 1;
	if (!row || !row->known || row->outermost)
		return 1;
	cfa = (row->from_frame ? walk->frame : walk->stack) + row->cfa_offset;
	if (bpf_probe_read_user(&walk->address, 8, (void *)(cfa - 8)) || !walk->address)
		return 1;
	if (row->frame_offset &&
	    bpf_probe_read_user(&walk->frame, 8, (void *)(cfa + row->frame_offset)))
		return 1;
	walk->stack = cfa;
	return 0;
}

static __always_inline void unwind(struct copied *copied)
{
	struct unwound *unwound = (struct unwound *)copied->memory;
	struct walk walk = {copied->address, copied->stack, copied->frame, unwound};

	unwound->count = 0;
	bpf_loop(FRAMES_MAX, step, &walk, 0);
	frames = unwound->count;
	bpf_ringbuf_output(&ring, unwound, sizeof(*unwound), BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *before)
{
	struct copied *copied;
	struct pt_regs *regs;
	__u32 zero = 0;

	if ((__u32)before->pid != tid || switches++ % EVERY)
		return 0;
	copied = bpf_map_lookup_elem(&copies, &zero);
	regs = (struct pt_regs *)bpf_task_pt_regs(before);
	if (!copied)
		return 0;
	copied->address = regs->ip;
	copied->stack = regs->sp;
	copied->frame = regs->bp;
	__sync_fetch_and_add(&stacks, 1);
	if (method == METHOD_COPY)
		copy(copied);
	else if (method == METHOD_LAYOUT)
		check(copied);
	else if (method == METHOD_TABLES)
		unwind(copied);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
