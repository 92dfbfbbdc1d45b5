// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/verdict.h"

const char *const verdict_names[] = {
	[VERDICT_SKIP] = "skip",
	[VERDICT_PASS] = "pass",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
	[VERDICT_FAIL] = "fail",
};

enum exit_code verdict_exit_code(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_FAIL:
		return EXIT_CHECK_FAILED;
	case VERDICT_INCONCLUSIVE:
		return EXIT_INCONCLUSIVE;
	default:
		return EXIT_DONE;
	}
}
