/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a command line of ours is one, before a guest boots for it. */
#ifndef DWELL_COMMAND_GUEST_REHEARSE_H
#define DWELL_COMMAND_GUEST_REHEARSE_H

#include "base/error.h"

/*
 * -EINVAL with the mistake for which the command arguments[0] would end with EXIT_USAGE, or a load
 * for lack of its spec. What else may be otherwise in a guest, as processes, is no mistake; nor is
 * anything of another program, whose name is a path.
 */
int guest_rehearse(char *const *arguments, struct error *error) must_check;

#endif
