// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

void size_format(char *into, size_t room, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1023.95 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(into, room, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* Bits to shift by; -1: no unit. */
static int unit_shift(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *at = *unit ? strchr(letters, *unit) : NULL;

	if (!*unit || !strcmp(unit, "B"))
		return 0;
	if (!at || (unit[1] && strcmp(unit + 1, "iB") != 0 && strcmp(unit + 1, "B") != 0))
		return -1;
	return 10 * (int)(at - letters + 1);
}

int size_parse(const char *text, uint64_t *ret_bytes, struct error *error)
{
	size_t digits = strspn(text, "0123456789");
	int shift = unit_shift(text + digits);
	uint64_t total = 0;

	if (!digits || shift < 0)
		return error_set(error, EINVAL, "bad size '%s': use a number, as 4096, 64K or 16M",
				 text);
	for (size_t i = 0; i < digits; i++) {
		total = total * 10 + (uint64_t)(text[i] - '0');
		if (total > UINT64_MAX >> 1 >> shift || total > UINT64_MAX / 32)
			return error_set(error, EINVAL, "size '%s' is too large", text);
	}
	if (!total)
		return error_set(error, EINVAL, "size '%s' must be more than zero", text);
	*ret_bytes = total << shift;
	return 0;
}
