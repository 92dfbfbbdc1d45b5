// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/server_push.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/patience.h"
#include "serve/push_figures.h"
#include "serve/push_send.h"

#define FINISH_NS	 (2 * NS_PER_S)
#define PROFILE_EVERY_NS (60 * NS_PER_S)

static const struct push_options *options_of(const struct server *server)
{
	return &server->options->push;
}

int server_push_open(struct server *server, struct error *error)
{
	struct server_options *options = server->options;
	size_t foreign = 0;
	struct utsname names;
	int result;

	if (!options->push.count)
		return 0;
	snprintf(server->push.name, sizeof(server->push.name), "%s",
		 uname(&names) < 0 ? "unknown" : names.nodename);
	result = push_send_check(error);
	if (result >= 0)
		result = push_options_read(&options->push, options->insecure, error);
	if (result >= 0)
		result = push_host_start(&server->push.host, &options->push, options->store,
					 &foreign, error);
	if (foreign)
		server_note(server,
			    "%zu file%s in %s/push %s left alone: they are of no engine that "
			    "--push has now",
			    foreign, foreign == 1 ? "" : "s", options->store,
			    foreign == 1 ? "is" : "are");
	return result;
}

static bool hear(struct server *server)
{
	bool lives = push_host_work(server->push.host);

	for (size_t i = 0; i < options_of(server)->count; i++) {
		const char *words = push_host_words(server->push.host, i);

		if (words)
			server_note(server, "%s: %s", options_of(server)->engines[i].given, words);
	}
	return lives;
}

static int on_push(void *data, struct error *error)
{
	return hear(data) ? 0 : server_gone("pushes", error);
}

int server_push_begin(struct server *server, struct error *error)
{
	if (!server->push.host)
		return 0;
	return loop_add(&server->watch->loop, push_host_descriptor(server->push.host), on_push,
			server, error);
}

static void push_metrics(struct server *server)
{
	struct metrics_service service;
	const struct metrics_input input = server_metrics(server, &service);
	const struct push_options *options = options_of(server);

	server->push.intervals = server->counters.intervals;
	server->push.done_ns = server->counters.end_ns;
	for (size_t i = 0; i < options->count; i++) {
		cleanup_free char *bytes = NULL;
		size_t length = 0;

		if (options->engines[i].protocol != PUSH_PYROSCOPE &&
		    push_figures_metrics(options->engines[i].protocol, &input, server->push.name,
					 &bytes, &length) >= 0)
			push_host_give(server->push.host, i, "", bytes, length);
	}
}

static bool has_profiles(const struct push_options *options)
{
	for (size_t i = 0; i < options->count; i++)
		if (options->engines[i].protocol == PUSH_PYROSCOPE)
			return true;
	return false;
}

static void begin_profile(struct server *server)
{
	struct job job = {
		.number = ++server->last_job,
		.seconds = (uint32_t)((options_of(server)->profile_ns + NS_PER_S - 1) / NS_PER_S)};

	job_add(&job, "profile");
	job_add(&job, "-d");
	job_add(&job, "%lluns", (unsigned long long)options_of(server)->profile_ns);
	job_add(&job, "--format");
	job_add(&job, "pprof");
	server->push.profile_begun_ns = clock_monotonic_ns();
	server->push.profile_realtime_ns = clock_realtime_ns();
	server->push.profile_job = jobs_run(server->jobs, &job) ? job.number : 0;
}

void server_push_interval(struct server *server)
{
	const struct push_options *options = options_of(server);
	uint64_t half_ns = server->watch->options->interval_ns / 2;

	if (!server->push.host)
		return;
	/* the interval that ends nearest to it */
	if (server->counters.end_ns + half_ns >= server->push.done_ns + options->every_ns)
		push_metrics(server);
	if (has_profiles(options) && !server->push.profile_job &&
	    (!server->push.profile_begun_ns ||
	     clock_monotonic_ns() >= server->push.profile_begun_ns + PROFILE_EVERY_NS))
		begin_profile(server);
}

/* What a host's name can have beside letters and digits means something in a query. */
static void plain_name(char *into, size_t room, const char *name)
{
	size_t used = 0;

	for (; *name && used + 1 < room; name++)
		into[used++] = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
					       (*name >= '0' && *name <= '9') || *name == '.' ||
					       *name == '-'
				       ? *name
				       : '_';
	into[used] = '\0';
}

bool server_push_job_end(struct server *server, const struct job_end *end, int fd)
{
	const struct push_options *options = options_of(server);
	uint64_t from_ns = server->push.profile_realtime_ns;
	cleanup_free char *pprof = NULL, *form = NULL;
	char query[PUSH_QUERY_BYTES], name[65];
	size_t length = 0;

	if (!server->push.profile_job || end->number != server->push.profile_job)
		return false;
	server->push.profile_job = 0;
	if (end->status || fd < 0) {
		server_note(server, "no profile was taken to be pushed: %s",
			    end->status == -EBUSY ? "two jobs run already" : end->error);
		return true;
	}
	pprof = file_bytes(fd, end->length);
	if (!pprof || push_figures_profile(pprof, end->length, &form, &length) < 0)
		return true;
	plain_name(name, sizeof(name), server->push.name);
	snprintf(query, sizeof(query), "name=dwell%%7Bhost%%3D%s%%7D&from=%llu&until=%llu", name,
		 (unsigned long long)(from_ns / NS_PER_S),
		 (unsigned long long)((from_ns + options->profile_ns + NS_PER_S - 1) / NS_PER_S));
	for (size_t i = 0; i < options->count; i++)
		if (options->engines[i].protocol == PUSH_PYROSCOPE)
			push_host_give(server->push.host, i, query, form, length);
	return true;
}

void server_push_finish(struct server *server)
{
	if (!server->push.host || !server->watch)
		return;
	if (server->counters.intervals != server->push.intervals)
		push_metrics(server);
	push_host_finish(server->push.host,
			 clock_monotonic_ns() + (uint64_t)((double)FINISH_NS * patience_factor()));
	(void)!hear(server);
}

void server_push_metrics(const struct server *server, struct metrics_service *service)
{
	const struct push_options *options = options_of(server);

	for (size_t i = 0; server->push.host && i < options->count; i++) {
		const struct push_counts *counts = push_host_counts(server->push.host, i);

		service->pushes[service->push_count++] = (struct metrics_push){
			.engine = options->engines[i].given,
			.sent = counts->sent,
			.queue_bytes = counts->queue_bytes,
			.reasons = push_dropped_keys,
			.dropped = counts->dropped,
			.reason_count = PUSH_DROPPED_REASONS,
		};
	}
}
