// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/ab_runs.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "emit/emit.h"
#include "emit/read.h"

#define NAMES	      "ab-*.json"
#define LOOKS_MAX     1000    /* of one time that --ab was run */
#define LOOKS_MAX_ALL 1000000 /* of all: with more no number of pairs would show anything */

/* The sides: two, of the same number of runs; the context is how many looks. */

static const struct load_side *side_of(const struct item *item, size_t number)
{
	return (const struct load_side *)item->row + number;
}

VALUE_GETTER(get_looks, value_number, *(const unsigned int *)item->context)
VALUE_GETTER(get_starts, value_elements, side_of(item, field->argument)->runs)

FIELD_ELEMENT(start_element)
{
	value_string(value, side_of(item, field->argument)->started[index]);
}

static const struct field fields[] = {
	INTEGER_FIELD("looks", get_looks, "at most, each with its part of the 5 %"),
	LIST_FIELD("a", get_starts, start_element, NULL, "when A's runs began", .argument = 0),
	LIST_FIELD("b", get_starts, start_element, NULL, "when B's did, in the same order",
		   .argument = 1),
};

const struct schema ab_runs_schema = {.name = "ab-runs",
				      .help = "pairs of runs that `dwell load --ab` has kept",
				      .version = 1,
				      SCHEMA_FIELDS(fields)};

/* By when the first run of A began: "ab-20261130T082519.123456789Z.json". */
static int path_of(char into[PATH_MAX], const char *directory, const struct load_side *a,
		   struct error *error)
{
	char stamp[LOAD_STARTED_BYTES] = "";
	size_t used = 0;

	for (const char *from = a->started[0]; *from; from++)
		if (!strchr("-:", *from))
			stamp[used++] = *from;
	return (size_t)snprintf(into, PATH_MAX, "%s/ab-%s.json", directory, stamp) < PATH_MAX
		       ? 0
		       : error_set(error, ENAMETOOLONG, "%s: the name is too long", directory);
}

int ab_runs_keep(const char *directory, const struct load_side sides[2], unsigned int looks,
		 struct error *error)
{
	const struct item item = {sides, &looks};
	char path[PATH_MAX];
	struct output out;
	int result = path_of(path, directory, &sides[0], error);

	if (result < 0)
		return result;
	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	emit_json_line(&out, &ab_runs_schema, &item);
	result = out.error ? error_set(error, out.error, "out of memory")
			   : file_replace(path, out.buffer, out.used, error);
	output_release(&out);
	return result;
}

static int add_starts(struct load_starts *starts, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || !*text || strlen(text) >= LOAD_STARTED_BYTES)
			return -EBADMSG;
		if (array_reserve(&starts->items, &starts->room, starts->count + 1,
				  sizeof(*starts->items)) < 0)
			return -ENOMEM;
		snprintf(starts->items[starts->count++], sizeof(*starts->items), "%s", text);
	}
	return json_array_size(list) ? 0 : -EBADMSG;
}

/*
 * When one has ended by what it showed, and the next one too, each number of pairs of the one with
 * each of the other may have come to be: looks are multiplied.
 */
static int take(struct ab_runs *runs, const json_t *line)
{
	json_int_t looks = json_integer_value(result_read(&ab_runs_schema, line, "looks"));
	const json_t *a = result_read(&ab_runs_schema, line, "a");
	const json_t *b = result_read(&ab_runs_schema, line, "b");
	int result;

	if (looks < 1 || looks > LOOKS_MAX || json_array_size(a) != json_array_size(b))
		return -EBADMSG;
	runs->looks *= (unsigned int)looks;
	runs->looks = runs->looks < LOOKS_MAX_ALL ? runs->looks : LOOKS_MAX_ALL;
	result = add_starts(&runs->starts, a);
	return result < 0 ? result : add_starts(&runs->starts, b);
}

static int read_file(struct ab_runs *runs, const char *directory, const char *name,
		     struct error *error)
{
	char path[PATH_MAX];
	json_t *line;
	int result;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return error_set(error, ENAMETOOLONG, "%s/%s: the name is too long", directory,
				 name);
	line = json_load_file(path, 0, NULL);
	result = line && result_is(&ab_runs_schema, line) ? take(runs, line) : -EBADMSG;
	json_decref(line);
	if (result == -EBADMSG)
		return error_set(error, EBADMSG,
				 "%s: damaged: it does not say which runs are pairs", path);
	return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}

static int is_ours(const struct dirent *entry)
{
	return !fnmatch(NAMES, entry->d_name, 0);
}

int ab_runs_read(struct ab_runs *runs, const char *path, struct error *error)
{
	struct dirent **entries;
	int result = 0, count = scandir(path, &entries, is_ours, alphasort);

	if (count < 0)
		return errno == ENOTDIR ? 0
					: error_set(error, errno, "cannot read %s: %s", path,
						    strerror(errno));
	runs->looks = 1;
	for (int i = 0; i < count; i++) {
		if (result >= 0)
			result = read_file(runs, path, entries[i]->d_name, error);
		free(entries[i]);
	}
	free(entries);
	return result;
}

void ab_runs_release(struct ab_runs *runs)
{
	free(runs->starts.items);
	*runs = (struct ab_runs){.looks = 0};
}
