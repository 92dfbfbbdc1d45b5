// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "verify/code.h"

/* Of all time: what the program and dwell do not begin and end at the same moment. */
#define TOLERANCE 0.01
/* Of five shares, one in 1,000 lies beyond by chance. */
#define ERRORS 4
/* Where all samples agree, the estimate of their error is too small. */
#define ERROR_LEAST 0.002

static const char *const names[CODE_COUNT] = {
#define X(name, state) #name,
	CODE_FUNCTIONS(X)
#undef X
};

void code_judge(struct code_judgement *ret_judgement, const struct code_shares *truth,
		const struct code_shares *seen)
{
	struct code_judgement judgement = {.shares = CODE_COUNT};

	for (int i = 0; i < CODE_COUNT; i++) {
		double share = seen->all_ns > 0 ? seen->ns[i] / seen->all_ns : 0;
		double error = seen->all_ns > 0 ? seen->error_ns[i] / seen->all_ns : 0;
		double is = truth->ns[i] / truth->all_ns, off = fabs(share - is);

		judgement.error_points = fmax(judgement.error_points, 100 * off);
		if (off <= TOLERANCE + ERRORS * fmax(error, ERROR_LEAST)) {
			judgement.right++;
			continue;
		}
		snprintf(judgement.why, sizeof(judgement.why),
			 "%s has %.1f +/- %.1f %% of the time, not %.1f", names[i], 100 * share,
			 100 * error, 100 * is);
	}
	*ret_judgement = judgement;
}
