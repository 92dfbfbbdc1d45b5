/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs at the kernel's tracepoints and iterators, SEC("tp_btf/…") and SEC("iter/…"): where they
 * attach, and the types they cast to, by the ids of the kernel's type information. libbpf does this
 * too, but reads all of that a second time to do so.
 */
#ifndef DWELL_CAPTURE_TRACING_PROGRAMS_H
#define DWELL_CAPTURE_TRACING_PROGRAMS_H

#include "bpf/config.h"
#include "capture/kernel_btf.h"

struct bpf_object;
struct bpf_object_skeleton;

/* Of bpf_rdonly_cast() and the structures it is asked for. */
struct cast_ids {
	uint32_t function; /* 0: this kernel does not have it: 6.2 on */
	uint32_t types[CAST_TYPES];
};

struct cast_ids tracing_programs_casts(const struct kernel_btf *kernel);

/* From now on this process handles them here, in objects opened later. 0, or a negative errno. */
int tracing_programs_register(void);

/* Finds what those of `object` need, which this thread loads next. 0, or a negative errno. */
int tracing_programs_find(const struct kernel_btf *kernel, const struct bpf_object *object,
			  const struct cast_ids *casts);

/* Of what was loaded, before libbpf attaches the others. 0, or a negative errno. */
int tracing_programs_attach(const struct bpf_object_skeleton *skeleton);

#endif
