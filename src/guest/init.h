/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first process of a guest: this same program. */
#ifndef DWELL_GUEST_INIT_H
#define DWELL_GUEST_INIT_H

/*
 * Mounts what there is to mount, runs the command that the image orders, reports to the host what
 * it prints and how it ended, and turns the machine off. Does not return.
 */
_Noreturn void guest_init(void);

#endif
