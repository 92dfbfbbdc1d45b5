// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strchrnul */
#include "command/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/output.h"
#include "base/similar.h"
#include "base/text.h"

/* A file of settings is small: what is longer is none. */
#define FILE_MAX 65536
#define WORD_MAX 64

/* Where in the file something is. */
struct place {
	const char *path;
	size_t line, column; /* from 1 */
};

struct setting {
	const char *key;
	/* 0, or -EINVAL: `why` says what it can be. */
	int (*take)(struct settings *settings, const char *value);
	const char *choices;
	const char *help;
};

static int take_bool(bool *into, const char *value)
{
	*into = !strcmp(value, "true");
	return *into || !strcmp(value, "false") ? 0 : -EINVAL;
}

static int take_theme(struct settings *settings, const char *value)
{
	for (int i = 0; i < THEMES_COUNT; i++) {
		if (!strcmp(theme_keys[i], value)) {
			settings->theme = (enum theme)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int take_marks(struct settings *settings, const char *value)
{
	return take_bool(&settings->marks, value);
}

static int take_columns(struct settings *settings, const char *value)
{
	settings->all_columns = !strcmp(value, "all");
	return settings->all_columns || !strcmp(value, "present") ? 0 : -EINVAL;
}

static int take_idle(struct settings *settings, const char *value)
{
	bool shown;

	if (take_bool(&shown, value) < 0)
		return -EINVAL;
	settings->hide_idle = !shown;
	return 0;
}

static int take_sort(struct settings *settings, const char *value)
{
	const struct field *field = field_find(value);

	if (!field)
		return -EINVAL;
	settings->sort = field;
	return 0;
}

static int take_by(struct settings *settings, const char *value)
{
	bool tree = !strcmp(value, "tree");

	for (int by = 0; by < GROUPINGS_COUNT; by++) {
		if (strcmp(grouping_keys[by], tree ? grouping_keys[BY_PROCESS] : value) != 0)
			continue;
		settings->by = (enum grouping)by;
		settings->tree = tree;
		settings->by_given = true;
		return 0;
	}
	return -EINVAL;
}

static int take_interval(struct settings *settings, const char *value)
{
	struct error why;
	uint64_t ns;

	if (duration_parse(value, &ns, &why) < 0 || ns < NS_PER_MS)
		return -EINVAL;
	settings->interval_ns = ns;
	return 0;
}

static const struct setting known[] = {
	{"theme", take_theme, "auto, dark, light or mono",
	 "colours; auto asks the terminal for its background"},
	{"marks", take_marks, "true or false", "bars of a mark for each state, not of colours"},
	{"columns", take_columns, "present or all", "of states: those with time in them, or all"},
	{"idle", take_idle, "true or false", "show threads without active time"},
	{"by", take_by, "thread, process, tree or cgroup", "what a row is"},
	{"sort", take_sort, "a field, as of --sort", "the order of rows"},
	{"interval", take_interval, "1ms at least, as 500ms or 2s", "the length of an interval"},
};

__attribute__((format(printf, 3, 4))) static void
complain(struct error *error, const struct place *place, const char *format, ...)
{
	char text[160];
	va_list args;

	if (*error->text) /* the first says enough */
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(error, EINVAL, "%s:%zu:%zu: %s", place->path, place->line, place->column, text);
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r");
}

/* `value` or `"value"`; behind it nothing but a comment. */
static bool parse_value(const char *at, const char *end, char value[WORD_MAX])
{
	bool quoted = at < end && *at == '"';
	const char *stop;

	at += quoted;
	if (quoted && end - at >= 2 && at[0] == '"' && at[1] == '"') /* the key itself */
		stop = at + 1;
	else if (quoted)
		stop = memchr(at, '"', (size_t)(end - at));
	else
		stop = at + strcspn(at, " \t\r#\n");
	if (!stop || stop > end || stop - at >= WORD_MAX || (!quoted && stop == at))
		return false;
	snprintf(value, WORD_MAX, "%.*s", (int)(stop - at), at);
	at = skip_blanks(stop + quoted);
	return at >= end || *at == '#';
}

/* `f = "/"` in [keys]: what is typed, and what it stands for. */
static void take_key(struct settings *settings, const char *key, const char *value,
		     const struct place *place, struct error *error)
{
	if (key[1] || value[1] || (unsigned char)*key >= KEYMAP_SIZE ||
	    (unsigned char)*value >= KEYMAP_SIZE || !*value)
		complain(error, place, "a key is one character: x = \"q\"");
	else
		settings->keymap.instead[(unsigned char)*key] = *value;
}

/* `place` is the key's, and the value `behind` columns after it. */
static void take_setting(struct settings *settings, const char *key, const char *value,
			 struct place *place, size_t behind, struct error *error)
{
	struct similar similar = {.wanted = key};
	char shown[WORD_MAX];

	text_printable(shown, sizeof(shown), value, 40);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].key, key) != 0) {
			similar_try(&similar, known[i].key);
			continue;
		}
		place->column += behind;
		if (known[i].take(settings, value) < 0)
			complain(error, place, "%s is %s, not '%s'", key, known[i].choices, shown);
		return;
	}
	text_printable(shown, sizeof(shown), key, 40);
	complain(error, place, "unknown setting '%s'%s%s%s", shown,
		 similar.best ? "; did you mean '" : "", similar.best ? similar.best : "",
		 similar.best ? "'?" : "");
}

