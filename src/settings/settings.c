// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strchrnul */
#include "settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/similar.h"
#include "base/text.h"
#include "settings/settings_file.h"

/* Where in the file something is. */
struct place {
	const char *path;
	size_t line, column; /* from 1 */
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

static int take_reverse(struct settings *settings, const char *value)
{
	return take_bool(&settings->reverse, value);
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

const struct setting settings_known[SETTINGS_KNOWN] = {
	{"theme", take_theme, "auto, dark, light or mono",
	 "colours; auto asks the terminal for its background"},
	{"marks", take_marks, "true or false", "bars of a mark for each state, not of colours"},
	{"columns", take_columns, "present or all", "of states: those with time in them, or all"},
	{"idle", take_idle, "true or false", "show threads without active time"},
	{"by", take_by, "thread, process, tree or cgroup", "what a row is"},
	{"sort", take_sort, "a field, as of --sort", "the order of rows"},
	{"reverse", take_reverse, "true or false", "the order the other way round"},
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

/* `value` or `"value"`; behind it, where it returns, nothing but a comment. NULL: it is none. */
static const char *parse_value(const char *at, const char *end, char value[SETTING_BYTES])
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
	if (!stop || stop > end || stop - at >= SETTING_BYTES || (!quoted && stop == at))
		return NULL;
	snprintf(value, SETTING_BYTES, "%.*s", (int)(stop - at), at);
	stop += quoted;
	at = skip_blanks(stop);
	return at >= end || *at == '#' ? stop : NULL;
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
	char shown[SETTING_BYTES];

	text_printable(shown, sizeof(shown), value, 40);
	for (size_t i = 0; i < SETTINGS_KNOWN; i++) {
		if (strcmp(settings_known[i].key, key) != 0) {
			similar_try(&similar, settings_known[i].key);
			continue;
		}
		place->column += behind;
		if (settings_known[i].take(settings, value) < 0)
			complain(error, place, "%s is %s, not '%s'", key, settings_known[i].choices,
				 shown);
		return;
	}
	text_printable(shown, sizeof(shown), key, 40);
	complain(error, place, "unknown setting '%s'%s%s%s", shown,
		 similar.best ? "; did you mean '" : "", similar.best ? similar.best : "",
		 similar.best ? "'?" : "");
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

struct settings_line settings_split(const char *line, const char *end)
{
	struct settings_line parts = {.kind = SETTINGS_NOTHING, .start = skip_blanks(line)};
	const char *at = parts.start, *equals;
	size_t length;

	if (at >= end || *at == '#')
		return parts;
	parts.kind = *at == '[' ? SETTINGS_SECTION : SETTINGS_PAIR;
	if (*at == '[')
		return parts;
	equals = find_equals(at, end);
	length = equals ? (size_t)(equals - at) : 0;
	while (length && strchr(" \t", at[length - 1]))
		length--;
	parts.value_at = at;
	if (!length || length >= sizeof(parts.key))
		return parts;
	snprintf(parts.key, sizeof(parts.key), "%.*s", (int)length, at);
	parts.value_at = skip_blanks(equals + 1);
	parts.behind = parse_value(parts.value_at, end, parts.value);
	return parts;
}

/* Behind it nothing but a comment. */
static bool is_keys_section(const char *at, const char *end)
{
	if (end - at < 6 || strncmp(at, "[keys]", 6) != 0)
		return false;
	at = skip_blanks(at + 6);
	return at >= end || *at == '#';
}

static void parse_line(struct settings *settings, const char *line, const char *end, bool *in_keys,
		       struct place *place, struct error *error)
{
	struct settings_line parts = settings_split(line, end);
	char *key = parts.key;

	place->column = (size_t)(parts.start - line) + 1;
	if (parts.kind == SETTINGS_NOTHING)
		return;
	if (parts.kind == SETTINGS_SECTION) {
		*in_keys = is_keys_section(parts.start, end);
		if (!*in_keys)
			complain(error, place, "the only section is [keys]");
		return;
	}
	/* of `"x" = "q"` too */
	if (*in_keys && strlen(key) == 3 && key[0] == '"' && key[2] == '"') {
		key[0] = key[1];
		key[1] = '\0';
	}
	if (!parts.behind) {
		place->column = (size_t)(parts.value_at - line) + 1;
		complain(error, place, "a line reads: key = \"value\"");
	} else if (*in_keys) {
		take_key(settings, key, parts.value, place, error);
	} else {
		take_setting(settings, key, parts.value, place,
			     (size_t)(parts.value_at - parts.start), error);
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

ssize_t settings_read(const char *path, char text[SETTINGS_MAX + 2], struct error *error)
{
	ssize_t length = 0, got;
	int fd;

	/* of a pipe there would be no end */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	*text = '\0';
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_set(error, EINVAL, "cannot read %s: %s", path,
					   strerror(errno));
	/* one byte more, to see that there is one */
	while ((got = read(fd, text + length, SETTINGS_MAX + 1 - (size_t)length)) > 0)
		length += got;
	close(fd);
	if (got < 0)
		return error_set(error, EINVAL, "cannot read %s: %s", path, strerror(errno));
	if (length > SETTINGS_MAX)
		return error_set(error, EINVAL, "%s is longer than 64 KiB", path);
	text[length] = '\0';
	return length;
}

int settings_load(struct settings *ret_settings, struct error *error)
{
	char path[PATH_MAX], text[SETTINGS_MAX + 2];
	ssize_t length;
	int result;

	*ret_settings = (struct settings){.theme = THEME_AUTO};
	if (settings_path(path, sizeof(path)) < 0)
		return 0;
	length = settings_read(path, text, error);
	if (length < 0)
		return (int)length;
	result = settings_parse(ret_settings, text, path, error);
	if (result == 0 && strlen(text) < (size_t)length)
		return complain_of_nul(text, path, error);
	return result;
}
