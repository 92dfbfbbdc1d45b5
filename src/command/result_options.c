// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/result_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "command/command.h"
#include "command/parsing.h"

static int take_format(struct result_options *options, const char *value, bool has_screen,
		       struct error *error)
{
	options->given = true;
	options->named = value;
	options->screen = has_screen && !strcmp(value, "tui");
	options->format = format_find(value);
	if (options->screen || options->format)
		return 0;
	return parsing_unknown(error, "format", value,
			       has_screen ? "tui, " RESULT_FORMATS : RESULT_FORMATS);
}

int result_take_format(void *options, const char *value, struct error *error)
{
	return take_format(options, value, false, error);
}

int result_take_view(void *options, const char *value, struct error *error)
{
	return take_format(options, value, true, error);
}

int result_take_json(void *data, const char *value, struct error *error)
{
	struct result_options *options = data;
	const char *named = options->named;
	int result = take_format(options, "json", false, error);

	(void)value;
	options->json = true;
	options->named = named;
	return result;
}

int result_take_top(void *data, const char *value, struct error *error)
{
	struct result_options *options = data;
	uint64_t count;
	int result = parsing_count(value, "--top", &count, error);

	if (result >= 0)
		options->order.top = (size_t)count;
	return result;
}

int result_take_theme(void *data, const char *value, struct error *error)
{
	struct result_options *options = data;

	options->theme_given = true;
	for (int i = 0; i < THEMES_COUNT; i++) {
		if (!strcmp(theme_keys[i], value)) {
			options->theme = (enum theme)i;
			return 0;
		}
	}
	return parsing_unknown(error, "theme", value, "auto, dark, light or mono");
}

static void list_field(const char *name, const struct field *field)
{
	print_text(stdout, "%-32s %s\n", name, field->help);
}

static void list_fields(const struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *column = &columns->items[i];

		list_field(column->name, column->fields[column->depth - 1]);
	}
}

/* Names of columns, as the value of --fields or --sort; NULL: not given. */
static int check_fields(const struct result_options *options, const char *names,
			const struct schema *schema, unsigned int levels, struct error *error)
{
	bool is_help = names && !strcmp(names, "help"), is_order = names == options->order.field;
	struct columns columns;
	int result = 0;

	if (!names)
		return 0;
	if (is_order && strchr(names, ','))
		return error_set(error, EINVAL, "--sort needs one field, not '%s'", names);
	if (columns_init(&columns, schema, levels) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	else if (is_help) {
		if (is_order && options->ordering)
			list_field(options->ordering->name, options->ordering);
		list_fields(&columns);
	} else
		result = columns_select(&columns, names, error);
	columns_release(&columns);
	if (result >= 0 && is_help)
		exit(EXIT_DONE); /* as argp's help: command.c writes what is left, or fails */
	return result;
}

int result_options_end(struct result_options *options, const struct schema *schema,
		       unsigned int levels, struct error *error)
{
	bool orders_table = (options->order.field && !(options->page_keeps & PAGE_SORTS)) ||
			    (options->order.top && !(options->page_keeps & PAGE_CUTS));
	int result;

	if (options->json && options->named && strcmp(options->named, "json") != 0)
		return error_set(error, EINVAL, "--json and --format %s do not go together",
				 options->named);
	result = check_fields(options, options->fields, schema, levels, error);
	if (result >= 0)
		result = check_fields(options, options->order.field, schema, levels, error);
	if (result < 0)
		return result;
	if (options->screen && orders_table)
		return error_set(error, EINVAL,
				 "--sort and --top are for rows: use them with --format %s",
				 RESULT_FORMATS);
	if (options->fields && (options->screen || options->format == &format_json))
		return error_set(error, EINVAL,
				 "--fields chooses columns: use it with --format table, csv or "
				 "jsonl");
	if ((options->fields || orders_table) && !options->given)
		options->format = &format_table;
	else if (!options->fields && !orders_table && options->format == &format_table)
		options->format = NULL;
	options->given |= options->fields || orders_table;
	return 0;
}

static int emit_kind(const struct emit *emit, const struct result_kind *kind, const void *result)
{
	struct item item = {result, NULL};

	if (kind->emit)
		return kind->emit(emit, result);
	emit_result(emit, &item);
	return 0;
}

int result_write(const struct result_options *options, const struct result_kind *kind,
		 const void *result, struct output *out, struct error *error)
{
	struct emit emit;
	int written;

	if (!options->format)
		return kind->page(out, result) < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	written = emit_begin(&emit, options->format, kind->schema, ~0U, options->fields,
			     &options->order, out, error);
	if (written >= 0 && emit_kind(&emit, kind, result) < 0)
		written = error_set(error, ENOMEM, "out of memory");
	emit_end(&emit);
	return written;
}

int result_print(const struct result_options *options, const struct result_kind *kind,
		 const void *result, struct error *error)
{
	struct output out;
	int written;

	if (output_init(&out, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	written = result_write(options, kind, result, &out, error);
	if (written >= 0)
		written = command_write(&out, error);
	output_release(&out);
	return written;
}