/* Behind it nothing but a comment. */
static bool is_keys_section(const char *at, const char *end)
{
	if (end - at < 6 || strncmp(at, "[keys]", 6) != 0)
		return false;
	at = skip_blanks(at + 6);
	return at >= end || *at == '#';
}

/* Of a line that is no section; also `"=" = "x"` has one. NULL: there is none. */
static const char *find_equals(const char *at, const char *end)
{
	const char *from = at + (*at == '='				      ? 1
				 : *at == '"' && end - at > 2 && at[2] == '"' ? 3
									      : 0);
	const char *equals = memchr(from, '=', (size_t)(end - from));

	return equals ? equals : memchr(at, '=', (size_t)(end - at));
}

static void parse_line(struct settings *settings, const char *line, const char *end, bool *in_keys,
		       struct place *place, struct error *error)
{
	const char *at = skip_blanks(line), *equals;
	char key[WORD_MAX], value[WORD_MAX];
	size_t length;

	place->column = (size_t)(at - line) + 1;
	if (at >= end || *at == '#')
		return;
	if (*at == '[') {
		*in_keys = is_keys_section(at, end);
		if (!*in_keys)
			complain(error, place, "the only section is [keys]");
		return;
	}
	equals = find_equals(at, end);
	length = equals ? (size_t)(equals - at) : 0;
	while (length && strchr(" \t", at[length - 1]))
		length--;
	if (!length || length >= sizeof(key)) {
		complain(error, place, "a line reads: key = \"value\"");
		return;
	}
	snprintf(key, sizeof(key), "%.*s", (int)length, at);
	at = skip_blanks(equals + 1);
	/* of `"x" = "q"` too */
	if (*in_keys && length == 3 && key[0] == '"' && key[2] == '"')
		snprintf(key, sizeof(key), "%c", key[1]);
	if (!parse_value(at, end, value)) {
		place->column = (size_t)(at - line) + 1;
		complain(error, place, "a line reads: key = \"value\"");
	} else if (*in_keys) {
		take_key(settings, key, value, place, error);
	} else {
		take_setting(settings, key, value, place, (size_t)(at - line) + 1 - place->column,
			     error);
	}
}

int settings_parse(struct settings *settings, const char *text, const char *path,
		   struct error *error)
{
	struct place place = {.path = path};
	bool in_keys = false;

	*error->text = '\0';
	while (*text) {
		const char *end = strchrnul(text, '\n');

		place.line++;
		parse_line(settings, text, end, &in_keys, &place, error);
		text = *end ? end + 1 : end;
	}
	return *error->text ? -EINVAL : 0;
}

int settings_path(char *into, size_t room)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && *config == '/')
		snprintf(into, room, "%s/dwell/config", config);
	else if (home && *home == '/')
		snprintf(into, room, "%s/.config/dwell/config", home);
	else
		return -ENOENT;
	return 0;
}

static int complain_of_nul(const char *text, const char *path, struct error *error)
{
	struct place place = {.path = path, .line = 1};
	const char *line = text;

	for (; strchr(line, '\n'); line = strchr(line, '\n') + 1)
		place.line++;
	place.column = strlen(line) + 1;
	complain(error, &place, "a NUL byte: this is not text");
	return -EINVAL;
}

