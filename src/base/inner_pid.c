// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/inner_pid.h"

#include <stdlib.h>

#include "base/kernel_text.h"

uint32_t inner_pid(uint32_t pid)
{
	char numbers[256];
	uint32_t inner = pid;

	/* one for each namespace, from ours on */
	kernel_status(pid, "NSpid", numbers, sizeof(numbers));
	for (char *at = numbers, *end; *at; at = end) {
		unsigned long number = strtoul(at, &end, 10);

		if (end == at)
			break;
		inner = (uint32_t)number;
	}
	return inner;
}
