/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More threads end than the kernel keeps for dwell, which does not read meanwhile: each of them
 * must be a row or be reported as lost.
 */
#ifndef DWELL_VERIFY_FLOOD_H
#define DWELL_VERIFY_FLOOD_H

#define FLOOD_NAME "ring-full"
#define FLOOD_HELP "threads end while dwell does not read: what it loses, it reports"

struct verification;
struct pattern_result;

/* One round, from 1. */
void flood_run(struct verification *result, struct pattern_result *pattern, unsigned int round);

#endif
