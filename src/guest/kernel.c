// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strverscmp */
#include "guest/kernel.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "guest/board.h"

/* The best kernel so far. */
struct search {
	bool sched_ext;
	char path[PATH_MAX]; /* "": none */
	char version[NAME_MAX + 1];
	time_t made_s;
	struct error passed_over; /* why the last one was not taken */
};

static bool says_sched_ext(const char *config)
{
	cleanup_file FILE *file = fopen(config, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) >= 0)
		if (!strcmp(line, "CONFIG_SCHED_CLASS_EXT=y\n"))
			return true;
	return false;
}

/* Copies that a package, or `make install`, has put aside. */
static bool is_put_aside(const char *version)
{
	static const char *const ends[] = {".old",	 ".bak",      ".dpkg-old", ".dpkg-new",
					   ".dpkg-dist", ".dpkg-tmp", "~"};
	size_t length = strlen(version);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (length > strlen(ends[i]) &&
		    !strcmp(version + length - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

/* strverscmp(), but that 6.13.0-rc7 comes before 6.13.0. */
static int compare_versions(const char *a, const char *b)
{
	const char *rc_a = strstr(a, "-rc"), *rc_b = strstr(b, "-rc");
	size_t length_a = rc_a ? (size_t)(rc_a - a) : strlen(a);
	size_t length_b = rc_b ? (size_t)(rc_b - b) : strlen(b);

	if (!rc_a != !rc_b && length_a == length_b && !strncmp(a, b, length_a))
		return rc_a ? -1 : 1;
	return strverscmp(a, b);
}

/* Cached builds of one version differ in what was asked for: the later one is meant. */
static bool is_newer(const struct search *search, const char *version, time_t made_s)
{
	int order = compare_versions(version, search->version);

	return !*search->path || order > 0 || (!order && made_s > search->made_s);
}

static void consider(struct search *search, const char *path, const char *config,
		     const char *version)
{
	const struct board *board;
	struct stat st;

	if (board_of_kernel(path, &board, &search->passed_over) < 0 || stat(path, &st) < 0)
		return;
	if (board != board_here()) {
		(void)error_set(&search->passed_over, EINVAL, "%s is for %s", path, board->name);
		return;
	}
	if (search->sched_ext && !says_sched_ext(config)) {
		(void)error_set(&search->passed_over, ENOTSUP,
				"%s: there is no CONFIG_SCHED_CLASS_EXT=y in %s", path, config);
		return;
	}
	if (!is_newer(search, version, st.st_mtime))
		return;
	snprintf(search->path, sizeof(search->path), "%s", path);
	snprintf(search->version, sizeof(search->version), "%s", version);
	search->made_s = st.st_mtime;
}

/* A name without a version, as of a link to one of the others, is the last choice. */
static void search_boot(struct search *search, const char *boot)
{
	cleanup_dir DIR *directory = opendir(boot);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		const char *name = entry->d_name;
		char path[PATH_MAX], config[PATH_MAX];

		if (strncmp(name, "vmlinuz", 7) != 0)
			continue;
		name += name[7] == '-' ? 8 : strlen(name);
		if (is_put_aside(name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", boot, entry->d_name);
		snprintf(config, sizeof(config), "%s/config-%s", boot, name);
		consider(search, path, config, name);
	}
}

/* VERSION-HASH/bzImage, and its config. Builds that go on have names with a dot. */
static void search_cache(struct search *search, const char *cache)
{
	cleanup_dir DIR *directory = opendir(cache);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		const char *dash = strrchr(entry->d_name, '-');
		char path[PATH_MAX], config[PATH_MAX], version[NAME_MAX + 1];

		if (*entry->d_name == '.' || !dash)
			continue;
		snprintf(path, sizeof(path), "%s/%s/bzImage", cache, entry->d_name);
		if (access(path, F_OK) < 0)
			continue;
		snprintf(config, sizeof(config), "%s/%s/config", cache, entry->d_name);
		snprintf(version, sizeof(version), "%.*s", (int)(dash - entry->d_name),
			 entry->d_name);
		consider(search, path, config, version);
	}
}

int kernel_find_in(const char *boot, const char *cache, bool sched_ext, char ret_path[PATH_MAX],
		   struct error *error)
{
	struct search search = {.sched_ext = sched_ext};

	search_boot(&search, boot);
	if (!*search.path && *cache)
		search_cache(&search, cache);
	snprintf(ret_path, PATH_MAX, "%s", search.path);
	if (*search.path)
		return 0;
	/* the reason comes last: it may be cut */
	return error_set(
		error, ENOENT,
		"there is no kernel%s, neither in %s nor of make guest-kernel: %s%s%smake one "
		"(make guest-kernel in dwell's sources), or name one: --kernel FILE%s%s",
		sched_ext ? " with sched_ext" : " that can boot", boot,
		sched_ext ? "" : "install one (", sched_ext ? "" : board_here()->kernel_package,
		sched_ext ? "" : "), ", *search.passed_over.text ? "; " : "",
		search.passed_over.text);
}

/* Of the XDG base directories relative ones are to be ignored. */
void kernel_cache(char ret_path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	*ret_path = '\0';
	if (cache && *cache == '/')
		snprintf(ret_path, PATH_MAX, "%s/dwell/kernels", cache);
	else if (home && *home == '/')
		snprintf(ret_path, PATH_MAX, "%s/.cache/dwell/kernels", home);
}

int kernel_find(bool sched_ext, char ret_path[PATH_MAX], struct error *error)
{
	char cache[PATH_MAX];

	kernel_cache(cache);
	return kernel_find_in("/boot", cache, sched_ext, ret_path, error);
}
