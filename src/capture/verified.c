// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/verified.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "version.h"

/* The directory of the path, if it is missing. */
static int make_directory(const char *path)
{
	char directory[PATH_MAX];
	int length = snprintf(directory, sizeof(directory), "%s", path);
	char *slash = length < (int)sizeof(directory) ? strrchr(directory, '/') : NULL;

	if (!slash)
		return -ENAMETOOLONG;
	*slash = '\0';
	return mkdir(directory, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int verified_write(const char *path, const char *line, size_t length)
{
	struct error error = {""};
	int result = make_directory(path);

	return result < 0 ? result : file_replace(path, line, length, &error);
}

static void take_text(char *into, size_t room, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(into, room, "%s", text ? text : "");
}

int verified_read(struct verified *ret_verified, const char *path)
{
	/* json_loadfd() reads byte by byte */
	cleanup_file FILE *file =
		file_reading(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	struct stat status;
	json_t *object;
	const json_t *worst;

	if (!file || fstat(fileno(file), &status) < 0)
		return -errno;
	object = S_ISREG(status.st_mode) ? json_loadf(file, 0, NULL) : NULL;
	if (!json_is_object(object)) {
		json_decref(object);
		return -EBADMSG;
	}
	*ret_verified = (struct verified){.at = status.st_mtime};
	take_text(ret_verified->dwell, sizeof(ret_verified->dwell), object, "dwell");
	take_text(ret_verified->kernel, sizeof(ret_verified->kernel), object, "kernel");
	take_text(ret_verified->verdict, sizeof(ret_verified->verdict), object, "verdict");
	ret_verified->patterns = (uint64_t)json_integer_value(json_object_get(object, "passed"));
	worst = json_object_get(object, "worst_error_percent");
	ret_verified->worst_percent = json_is_number(worst) ? json_number_value(worst) : NAN;
	json_decref(object);
	return *ret_verified->verdict ? 0 : -EBADMSG;
}

bool verified_is_of_here(const struct verified *verified)
{
	struct utsname name;

	return uname(&name) >= 0 && !strcmp(name.release, verified->kernel) &&
	       !strcmp(DWELL_VERSION, verified->dwell);
}
