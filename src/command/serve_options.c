// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/serve_options.h"

#include <errno.h>
#include <string.h>

#include "base/build_options.h"
#include "base/duration.h"
#include "command/parsing.h"
#include "serve/credentials.h"
#include "serve/listen.h"

#define ADDRESS		  "127.0.0.1:9465"
#define GROUPS		  50
#define GROUPS_MAX	  1000
#define INTERVAL_S	  5
#define BEFORE_S	  30
#define AFTER_S		  10
#define STALL_MS	  5
#define PAUSE_S		  300
#define KEEP_S		  (6 * 3600)
#define MAX_BYTES	  (1ULL << 30)
#define MAX_BYTES_LEAST	  (1 << 20)
#define PUSH_S		  15
#define QUEUE_BYTES	  (64 << 20)
#define QUEUE_BYTES_LEAST (64 << 10)
#define PROFILE_S	  10
#define PROFILE_S_MOST	  50

static const char text[] =
	"Measures all the time, and serves metrics for Prometheus, profiles for pprof, and a page "
	"with the last hours, over HTTP."
	"\v"
	"/                      the page\n"
	"/metrics               Prometheus' text format, or OpenMetrics\n"
	"/debug/pprof/profile   a profile of the machine: ?seconds=10&state=lock&format=html\n"
	"/api/history           what the page shows, as JSON\n"
	"/healthz               ok\n\n"
	"Where other machines can connect, --listen needs TLS and a token, or --insecure. Clients "
	"send the token as `Authorization: Bearer TOKEN`, or as a password.\n\n"
	"Examples:\n"
	"  dwell serve                                    for this machine\n"
	"  dwell serve --by process --groups 20\n"
	"  dwell serve --store /var/lib/dwell --keep 24h  and record the last day\n"
	"  dwell serve --store . -i 1s --trigger 'runqueue-p99>20ms,lock>4'\n"
	"  dwell serve --listen :9465 --tls-cert dwell.crt --tls-key dwell.key \\\n"
	"      --token-file token\n"
	"  go tool pprof http://127.0.0.1:9465/debug/pprof/profile?seconds=10\n";

static int take_address(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	if (options->address_count == WEB_LISTENERS)
		return error_set(error, EINVAL, "--listen: at most %d addresses", WEB_LISTENERS);
	options->addresses[options->address_count++] = value;
	return listen_check(value, error);
}

static int take_by(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	options->has_by = true;
	return parsing_grouping(value, false, &options->server.by, error);
}

static int take_groups(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;
	uint64_t groups = 0;
	int result = parsing_count(value, "--groups", &groups, error);

	if (result >= 0 && groups > GROUPS_MAX)
		return error_set(error, EINVAL, "--groups %s: at most %d", value, GROUPS_MAX);
	options->server.groups = groups;
	return result;
}

static int take_stalls(void *data, const char *value, struct error *error)
{
	struct server_options *server = &((struct serve_options *)data)->server;

	if (server->stall_count == STALL_WATCHES)
		return error_set(error, EINVAL, "--stalls: at most %d programs", STALL_WATCHES);
	if (!*value || *value == '-')
		return error_set(error, EINVAL, "--stalls '%s' is not the name of a program",
				 value);
	for (size_t i = 0; i < server->stall_count; i++)
		if (!strcmp(server->stalls[i], value))
			return error_set(error, EINVAL, "--stalls %s is given twice", value);
	server->stalls[server->stall_count++] = value;
	return 0;
}

static int take_container_names(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	options->server.container_socket = container_names_path(value);
	return options->server.container_socket
		       ? 0
		       : error_set(error, EINVAL,
				   "--container-names %s: write the path of a socket, as in "
				   "unix:///run/podman/podman.sock",
				   value);
}

static int take_trigger(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	return triggers_parse(&options->server.triggers, value, error);
}

static int take_push(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	if (!build_option_enabled(BUILD_PUSH))
		return build_option_missing(BUILD_PUSH, error);
	return push_options_add(&options->server.push, value, error);
}

/* The engine that was named before; NULL: a mistake. */
static struct push_engine *last_push(struct serve_options *options, const char *option,
				     struct error *error)
{
	struct push_options *push = &options->server.push;

	if (push->count)
		return &push->engines[push->count - 1];
	error_set(error, EINVAL, "%s is for the --push before it", option);
	return NULL;
}

static int take_push_token(void *data, const char *value, struct error *error)
{
	struct push_engine *engine = last_push(data, "--push-token-file", error);

	if (!engine)
		return -EINVAL;
	engine->token_file = value;
	return 0;
}

