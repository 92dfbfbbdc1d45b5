/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights that the program has and its user lacks. */
#ifndef DWELL_BASE_PRIVILEGE_H
#define DWELL_BASE_PRIVILEGE_H

#include <stdbool.h>
#include <sys/auxv.h>
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

/* Set-user-ID or set-group-ID: programs that it starts would have the rights too. */
static inline bool privilege_is_inherited(void)
{
	return getuid() != geteuid() || getgid() != getegid();
}

#endif
