// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/serve_options.h"

#include <errno.h>
#include <string.h>

#include "command/parsing.h"
#include "command/serve_options_parts.h"
#include "serve/listen.h"

#define GROUPS_MAX 1000

static const char text[] =
	"Measures all the time, and serves metrics for Prometheus, profiles for pprof, and a page "
	"with the last hours, over HTTP."
	"\v"
	"/                      the page\n"
	"/metrics               Prometheus' text format, or OpenMetrics\n"
	"/debug/pprof/profile   a profile of the machine: ?seconds=10&state=lock&format=html\n"
	"/api/history           what the page shows, as JSON\n"
	"/healthz               ok, or 503: nothing is measured any more\n\n"
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
		     "(" SERVE_ADDRESS ", or the sockets that systemd hands over)"),
	TEXT_OPTION("tls-cert", 0, "FILE", struct serve_options, certificate,
		    "serve by TLS with this certificate, and those of its issuers, in PEM"),
	TEXT_OPTION("tls-key", 0, "FILE", struct serve_options, key, "the key of the certificate"),
	TEXT_OPTION("token-file", 0, "FILE", struct serve_options, token_file,
		    "clients have to send what this file has in its only line"),
	FLAG_OPTION("insecure", 0, struct serve_options, server.insecure,
		    "listen for other machines without TLS or token, or push a token without TLS"),
	OPTION_GROUP(6, "Where to push, if no engine can ask:"),
	TAKEN_OPTION("push", 0, "ENGINE=URL", serve_take_push,
		     "send what /metrics has to remote-write=URL (Prometheus, Mimir), "
		     "victoriametrics=URL, otlp=URL or clickhouse=URL, and profiles to "
		     "pyroscope=URL; may be given again"),
	TAKEN_OPTION("push-token-file", 0, "FILE", serve_take_push_token,
		     "what this file has in its only line is the token, or the password of the "
		     "URL's user, for the --push before it"),
	TAKEN_OPTION("push-ca", 0, "FILE", serve_take_push_ca,
		     "the --push before it: trust the certificates of this file, in PEM, in place "
		     "of the system's"),
	TIME_OPTION("push-every", 0, struct serve_options, server.push.every_ns,
		    "send figures so often, at the end of an interval (15s)"),
	SIZE_OPTION("push-queue", 0, struct serve_options, server.push.queue_bytes,
		    "what waits for an engine: SIZE at most, then the oldest is dropped; with "
		    "--store on disk (64M)"),
	TIME_OPTION("push-profile", 0, struct serve_options, server.push.profile_ns,
		    "with pyroscope=URL: profile the machine for TIME of each minute (10s)"),
	WATCH_OPTIONS(struct serve_options, watch, WATCH_SOURCES, "5s"),
	END_OF_OPTIONS,
};

const struct command_line serve_line = {
	.options = serve_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct serve_options, watch),
	.take_argument = watch_take_argument,
	.end = serve_options_end,
};

int serve_options_parse(struct serve_options *options, int argc, char **argv)
{
	*options = (struct serve_options){.server = {.by = BY_CGROUP, .groups = COUNTERS_GROUPS}};
	watch_options_init(&options->watch);
	options->watch.blame = options->watch.reasons = true;
	options->watch.only_lost_blame = true;
	options->watch.targets.forked_are_one = true;
	return command_line_parse(&serve_line, argc, argv, options);
}
