// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends frames to itself: load of the softirq of the network, and no wakeups. */
#include "load/work/net_frames.h"
#include "load/work_type.h"

static int begin(struct worker *worker)
{
	return net_frames_begin(worker, false);
}

const struct work_type work_net_traffic = {
	.name = "net-traffic",
	.summary = "sends frames to itself, which a softirq receives",
	.params = net_frames_params,
	.params_bytes = sizeof(struct net_frames),
	.shared = sizeof(struct net_team),
	.units_each = 1,
	.begin = begin,
	.iterate = net_frames_send,
	.end = net_frames_end,
};
