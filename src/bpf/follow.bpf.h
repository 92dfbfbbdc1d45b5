/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FOLLOW(task, files, fdt): task->files->fdt. A load of a pointer costs nothing where it runs, but
 * for each one, on each way to it, the verifier looks through all types of the kernel by name
 * (btf_nested_type_is_trusted(), kernel/bpf/btf.c): most of the time in which dwell starts. A
 * program that is not in a hot path defines FOLLOW_BY_COPY, and copies what pointers lead to.
 */
#ifndef DWELL_BPF_FOLLOW_H
#define DWELL_BPF_FOLLOW_H

#include <bpf/bpf_core_read.h>

#include "bpf/config.h"

#ifdef FOLLOW_BY_COPY
#define FOLLOW(from, ...)		BPF_CORE_READ(from, __VA_ARGS__)
#define FOLLOW_ADDRESS(type, from, ...) BPF_CORE_READ(from, __VA_ARGS__)
#else
#define FOLLOW_1(from, a)	      ((from)->a)
#define FOLLOW_2(from, a, b)	      ((from)->a->b)
#define FOLLOW_WHICH(a, b, name, ...) name
#define FOLLOW(from, ...)	      FOLLOW_WHICH(__VA_ARGS__, FOLLOW_2, FOLLOW_1, unused)(from, __VA_ARGS__)

/* The kernel has bpf_rdonly_cast(): 6.2 on. Its number is set before a program is loaded. */
const volatile bool can_cast __weak = false;
const volatile __u32 cast_types[CAST_TYPES] __weak = {0};
static void *(*const rdonly_cast)(const void *address, __u32 type_id) = (void *)CAST_CALL;

/* The same from the address of a struct `type`, of which the verifier does not know what it is. */
#define FOLLOW_ADDRESS(type, from, ...)                                                            \
	(can_cast ? FOLLOW((struct type *)rdonly_cast(from, cast_types[CAST_##type]), __VA_ARGS__) \
		  : BPF_CORE_READ(from, __VA_ARGS__))
#endif

#endif
