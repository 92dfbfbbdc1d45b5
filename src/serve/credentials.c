// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX   (1 << 20)
#define TOKEN_LEAST 16
#define TOKEN_MOST  512

static int read_all(const char *path, char **ret_text, struct stat *ret_status, struct error *error)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	cleanup_free char *text = NULL;
	ssize_t got;

	if (fd < 0 || fstat(fd, ret_status) < 0)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(ret_status->st_mode) || ret_status->st_size > BYTES_MAX)
		return error_set(error, EINVAL, "cannot read %s: it is not a small plain file",
				 path);
	text = calloc(1, BYTES_MAX + 1);
	if (!text)
		return error_set(error, ENOMEM, "out of memory");
	got = read(fd, text, BYTES_MAX);
	if (got < 0)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	*ret_text = text;
	text = NULL;
	return 0;
}

int credentials_read_pem(const char *path, char **ret_text, struct error *error)
{
	struct stat status;
	int result = read_all(path, ret_text, &status, error);

	if (result < 0 || strstr(*ret_text, "-----BEGIN "))
		return result;
	free(*ret_text);
	*ret_text = NULL;
	return error_set(error, EINVAL, "%s is not in PEM: it has no line -----BEGIN ...-----",
			 path);
}

static const char *fault_of(const char *token, const struct stat *status)
{
	size_t length = strlen(token);

	if (status->st_mode & (S_IRWXG | S_IRWXO))
		return "others can read it; chmod 600 makes it its owner's alone";
	if (length < TOKEN_LEAST)
		return "a token has 16 characters at least, in one line; `openssl rand -hex 24` "
		       "makes one";
	if (length > TOKEN_MOST)
		return "a token has 512 characters at most";
	for (; *token; token++)
		if (*token <= ' ' || *token > '~')
			return "a token is one line of printable characters without spaces";
	return NULL;
}

int credentials_read_token(const char *path, char **ret_token, struct error *error)
{
	struct stat status;
	const char *fault;
	size_t length;
	int result = read_all(path, ret_token, &status, error);

	if (result < 0)
		return result;
	length = strlen(*ret_token);
	while (length && ((*ret_token)[length - 1] == '\n' || (*ret_token)[length - 1] == '\r'))
		(*ret_token)[--length] = '\0';
	fault = fault_of(*ret_token, &status);
	if (!fault)
		return 0;
	free(*ret_token);
	*ret_token = NULL;
	return error_set(error, EINVAL, "%s: %s", path, fault);
}
