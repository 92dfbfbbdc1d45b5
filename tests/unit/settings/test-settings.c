// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "settings/settings.h"

/* 0 or -EINVAL with a message, of text that begins a file. */
static int parse(struct settings *settings, const char *text, struct error *error)
{
	*settings = (struct settings){.theme = THEME_AUTO};
	return settings_parse(settings, text, "config", error);
}

static struct settings take(const char *text)
{
	struct settings settings;
	struct error error;
	int result = parse(&settings, text, &error);

	if (result < 0)
		print_error("%s\n", error.text);
	assert_int_equal(result, 0);
	assert_string_equal(error.text, "");
	return settings;
}

static void refuse(const char *text, const char *message)
{
	struct settings settings;
	struct error error;

	assert_int_equal(parse(&settings, text, &error), -EINVAL);
	assert_string_equal(error.text, message);
}

CASE(every_setting)
{
	struct settings settings = take("theme = \"light\"\n"
					"marks = \"true\"\n"
					"columns = \"all\"\n"
					"idle = \"false\"\n"
					"by = \"cgroup\"\n"
					"sort = \"lock\"\n"
					"reverse = \"true\"\n"
					"interval = \"250ms\"\n");

	assert_int_equal(settings.theme, THEME_LIGHT);
	assert_true(settings.marks);
	assert_true(settings.all_columns);
	assert_true(settings.hide_idle);
	assert_true(settings.by_given);
	assert_int_equal(settings.by, BY_CGROUP);
	assert_false(settings.tree);
	assert_ptr_equal(settings.sort, field_find("lock"));
	assert_true(settings.reverse);
	assert_int_equal(settings.interval_ns, 250 * NS_PER_MS);
	settings = take("by = tree");
	assert_int_equal(settings.by, BY_PROCESS);
	assert_true(settings.tree && settings.by_given);
	settings =
		take("by = \"tree\"\nby = \"process\"\nidle = \"true\"\ncolumns = \"present\"\n");
	assert_false(settings.tree);
	assert_false(settings.hide_idle);
	assert_false(settings.all_columns);
	for (int i = 0; i < THEMES_COUNT; i++) {
		char line[32];

		snprintf(line, sizeof(line), "theme = %s", theme_keys[i]);
		assert_int_equal(take(line).theme, i);
	}
}

CASE(nothing_is_the_default)
{
	static const char *const texts[] = {"",	       "\n", "\n\n\n", " \t ", "# theme = light",
					    "\r\n\r\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct settings settings = take(texts[i]);

		assert_int_equal(settings.theme, THEME_AUTO);
		assert_false(settings.by_given);
		assert_null(settings.sort);
		assert_false(settings.reverse);
		assert_int_equal(settings.interval_ns, 0);
	}
}

CASE(quotes_comments_and_line_ends)
{
	assert_int_equal(take("theme=dark").theme, THEME_DARK);
	assert_int_equal(take("theme=\"dark\"").theme, THEME_DARK);
	assert_int_equal(take("\t theme \t=\t \"dark\" \t# night").theme, THEME_DARK);
	assert_int_equal(take("theme = dark# night").theme, THEME_DARK);
	assert_int_equal(take("theme = \"dark\"# night \"light\"\n").theme, THEME_DARK);
	assert_int_equal(take("# one\n\n   # two\ntheme = dark\n").theme, THEME_DARK);
	assert_int_equal(take("theme = dark\r\nmarks = \"true\"\r\n").theme, THEME_DARK);
	assert_true(take("theme = dark\r\nmarks = \"true\"\r\n").marks);
	assert_int_equal(take("[keys]\r\nx = \"q\"\r\n").keymap.instead['x'], 'q');
}

