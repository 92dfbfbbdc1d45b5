// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs: one sends frames, the other waits for them and is woken by the network's softirq. */
#include <errno.h>

#include "load/work/net_frames.h"
#include "load/work_type.h"

struct irq_wake {
	uint64_t interval;
	uint64_t frame;
};

static const struct param params[] = {
	PARAM(struct irq_wake, interval, DURATION, "100us", 0, 0, "from frame to frame"),
	PARAM(struct irq_wake, frame, COUNT, "60", NET_FRAME_MIN, NET_FRAME_MAX, "bytes of each"),
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
	return net_frames_begin(worker, worker->shared, worker->position, &state->socket);
}

static void send_frame(struct worker *worker)
{
	const struct irq_wake *irq_wake = worker->params;
	const struct state *state = worker->state;

	if (irq_wake->interval && !worker_rest(worker, irq_wake->interval))
		return;
	if (net_frames_send(worker, state->socket, irq_wake->frame))
		worker->work_units++;
}

static void receive_frame(struct worker *worker)
{
	const struct state *state = worker->state;
	uint64_t began_ns = clock_monotonic_ns(), now_ns, sent_ns;

	while (!net_frames_receive(worker, state->socket, &sent_ns))
		if (worker_stopping() || *worker->report.work_error) {
			worker_gave_up(worker, began_ns);
			return;
		}
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_woken(worker, sent_ns, began_ns, now_ns);
	worker_look(worker, now_ns);
	worker->work_units++;
}

static void iterate(struct worker *worker)
{
	if (worker->position)
		receive_frame(worker);
	else
		send_frame(worker);
}

static void end(struct worker *worker)
{
	struct state *state = worker->state;

	if (state && state->socket >= 0)
		close(state->socket);
	free(state);
}

const struct work_type work_irq_wake = {
	.name = "irq-wake",
	.summary = "pairs: one is woken by the frames that the other sends",
	.params = params,
	.params_bytes = sizeof(struct irq_wake),
	.team = 2,
	.shared = sizeof(struct net_team),
	.units_each = 1,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