static int take_push_ca(void *data, const char *value, struct error *error)
{
	struct push_engine *engine = last_push(data, "--push-ca", error);

	if (!engine)
		return -EINVAL;
	engine->ca_file = value;
	return 0;
}

static int take_no_blame(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	(void)value;
	(void)error;
	options->watch.blame = false;
	return 0;
}

static const struct command_option serve_option_table[] = {
	OPTION_GROUP(3, "What to count:"),
	TAKEN_OPTION("by", 0, "WHAT", take_by,
		     "threads by cgroup or process name (cgroup, where there are cgroups v2)"),
	TAKEN_OPTION("groups", 0, "N", take_groups,
		     "the N groups that use most time have figures of their own, the rest is "
		     "\"other\" (50)"),
	TAKEN_OPTION("no-blame", 0, NULL, take_no_blame, "not because of whom threads wait"),
	TAKEN_OPTION("stalls", 0, "NAME", take_stalls,
		     "also what blocks the workers of this program, as dwell blocked reports it; "
		     "may be given again"),
	TIME_OPTION("stall-threshold", 0, struct serve_options, server.stall_threshold_ns,
		    "with --stalls: only polls and turns longer than this (5ms)"),
	TAKEN_OPTION("container-names", 0, "SOCKET", take_container_names,
		     "also names of containers, from the socket of Podman or Docker"),
	OPTION_GROUP(4, "What to keep:"),
	TEXT_OPTION("store", 0, "DIRECTORY", struct serve_options, server.store,
		    "recordings of the last hours, for dwell top --from and dwell report"),
	TIME_OPTION("keep", 0, struct serve_options, server.keep_ns,
		    "with --store: remove recordings that ended so long ago (6h)"),
	SIZE_OPTION("max-bytes", 0, struct serve_options, server.max_bytes,
		    "with --store: and the oldest, so that all have SIZE together (1G)"),
	TAKEN_OPTION("trigger", 0, "CONDITION[,...]", take_trigger,
		     "with --store: FIELD>LIMIT or FIELD>LIMIT@GROUP; when it is met, record the "
		     "seconds before and, with stacks, those that follow. FIELD is runqueue-p99, "
		     "runqueue-max, stall (LIMIT: a time), or a state (threads in it, on average)"),
	TIME_OPTION("trigger-before", 0, struct serve_options, server.before_ns,
		    "how much of the time before is recorded (30s)"),
	TIME_OPTION("trigger-after", 0, struct serve_options, server.after_ns,
		    "and afterwards (10s)"),
	TIME_OPTION("trigger-pause", 0, struct serve_options, server.pause_ns,
		    "record again after TIME at the earliest (5m)"),
	OPTION_GROUP(5, "Where to serve:"),
	TAKEN_OPTION("listen", 0, "ADDRESS", take_address,
		     "HOST:PORT, [::1]:PORT, or :PORT for all addresses; may be given again "
		     "(" ADDRESS ", or the sockets that systemd hands over)"),
	TEXT_OPTION("tls-cert", 0, "FILE", struct serve_options, certificate,
		    "serve by TLS with this certificate, and those of its issuers, in PEM"),
	TEXT_OPTION("tls-key", 0, "FILE", struct serve_options, key, "the key of the certificate"),
	TEXT_OPTION("token-file", 0, "FILE", struct serve_options, token_file,
		    "clients have to send what this file has in its only line"),
	FLAG_OPTION("insecure", 0, struct serve_options, server.insecure,
		    "listen for other machines without TLS or token, or push a token without TLS"),
	OPTION_GROUP(6, "Where to push, if no engine can ask:"),
	TAKEN_OPTION("push", 0, "ENGINE=URL", take_push,
		     "send what /metrics has to remote-write=URL (Prometheus, Mimir), "
		     "victoriametrics=URL, otlp=URL or clickhouse=URL, and profiles to "
		     "pyroscope=URL; may be given again"),
	TAKEN_OPTION("push-token-file", 0, "FILE", take_push_token,
		     "what this file has in its only line is the token, or the password of the "
		     "URL's user, for the --push before it"),
	TAKEN_OPTION("push-ca", 0, "FILE", take_push_ca,
		     "the --push before it: trust the certificates of this file, in PEM, in place "
		     "of the system's"),
	TIME_OPTION("push-every", 0, struct serve_options, server.push.every_ns,
		    "send figures so often, at the end of an interval (15s)"),
	SIZE_OPTION("push-queue", 0, struct serve_options, server.push.queue_bytes,
		    "what waits for an engine: SIZE at most, then the oldest is dropped; with "
		    "--store on disk (64M)"),
	TIME_OPTION("push-profile", 0, struct serve_options, server.push.profile_ns,
		    "with pyroscope=URL: profile the machine for TIME of each minute (10s)"),
	WATCH_OPTIONS(struct serve_options, watch, "5s"),
	END_OF_OPTIONS,
};

