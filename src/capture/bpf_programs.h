/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwell's BPF object: configured for a session, loaded and attached. */
#ifndef DWELL_CAPTURE_BPF_PROGRAMS_H
#define DWELL_CAPTURE_BPF_PROGRAMS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "capture/features.h"
#include "capture/kernel_waits.h"
#include "capture/source.h"
#include "capture/target.h"

struct dwell_bpf;

/* Which threads beside the targets have accounts, for blame. */
enum source_beside bpf_programs_beside(const struct source_options *options,
				       const struct targets *targets);

/*
 * Configured, loaded and attached: from here on hooks run. Ends the search `waits`. Returns how
 * many kernel functions are known by address (0: kernel waits are not distinguished), or a negative
 * errno with what libbpf or the kernel says. The caller owns *ret_bpf.
 */
int bpf_programs_start(struct dwell_bpf **ret_bpf, const struct features *features,
		       const struct kernel_btf *kernel, const struct source_options *options,
		       const struct targets *targets, struct kernel_waits_search *waits,
		       struct error *error) must_check;

/* Of several targets, those that have ended: their numbers may come to be those of others. */
void bpf_programs_forget_ended(struct dwell_bpf *bpf, const struct targets *targets);

#endif