CASE(keys)
{
	struct settings settings = take("[keys] # mine\n"
					"x = \"q\"\n"
					"\"y\" = \"s\"\n"
					"z = t\n"
					"\"#\" = \"/\"\n"
					"\"=\" = \"#\"\n"
					"= = \"=\"\n"
					"\" \" = \"b\"\n"
					"\"[\" = \" \"\n"
					"\"\\\" = \"\\\"\n"
					"\"\"\" = \"\"\"\n");

	assert_int_equal(settings.keymap.instead['x'], 'q');
	assert_int_equal(settings.keymap.instead['y'], 's');
	assert_int_equal(settings.keymap.instead['z'], 't');
	assert_int_equal(settings.keymap.instead['#'], '/');
	assert_int_equal(settings.keymap.instead['='], '=');
	assert_int_equal(settings.keymap.instead[' '], 'b');
	assert_int_equal(settings.keymap.instead['['], ' ');
	assert_int_equal(settings.keymap.instead['\\'], '\\');
	assert_int_equal(settings.keymap.instead['"'], '"');
	assert_int_equal(take("theme = dark\n[keys]\nt = b").keymap.instead['t'], 'b');
	refuse("[keys]\nxy = \"q\"\n", "config:2:1: a key is one character: x = \"q\"");
	refuse("[keys]\n x = \"qq\"\n", "config:2:2: a key is one character: x = \"q\"");
	refuse("[keys]\nx = \"\"\n", "config:2:1: a key is one character: x = \"q\"");
	refuse("[keys]\n\xc3\xa4 = \"q\"\n", "config:2:1: a key is one character: x = \"q\"");
	refuse("[keys]\nx = \"\xc3\xa4\"\n", "config:2:1: a key is one character: x = \"q\"");
	refuse("[keys]\n\xff = q\n", "config:2:1: a key is one character: x = \"q\"");
}

CASE(sections)
{
	refuse("[key]\nx = \"q\"\n", "config:1:1: the only section is [keys]");
	refuse("theme = dark\n  [colours]\n", "config:2:3: the only section is [keys]");
	refuse("[keys", "config:1:1: the only section is [keys]");
	refuse("[keys] x = \"q\"\n", "config:1:1: the only section is [keys]");
	refuse("[", "config:1:1: the only section is [keys]");
}

CASE(mistakes_are_named_by_line_and_column)
{
	refuse("theme = \"blue\"\n", "config:1:9: theme is auto, dark, light or mono, not 'blue'");
	refuse("\n\n  marks = yes\n", "config:3:11: marks is true or false, not 'yes'");
	refuse("reverse = down", "config:1:11: reverse is true or false, not 'down'");
	refuse("columns = \"some\"", "config:1:11: columns is present or all, not 'some'");
	refuse("idle = 1", "config:1:8: idle is true or false, not '1'");
	refuse("by = \"user\"", "config:1:6: by is thread, process, tree or cgroup, not 'user'");
	refuse("sort = \"fame\"", "config:1:8: sort is a field, as of --sort, not 'fame'");
	refuse("interval = \"0\"",
	       "config:1:12: interval is 1ms at least, as 500ms or 2s, not '0'");
	refuse("interval = \"999us\"",
	       "config:1:12: interval is 1ms at least, as 500ms or 2s, not '999us'");
	refuse("interval = \"soon\"",
	       "config:1:12: interval is 1ms at least, as 500ms or 2s, not 'soon'");
	refuse("theme = \"\"", "config:1:9: theme is auto, dark, light or mono, not ''");
	refuse("colums = \"all\"", "config:1:1: unknown setting 'colums'; did you mean 'columns'?");
	refuse("background = \"all\"", "config:1:1: unknown setting 'background'");
	refuse("theme\n", "config:1:1: a line reads: key = \"value\"");
	refuse("= \"dark\"\n", "config:1:1: a line reads: key = \"value\"");
	refuse("theme =\n", "config:1:8: a line reads: key = \"value\"");
	refuse("theme =\ndark\n", "config:1:8: a line reads: key = \"value\"");
	refuse("theme = \"dark\n\"", "config:1:9: a line reads: key = \"value\"");
	refuse("theme = dark light", "config:1:9: a line reads: key = \"value\"");
	refuse("theme = \"dark\" light", "config:1:9: a line reads: key = \"value\"");
	refuse("theme = \"\033[31m\"",
	       "config:1:9: theme is auto, dark, light or mono, not '?[31m'");
	refuse("\033]0;x\a = y", "config:1:1: unknown setting '?]0;x?'");
}

CASE(the_first_mistake_is_named_and_the_rest_counts)
{
	struct settings settings;
	struct error error;

	assert_int_equal(parse(&settings,
			       "theme = dark\nmarks = maybe\ncolumns = some\nidle = false\n",
			       &error),
			 -EINVAL);
	assert_string_equal(error.text, "config:2:9: marks is true or false, not 'maybe'");
	assert_int_equal(settings.theme, THEME_DARK);
	assert_true(settings.hide_idle);
	assert_false(settings.marks);
}

CASE(long_lines_are_mistakes)
{
	char text[512] = "theme = \"";
	struct settings settings;
	struct error error;

	memset(text + 9, 'x', 400);
	strcpy(text + 409, "\"\nmarks = true\n");
	assert_int_equal(parse(&settings, text, &error), -EINVAL);
	assert_true(settings.marks);
	memset(text, 'y', 400);
	assert_int_equal(parse(&settings, text, &error), -EINVAL);
	assert_string_equal(error.text, "config:1:1: a line reads: key = \"value\"");
	/* a comment may be as long as it likes */
	*text = '#';
	assert_int_equal(parse(&settings, text, &error), 0);
}

