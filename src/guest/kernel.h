/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel of a guest: one that is named, or the best that is here. */
#ifndef DWELL_GUEST_KERNEL_H
#define DWELL_GUEST_KERNEL_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Where `make guest-kernel` leaves what it builds for this user; "": nowhere. */
void kernel_cache(char ret_path[PATH_MAX]);

/*
 * The newest kernel of `boot`, by the versions in the names; if there is none, the newest of
 * `cache` (kernel_cache()). Those that cannot be read or booted are passed over, and with
 * `sched_ext` those whose configuration does not say that they have it. -ENOENT: none is left.
 */
int kernel_find_in(const char *boot, const char *cache, bool sched_ext, char ret_path[PATH_MAX],
		   struct error *error) must_check;

/* In /boot and this user's cache. */
int kernel_find(bool sched_ext, char ret_path[PATH_MAX], struct error *error) must_check;

#endif
