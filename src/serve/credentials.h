/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with secrets: read once, at the start, while there are rights to. */
#ifndef DWELL_SERVE_CREDENTIALS_H
#define DWELL_SERVE_CREDENTIALS_H

#include "base/error.h"

/* The whole file, in PEM; the caller frees it. */
int credentials_read_pem(const char *path, char **ret_text, struct error *error) must_check;

/*
 * The first line, which is to be the whole file: 16 printable characters at least. A file that
 * others can read is refused.
 */
int credentials_read_token(const char *path, char **ret_token, struct error *error) must_check;

#endif