/* A file of settings below a directory of our own. */
static char directory[] = "/tmp/dwell-settings-XXXXXX";

static void write_file(const char *bytes, size_t length)
{
	char path[128];
	FILE *file;

	assert_int_equal(settings_path(path, sizeof(path)), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static int load(struct settings *settings, struct error *error)
{
	*error->text = '\0';
	return settings_load(settings, error);
}

CASE(files)
{
	static char big[70000];
	struct settings settings;
	struct error error;

	assert_int_equal(load(&settings, &error), 0); /* there is none */
	write_file("theme = dark", 12);
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings.theme, THEME_DARK);
	write_file("", 0);
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings.theme, THEME_AUTO);
	/* not text */
	write_file("theme = dark\n\0\nmarks = true\n", 28);
	assert_int_equal(load(&settings, &error), -EINVAL);
	assert_non_null(strstr(error.text, "/dwell/config:2:1: a NUL byte: this is not text"));
	assert_int_equal(settings.theme, THEME_DARK);
	/* the longest, and one byte more, which would be cut in the middle of a setting */
	memset(big, '\n', sizeof(big));
	memcpy(big + 65536 - 12, "theme = dark", 12);
	write_file(big, 65536);
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings.theme, THEME_DARK);
	write_file(big, 65537);
	assert_int_equal(load(&settings, &error), -EINVAL);
	assert_non_null(strstr(error.text, "/dwell/config is longer than 64 KiB"));
	assert_int_equal(settings.theme, THEME_AUTO);
}

CASE(places_that_are_no_files)
{
	struct settings settings;
	struct error error;
	char path[128];

	assert_int_equal(settings_path(path, sizeof(path)), 0);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(load(&settings, &error), -EINVAL);
	assert_non_null(strstr(error.text, "cannot read "));
	assert_int_equal(rmdir(path), 0);
	/* a pipe that no one writes to does not hang */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(load(&settings, &error), 0);
	unlink(path);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	unsetenv("HOME");
	assert_int_equal(settings_path(path, sizeof(path)), -ENOENT);
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings_save(&settings, &error), -ENOENT);
	setenv("XDG_CONFIG_HOME", directory, 1);
}

static void assert_same(const struct settings *a, const struct settings *b)
{
	assert_int_equal(a->theme, b->theme);
	assert_int_equal(a->marks, b->marks);
	assert_int_equal(a->all_columns, b->all_columns);
	assert_int_equal(a->hide_idle, b->hide_idle);
	assert_ptr_equal(a->sort, b->sort);
	assert_int_equal(a->reverse, b->reverse);
	assert_int_equal(a->by_given, b->by_given);
	assert_int_equal(a->by, b->by);
	assert_int_equal(a->tree, b->tree);
	assert_int_equal(a->interval_ns, b->interval_ns);
	assert_memory_equal(&a->keymap, &b->keymap, sizeof(a->keymap));
}

