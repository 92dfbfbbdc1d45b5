// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/load_reports.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "results/load_report.h"

/* Skips blanks; false at the end. */
static bool is_more(FILE *file)
{
	int next = getc(file);

	while (next != EOF && isspace(next))
		next = getc(file);
	if (next == EOF)
		return false;
	ungetc(next, file);
	return true;
}

static int read_lines(struct load_report *report, FILE *file, struct error *error)
{
	int result = 0;

	while (result >= 0 && is_more(file)) {
		long before = ftell(file);
		json_error_t why;
		json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &why);

		if (!line)
			return error_set(error, EBADMSG, "damaged: at byte %ld: %s",
					 (before > 0 ? before : 0) + why.position, why.text);
		result = load_report_take(report, line, error);
		json_decref(line);
	}
	if (result < 0)
		return result;
	if (ferror(file))
		return error_set(error, EIO, "cannot be read to its end");
	if (load_report_is_open(report))
		return error_set(error, EBADMSG,
				 "damaged: it ends before the line of the run (\"load\")");
	return 0;
}

static int read_file(struct load_side *side, const char *path, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	struct load_report report = {.side = side};
	int result;

	if (!file)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	if (is_more(file))
		result = error_wrap(error, read_lines(&report, file, error), "%s", path);
	else
		result = error_set(error, EBADMSG, "%s: %s", path,
				   ferror(file) ? strerror(errno) : "damaged: it is empty");
	load_report_release(&report);
	return result;
}

static int visible(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

static bool is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* One of many: what is no directory is not looked at. */
static int read_entry(struct load_side *side, const char *parent, const char *name,
		      struct error *error)
{
	char directory[PATH_MAX], path[PATH_MAX];

	if ((size_t)snprintf(directory, sizeof(directory), "%s/%s", parent, name) >=
		    sizeof(directory) ||
	    (size_t)snprintf(path, sizeof(path), "%s/" LOAD_REPORT_NAME, directory) >= sizeof(path))
		return error_set(error, ENAMETOOLONG, "%s/%s: the name is too long", parent, name);
	if (!is_directory(directory))
		return 0;
	if (access(path, F_OK) < 0 && errno == ENOENT) {
		side->left_out.unwritten++;
		return 0;
	}
	return read_file(side, path, error);
}

static int read_directory(struct load_side *side, const char *path, struct error *error)
{
	struct dirent **entries;
	int result = 0, count = scandir(path, &entries, visible, alphasort);

	if (count < 0)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (result >= 0)
			result = read_entry(side, path, entries[i]->d_name, error);
		free(entries[i]);
	}
	free(entries);
	return result;
}

static int check_side(const struct load_side *side, const char *path, struct error *error)
{
	const struct load_left_out *left_out = &side->left_out;

	if (side->runs || side->only)
		return 0;
	if (!left_out->unended && !left_out->lacking)
		return error_set(error, ENOENT,
				 "%s has no report of `dwell load` (" LOAD_REPORT_NAME
				 " in it, or in its directories)",
				 path);
	return error_set(error, EINVAL,
			 "%s has no run to compare: %u did not come to the end, %u lacked workers",
			 path, left_out->unended, left_out->lacking);
}

int load_reports_read(struct load_side *side, const char *path, struct error *error)
{
	char report[PATH_MAX];
	int result;

	if ((size_t)snprintf(report, sizeof(report), "%s/" LOAD_REPORT_NAME, path) >=
	    sizeof(report))
		return error_set(error, ENAMETOOLONG, "%s: the name is too long", path);
	if (!is_directory(path))
		result = read_file(side, path, error);
	else if (access(report, F_OK) < 0 && errno == ENOENT)
		result = read_directory(side, path, error);
	else
		result = read_file(side, report, error);
	return result < 0 ? result : check_side(side, path, error);
}
