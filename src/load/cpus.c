// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

unsigned int cpus_count(const struct cpus *cpus)
{
	unsigned int count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cpus->bits); i++)
		count += (unsigned int)__builtin_popcountll(cpus->bits[i]);
	return count;
}

bool cpus_contain(const struct cpus *cpus, const struct cpus *others)
{
	for (size_t i = 0; i < ARRAY_SIZE(cpus->bits); i++)
		if (others->bits[i] & ~cpus->bits[i])
			return false;
	return true;
}

void cpus_intersect(struct cpus *cpus, const struct cpus *others)
{
	for (size_t i = 0; i < ARRAY_SIZE(cpus->bits); i++)
		cpus->bits[i] &= others->bits[i];
}

void cpus_unite(struct cpus *cpus, const struct cpus *others)
{
	for (size_t i = 0; i < ARRAY_SIZE(cpus->bits); i++)
		cpus->bits[i] |= others->bits[i];
}

unsigned int cpus_next(const struct cpus *cpus, unsigned int from)
{
	for (unsigned int cpu = from; cpu < CPUS_MAX;) {
		uint64_t rest = cpus->bits[cpu / 64] >> (cpu % 64);

		if (rest)
			return cpu + (unsigned int)__builtin_ctzll(rest);
		cpu = (cpu / 64 + 1) * 64;
	}
	return CPUS_MAX;
}

unsigned int cpus_nth(const struct cpus *cpus, unsigned int n)
{
	unsigned int cpu = cpus_next(cpus, 0);

	while (n-- && cpu < CPUS_MAX)
		cpu = cpus_next(cpus, cpu + 1);
	return cpu;
}

/* A number at *at, which moves behind it; -1: none, or too large. */
static int number(const char **at)
{
	int value = 0;

	if (!isdigit((unsigned char)**at))
		return -1;
	for (; isdigit((unsigned char)**at); (*at)++) {
		value = value * 10 + (**at - '0');
		if (value >= CPUS_MAX)
			return -1;
	}
	return value;
}

static const char *skip_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

int cpus_parse(const char *text, struct cpus *ret_cpus, struct error *error)
{
	struct cpus cpus = {{0}};
	const char *at = skip_blanks(text);
	bool more = *at;

	while (more) {
		int first = number(&at), last = first;

		if (first >= 0 && *at == '-') {
			at++;
			last = number(&at);
		}
		at = skip_blanks(at);
		more = *at == ',';
		if (first < 0 || last < first || (*at && !more))
			return error_set(error, EINVAL,
					 "bad list '%s': use numbers and ranges, as 0-3,8", text);
		for (int cpu = first; cpu <= last; cpu++)
			cpus_add(&cpus, (unsigned int)cpu);
		if (more)
			at = skip_blanks(at + 1);
	}
	*ret_cpus = cpus;
	return 0;
}

void cpus_format(char *into, size_t room, const struct cpus *cpus)
{
	size_t used = 0;

	into[0] = '\0';
	for (unsigned int first = cpus_next(cpus, 0); first < CPUS_MAX;) {
		unsigned int last = first;
		char part[24];
		int length;

		while (cpus_has(cpus, last + 1))
			last++;
		length = last > first
				 ? snprintf(part, sizeof(part), "%s%u-%u", used ? "," : "", first,
					    last)
				 : snprintf(part, sizeof(part), "%s%u", used ? "," : "", first);
		if (used + (size_t)length + sizeof(",...") > room) {
			snprintf(into + used, room - used, ",...");
			return;
		}
		memcpy(into + used, part, (size_t)length + 1);
		used += (size_t)length;
		first = cpus_next(cpus, last + 1);
	}
}
