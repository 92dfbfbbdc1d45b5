// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a request: who may ask, what for, and which format. The first line is method and
 * target, each further one a header. The library that speaks HTTP is a stand-in that leaves out
 * nothing of what it may be given; the whole input is credentials, too, in base64.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "model/state.h"
#include "serve/web_accept.h"
#include "serve/web_access.h"
#include "serve/web_route.h"

#define TOKEN	      "0123456789abcdef"
#define VALUES	      64
#define SECONDS_MAX   300
#define FULL	      1000 /* quality */
#define HALF	      500
#define HALF_OF_GZIP  "gzip;q=0.5,"
#define ROOM_FOR_SURE 1000 /* of credentials */

struct MHD_Connection {
	struct value {
		enum MHD_ValueKind kind;
		const char *name, *value;
	} values[VALUES];
	size_t count;
};

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
					const char *key)
{
	for (size_t i = 0; i < connection->count; i++)
		if (connection->values[i].kind == kind &&
		    !strcasecmp(connection->values[i].name, key))
			return connection->values[i].value;
	return NULL;
}

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			      MHD_KeyValueIterator iterator, void *data)
{
	int count = 0;

	for (size_t i = 0; i < connection->count; i++) {
		const struct value *value = &connection->values[i];

		if (value->kind != kind)
			continue;
		count++;
		if (iterator(data, kind, value->name, value->value) != MHD_YES)
			break;
	}
	return count;
}

static void add(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name,
		const char *value)
{
	if (connection->count < VALUES)
		connection->values[connection->count++] = (struct value){kind, name, value};
}

static int hex(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) % 16 : -1;
}

/* In place. */
static char *unescape(char *text)
{
	char *into = text;

	for (const char *at = text; at && *at; at++) {
		if (*at == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
			*into++ = (char)(hex(at[1]) * 16 + hex(at[2]));
			at += 2;
		} else {
			*into++ = (char)(*at == '+' ? ' ' : *at);
		}
	}
	if (text)
		*into = '\0';
	return text;
}

static void take_query(struct MHD_Connection *connection, char *query)
{
	while (query && *query) {
		char *name = strsep(&query, "&"), *value = name;

		strsep(&value, "=");
		add(connection, MHD_GET_ARGUMENT_KIND, unescape(name), unescape(value));
	}
}

/* Cuts the text up. The method; *ret_target has no query. */
static const char *take_request(struct MHD_Connection *connection, char *text, char **ret_target)
{
	char *line = strsep(&text, "\n"), *method = strsep(&line, " "), *query;

	*ret_target = strsep(&line, " ");
	query = *ret_target;
	strsep(&query, "?");
	take_query(connection, query);
	while (text) {
		char *value = strsep(&text, "\n"), *name = strsep(&value, ":");

		if (value)
			add(connection, MHD_HEADER_KIND, name, value + strspn(value, " \t"));
	}
	return method;
}

/* A host that another machine's name server cannot lead here. */
static bool is_of_this_machine(const char *host)
{
	char *name = strdup(host), *port = name;
	struct in6_addr address;
	bool is;

	if (*name == '[') {
		strsep(&port, "]");
		is = port && inet_pton(AF_INET6, name + 1, &address) == 1 &&
		     (!*port || *port == ':');
		if (port && *port)
			port++;
	} else {
		strsep(&port, ":");
		is = !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &address) == 1;
	}
	is = is && (!port || strspn(port, "0123456789") == strlen(port));
	free(name);
	return is;
}

static void check_names(struct MHD_Connection *connection)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	const struct web_options all = {0}, local = {.local_names_only = true};
	unsigned int refused = web_access_refuses(connection, &local, false);
	bool is_foreign =
		web_access_refuses(connection, &all, false) || (host && !is_of_this_machine(host));

	if (refused != (is_foreign ? MHD_HTTP_FORBIDDEN : 0) ||
	    refused != web_access_refuses(connection, &local, true))
		abort();
}

