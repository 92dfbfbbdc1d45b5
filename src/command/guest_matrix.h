/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell guest --matrix`: one command in many guests, as many of them at once as there is room for.
 */
#ifndef DWELL_COMMAND_GUEST_MATRIX_H
#define DWELL_COMMAND_GUEST_MATRIX_H

#include "command/guest_matrix_options.h"

/* Or lists the named topologies. Returns an enum exit_code. */
int guest_matrix_run(const struct guest_matrix_options *options);

#endif
