/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a guest, from the command line of `dwell guest`. */
#ifndef DWELL_COMMAND_GUEST_IMAGE_H
#define DWELL_COMMAND_GUEST_IMAGE_H

#include "command/guest_options.h"
#include "guest/pulled_files.h"

/*
 * Makes the image that boots to `command`, as qemu.image_fd of the options, and adds to `pulled`
 * what is to come back. -ENOMEM: also where the guest's memory has no room for the files.
 */
int guest_image_make(struct guest_options *options, char **command, struct pulled_files *pulled,
		     struct error *error) must_check;

#endif
