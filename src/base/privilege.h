/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights of the program, and those that its user lacks. */
#ifndef DWELL_BASE_PRIVILEGE_H
#define DWELL_BASE_PRIVILEGE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The file of the program lends them: file capabilities, set-user-ID, set-group-ID. Such a process
 * must not run code that its user chose. getauxval(3), AT_SECURE. Not so under sudo, where the user
 * is root, nor with ambient capabilities, which the user has.
 */
static inline bool privilege_is_lent(void)
{
	return getauxval(AT_SECURE) != 0;
}

/* Whether this thread has one of the CAP_*, in effect; capget(2). */
static inline bool privilege_has(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	return syscall(SYS_capget, &header, data) >= 0 &&
	       data[capability / 32].effective & 1U << capability % 32;
}

/* Set-user-ID or set-group-ID: programs that it starts would have the rights too. */
static inline bool privilege_is_inherited(void)
{
	return getuid() != geteuid() || getgid() != getegid();
}

#endif
