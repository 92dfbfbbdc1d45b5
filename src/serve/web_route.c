// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/web_route.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "model/profile.h"
#include "serve/web_accept.h"

#define PROFILE_SECONDS	    10
#define PROFILE_SECONDS_MAX 300
#define PROFILE_PATIENCE_NS (60 * NS_PER_S) /* to begin and to name code, on a busy machine */

static bool refuse(struct web_route *route, unsigned int status, const char *mistake)
{
	route->status = status;
	route->mistake = mistake;
	return false;
}

static const char *query(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* A whole number; false: it is none. Not given: stays as it is. */
static bool take_number(struct MHD_Connection *connection, const char *name, uint64_t unit,
			uint64_t *number)
{
	const char *text = query(connection, name);
	unsigned long long value;

	if (!text)
		return true;
	/* strtoull() takes blanks and signs, too, and a negative number for a large one */
	if (!*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno || value > UINT64_MAX / unit)
		return false;
	*number = value * unit;
	return true;
}

/*
 * Prometheus says what it can read: docs/specs/om, "Content Negotiation". What takes anything gets
 * text, which is plain for a person too.
 */
static bool take_metrics(struct web_route *route, struct MHD_Connection *connection)
{
	static const char *const open[] = {"application/openmetrics-text", NULL};
	static const char *const text[] = {"text/plain", "text/*", "*/*", NULL};
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
	int quality = web_accept_quality(accept, open);

	if (quality > 0 && quality >= web_accept_quality(accept, text))
		route->ask = WEB_METRICS_OPEN;
	return true;
}

/* The names of parameters, and whether any is another, or is given twice. */
struct parameters {
	const char *const *names; /* up to a NULL */
	unsigned int seen;	  /* 1 << their places */
	bool is_wrong;
};

static enum MHD_Result look_at_parameter(void *data, enum MHD_ValueKind kind, const char *name,
					 const char *value)
{
	struct parameters *parameters = data;
	size_t at = 0;

	(void)kind;
	(void)value;
	while (parameters->names[at] && strcmp(name, parameters->names[at]) != 0)
		at++;
	parameters->is_wrong |= !parameters->names[at] || parameters->seen & 1U << at;
	parameters->seen |= 1U << at;
	return MHD_YES;
}

/* One that is not known would be left out, and the answer be about something else. */
static bool has_only(struct MHD_Connection *connection, const char *const *names)
{
	struct parameters parameters = {.names = names};

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, look_at_parameter,
				  &parameters);
	return !parameters.is_wrong;
}

static bool take_history(struct web_route *route, struct MHD_Connection *connection)
{
	static const char *const names[] = {"step", "from", "to", NULL};

	if (!has_only(connection, names))
		return refuse(route, MHD_HTTP_BAD_REQUEST,
			      "the history takes step, from and to, each once\n");
	if (!take_number(connection, "step", NS_PER_S, &route->arguments[0]) ||
	    !take_number(connection, "from", NS_PER_MS, &route->arguments[1]) ||
	    !take_number(connection, "to", NS_PER_MS, &route->arguments[2]))
		return refuse(route, MHD_HTTP_BAD_REQUEST,
			      "step is a number of seconds, from and to are milliseconds since "
			      "1970\n");
	return true;
}

static bool take_state(struct web_route *route, const char *state)
{
	for (int i = 0; i < STATES; i++)
		if (PROFILE_STATES & 1U << i && !strcmp(state, state_info[i].key))
			route->arguments[1] = 1 + (uint64_t)i;
	return route->arguments[1];
}

static bool take_profile(struct web_route *route, struct MHD_Connection *connection)
{
	static const char *const kinds[WEB_PROFILE_KINDS] = {"pprof", "html", "folded"};
	const char *state = query(connection, "state"), *format = query(connection, "format");
	static const char *const names[] = {"seconds", "state", "format", NULL};
	uint64_t seconds = PROFILE_SECONDS;

	if (!has_only(connection, names))
		return refuse(
			route, MHD_HTTP_BAD_REQUEST,
			"a profile is of the whole machine: seconds, state and format are all "
			"that it takes, each once\n");
	if (!take_number(connection, "seconds", 1, &seconds) || !seconds ||
	    seconds > PROFILE_SECONDS_MAX)
		return refuse(route, MHD_HTTP_BAD_REQUEST, "seconds is a number from 1 to 300\n");
	if (state && *state && !take_state(route, state))
		return refuse(route, MHD_HTTP_BAD_REQUEST,
			      "there is no such state; state takes one of " PROFILE_STATE_KEYS
			      "\n");
	for (size_t i = 0; format && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(format, kinds[i])) {
			route->arguments[2] = i;
			format = NULL;
		}
	if (format)
		return refuse(route, MHD_HTTP_BAD_REQUEST, "format is pprof, html or folded\n");
	route->arguments[0] = seconds;
	route->patience_ns = seconds * NS_PER_S + PROFILE_PATIENCE_NS;
	return true;
}

static const struct {
	const char *path;
	enum web_ask ask;
	enum web_page page;
	bool (*take)(struct web_route *route, struct MHD_Connection *connection);
} routes[] = {
	{"/", WEB_MAIN, 0, NULL},
	{"/healthz", 0, WEB_PAGE_HEALTH, NULL},
	{"/metrics", WEB_METRICS, 0, take_metrics},
	{"/api/status", WEB_STATUS, 0, NULL},
	{"/api/history", WEB_HISTORY, 0, take_history},
	{"/api/stalls", WEB_STALLS, 0, NULL},
	{"/debug/pprof/", 0, WEB_PAGE_INDEX, NULL},
	{"/debug/pprof/profile", WEB_PROFILE, 0, take_profile},
};

const char *web_route_path(const char *target)
{
	const char *scheme = strstr(target, "://"), *path;

	if (*target == '/' || !scheme)
		return target;
	path = strchr(scheme + 3, '/');
	return path ? path : "/";
}

bool web_route_is_open(const char *url)
{
	return !strcmp(url, "/healthz");
}

bool web_route_find(struct web_route *ret_route, struct MHD_Connection *connection,
		    const char *method, const char *url)
{
	*ret_route = (struct web_route){0};
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(ret_route, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (strcmp(url, routes[i].path) != 0)
			continue;
		ret_route->ask = routes[i].ask;
		ret_route->page = routes[i].page;
		return !routes[i].take || routes[i].take(ret_route, connection);
	}
	return refuse(ret_route, MHD_HTTP_NOT_FOUND,
		      "there is nothing here; /, /metrics and /debug/pprof/ are\n");
}
