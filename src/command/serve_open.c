// SPDX-License-Identifier: GPL-2.0-or-later
/* The files and sockets that the options of `dwell serve` name. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "command/serve_options_parts.h"
#include "serve/credentials.h"
#include "serve/listen.h"

static int add_listener(struct serve_options *options, int fd, struct error *error)
{
	struct web_options *web = &options->server.web;
	char address[128];
	bool is_local = listen_is_local(fd);

	if (web->listener_count == WEB_LISTENERS)
		return error_set(error, EINVAL, "at most %d sockets", WEB_LISTENERS);
	web->listeners[web->listener_count++] = fd;
	web->local_names_only = web->local_names_only || is_local;
	if (is_local || options->server.insecure || (web->certificate && web->token))
		return 0;
	listen_format(fd, address, sizeof(address));
	return error_set(error, EINVAL,
			 "other machines could connect to %s: it needs --tls-cert, --tls-key and "
			 "--token-file, or --insecure",
			 address);
}

static int open_addresses(struct serve_options *options, struct error *error)
{
	int result = 0;

	if (!options->address_count)
		options->addresses[options->address_count++] = SERVE_ADDRESS;
	for (size_t i = 0; result >= 0 && i < options->address_count; i++) {
		int fd = -1;

		result = listen_open(options->addresses[i], &fd, error);
		if (result >= 0)
			result = add_listener(options, fd, error);
	}
	return result;
}

int serve_options_open(struct serve_options *options, struct error *error)
{
	struct web_options *web = &options->server.web;
	int first, result = 0;
	size_t inherited;

	if (options->certificate)
		result = credentials_read_pem(options->certificate, &web->certificate, error);
	if (result >= 0 && options->key)
		result = credentials_read_pem(options->key, &web->key, error);
	if (result >= 0 && options->token_file)
		result = credentials_read_token(options->token_file, &web->token, error);
	inherited = listen_inherited(&first);
	for (size_t i = 0; result >= 0 && i < inherited; i++)
		result = add_listener(options, first + (int)i, error);
	if (result >= 0 && (!inherited || options->address_count))
		result = open_addresses(options, error);
	/* some answer with any name, where any may be right */
	for (size_t i = 0; i < web->listener_count; i++)
		web->local_names_only = web->local_names_only && listen_is_local(web->listeners[i]);
	return result;
}

void serve_options_release(struct serve_options *options)
{
	struct web_options *web = &options->server.web;

	for (size_t i = 0; i < web->listener_count; i++)
		close(web->listeners[i]);
	free(web->certificate);
	free(web->key);
	free(web->token);
	push_options_release(&options->server.push);
	triggers_release(&options->server.triggers);
	targets_release(&options->watch.targets);
}
