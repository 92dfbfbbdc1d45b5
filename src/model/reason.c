// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/reason.h"

#include <stdio.h>
#include <string.h>

static const char *const syscall_names[] = {
#include "syscall_names.inc"
};

static const char *const details[] = {
#define X(name, number, text) [number] = text,
	WIRE_DETAILS(X)
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *syscall_name(int number)
{
	if (number < 0 || (size_t)number >= COUNT(syscall_names))
		return NULL;
	return syscall_names[number];
}

static const char *detail_text(__u8 detail)
{
	const char *text = detail < COUNT(details) ? details[detail] : NULL;

	return text ? text : "";
}

static bool is_wait(struct wire_wait_site site)
{
	return (site.state >= WIRE_DISK && site.state <= WIRE_SLEEP) || site.state == WIRE_UNKNOWN;
}

/* As much of them as there is room for. Not by a format: each row of each interval has a reason. */
static void join(char *into, size_t room, const char *first, const char *second, const char *third)
{
	const char *parts[] = {first, second, third};
	size_t used = 0;

	for (size_t i = 0; i < COUNT(parts); i++) {
		size_t length = strnlen(parts[i], room - 1 - used);

		memcpy(into + used, parts[i], length);
		used += length;
	}
	into[used] = '\0';
}

void reason_format(char *into, size_t room, struct wire_wait_site site, bool native)
{
	const char *detail = detail_text(site.detail);
	const char *name = native ? syscall_name(site.syscall) : NULL;
	char number[24];

	if (!name && site.syscall >= 0) {
		snprintf(number, sizeof(number), "syscall %d", site.syscall);
		name = number;
	}
	if (site.syscall == WIRE_SYSCALL_COMPAT)
		name = "32-bit call";
	if (site.syscall == WIRE_SYSCALL_KERNEL && site.detail != WIRE_DETAIL_KTHREAD)
		name = "kernel thread";
	/* recordings of version 1 have no number of their own for threads of the kernel's */
	if (!name && site.syscall == WIRE_SYSCALL_NONE && is_wait(site) &&
	    site.detail != WIRE_DETAIL_KTHREAD && site.detail != WIRE_DETAIL_NOT_PERMITTED)
		name = "page fault";
	if (site.state == WIRE_ON_CPU)
		join(into, room, "", "", "");
	else if (name && *detail && site.state != WIRE_RUNNABLE)
		join(into, room, name, ":", detail);
	else
		join(into, room, *detail || !name ? detail : name, "", "");
}
