/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether dwell blames those whom a thread names itself. Pure, as judge.h. */
#ifndef DWELL_VERIFY_BLAME_JUDGE_H
#define DWELL_VERIFY_BLAME_JUDGE_H

#include "base/verdict.h"
#include "model/interval.h"
#include "verify/meter.h"

/*
 * Of the thread's time in the state that `truth` says culprits of. VERDICT_SKIP: it says none, or
 * there was hardly any such time, or the machine and what else runs on it cost the thread most of
 * it. VERDICT_INCONCLUSIVE: the culprits are wrong, and the `lost` switches and wakeups of the
 * interval explain it. `ret_why` is set for this and VERDICT_FAIL.
 */
enum verdict blame_judge(const struct truth *truth, const struct interval *interval, uint64_t lost,
			 char ret_why[TRUTH_TEXT_BYTES]);

#endif
