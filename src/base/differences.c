// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/differences.h"

uint64_t differences_settle(uint64_t *differences, size_t count)
{
	uint64_t debt = 0, negative = 0;

	for (size_t i = 0; i < count; i++) {
		if ((int64_t)differences[i] >= 0)
			continue;
		debt -= differences[i];
		differences[i] = 0;
		negative |= 1ULL << i;
	}
	for (size_t i = 0; i < count && debt; i++) {
		uint64_t part = differences[i] < debt ? differences[i] : debt;

		differences[i] -= part;
		debt -= part;
	}
	return negative;
}
