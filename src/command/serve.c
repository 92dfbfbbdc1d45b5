// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell serve`: measures all the time, for those who ask over HTTP. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

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
	bool has_no_cgroup; /* the watched one has been removed, and not been made again yet */
};

/* What happened besides, a line each. */
static void show_notice(struct server *server)
{
	char *rest, *line = strtok_r(server->notice, "\n", &rest);

	for (; line; line = strtok_r(NULL, "\n", &rest))
		print_text(stderr, "dwell serve: %s\n", line);
	*server->notice = '\0';
}

/* That of a service goes with it, and is made again at its next start: till then there is nothing.
 */
static void look_at_cgroup(struct serve *serve)
{
	const char *path = serve->options.watch.targets.cgroup_path;
	struct cgroup_location location;
	bool is_gone = path && cgroup_locate(path, &location, NULL) < 0;

	if (is_gone != serve->has_no_cgroup)
		server_note(&serve->server,
			    is_gone ? "the cgroup %s has been removed: nothing is "
				      "measured until it is made again"
				    : "the cgroup %s is there again",
			    path);
	serve->has_no_cgroup = is_gone;
}

/* A service that goes on without anything to measure would look like one that has nothing to say.
 */
static int check_end(struct watch *watch, struct error *error)
{
	if (watch->signalled || watch->options->command)
		return 0;
	if (!watch_targets_gone(watch))
		return 0;
	return error_set(error, ESRCH, "%s ended",
			 watch->options->targets.count == 1 ? "the target has"
							    : "the targets have");
}

static int show_interval(void *data, struct interval *interval, struct error *error)
{
	struct serve *serve = data;

	int result = server_interval(&serve->server, interval, error);

	look_at_cgroup(serve);
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

/*
 * A terminal that is closed ends what was started in it. To others SIGHUP means: read again. True:
 * it is ignored from now on.
 */
static bool ignore_hangup(void)
{
	int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (terminal < 0)
		return signal(SIGHUP, SIG_IGN) != SIG_IGN;
	close(terminal);
	return false;
}

static int run(struct serve *serve, struct error *error)
{
	struct watch watch = WATCH_NONE;
	int result = serve_options_open(&serve->options, error);

	choose_groups(&serve->options);
	signal(SIGPIPE, SIG_IGN);
	heap_for_long_runs();
	watch.child.resets_hangup = ignore_hangup();
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
	if (result >= 0) {
		server_finish(&serve->server);
		result = check_end(&watch, error);
	}
	show_notice(&serve->server);
	watch_release(&watch);
	server_release(&serve->server);
	return result;
}

static int serve_run(int argc, char **argv)
{
	struct serve serve = {.server = {.store_lock = -1}};
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