/* RFC 4648, section 4. */
static char *encode(const uint8_t *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc(sizeof("Basic ") + size / 3 * 4 + 4), *at = text;

	at += sprintf(at, "Basic ");
	for (size_t i = 0; i < size; i += 3) {
		size_t rest = size - i < 3 ? size - i : 3;
		uint32_t bits = 0;

		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < rest ? data[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*at++ = (char)(j <= rest ? digits[bits >> (18 - 6 * j) & 63] : '=');
	}
	*at = '\0';
	return text;
}

/* Their password is the token. */
static bool has_token(const uint8_t *credentials, size_t size)
{
	const uint8_t *colon = size ? memchr(credentials, ':', size) : NULL;

	return colon && (size_t)(credentials + size - colon) == sizeof(TOKEN) &&
	       !memcmp(colon + 1, TOKEN, strlen(TOKEN));
}

static void check_credentials(const uint8_t *data, size_t size)
{
	const struct web_options options = {.token = TOKEN};
	struct MHD_Connection connection = {0};
	char *authorization = encode(data, size);
	unsigned int refused;

	add(&connection, MHD_HEADER_KIND, "Authorization", authorization);
	refused = web_access_refuses(&connection, &options, false);
	if (refused != MHD_HTTP_UNAUTHORIZED && (refused || !has_token(data, size)))
		abort();
	if (refused && size < ROOM_FOR_SURE && has_token(data, size) && !memchr(data, '\0', size))
		abort();
	if (web_access_refuses(&connection, &options, true))
		abort();
	free(authorization);
}

/* As Authorization has it; what has the token without base64 has it as it is. */
static void check_token(struct MHD_Connection *connection)
{
	const char *given =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
	const struct web_options options = {.token = TOKEN};
	unsigned int refused = web_access_refuses(connection, &options, false);
	bool is_bearer = given && !strncasecmp(given, "Bearer ", 7);

	if (is_bearer && !refused && strcmp(given + 7, TOKEN) != 0)
		abort();
	if (!refused && !is_bearer && (!given || strncasecmp(given, "Basic ", 6) != 0))
		abort();
}

/* What a parameter that was taken has to be: digits, and nothing else. */
static void check_number(struct MHD_Connection *connection, const char *name, uint64_t unit,
			 uint64_t taken)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
	unsigned __int128 value = 0;

	for (const char *at = text; at && *at; at++) {
		if (*at < '0' || *at > '9')
			abort();
		value = value * 10 + (unsigned int)(*at - '0');
		if (value > UINT64_MAX)
			abort();
	}
	if (text && (!*text || value * unit != taken))
		abort();
}

static void check_question(struct MHD_Connection *connection, const struct web_route *route)
{
	const uint64_t *arguments = route->arguments;

	if (!route->ask) {
		if (route->page > WEB_PAGE_INDEX)
			abort();
		return;
	}
	switch (route->ask) {
	case WEB_HISTORY:
		check_number(connection, "step", NS_PER_S, arguments[0]);
		check_number(connection, "from", NS_PER_MS, arguments[1]);
		check_number(connection, "to", NS_PER_MS, arguments[2]);
		break;
	case WEB_PROFILE:
		check_number(connection, "seconds", 1, arguments[0]);
		if (!arguments[0] || arguments[0] > SECONDS_MAX || arguments[1] > STATES ||
		    arguments[2] >= WEB_PROFILE_KINDS ||
		    route->patience_ns < arguments[0] * NS_PER_S)
			abort();
		break;
	case WEB_METRICS:
	case WEB_METRICS_OPEN:
	case WEB_STATUS:
	case WEB_STALLS:
	case WEB_MAIN:
		break;
	case WEB_CANCEL: /* what the process that speaks HTTP asks by itself */
	case WEB_ASKS:
		abort();
	}
}

static void check_route(struct MHD_Connection *connection, const char *method, const char *target)
{
	const char *path = web_route_path(target);
	struct web_route route;

	if (strcmp(path, "/") != 0 && path != target + (strlen(target) - strlen(path)))
		abort();
	if (web_route_find(&route, connection, method, path)) {
		if (*path != '/')
			abort();
		check_question(connection, &route);
	} else if ((route.status != MHD_HTTP_BAD_REQUEST && route.status != MHD_HTTP_NOT_FOUND &&
		    route.status != MHD_HTTP_METHOD_NOT_ALLOWED) ||
		   !route.mistake || route.mistake[strlen(route.mistake) - 1] != '\n') {
		abort();
	}
	if (web_route_is_open(path) && route.ask)
		abort();
}

/* What comes first in a list counts, whatever follows. */
static void check_accept(const char *list)
{
	static const char *const gzip[] = {"gzip", NULL};
	char *longer = malloc(sizeof(HALF_OF_GZIP) + strlen(list));
	int quality = web_accept_quality(list, gzip);

	sprintf(longer, HALF_OF_GZIP "%s", list);
	if (quality < -1 || quality > FULL ||
	    web_accept_quality(longer, gzip) != (quality > HALF ? quality : HALF))
		abort();
	free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct MHD_Connection connection = {0};
	char *text = malloc(size + 1), *target;
	const char *method;

	memcpy(text, data, size);
	text[size] = '\0';
	check_accept(text);
	check_credentials(data, size);
	method = take_request(&connection, text, &target);
	check_names(&connection);
	check_token(&connection);
	if (target)
		check_route(&connection, method, target);
	free(text);
	return 0;
}
