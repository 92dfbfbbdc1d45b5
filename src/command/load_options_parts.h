/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the table of `dwell load`'s options takes from its other files. */
#ifndef DWELL_COMMAND_LOAD_OPTIONS_PARTS_H
#define DWELL_COMMAND_LOAD_OPTIONS_PARTS_H

#include "command/load_options.h"

/* As command_option.take: of a struct load_options, or of its member that the table names. */
int load_take_check(void *data, const char *value, struct error *error) must_check;
int load_take_pid(void *data, const char *value, struct error *error) must_check;
int load_take_list(void *data, const char *value, struct error *error) must_check;
int load_take_print(void *data, const char *value, struct error *error) must_check;
int load_take_ab(void *data, const char *value, struct error *error) must_check;
int load_take_sweep(void *data, const char *value, struct error *error) must_check;
int load_take_rounds(void *data, const char *value, struct error *error) must_check;
int load_take_set(void *data, const char *value, struct error *error) must_check;
int load_take_pairs(void *data, const char *value, struct error *error) must_check;
int load_take_gate(void *data, const char *value, struct error *error) must_check;
int load_take_metrics(void *data, const char *value, struct error *error) must_check;

/* As command_line.take_argument. */
int load_take_path(void *data, char **rest, bool is_behind_dashes, struct error *error) must_check;

/* As command_line.end. */
int load_options_end(void *data, struct error *error) must_check;

#endif
