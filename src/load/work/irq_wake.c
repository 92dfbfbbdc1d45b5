// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs: one sends frames, the other waits for them and is woken by the network's softirq. */
#include "load/work/net_frames.h"
#include "load/work_type.h"

/* The second one of a pair receives. */
static int begin(struct worker *worker)
{
	return net_frames_begin(worker, worker->position);
}

static void receive_frame(struct worker *worker)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns, sent_ns;

	while (!net_frames_receive(worker, &sent_ns))
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
		net_frames_send(worker);
}

const struct work_type work_irq_wake = {
	.name = "irq-wake",
	.summary = "pairs: one is woken by the frames that the other sends",
	.flags = WORK_WAITS,
	.params = net_frames_params,
	.params_bytes = sizeof(struct net_frames),
	.team = 2,
	.shared = sizeof(struct net_team),
	.units_each = 1,
	.begin = begin,
	.iterate = iterate,
	.end = net_frames_end,
};
