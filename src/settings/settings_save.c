// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strchrnul */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/file.h"
#include "base/output.h"
#include "settings/settings_file.h"

/* What `settings` say for the key; false: nothing. */
static bool value_of(char into[SETTING_BYTES], const struct settings *settings, const char *key)
{
	const char *value = NULL;

	if (!strcmp(key, "theme"))
		value = theme_keys[settings->theme];
	else if (!strcmp(key, "marks"))
		value = settings->marks ? "true" : "false";
	else if (!strcmp(key, "columns"))
		value = settings->all_columns ? "all" : "present";
	else if (!strcmp(key, "idle"))
		value = settings->hide_idle ? "false" : "true";
	else if (!strcmp(key, "by") && settings->by_given)
		value = settings->tree ? "tree" : grouping_keys[settings->by];
	else if (!strcmp(key, "sort") && settings->sort)
		value = settings->sort->name;
	else if (!strcmp(key, "reverse"))
		value = settings->reverse ? "true" : "false";
	if (!strcmp(key, "interval") && settings->interval_ns) {
		bool is_ms = settings->interval_ns % NS_PER_MS == 0;

		/* exactly */
		snprintf(into, SETTING_BYTES, "%llu%s",
			 (unsigned long long)(is_ms ? settings->interval_ns / NS_PER_MS
						    : settings->interval_ns),
			 is_ms ? "ms" : "ns");
		return true;
	}
	if (value)
		snprintf(into, SETTING_BYTES, "%s", value);
	return value;
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

/* `unless` leaves out what is as there. */
static void write_setting(struct output *out, const struct settings *settings,
			  const struct settings *unless, const struct setting *setting)
{
	char value[SETTING_BYTES], other[SETTING_BYTES];

	if (!value_of(value, settings, setting->key))
		return;
	if (unless && value_of(other, unless, setting->key) && !strcmp(value, other))
		return;
	output_format(out, "%s = \"%s\"  # %s: %s\n", setting->key, value, setting->help,
		      setting->choices);
}

static void write_settings(struct output *out, const struct settings *settings)
{
	output_string(out, "# How the screens of dwell look, and what they begin with.\n"
			   "# W in `dwell top` changes this file.\n");
	/* which way round goes without saying, unless it is the other one */
	for (size_t i = 0; i < SETTINGS_KNOWN; i++)
		if (settings->reverse || strcmp(settings_known[i].key, "reverse") != 0)
			write_setting(out, settings, NULL, &settings_known[i]);
	write_keys(out, &settings->keymap);
}

static void write_missing(struct output *out, const struct settings *settings,
			  const bool said[SETTINGS_KNOWN])
{
	const struct settings by_default = {.theme = THEME_AUTO};

	for (size_t i = 0; i < SETTINGS_KNOWN; i++)
		if (!said[i])
			write_setting(out, settings, &by_default, &settings_known[i]);
}

/* The text behind the last setting that stands before any section; its start, if there is none. */
static const char *find_end_of_settings(const char *text, bool said[SETTINGS_KNOWN])
{
	const char *found = text;

	while (*text) {
		const char *end = strchrnul(text, '\n');
		struct settings_line line = settings_split(text, end);

		if (line.kind == SETTINGS_SECTION)
			break;
		text = *end ? end + 1 : end;
		if (line.kind == SETTINGS_PAIR)
			found = text;
		for (size_t i = 0; line.kind == SETTINGS_PAIR && i < SETTINGS_KNOWN; i++)
			said[i] |= !strcmp(line.key, settings_known[i].key);
	}
	return found;
}

static void write_line(struct output *out, const struct settings *settings, const char *text,
		       const char *end, const struct settings_line *line)
{
	char value[SETTING_BYTES];

	if (line->kind == SETTINGS_PAIR && value_of(value, settings, line->key)) {
		output_bytes(out, text, (size_t)(line->value_at - text));
		output_format(out, "\"%s\"", value);
		text = line->behind;
	}
	output_bytes(out, text, (size_t)(end - text));
	output_char(out, '\n');
}

/* Values change where they stand: comments, their order and all else stay as the user wrote them.
 */
static void write_changed(struct output *out, const struct settings *settings, const char *text,
			  bool keeps_keys)
{
	bool said[SETTINGS_KNOWN] = {false}, in_keys = false;
	const char *insert_at = find_end_of_settings(text, said);

	for (const char *next; *text; text = next) {
		const char *end = strchrnul(text, '\n');
		struct settings_line line = settings_split(text, end);

		next = *end ? end + 1 : end;
		if (text == insert_at)
			write_missing(out, settings, said);
		in_keys |= line.kind == SETTINGS_SECTION;
		if (!in_keys)
			write_line(out, settings, text, end, &line);
		else if (keeps_keys || line.kind == SETTINGS_NOTHING) {
			output_bytes(out, text, (size_t)(end - text));
			output_char(out, '\n');
		}
	}
	if (!*insert_at)
		write_missing(out, settings, said);
	if (!keeps_keys)
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
static int check_replaceable(const char *path, struct settings *ret_before, struct error *error)
{
	struct error mistake;
	struct stat stat_of;

	*ret_before = (struct settings){.theme = THEME_AUTO};
	if (stat(path, &stat_of) < 0)
		return 0; /* file_replace() has the reason, if there is one */
	if (!S_ISREG(stat_of.st_mode))
		return error_set(error, EINVAL, "cannot write %s: it is not a regular file", path);
	if (settings_load(ret_before, &mistake) < 0)
		return error_set(error, EINVAL, "not replaced: %s", mistake.text);
	return 0;
}

int settings_save(const struct settings *settings, struct error *error)
{
	char path[PATH_MAX], text[SETTINGS_MAX + 2];
	struct settings before;
	struct output out = {0};
	int result;

	if (settings_path(path, sizeof(path)) < 0)
		return error_set(error, ENOENT, "HOME is not set: there is no place for settings");
	if (check_replaceable(path, &before, error) < 0 || settings_read(path, text, error) < 0)
		return -EINVAL;
	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (*text)
		write_changed(&out, settings, text,
			      !memcmp(&before.keymap, &settings->keymap, sizeof(before.keymap)));
	else
		write_settings(&out, settings);
	make_directories(path);
	result = file_replace(path, out.buffer, out.used, error);
	output_release(&out);
	return result;
}
