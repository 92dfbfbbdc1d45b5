/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the table of `dwell serve`'s options takes from its other files. */
#ifndef DWELL_COMMAND_SERVE_OPTIONS_PARTS_H
#define DWELL_COMMAND_SERVE_OPTIONS_PARTS_H

#include "command/serve_options.h"

#define SERVE_ADDRESS "127.0.0.1:9465" /* without --listen */

/* As command_option.take; the last two of the --push before them. */
int serve_take_push(void *data, const char *value, struct error *error) must_check;
int serve_take_push_token(void *data, const char *value, struct error *error) must_check;
int serve_take_push_ca(void *data, const char *value, struct error *error) must_check;

/* Of what is pushed: what its options are together, and where they were not given. */
int serve_push_end(struct serve_options *options, struct error *error) must_check;

/* As command_line.end. */
int serve_options_end(void *data, struct error *error) must_check;

#endif