int settings_load(struct settings *ret_settings, struct error *error)
{
	char path[PATH_MAX], text[FILE_MAX + 2]; /* one byte more, to see that there is one */
	ssize_t length = 0, got;
	int fd, result;

	*ret_settings = (struct settings){.theme = THEME_AUTO};
	if (settings_path(path, sizeof(path)) < 0)
		return 0;
	/* of a pipe there would be no end */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_set(error, EINVAL, "cannot read %s: %s", path,
					   strerror(errno));
	while ((got = read(fd, text + length, sizeof(text) - 1 - (size_t)length)) > 0)
		length += got;
	close(fd);
	if (got < 0)
		return error_set(error, EINVAL, "cannot read %s: %s", path, strerror(errno));
	if (length > FILE_MAX)
		return error_set(error, EINVAL, "%s is longer than 64 KiB", path);
	text[length] = '\0';
	result = settings_parse(ret_settings, text, path, error);
	if (result == 0 && strlen(text) < (size_t)length)
		return complain_of_nul(text, path, error);
	return result;
}

static void write_keys(struct output *out, const struct keymap *keymap)
{
	bool begun = false;

	for (int i = 0; i < KEYMAP_SIZE; i++) {
		if (!keymap->instead[i])
			continue;
		if (!begun)
			output_string(out, "\n# typed = \"what it stands for\"\n[keys]\n");
		begun = true;
		output_format(out, "\"%c\" = \"%c\"\n", i, keymap->instead[i]);
	}
}

static void write_setting(struct output *out, const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].key, key))
			output_format(out, "%s = \"%s\"  # %s: %s\n", key, value, known[i].help,
				      known[i].choices);
}

static void write_all(struct output *out, const struct settings *settings)
{
	char interval[32];

	output_string(out, "# How the screens of dwell look, and what they begin with.\n"
			   "# W in `dwell top` writes this file.\n");
	write_setting(out, "theme", theme_keys[settings->theme]);
	write_setting(out, "marks", settings->marks ? "true" : "false");
	write_setting(out, "columns", settings->all_columns ? "all" : "present");
	write_setting(out, "idle", settings->hide_idle ? "false" : "true");
	if (settings->by_given)
		write_setting(out, "by", settings->tree ? "tree" : grouping_keys[settings->by]);
	if (settings->sort)
		write_setting(out, "sort", settings->sort->name);
	if (settings->interval_ns) {
		/* exactly */
		snprintf(interval, sizeof(interval), "%llu%s",
			 (unsigned long long)(settings->interval_ns % NS_PER_MS
						      ? settings->interval_ns
						      : settings->interval_ns / NS_PER_MS),
			 settings->interval_ns % NS_PER_MS ? "ns" : "ms");
		write_setting(out, "interval", interval);
	}
	write_keys(out, &settings->keymap);
}

/* The directories above the file; who has none gets them. */
static void make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST) {
			*slash = '/';
			return; /* file_replace() has the reason */
		}
		*slash = '/';
	}
}

/* What dwell did not understand would be gone, and a pipe would stop the screen. */
static int check_replaceable(const char *path, struct error *error)
{
	struct settings ignored;
	struct error mistake;
	struct stat stat_of;

	if (stat(path, &stat_of) < 0)
		return 0; /* file_replace() has the reason, if there is one */
	if (!S_ISREG(stat_of.st_mode))
		return error_set(error, EINVAL, "cannot write %s: it is not a regular file", path);
	if (settings_load(&ignored, &mistake) < 0)
		return error_set(error, EINVAL, "not replaced: %s", mistake.text);
	return 0;
}

int settings_save(const struct settings *settings, struct error *error)
{
	char path[PATH_MAX];
	struct output out = {0};
	int result;

	if (settings_path(path, sizeof(path)) < 0)
		return error_set(error, ENOENT, "HOME is not set: there is no place for settings");
	if (check_replaceable(path, error) < 0)
		return -EINVAL;
	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	write_all(&out, settings);
	make_directories(path);
	result = file_replace(path, out.buffer, out.used, error);
	output_release(&out);
	return result;
}
