// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/duration.h"

#include <errno.h>
#include <string.h>

#define NS_PER_MINUTE (60 * NS_PER_S)
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)
#define LONGEST_NS    (10000 * NS_PER_HOUR)

static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ns", 1},	    {"us", NS_PER_US}, {"µs", NS_PER_US},    {"ms", NS_PER_MS},
		{"", NS_PER_S},	    {"s", NS_PER_S},   {"m", NS_PER_MINUTE}, {"min", NS_PER_MINUTE},
		{"h", NS_PER_HOUR},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].ns;
	return 0;
}

int duration_parse(const char *text, uint64_t *ret_ns, struct error *error)
{
	size_t whole = strspn(text, "0123456789");
	const char *fraction = text[whole] == '.' ? text + whole + 1 : text + whole;
	size_t digits = strspn(fraction, "0123456789");
	uint64_t unit = unit_ns(fraction + digits);
	uint64_t total = 0;

	if (text[whole] != '.')
		digits = 0;
	if (!unit || whole + digits == 0)
		return error_set(
			error, EINVAL,
			"bad duration '%s': use a number and a unit, as 200us, 5ms or 1.5s", text);
	for (size_t i = 0; i < whole; i++) {
		total = total * 10 + (uint64_t)(text[i] - '0');
		if (total > LONGEST_NS / unit)
			return error_set(error, EINVAL,
					 "duration '%s' is too long (10000h at most)", text);
	}
	total *= unit;
	for (size_t i = 0; i < digits; i++) {
		unit /= 10;
		total += unit * (uint64_t)(fraction[i] - '0');
	}
	if (!total)
		return error_set(error, EINVAL, "duration '%s' must be more than zero", text);
	*ret_ns = total;
	return 0;
}

void duration_format(char *into, size_t room, uint64_t ns)
{
	uint64_t seconds = ns / NS_PER_S;

	if (ns == 0)
		snprintf(into, room, "0");
	else if (ns < NS_PER_US)
		snprintf(into, room, "%uns", (unsigned int)ns);
	else if (ns < NS_PER_MS)
		snprintf(into, room, "%uus", (unsigned int)(ns / NS_PER_US));
	else if (ns < 100 * NS_PER_MS)
		snprintf(into, room, "%u.%ums", (unsigned int)(ns / NS_PER_MS),
			 (unsigned int)(ns / (100 * NS_PER_US) % 10));
	else if (ns < NS_PER_S)
		snprintf(into, room, "%ums", (unsigned int)(ns / NS_PER_MS));
	else if (seconds < 100)
		snprintf(into, room, "%u.%02us", (unsigned int)seconds,
			 (unsigned int)(ns / (10 * NS_PER_MS) % 100));
	else if (seconds < 6000)
		snprintf(into, room, "%um%02us", (unsigned int)(seconds / 60),
			 (unsigned int)(seconds % 60));
	else if (seconds < 100 * 3600)
		snprintf(into, room, "%uh%02um", (unsigned int)(seconds / 3600),
			 (unsigned int)(seconds / 60 % 60));
	else
		snprintf(into, room, "%ud%02uh", (unsigned int)(seconds / 86400),
			 (unsigned int)(seconds / 3600 % 24));
}

void duration_format_fine(char *into, size_t room, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	size_t unit = 0;

	/* what would be rounded up to 1000 belongs to the next unit */
	for (; value >= 999.5 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1000;
	if (!ns || value >= 99.95)
		snprintf(into, room, "%.0f%s", value, ns ? units[unit] : "");
	else
		snprintf(into, room, unit ? value >= 9.995 ? "%.1f%s" : "%.2f%s" : "%.0f%s", value,
			 units[unit]);
	if (ns >= 100 * NS_PER_S)
		duration_format(into, room, ns);
}
