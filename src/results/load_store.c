// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/load_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/print.h"
#include "view/load.h"

#define MOST_OF_A_SECOND 1000

static int path_of(char into[PATH_MAX], const struct load_store *store, const char *name,
		   struct error *error)
{
	return (size_t)snprintf(into, PATH_MAX, "%s/%s", store->directory, name) < PATH_MAX
		       ? 0
		       : error_set(error, ENAMETOOLONG, "%s: the name is too long",
				   store->directory);
}

static int make_directory(struct load_store *store, const char *parent, const char *name,
			  struct error *error)
{
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32], number[16] = "";

	if (mkdir(parent, 0777) < 0 && errno != EEXIST)
		return error_set(error, errno, "cannot make %s: %s", parent, strerror(errno));
	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	for (int i = 2; i < MOST_OF_A_SECOND; i++) {
		if ((size_t)snprintf(store->directory, sizeof(store->directory), "%s/%s-%s%s",
				     parent, name, stamp, number) >= sizeof(store->directory))
			break;
		if (!mkdir(store->directory, 0777))
			return 0;
		if (errno != EEXIST)
			break;
		snprintf(number, sizeof(number), "-%d", i);
	}
	error_set(error, errno, "cannot make %s: %s", store->directory, strerror(errno));
	*store->directory = '\0';
	return -EIO;
}

int load_store_open(struct load_store *store, const char *directory, const struct spec *spec,
		    struct error *error)
{
	char path[PATH_MAX];
	int result = make_directory(store, directory, spec->name, error);

	if (result < 0 || !spec->source)
		return result;
	result = path_of(path, store, "spec.yaml", error);
	if (result >= 0)
		result = file_replace(path, spec->source, strlen(spec->source), error);
	if (result < 0)
		load_store_close(store);
	return result;
}

/* What it and the kernel said before its end. */
static int write_dump(const struct load_store *store, const struct scheduler *scheduler,
		      struct error *error)
{
	char path[PATH_MAX];
	int result = path_of(path, store, "scheduler.log", error);

	return result < 0 ? result : scheduler_save(scheduler, path, error);
}

static int write_evidence(const struct load_store *store, const struct run *run,
			  struct error *error)
{
	char path[PATH_MAX];
	int result = path_of(path, store, "stall.log", error);

	return result < 0 ? result
			  : file_replace(path, run->evidence.buffer, strlen(run->evidence.buffer),
					 error);
}

int load_store_write(struct load_store *store, const struct outcome *outcome, struct error *error)
{
	char path[PATH_MAX];
	struct output output;
	int result;

	if (!*store->directory)
		return 0;
	result = path_of(path, store, "report.json", error);
	if (result < 0)
		return result;
	if (output_init(&output, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	load_json(&output, outcome, false);
	if (outcome->run->scheduler.state == SCHEDULER_DIED)
		result = write_dump(store, &outcome->run->scheduler, error);
	if (result >= 0 && outcome->run->evidence_count)
		result = write_evidence(store, outcome->run, error);
	/* last: with it the run is kept */
	if (result >= 0)
		result = output.error ? error_set(error, output.error, "out of memory")
				      : file_replace(path, output.buffer, output.used, error);
	output_release(&output);
	if (result >= 0)
		print_text(stderr, "dwell load: kept in %s\n", store->directory);
	return result;
}

void load_store_close(struct load_store *store)
{
	char path[PATH_MAX];

	if (!*store->directory)
		return;
	if (path_of(path, store, "report.json", NULL) >= 0 && access(path, F_OK) < 0) {
		if (path_of(path, store, "scheduler.log", NULL) >= 0)
			unlink(path);
		if (path_of(path, store, "stall.log", NULL) >= 0)
			unlink(path);
		if (path_of(path, store, LOAD_STORE_TRACE, NULL) >= 0)
			unlink(path);
		if (path_of(path, store, "spec.yaml", NULL) >= 0)
			unlink(path);
		rmdir(store->directory);
	}
	*store->directory = '\0';
}
