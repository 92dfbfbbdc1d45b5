/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a result is written: options that mean the same in every command. */
#ifndef DWELL_COMMAND_RESULT_OPTIONS_H
#define DWELL_COMMAND_RESULT_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command_line.h"
#include "emit/emit.h"
#include "tui/palette.h"

struct result_options {
	const struct format *format;  /* NULL: the command's own page of text, or its screen */
	const char *fields;	      /* NULL: all */
	struct order order;	      /* of the rows of every format */
	const struct field *ordering; /* orders rows too, and is no column; NULL: none does */
	unsigned int page_keeps;      /* enum page_keeps, set by the command */
	bool screen;		      /* --format tui */
	bool given;		      /* a format was asked for */
	const char *named; /* that of --format, also one of the command's own; NULL: none */
	bool json;	   /* --json */
	enum theme theme;  /* of the screen */
	bool theme_given;
};

/* What a command's own page of text, or its screen, does by itself; for the rest it is a table. */
enum page_keeps {
	PAGE_SORTS = 1 << 0,
	PAGE_CUTS = 1 << 1,
};

#define AND_FORMAT(name) ", " #name
#define RESULT_FORMATS	 "table" FORMATS_BESIDE_TABLE(AND_FORMAT)

#define FIELDS_HELP	 "columns of table, csv and jsonl; `help` for all"
#define SORT_HELP                                                                                  \
	"order of the rows, by a name of --fields or a heading: text ascending, numbers "          \
	"descending; `help` for all"
#define TOP_HELP   "only the first N rows, in table, json, jsonl and csv"
#define THEME_HELP "colours of the screen: auto, dark, light or mono (auto)"
#define JSON_HELP  "the same as --format json"

/*
 * Lines of a command's own table, for its member `output`: the formats there are, with the one by
 * default, and how many rows there are by default, " (10 on the page)" or "" for all.
 */
#define RESULT_OPTIONS(options, formats, rows)                                                     \
	FORMAT_OPTIONS(options, result_take_format, RESULT_FORMATS formats, rows)
/* Of a command that has a screen: --format tui too. */
#define SCREEN_OPTIONS(options, formats, rows)                                                     \
	FORMAT_OPTIONS(options, result_take_view, "tui, " RESULT_FORMATS formats, rows),           \
		TAKEN_MEMBER("theme", 0, "THEME", options, output, result_take_theme, THEME_HELP)
#define FORMAT_OPTIONS(options, take_format, formats, rows)                                        \
	TAKEN_MEMBER("format", 0, "FORMAT", options, output, take_format, formats),                \
		ROW_OPTIONS(options, rows)
#define ROW_OPTIONS(options, rows)                                                                 \
	TEXT_OPTION("fields", 0, "NAME[,NAME]", options, output.fields, FIELDS_HELP),              \
		TEXT_OPTION("sort", 0, "FIELD", options, output.order.field, SORT_HELP),           \
		TAKEN_MEMBER("top", 0, "N", options, output, result_take_top, TOP_HELP rows),      \
		TAKEN_MEMBER("json", 0, NULL, options, output, result_take_json, JSON_HELP)

/* Of a struct result_options, as command_option.take. */
int result_take_format(void *options, const char *value, struct error *error) must_check;
int result_take_view(void *options, const char *value, struct error *error) must_check;
int result_take_json(void *options, const char *value, struct error *error) must_check;
int result_take_top(void *options, const char *value, struct error *error) must_check;
int result_take_theme(void *options, const char *value, struct error *error) must_check;

/*
 * When all options are known. `schema` and `levels` as in emit_begin(). `--fields help` and `--sort
 * help` list the fields on standard output, and end the program.
 */
int result_options_end(struct result_options *options, const struct schema *schema,
		       unsigned int levels, struct error *error) must_check;

/* Whether a program reads what is written: it can do so only where nothing else is between. */
static inline bool result_is_for_programs(const struct result_options *options)
{
	return options->format && options->format != &format_table;
}

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