static int end_push(struct serve_options *options, struct error *error)
{
	struct push_options *push = &options->server.push;
	uint64_t interval_ns = options->watch.interval_ns;

	if (!push->count && (push->every_ns || push->queue_bytes || push->profile_ns))
		return error_set(error, EINVAL,
				 "--push-every, --push-queue and --push-profile are for --push");
	if (push->every_ns && push->every_ns < interval_ns)
		return error_set(error, EINVAL, "--push-every: not less than an interval (-i)");
	if (push->queue_bytes && push->queue_bytes < QUEUE_BYTES_LEAST)
		return error_set(error, EINVAL, "--push-queue: 64K at least");
	if (push->profile_ns > PROFILE_S_MOST * NS_PER_S)
		return error_set(error, EINVAL, "--push-profile: 50s at most");
	if (!push->every_ns)
		push->every_ns = PUSH_S * NS_PER_S;
	if (!push->queue_bytes)
		push->queue_bytes = QUEUE_BYTES;
	if (!push->profile_ns)
		push->profile_ns = PROFILE_S * NS_PER_S;
	return 0;
}

static int end(void *data, struct error *error)
{
	struct serve_options *options = data;

	if (!options->certificate != !options->key)
		return error_set(error, EINVAL, "--tls-cert and --tls-key need each other");
	if (!options->server.store && (options->server.keep_ns || options->server.max_bytes))
		return error_set(error, EINVAL, "--keep and --max-bytes are for --store");
	if (options->server.max_bytes && options->server.max_bytes < MAX_BYTES_LEAST)
		return error_set(error, EINVAL, "--max-bytes: 1M at least");
	if (options->server.stall_threshold_ns && !options->server.stall_count)
		return error_set(error, EINVAL, "--stall-threshold is for --stalls");
	if (!options->server.stall_threshold_ns)
		options->server.stall_threshold_ns = STALL_MS * NS_PER_MS;
	for (size_t i = 0; i < options->server.triggers.count; i++)
		if (options->server.triggers.items[i].kind == TRIGGER_STALL &&
		    !options->server.stall_count)
			return error_set(error, EINVAL, "--trigger stall>...: needs --stalls");
	if (options->server.triggers.count && !options->server.store)
		return error_set(error, EINVAL, "--trigger needs --store");
	if (!options->server.triggers.count &&
	    (options->server.before_ns || options->server.after_ns || options->server.pause_ns))
		return error_set(error, EINVAL,
				 "--trigger-before, --trigger-after and --trigger-pause are for "
				 "--trigger");
	if (!options->server.before_ns)
		options->server.before_ns = BEFORE_S * NS_PER_S;
	if (!options->server.after_ns)
		options->server.after_ns = AFTER_S * NS_PER_S;
	if (!options->server.pause_ns)
		options->server.pause_ns = PAUSE_S * NS_PER_S;
	if (options->server.after_ns < NS_PER_S)
		options->server.after_ns = NS_PER_S;
	if (!options->server.keep_ns)
		options->server.keep_ns = KEEP_S * NS_PER_S;
	if (!options->server.max_bytes)
		options->server.max_bytes = MAX_BYTES;
	if (!options->watch.interval_given)
		options->watch.interval_ns = INTERVAL_S * NS_PER_S;
	if (end_push(options, error) < 0)
		return -EINVAL;
	return watch_options_end(&options->watch, error);
}

const struct command_line serve_line = {
	.options = serve_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct serve_options, watch),
	.take_argument = watch_take_argument,
	.end = end,
};

int serve_options_parse(struct serve_options *options, int argc, char **argv)
{
	*options = (struct serve_options){.server = {.by = BY_CGROUP, .groups = GROUPS}};
	watch_options_init(&options->watch);
	options->watch.blame = options->watch.reasons = true;
	options->watch.only_lost_blame = true;
	options->watch.targets.forked_are_one = true;
	return command_line_parse(&serve_line, argc, argv, options);
}

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
		options->addresses[options->address_count++] = ADDRESS;
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
