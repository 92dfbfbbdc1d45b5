// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/reason.h"

#include <stdio.h>

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

static bool is_wait(struct wire_wait_site where)
{
	return (where.state >= WIRE_DISK && where.state <= WIRE_SLEEP) ||
	       where.state == WIRE_UNKNOWN;
}

void reason_format(char *into, size_t room, struct wire_wait_site where, bool native)
{
	const char *detail = detail_text(where.detail);
	const char *name = native ? syscall_name(where.syscall) : NULL;
	char number[24];

	if (!name && where.syscall >= 0) {
		snprintf(number, sizeof(number), "syscall %d", where.syscall);
		name = number;
	}
	if (where.syscall == WIRE_SYSCALL_COMPAT)
		name = "32-bit call";
	if (where.syscall == WIRE_SYSCALL_KERNEL && where.detail != WIRE_DETAIL_KTHREAD)
		name = "kernel thread";
	/* recordings of version 1 have no number of their own for threads of the kernel's */
	if (!name && where.syscall == WIRE_SYSCALL_NONE && is_wait(where) &&
	    where.detail != WIRE_DETAIL_KTHREAD && where.detail != WIRE_DETAIL_NOT_PERMITTED)
		name = "page fault";
	if (where.state == WIRE_ON_CPU)
		snprintf(into, room, "%s", "");
	else if (name && *detail && where.state != WIRE_RUNNABLE)
		snprintf(into, room, "%s:%s", name, detail);
	else
		snprintf(into, room, "%s", *detail || !name ? detail : name);
}
