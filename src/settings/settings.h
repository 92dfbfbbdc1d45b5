/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ~/.config/dwell/config: how the screens look, and what they begin with. */
#ifndef DWELL_SETTINGS_SETTINGS_H
#define DWELL_SETTINGS_SETTINGS_H

#include "base/error.h"
#include "model/group.h"
#include "tui/keys.h"
#include "tui/palette.h"
#include "view/fields.h"

struct settings {
	enum theme theme;
	bool marks;	  /* bars of marks, not of colours */
	bool all_columns; /* also those without any time in them */
	bool hide_idle;
	bool reverse;		  /* the order of rows */
	const struct field *sort; /* NULL: not said, as the next two */
	bool by_given, tree;
	enum grouping by;
	uint64_t interval_ns;
	struct keymap keymap;
};

/*
 * Where the file is: $XDG_CONFIG_HOME/dwell/config or ~/.config/dwell/config. 0, or -ENOENT where
 * neither variable is set.
 */
int settings_path(char *into, size_t room);

/*
 * Without a file all is as by default. What is wrong in it, is as by default too: then -EINVAL with
 * the first of it, by line and column.
 */
int settings_load(struct settings *ret_settings, struct error *error);

/* Of the text of a file, which `path` names in messages. 0 or -EINVAL, likewise. */
int settings_parse(struct settings *settings, const char *text, const char *path,
		   struct error *error);

/* What is not said is not written. 0, or a negative errno. */
int settings_save(const struct settings *settings, struct error *error) must_check;

#endif
