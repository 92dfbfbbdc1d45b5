/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a thread that runs in CPython, whose layout user space has found out. */
#ifndef DWELL_BPF_PYTHON_BPF_H
#define DWELL_BPF_PYTHON_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/arch.bpf.h"

/* The kernel has bpf_loop(), as all do from 5.18 on. */
const volatile bool can_loop __weak = false;

/* By pid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_layout);
} pythons __weak SEC(".maps");

/* Of the program that it runs now; NULL: not known. */
static __always_inline struct python_layout *python_layout_of(const struct task_struct *task,
							      __u32 pid)
{
	struct python_layout *layout = bpf_map_lookup_elem(&pythons, &pid);

	return layout && layout->exec_id && layout->exec_id != task->self_exec_id ? NULL : layout;
}

/* What is forked has its interpreter where its parent has it, until it runs another program. */
static __always_inline void python_inherit(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = pid_of(parent), to = pid_of(child);
	const struct python_layout *layout = from == to ? NULL : python_layout_of(parent, from);
	struct python_layout copy;

	if (!layout)
		return;
	copy = *layout;
	copy.exec_id = child->self_exec_id;
	bpf_map_update_elem(&pythons, &to, &copy, BPF_ANY);
}

/* 0: it cannot be read now. */
static __always_inline __u64 python_word(__u64 address)
{
	__u64 word;

	return bpf_probe_read_user(&word, sizeof(word), (const void *)address) ? 0 : word;
}

/*
 * Both ways are walked by callbacks, which the verifier looks at once: as loops they would be most
 * of the million instructions that it looks at for a program.
 */
struct python_walk {
	const struct python_layout *layout;
	struct span_stack *stack;
	__u64 pointer; /* of the thread */
	__u64 at;      /* thread or frame; 0: there are no more */
	__u64 frame;   /* the thread's innermost; 0: not found */
};

/* A thread that was made and has not begun to run has the number of who made it, and no frame. */
static long python_next_thread(__u32 index, struct python_walk *walk)
{
	const struct python_layout *layout = walk->layout;

	if (!walk->at)
		return 1;
	if (python_word(walk->at + layout->thread_id) == walk->pointer) {
		walk->frame = python_word(walk->at + layout->frame);
		if (layout->is_indirect)
			walk->frame = python_word(walk->frame + layout->frame_at);
		if (walk->frame)
			return 1;
	}
	walk->at = python_word(walk->at + layout->next);
	return 0;
}

static long python_next_frame(__u32 index, struct python_walk *walk)
{
	const struct python_layout *layout = walk->layout;
	struct python_place *place;
	__u8 owner = 0;

	if (!walk->at || index >= PYTHON_FRAMES)
		return 1;
	bpf_probe_read_user(&owner, sizeof(owner), (const void *)(walk->at + layout->owner));
	place = &walk->stack->python[index];
	place->code = python_word(walk->at + layout->code) | (__u64)owner << PYTHON_OWNER_SHIFT;
	place->instruction = python_word(walk->at + layout->instruction);
	walk->stack->python_count = index + 1;
	walk->at = python_word(walk->at + layout->previous);
	return 0;
}

/* Of the current thread. What the bytes mean is left to user space. */
static __attribute__((noinline, unused)) int python_fill(struct task_struct *task,
							 struct span_stack *stack)
{
	struct python_walk walk = {.layout = python_layout_of(task, pid_of(task)), .stack = stack};

	stack->python_count = 0;
	if (!can_loop || !walk.layout)
		return 0;
	walk.pointer = arch_thread_pointer(task);
	walk.at = python_word(walk.layout->threads);
	bpf_loop(PYTHON_THREADS, python_next_thread, &walk, 0);
	walk.at = walk.frame;
	bpf_loop(PYTHON_FRAMES, python_next_frame, &walk, 0);
	return 0;
}

#endif
