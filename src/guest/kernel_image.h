/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What QEMU boots of a kernel's file. */
#ifndef DWELL_GUEST_KERNEL_IMAGE_H
#define DWELL_GUEST_KERNEL_IMAGE_H

#include "base/error.h"

/*
 * A copy in memory that any user may open, or a negative errno.
 *
 * Of a bzImage it is the ELF file packed inside, if that can be entered directly (PVH) and the
 * program that unpacks it is installed: unpacking itself takes a kernel packed by xz 2 of the 4
 * seconds until it starts init, where it is emulated. Such a kernel does not choose a random
 * address. Other files are copied as they are.
 */
int kernel_image_open(const char *path, struct error *error) must_check;

#endif
