/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's checks, for checks.c, which lists them, and what they share. */
#ifndef DWELL_CAPTURE_CHECKS_PARTS_H
#define DWELL_CAPTURE_CHECKS_PARTS_H

#include "capture/checks.h"

__attribute__((format(printf, 2, 3))) void check_found(struct diagnosis *finding,
						       const char *format, ...);

/* It is not as it could be. */
void check_short_of(struct diagnosis *finding, enum check_status status, const char *costs,
		    const char *fix);

bool check_has_file(const char *path);

/* checks_bpf.c: what programs in the kernel, and probes, are permitted to do. */
void check_bpf(struct diagnosis *finding);
void check_capabilities(struct diagnosis *finding);
void check_btf(struct diagnosis *finding);
void check_maps(struct diagnosis *finding);
void check_fentry(struct diagnosis *finding);
void check_uprobes(struct diagnosis *finding);
void check_perf(struct diagnosis *finding);
void check_kallsyms(struct diagnosis *finding);

/* checks_accounting.c: what the kernel itself accounts for. */
void check_cpu_split(struct diagnosis *finding);
void check_steal(struct diagnosis *finding);
void check_irq_time(struct diagnosis *finding);
void check_taskstats(struct diagnosis *finding);
void check_delayacct(struct diagnosis *finding);

/* checks_machine.c: what is there. */
void check_build(struct diagnosis *finding);
void check_kernel(struct diagnosis *finding);
void check_proc(struct diagnosis *finding);
void check_cgroup(struct diagnosis *finding);
void check_tracefs(struct diagnosis *finding);
void check_lockdown(struct diagnosis *finding);
void check_namespaces(struct diagnosis *finding);
void check_debuginfo(struct diagnosis *finding);
void check_kvm(struct diagnosis *finding);
void check_qemu(struct diagnosis *finding);

#endif
