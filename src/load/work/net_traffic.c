// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends frames to itself: load of the softirq of the network, and no wakeups. */
#include <errno.h>

#include "load/work/net_frames.h"
#include "load/work_type.h"

struct net_traffic {
	uint64_t interval;
	uint64_t frame;
};

static const struct param params[] = {
	PARAM(struct net_traffic, interval, DURATION, "100us", 0, 0, "from frame to frame"),
	PARAM(struct net_traffic, frame, COUNT, "60", NET_FRAME_MIN, NET_FRAME_MAX,
	      "bytes of each"),
	{.name = NULL},
};

struct state {
	int socket;
};

static int begin(struct worker *worker)
{
	struct state *state = calloc(1, sizeof(*state));

	worker->state = state;
	if (!state) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	return net_frames_begin(worker, worker->shared, false, &state->socket);
}

static void iterate(struct worker *worker)
{
	const struct net_traffic *net_traffic = worker->params;
	const struct state *state = worker->state;

	if (net_traffic->interval && !worker_rest(worker, net_traffic->interval))
		return;
	if (net_frames_send(worker, state->socket, net_traffic->frame))
		worker->work_units++;
}

static void end(struct worker *worker)
{
	struct state *state = worker->state;

	if (state && state->socket >= 0)
		close(state->socket);
	free(state);
}

const struct work_type work_net_traffic = {
	.name = "net-traffic",
	.summary = "sends frames to itself, which a softirq receives",
	.params = params,
	.params_bytes = sizeof(struct net_traffic),
	.shared = sizeof(struct net_team),
	.units_each = 1,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
