/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probes of a poll cost who polls, measured on this machine, now. */
#ifndef DWELL_CAPTURE_PROBE_COST_H
#define DWELL_CAPTURE_PROBE_COST_H

#include <stdbool.h>
#include <stdint.h>

struct dwell_bpf;
struct span_poll_counts;

/*
 * Of one poll, ns: the traps at its beginning and its return, by calls of a function of ours, and
 * our programs as they have timed themselves. `stepped`: the probed functions begin with an
 * instruction that the kernel has to let run by itself. Takes about a fifth of a second; needs
 * links of many probes (capture/uprobe_multi.h). 0: it could not be measured.
 */
uint64_t probe_cost(struct dwell_bpf *bpf, const struct span_poll_counts *counts, bool stepped);

/* Whether the instruction at the offset of a file is such a one; false if that cannot be read. */
bool probe_is_stepped(int fd, uint64_t offset);

#endif
