// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/pattern.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/forked.h"

uint64_t pattern_run_ns = 2 * NS_PER_S;

const struct pattern *const pattern_tables[] = {cpu_patterns, pair_patterns, file_patterns, NULL};

const char *pattern_current = "";

int pattern_skip(const char *what)
{
	struct truth truth = {.state = STATES};

	snprintf(truth.pattern, sizeof(truth.pattern), "%s", pattern_current);
	snprintf(truth.skipped, sizeof(truth.skipped), "%s: %s", what, strerror(errno));
	truth_sink(&truth);
	return NOT_HERE;
}

void die(const char *what)
{
	pattern_skip(what);
	exit(EXIT_FAILURE);
}

pid_t pattern_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	forked_end_with(parent);
	return 0;
}

pthread_t start(void *(*body)(void *), void *data)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, body, data);
	if (errno)
		die("pthread_create");
	return thread;
}

void join(pthread_t thread)
{
	pthread_join(thread, NULL);
}

void meter_join(struct meter *meter, pthread_t thread)
{
	meter_begin(meter);
	join(thread);
	meter_end(meter, STATE_IDLE);
}

struct running {
	const struct pattern *pattern;
	const char *path;
};

static void *run_in_thread(void *data)
{
	const struct running *running = data;

	running->pattern->run(running->path);
	return NULL;
}

void pattern_run(const struct pattern *pattern, const char *path)
{
	struct running running = {pattern, path};

	pattern_current = pattern->name;
	join(start(run_in_thread, &running));
}
