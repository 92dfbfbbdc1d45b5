// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "serve/push.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "serve/credentials.h"

#define URL_MOST 1000

const struct push_protocol_info push_protocols[PUSH_PROTOCOLS] = {
	[PUSH_REMOTE_WRITE] = {"remote-write", "/api/v1/write", "application/x-protobuf",
			       PUSH_SNAPPY, "X-Prometheus-Remote-Write-Version: 0.1.0"},
	[PUSH_VICTORIAMETRICS] = {"victoriametrics", "/api/v1/import/prometheus", "text/plain",
				  PUSH_GZIP, NULL},
	[PUSH_OTLP] = {"otlp", "/v1/metrics", "application/x-protobuf", PUSH_GZIP, NULL},
	[PUSH_PYROSCOPE] = {"pyroscope", "/ingest", "multipart/form-data; boundary=" PUSH_BOUNDARY,
			    PUSH_PLAIN, NULL},
	[PUSH_CLICKHOUSE] = {"clickhouse", "/", "application/x-ndjson", PUSH_GZIP, NULL},
};

static int find_protocol(const char *given, enum push_protocol *ret_protocol, const char **ret_url)
{
	size_t length = strcspn(given, "=");

	for (int i = 0; given[length] && i < PUSH_PROTOCOLS; i++)
		if (strlen(push_protocols[i].key) == length &&
		    !strncmp(push_protocols[i].key, given, length)) {
			*ret_protocol = (enum push_protocol)i;
			*ret_url = given + length + 1;
			return 0;
		}
	return -EINVAL;
}

/* The parts of a URL, in the text. */
struct url {
	const char *user; /* NULL: none */
	size_t user_length;
	const char *host; /* with the port */
	size_t host_length;
	const char *rest; /* path and query */
};

static const char *host_of(const char *url)
{
	if (!strncasecmp(url, "http://", 7))
		return url + 7;
	return strncasecmp(url, "https://", 8) ? NULL : url + 8;
}

static const char *port_fault(const char *port, size_t length)
{
	unsigned int number = 0;

	for (size_t i = 0; i < length; i++) {
		if (port[i] < '0' || port[i] > '9' || i > 4)
			return "its port is not a number from 1 to 65535";
		number = 10 * number + (unsigned int)(port[i] - '0');
	}
	return number && number <= 65535 ? NULL : "its port is not a number from 1 to 65535";
}

static const char *split(struct url *url, const char *text)
{
	const char *at, *port;
	size_t length;

	*url = (struct url){.host = host_of(text)};
	if (strlen(text) > URL_MOST)
		return "it has more than 1,000 characters";
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\\\"<>^`{|}", *c))
			return "it has characters that a URL has only as %XX";
	if (!url->host)
		return "it does not begin with http:// or https://";
	length = strcspn(url->host, "/?#");
	url->rest = url->host + length;
	if (strchr(url->rest, '#'))
		return "what is behind # is not sent to a server";
	at = memrchr(url->host, '@', length);
	if (at) {
		url->user = url->host;
		url->user_length = (size_t)(at - url->host);
		url->host = at + 1;
		length -= url->user_length + 1;
	}
	if (url->user && memchr(url->user, ':', url->user_length))
		return "all can read a command line: --push-token-file has the password";
	if (strstr(url->rest, "password="))
		return "all can read a command line: USER@ before the host, and --push-token-file "
		       "with the password";
	url->host_length = length;
	port = memrchr(url->host, ':', length);
	if (port && !memchr(port, ']', length - (size_t)(port - url->host))) {
		const char *fault = port_fault(port + 1, length - (size_t)(port + 1 - url->host));

		if (fault)
			return fault;
		length = (size_t)(port - url->host);
	}
	return length ? NULL : "it has no host";
}

/* With a path, and what it is to be asked. */
static int whole_url(struct push_engine *engine, const struct url *url, const char *text)
{
	bool has_path = url->rest[0] == '/' && url->rest[1] && url->rest[1] != '?';
	const char *path = has_path ? "" : push_protocols[engine->protocol].path;
	const char *rest = has_path || *url->rest != '/' ? url->rest : url->rest + 1;
	const char *insert = "";

	/* into its table, unless the query says otherwise */
	if (engine->protocol == PUSH_CLICKHOUSE && !strstr(rest, "query="))
		insert = "input_format_skip_unknown_fields=1&query=INSERT%20INTO%20dwell.samples"
			 "%20FORMAT%20JSONEachRow";
	return asprintf(&engine->url, "%.*s%s%s%s%s", (int)(url->host + url->host_length - text),
			text, path, rest,
			!*insert	    ? ""
			: strchr(rest, '?') ? "&"
					    : "?",
			insert);
}

int push_options_add(struct push_options *options, const char *given, struct error *error)
{
	struct push_engine *engine = &options->engines[options->count];
	const char *text, *fault;
	struct url url;

	if (options->count == PUSH_ENGINES)
		return error_set(error, EINVAL, "--push: at most %d engines", PUSH_ENGINES);
	*engine = (struct push_engine){.given = given};
	if (find_protocol(given, &engine->protocol, &text) < 0)
		return error_set(error, EINVAL,
				 "--push: %s, as in otlp=http://host:4318; engines are "
				 "remote-write, victoriametrics, otlp, pyroscope and clickhouse",
				 strchr(given, '=') ? "unknown engine" : "ENGINE=URL is missing");
	fault = split(&url, text);
	/* what may be a password is not repeated */
	if (fault)
		return error_set(error, EINVAL, "--push: the URL for %s cannot be used: %s",
				 push_protocols[engine->protocol].key, fault);
	for (size_t i = 0; i < options->count; i++)
		if (!strcmp(options->engines[i].given, given))
			return error_set(error, EINVAL, "--push %s is there twice", given);
	engine->has_user = url.user != NULL;
	if (whole_url(engine, &url, text) < 0) {
		engine->url = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	options->count++;
	return 0;
}

static bool is_loopback(const char *url)
{
	const char *host = host_of(url), *at;
	size_t length = strcspn(host, "/?");

	at = memrchr(host, '@', length);
	host = at ? at + 1 : host;
	length = strcspn(host, "/?:");
	return !strncmp(host, "[::1]", 5) || (length == 9 && !strncasecmp(host, "localhost", 9)) ||
	       (!strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length);
}

int push_options_read(struct push_options *options, bool is_insecure, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < options->count; i++) {
		struct push_engine *engine = &options->engines[i];

		if (engine->token_file)
			result = credentials_read_token(engine->token_file, &engine->token, error);
		if (result >= 0 && engine->ca_file)
			result = credentials_read_pem(engine->ca_file, &engine->ca, error);
		if (result >= 0 && engine->token && !is_insecure &&
		    !strncasecmp(engine->url, "http:", 5) && !is_loopback(engine->url))
			return error_set(error, EINVAL,
					 "--push %s: others in the network could read the token; "
					 "it needs https://, or --insecure",
					 engine->given);
	}
	return result;
}

void push_options_release(struct push_options *options)
{
	for (size_t i = 0; i < options->count; i++) {
		free(options->engines[i].url);
		free(options->engines[i].token);
		free(options->engines[i].ca);
	}
	options->count = 0;
}
