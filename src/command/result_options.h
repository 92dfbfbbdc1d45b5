/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a result is written: options that mean the same in every command. */
#ifndef DWELL_COMMAND_RESULT_OPTIONS_H
#define DWELL_COMMAND_RESULT_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "base/error.h"
#include "emit/emit.h"
#include "tui/palette.h"

struct result_options {
	const struct format *format; /* NULL: the command's own page of text, or its screen */
	const char *fields;	     /* NULL: all */
	struct order order;	     /* of the rows of every format */
	unsigned int page_keeps;     /* enum page_keeps, set by the command */
	bool screen;		     /* --format tui */
	bool given;		     /* a format was asked for */
	enum theme theme;	     /* of the screen */
	bool theme_given;
};

/* What a command's own page of text, or its screen, does by itself; for the rest it is a table. */
enum page_keeps {
	PAGE_SORTS = 1 << 0,
	PAGE_CUTS = 1 << 1,
};

enum {
	OPTION_FORMAT = 900,
	OPTION_FIELDS,
	OPTION_SORT,
	OPTION_TOP,
	OPTION_JSON,
	OPTION_THEME,
};

#define AND_FORMAT(name) ", " #name
#define RESULT_FORMATS	 "table" FORMATS_BESIDE_TABLE(AND_FORMAT)

#define FIELDS_HELP	 "columns of table, csv and jsonl; `help` for all"
#define SORT_HELP                                                                                  \
	"order of the rows, by a name of --fields or a heading: text ascending, numbers "          \
	"descending; `help` for all"
#define TOP_HELP  "only the first N rows, in every format"
#define JSON_HELP "the same as --format json"

/*
 * Entries of a command's own table: the formats there are, with the one by default, and how many
 * rows there are by default, " (10 on the page)" or "" for all.
 */
#define RESULT_OPTIONS(formats, rows, group)                                                       \
	{"format", OPTION_FORMAT, "FORMAT", 0, formats, group},                                    \
		{"fields", OPTION_FIELDS, "NAME[,NAME]", 0, FIELDS_HELP, group},                   \
		{"sort", OPTION_SORT, "FIELD", 0, SORT_HELP, group},                               \
		{"top", OPTION_TOP, "N", 0, TOP_HELP rows, group},                                 \
	{                                                                                          \
		"json", OPTION_JSON, 0, 0, JSON_HELP, group                                        \
	}

/* For commands that have one. */
#define SCREEN_OPTIONS(group)                                                                      \
	{                                                                                          \
		"theme", OPTION_THEME, "THEME", 0,                                                 \
			"colours of the screen: auto, dark, light or mono (auto)", group           \
	}

/* 1: it is none of these. */
int result_option(struct result_options *options, int key, const char *value, bool has_screen,
		  struct error *error) must_check;

/*
 * When all options are known. `schema` and `levels` as in emit_begin(). `--fields help` and `--sort
 * help` list the fields on standard output, and end the program.
 */
int result_options_end(struct result_options *options, const struct schema *schema,
		       unsigned int levels, struct error *error) must_check;

/* A result: its page of text for people, and what it is made of for programs. */
struct result_kind {
	const struct schema *schema;
	int (*page)(struct output *out, const void *result); /* 0 or -ENOMEM */
	/* 0 or -ENOMEM; NULL: the row of the schema is the result, and emit_result() writes it */
	int (*emit)(const struct emit *emit, const void *result);
};

/* As `options` ask for it; the page without a format. */
int result_write(const struct result_options *options, const struct result_kind *kind,
		 const void *result, struct output *out, struct error *error) must_check;

/* To standard output. */
int result_print(const struct result_options *options, const struct result_kind *kind,
		 const void *result, struct error *error) must_check;

#endif
