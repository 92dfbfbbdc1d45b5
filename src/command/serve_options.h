/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of `dwell serve`. */
#ifndef DWELL_COMMAND_SERVE_OPTIONS_H
#define DWELL_COMMAND_SERVE_OPTIONS_H

#include "command/watch_options.h"
#include "serve/server.h"

struct serve_options {
	struct watch_options watch;
	struct server_options server;
	const char *addresses[WEB_LISTENERS];
	size_t address_count;
	bool has_by;				    /* --by was given */
	const char *certificate, *key, *token_file; /* files */
};

extern const struct command_line serve_line;

/* An enum exit_code. */
int serve_options_parse(struct serve_options *options, int argc, char **argv);

/* Reads the files and opens the sockets. */
int serve_options_open(struct serve_options *options, struct error *error) must_check;
void serve_options_release(struct serve_options *options);

#endif
