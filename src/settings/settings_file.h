/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the file of settings: what settings.c reads, and settings_save.c changes. */
#ifndef DWELL_SETTINGS_SETTINGS_FILE_H
#define DWELL_SETTINGS_SETTINGS_FILE_H

#include <sys/types.h>

#include "settings/settings.h"

/* A file of settings is small: what is longer is none. */
#define SETTINGS_MAX  65536
#define SETTING_BYTES 64

struct setting {
	const char *key;
	/* 0, or -EINVAL: `choices` says what it can be. */
	int (*take)(struct settings *settings, const char *value);
	const char *choices;
	const char *help;
};

#define SETTINGS_KNOWN 8
extern const struct setting settings_known[SETTINGS_KNOWN];

/* 0 too where the file is missing; -EINVAL: it cannot be read, or is too long. */
ssize_t settings_read(const char *path, char text[SETTINGS_MAX + 2],
		      struct error *error) must_check;

enum settings_line_kind {
	SETTINGS_NOTHING, /* blank, or a comment */
	SETTINGS_SECTION,
	SETTINGS_PAIR,
};

struct settings_line {
	enum settings_line_kind kind;
	const char *start; /* behind blanks */
	/* of a pair: */
	char key[SETTING_BYTES], value[SETTING_BYTES];
	const char *value_at; /* with its quotation mark; what is wrong, where `behind` is NULL */
	const char *behind;   /* the value: a comment, or nothing. NULL: it is no pair */
};

/* `end` is its line feed, or the text's NUL. */
struct settings_line settings_split(const char *line, const char *end);

#endif
