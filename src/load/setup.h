/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread asks of the kernel for itself before it works. Each takes room for a line that says
 * what was refused, and why: "" = granted. The worker runs all the same.
 */
#ifndef DWELL_LOAD_SETUP_H
#define DWELL_LOAD_SETUP_H

#include "load/spec.h"

void setup_affinity(const struct cpus *cpus, char refused[REPORT_TEXT]);
void setup_policy(const struct spec_policy *policy, char refused[REPORT_TEXT]);
/* The same where it must be POLICY_NORMAL, not what was inherited. */
void setup_policy_exactly(const struct spec_policy *policy, char refused[REPORT_TEXT]);
void setup_memory(const struct spec_memory *memory, char refused[REPORT_TEXT]);
void setup_nice(int nice, char refused[REPORT_TEXT]);

#endif
