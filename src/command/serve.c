// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell serve`: measures all the time, for those who ask over HTTP. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/heap.h"
#include "base/print.h"
#include "capture/cgroup.h"
#include "command/command.h"
#include "command/serve_options.h"
#include "serve/listen.h"
#include "serve/notify.h"

struct serve {
	struct serve_options options;
	struct server server;
};

/* What happened besides, a line each. */
static void show_notice(struct server *server)
{
	char *rest, *line = strtok_r(server->notice, "\n", &rest);

	for (; line; line = strtok_r(NULL, "\n", &rest))
		print_text(stderr, "dwell serve: %s\n", line);
	*server->notice = '\0';
}

static int show_interval(void *data, struct interval *interval, struct error *error)
{
	struct serve *serve = data;

	int result = server_interval(&serve->server, interval, error);

	show_notice(&serve->server);
	return result;
}

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct serve *serve = data;
	int result = server_record(&serve->server, record, error);

	show_notice(&serve->server);
	return result;
}

/* Where, as one line for each address. */
static void announce(const struct web_options *web)
{
	char address[128];

	for (size_t i = 0; i < web->listener_count; i++) {
		listen_format(web->listeners[i], address, sizeof(address));
		print_text(stderr, "dwell serve: %s://%s/\n", web->certificate ? "https" : "http",
			   address);
	}
}

/* All threads in one group would show nothing. */
static void choose_groups(struct serve_options *options)
{
	if (options->has_by || cgroup_are_several())
		return;
	options->server.by = BY_PROCESS;
	print_text(stderr, "dwell serve: there are no cgroups v2 here but the root: groups are "
			   "processes of one name (--by)\n");
}

static int run(struct serve *serve, struct error *error)
{
	struct watch watch = WATCH_NONE;
	int result = serve_options_open(&serve->options, error);

	choose_groups(&serve->options);
	signal(SIGPIPE, SIG_IGN);
	heap_for_long_runs();
	if (result >= 0)
		result = server_open(&serve->server, &serve->options.server, error);
	notify_open();
	watch.options = &serve->options.watch;
	watch.audience =
		(struct audience){.data = serve, .interval = show_interval, .record = take_record};
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0) {
		watch_report_source(&watch, "serve");
		result = server_begin(&serve->server, &watch, error);
	}
	if (result >= 0) {
		announce(&serve->options.server.web);
		notify_send("READY=1");
		notify_watchdog(serve->options.watch.interval_ns);
		result = watch_run(&watch, error);
	}
	notify_send("STOPPING=1");
	if (result >= 0)
		server_finish(&serve->server);
	show_notice(&serve->server);
	watch_release(&watch);
	server_release(&serve->server);
	return result;
}

static int serve_run(int argc, char **argv)
{
	struct serve serve = {.server = {.watch = NULL}};
	struct error error = {""};
	int result = 0, code = serve_options_parse(&serve.options, argc, argv);

	if (code == EXIT_DONE)
		result = run(&serve, &error);
	serve_options_release(&serve.options);
	if (code != EXIT_DONE)
		return code;
	return result < 0 ? command_fail("serve", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_serve = {
	.name = "serve",
	.summary = "measure all the time, for Prometheus, pprof and a browser",
	.line = &serve_line,
	.argument = ARGUMENT_PROCESS,
	.run = serve_run,
};
