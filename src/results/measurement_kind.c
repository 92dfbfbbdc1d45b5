// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/measurement_kind.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "results/thread_side.h"
#include "session/replay.h"

const char *const measurement_kinds[] = {
	[MEASURED_BLOCKED] = "blocked",
	[MEASURED_LOAD] = "load",
	[MEASURED_THREADS] = "record",
};

static int kind_of_recording(const char *path, enum measurement_kind *ret_kind, struct error *error)
{
	bool is_of_threads;
	int result = thread_side_is(path, &is_of_threads, error);

	*ret_kind = is_of_threads ? MEASURED_THREADS : MEASURED_BLOCKED;
	return result;
}

/* By the first line; what is no JSON may be a recording. */
static int kind_of_file(FILE *file, const char *path, enum measurement_kind *ret_kind,
			struct error *error)
{
	int first = getc(file);
	json_error_t why;
	json_t *line;
	const char *type;

	*ret_kind = MEASURED_BLOCKED;
	if (first != '{')
		return kind_of_recording(path, ret_kind, error);
	ungetc(first, file);
	line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &why);
	if (!line)
		return error_set(error, EBADMSG, "%s: damaged: at byte %d: %s", path, why.position,
				 why.text);
	type = json_string_value(json_object_get(line, "type"));
	if (type && (!strcmp(type, "worker") || !strcmp(type, "load")))
		*ret_kind = MEASURED_LOAD;
	json_decref(line);
	return 0;
}

static int kind_of(const char *path, enum measurement_kind *ret_kind, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	struct stat status;

	*ret_kind = MEASURED_ANY;
	if (replay_is_rotation(path))
		return kind_of_recording(path, ret_kind, error);
	if (!file || fstat(fileno(file), &status) < 0)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	/* what else is in directories is of `dwell load` */
	if (S_ISDIR(status.st_mode))
		*ret_kind = MEASURED_LOAD;
	return S_ISREG(status.st_mode) ? kind_of_file(file, path, ret_kind, error) : 0;
}

int measurement_kinds_of(const char *const paths[2], enum measurement_kind kinds[2],
			 struct error *error)
{
	int result = kind_of(paths[0], &kinds[0], error);

	if (result >= 0)
		result = kind_of(paths[1], &kinds[1], error);
	for (int i = 0; result >= 0 && i < 2; i++)
		if (kinds[i] == MEASURED_ANY)
			kinds[i] = kinds[!i] == MEASURED_ANY ? MEASURED_BLOCKED : kinds[!i];
	return result;
}