CASE(what_is_saved_is_loaded)
{
	struct settings saved = {.theme = THEME_AUTO}, loaded;
	struct error error;

	assert_int_equal(settings_save(&saved, &error), 0);
	assert_int_equal(load(&loaded, &error), 0);
	assert_same(&saved, &loaded);
	for (size_t i = 0; i < field_count; i++) {
		if (!field_orders(&fields[i], ~0U))
			continue;
		saved = (struct settings){.theme = (enum theme)(i % THEMES_COUNT),
					  .marks = i & 1,
					  .all_columns = i & 2,
					  .hide_idle = i & 4,
					  .sort = &fields[i],
					  .reverse = i & 8,
					  .by_given = true,
					  .by = i % 4 == 3 ? BY_PROCESS : (enum grouping)(i % 3),
					  .tree = i % 4 == 3,
					  .interval_ns = NS_PER_MS + i};
		assert_int_equal(settings_save(&saved, &error), 0);
		assert_int_equal(load(&loaded, &error), 0);
		assert_same(&saved, &loaded);
	}
	/* every key there is, and every one it may stand for */
	for (int i = ' '; i < 127; i++)
		saved.keymap.instead[i] = (char)(' ' + (i * 7 - ' ') % 95);
	assert_int_equal(settings_save(&saved, &error), 0);
	assert_int_equal(load(&loaded, &error), 0);
	assert_same(&saved, &loaded);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *expected)
{
	char text[4096];
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

CASE(what_the_user_wrote_stays)
{
	struct settings settings;
	struct error error;
	char path[PATH_MAX];

	assert_int_equal(settings_path(path, sizeof(path)), 0);
	write_text(path,
		   "# mine\n\n  theme=dark # at night\nsort = p99\n# own keys\n[keys]\nx = \"q\"");
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings_save(&settings, &error), 0);
	assert_text(path, "# mine\n\n  theme=\"dark\" # at night\nsort = \"p99\"\n# own keys\n"
			  "[keys]\nx = \"q\"\n");
	/* what is as by default is not added; the rest goes behind the last setting */
	settings.theme = THEME_LIGHT;
	settings.sort = NULL;
	settings.marks = true;
	assert_int_equal(settings_save(&settings, &error), 0);
	assert_text(path,
		    "# mine\n\n  theme=\"light\" # at night\nsort = \"p99\"\n"
		    "marks = \"true\"  # bars of a mark for each state, not of colours: true or "
		    "false\n# own keys\n[keys]\nx = \"q\"\n");
	/* keys are all or none */
	settings.keymap.instead['y'] = 'q';
	assert_int_equal(settings_save(&settings, &error), 0);
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings.keymap.instead['x'], 'q');
	assert_int_equal(settings.keymap.instead['y'], 'q');
	/* comments only */
	write_text(path, "# nothing yet\n");
	settings = (struct settings){.theme = THEME_DARK};
	assert_int_equal(settings_save(&settings, &error), 0);
	assert_int_equal(load(&settings, &error), 0);
	assert_int_equal(settings.theme, THEME_DARK);
	unlink(path);
}

CASE(a_direction_is_written_where_it_is_the_other_one)
{
	struct settings settings = {.sort = field_find("lock")};
	struct error error;
	char path[PATH_MAX], text[4096];
	FILE *file;

	assert_int_equal(settings_path(path, sizeof(path)), 0);
	unlink(path);
	assert_int_equal(settings_save(&settings, &error), 0);
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_non_null(strstr(text, "sort = \"lock\""));
	assert_null(strstr(text, "reverse"));
	/* a line that is there follows it both ways */
	write_text(path, "sort = \"lock\"\n");
	settings.reverse = true;
	assert_int_equal(settings_save(&settings, &error), 0);
	assert_text(path, "sort = \"lock\"\nreverse = \"true\"  # the order the other way round: "
			  "true or false\n");
	settings.reverse = false;
	assert_int_equal(settings_save(&settings, &error), 0);
	assert_text(path, "sort = \"lock\"\nreverse = \"false\"  # the order the other way round: "
			  "true or false\n");
	unlink(path);
}

CASE(any_bytes_are_read)
{
	static const char words[][12] = {"theme", "=", "\"", "\n",   "[keys]", "#",
					 "x",	  " ", "\t", "\xff", "sort",   "interval"};
	unsigned int random = 1;

	for (int i = 0; i < 20000; i++) {
		char text[256] = "";
		struct settings settings;
		struct error error;

		for (int at = 0; at < i % 16; at++) {
			random = random * 1103515245 + 12345;
			strcat(text, words[(random >> 16) % 12]);
		}
		if (parse(&settings, text, &error) < 0)
			assert_non_null(strstr(error.text, "config:"));
		assert_in_range(settings.theme, 0, THEMES_COUNT - 1);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(every_setting),
		cmocka_unit_test(nothing_is_the_default),
		cmocka_unit_test(quotes_comments_and_line_ends),
		cmocka_unit_test(keys),
		cmocka_unit_test(sections),
		cmocka_unit_test(mistakes_are_named_by_line_and_column),
		cmocka_unit_test(the_first_mistake_is_named_and_the_rest_counts),
		cmocka_unit_test(long_lines_are_mistakes),
		cmocka_unit_test(files),
		cmocka_unit_test(places_that_are_no_files),
		cmocka_unit_test(what_is_saved_is_loaded),
		cmocka_unit_test(what_the_user_wrote_stays),
		cmocka_unit_test(a_direction_is_written_where_it_is_the_other_one),
		cmocka_unit_test(any_bytes_are_read),
	};
	char path[64];
	int result;

	if (!mkdtemp(directory))
		return 1;
	setenv("XDG_CONFIG_HOME", directory, 1);
	snprintf(path, sizeof(path), "%s/dwell", directory);
	if (mkdir(path, 0700) < 0)
		return 1;
	result = RUN(cases);
	snprintf(path, sizeof(path), "%s/dwell/config", directory);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(directory);
	return result;
}
