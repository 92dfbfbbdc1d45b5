/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the table of `dwell blocked`'s options takes from its other files. */
#ifndef DWELL_COMMAND_BLOCKED_OPTIONS_PARTS_H
#define DWELL_COMMAND_BLOCKED_OPTIONS_PARTS_H

#include "command/blocked_options.h"

/* As command_option.take: of a struct blocked_options, or of its member that the table names. */
int blocked_take_frequency(void *data, const char *value, struct error *error) must_check;
int blocked_take_runtime(void *data, const char *value, struct error *error) must_check;
int blocked_take_threshold(void *data, const char *value, struct error *error) must_check;
int blocked_take_budget(void *data, const char *value, struct error *error) must_check;
int blocked_take_ring(void *data, const char *value, struct error *error) must_check;
int blocked_take_ready_fd(void *data, const char *value, struct error *error) must_check;
int blocked_take_name(void *data, const char *value, struct error *error) must_check;
int blocked_take_process(void *data, const char *value, struct error *error) must_check;
int blocked_take_workers(void *data, const char *value, struct error *error) must_check;
int blocked_take_window(void *data, const char *value, struct error *error) must_check;
int blocked_take_max_stalls(void *data, const char *value, struct error *error) must_check;
int blocked_take_by(void *data, const char *value, struct error *error) must_check;
int blocked_take_export_format(void *data, const char *value, struct error *error) must_check;

/* As command_line.end. */
int blocked_options_end(void *data, struct error *error) must_check;

#endif
