/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that the kernel's network code hands from a team to itself, over the loopback device of a
 * network namespace that is the team's alone. No other device is in it, so nothing can leave the
 * machine, and nothing of the machine's own network is seen or changed. From the device on, a frame
 * takes the way of any NIC's: it waits in a CPU's backlog until the NET_RX softirq takes it out and
 * wakes who waits for it. There is no interrupt of a device; where there is a second CPU and
 * receive packet steering (RPS), the frame is sent to a CPU by an interrupt of its neighbour, and
 * the softirq runs on top of whatever that CPU does.
 */
#ifndef DWELL_LOAD_WORK_NET_FRAMES_H
#define DWELL_LOAD_WORK_NET_FRAMES_H

#include "load/params.h"
#include "load/worker.h"

#define NET_FRAME_MIN 60
#define NET_FRAME_MAX 1514

/* Of a team, shared. */
struct net_team {
	uint32_t ready; /* the namespace has been made: 1, or could not be: 2 */
	uint32_t tid;	/* who made it, and is in it */
};

/* Parameters of both types. */
struct net_frames {
	uint64_t interval; /* ns, from frame to frame */
	uint64_t frame;	   /* bytes of each */
};

extern const struct param net_frames_params[];

/*
 * Position 0 makes the namespace and enters it, others wait and follow. Opens a packet socket, the
 * worker's state; only with `receives` do frames come into it. 0, or a negative errno after
 * worker_fail().
 */
int net_frames_begin(struct worker *worker, bool receives) must_check;
void net_frames_end(struct worker *worker);

/* Rests for the interval, then sends one. What is refused is noted. */
void net_frames_send(struct worker *worker);

/*
 * One more has come, sent at *ret_sent_ns; waits for WORKER_WAIT_NS at most. False: none, or a
 * failure.
 */
bool net_frames_receive(struct worker *worker, uint64_t *ret_sent_ns);

#endif
