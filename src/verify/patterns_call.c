// SPDX-License-Identifier: GPL-2.0-or-later
/* All calls in one process: a thread each. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>

#include "base/array.h"
#include "verify/pattern.h"

const struct call *const call_tables[] = {futex_calls, socket_calls, ipc_calls,
					  event_calls, kernel_calls, NULL};

/* One that runs. */
struct waiting {
	const struct call *call;
	int argument;
	pthread_t thread;
};

int call_prepare_nothing(void)
{
	return 0;
}

static void ignore(int number)
{
	(void)number;
}

static void *wait_once(void *data)
{
	const struct waiting *waiting = data;
	const struct call *call = waiting->call;
	struct meter meter;

	meter_start(&meter, call->name, call->name);
	meter_expect(&meter, call->state, call->reason);
	meter_begin(&meter);
	call->wait(waiting->argument);
	meter_end(&meter, call->state);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

/* Until it has ended. */
static void end(struct waiting *waiting)
{
	if (waiting->call->release)
		waiting->call->release(waiting->argument);
	/* again, where it was not waiting yet when the signal came */
	do
		pthread_kill(waiting->thread, SIGUSR1);
	while (sleep_ns(NS_PER_MS), pthread_tryjoin_np(waiting->thread, NULL));
}

static size_t prepare(struct waiting *all, bool (*wanted)(const void *data, const char *name),
		      const void *data)
{
	size_t count = 0;

	for (const struct call *const *table = call_tables; *table; table++) {
		for (const struct call *call = *table; call->name; call++) {
			if (wanted && !wanted(data, call->name))
				continue;
			pattern_current = call->name;
			all[count] = (struct waiting){.call = call, .argument = call->prepare()};
			count += all[count].argument != NOT_HERE;
		}
	}
	return count;
}

void calls_run(bool (*wanted)(const void *data, const char *name), const void *data)
{
	/* without SA_RESTART */
	struct sigaction action = {.sa_handler = ignore};
	struct waiting all[128];
	size_t count = 0;

	for (const struct call *const *table = call_tables; *table; table++)
		for (const struct call *call = *table; call->name; call++)
			count++;
	if (count > ARRAY_SIZE(all))
		abort();
	sigaction(SIGUSR1, &action, NULL);
	count = prepare(all, wanted, data);
	for (size_t i = 0; i < count; i++)
		all[i].thread = start(wait_once, &all[i]);
	sleep_ns(pattern_run_ns);
	for (size_t i = 0; i < count; i++)
		end(&all[i]);
}
