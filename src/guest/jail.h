/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What QEMU may do on the host: its devices are the border to the code in the guest, and it
 * needs nothing of root but what is opened for it before.
 */
#ifndef DWELL_GUEST_JAIL_H
#define DWELL_GUEST_JAIL_H

#include <limits.h>

/*
 * In the child that becomes QEMU: if it is root's, it becomes a user that owns no file and no other
 * process, in no group but that of /dev/kvm; in no case can it gain rights again. Where there are
 * no such users (a user namespace with few ids) it stays who it is.
 */
void jail_enter(void);

struct jail_program {
	char path[PATH_MAX]; /* "": there is none */
	int fd;
};

/* Finds and opens a program as execvp(3) does: the user that we become may not search the path. */
void jail_find(struct jail_program *program, const char *name);

/* Returns only if it fails, with errno. */
void jail_exec(const struct jail_program *program, char *const arguments[]);

#endif
