// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* unshare, setns, syscall */
#include "load/work/net_frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "load/cpus.h"

/* IEEE Std 802: the first of two for experiments. No protocol of the kernel takes it. */
#define ETHERTYPE   0x88b5
#define TEAM_READY  1
#define TEAM_FAILED 2
#define RETRY_NS    1000000ULL

struct frame {
	struct ethhdr header;
	uint64_t sent_ns;
	char rest[NET_FRAME_MAX - sizeof(struct ethhdr) - sizeof(uint64_t)];
} __attribute__((packed));

static int fail(struct worker *worker, const char *what, const char *without)
{
	int result = -errno;

	worker_fail(worker, "%s: %s%s", what, strerror(-result),
		    result == -EPERM	      ? " (it needs root)"
		    : result == -EAFNOSUPPORT ? without
		    : result == -EINVAL	      ? without
					      : "");
	return result;
}

static int bring_up_loopback(struct worker *worker)
{
	cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return fail(worker, "cannot use the loopback device", " (this kernel has no IPv4)");
	return 0;
}

/*
 * The frames of a team on one CPU, of another team on the next. /sys shows the devices of the
 * namespace that it was mounted in, so it needs one of its own, which has no place in the tree.
 */
static void steer(struct worker *worker)
{
	static const char path[] = "class/net/lo/queues/rx-0/rps_cpus";
	cleanup_close int system = (int)syscall(SYS_fsopen, "sysfs", FSOPEN_CLOEXEC);
	cleanup_close int mounted = -1, file = -1;
	char text[CPUS_MAX / 4 + CPUS_MAX / 32 + 1] = "";
	struct cpus cpus = {{0}};
	unsigned int cpu;
	size_t used = 0;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(cpus), &cpus) < 0 || cpus_count(&cpus) < 2)
		return;
	cpu = cpus_nth(&cpus, worker->index / worker->team_size % cpus_count(&cpus));
	/* as cpumask_parse() reads it: words of 32 bits, the highest first */
	used = (size_t)snprintf(text, sizeof(text), "%x", 1U << (cpu % 32));
	for (unsigned int word = cpu / 32; word && used < sizeof(text) - 10; word--)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ",00000000");
	if (system >= 0 && !syscall(SYS_fsconfig, system, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mounted = (int)syscall(SYS_fsmount, system, FSMOUNT_CLOEXEC, 0);
	if (mounted >= 0)
		file = openat(mounted, path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, text, used) != (ssize_t)used)
		worker_note(worker,
			    "no RPS (%s): frames are received on the CPU that sends them, "
			    "without an interrupt",
			    strerror(errno));
}

static int make_namespace(struct worker *worker)
{
	int result;

	if (unshare(CLONE_NEWNET) < 0)
		return fail(worker, "cannot make a network namespace", " (this kernel has none)");
	result = bring_up_loopback(worker);
	if (result >= 0)
		steer(worker);
	return result;
}

static int follow(struct worker *worker, struct net_team *team)
{
	cleanup_close int fd = -1;
	uint32_t ready;
	char path[64];

	while (!(ready = __atomic_load_n(&team->ready, __ATOMIC_ACQUIRE)) && !worker_stopping())
		worker_futex_wait(&team->ready, 0);
	if (ready != TEAM_READY) {
		worker_fail(worker, "its partner has made no network for it");
		return -ENONET;
	}
	snprintf(path, sizeof(path), "/proc/%u/ns/net", team->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		return fail(worker, "cannot enter the network namespace of its partner", "");
	return 0;
}

static int open_socket(struct worker *worker, bool receives, int *ret_socket)
{
	uint16_t protocol = htons(receives ? ETHERTYPE : 0);
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = protocol,
		.sll_ifindex = (int)if_nametoindex("lo"),
	};
	static const struct timeval longest = {.tv_usec = (long)(WORKER_WAIT_NS / 1000)};

	*ret_socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (*ret_socket < 0 ||
	    bind(*ret_socket, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(*ret_socket, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)) < 0)
		return fail(worker, "cannot open a packet socket",
			    " (this kernel has no CONFIG_PACKET)");
	return 0;
}

const struct param net_frames_params[] = {
	PARAM(struct net_frames, interval, DURATION, "100us", 0, 0, "from frame to frame"),
	PARAM(struct net_frames, frame, COUNT, "60", NET_FRAME_MIN, NET_FRAME_MAX, "bytes of each"),
	{.name = NULL},
};

struct state {
	int socket;
};

static int begin_in_namespace(struct worker *worker, bool receives, int *ret_socket)
{
	struct net_team *team = worker->shared;
	int result;

	if (worker->position) {
		result = follow(worker, team);
		return result < 0 ? result : open_socket(worker, receives, ret_socket);
	}
	result = make_namespace(worker);
	if (result >= 0)
		result = open_socket(worker, receives, ret_socket);
	team->tid = (uint32_t)worker->tid;
	__atomic_store_n(&team->ready, result < 0 ? TEAM_FAILED : TEAM_READY, __ATOMIC_RELEASE);
	worker_futex_wake(&team->ready, worker->team_size);
	return result;
}

int net_frames_begin(struct worker *worker, bool receives)
{
	struct state *state = malloc(sizeof(*state));

	worker->state = state;
	if (!state) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	state->socket = -1;
	return begin_in_namespace(worker, receives, &state->socket);
}

void net_frames_end(struct worker *worker)
{
	struct state *state = worker->state;

	if (state && state->socket >= 0)
		close(state->socket);
	free(state);
}

void net_frames_send(struct worker *worker)
{
	const struct net_frames *params = worker->params;
	const struct state *state = worker->state;
	/* the addresses of the loopback device are zeros */
	struct frame frame = {.header.h_proto = htons(ETHERTYPE)};

	if (params->interval && !worker_rest(worker, params->interval))
		return;
	frame.sent_ns = clock_monotonic_ns();
	if (send(state->socket, &frame, params->frame, 0) == (ssize_t)params->frame) {
		worker->work_units++;
	} else if (errno != EINTR && errno != EAGAIN) {
		worker_note(worker, "cannot send a frame: %s", strerror(errno));
		worker_rest(worker, RETRY_NS);
	}
}

bool net_frames_receive(struct worker *worker, uint64_t *ret_sent_ns)
{
	const struct state *state = worker->state;
	struct frame frame;

	if (recv(state->socket, &frame, sizeof(frame), 0) >= NET_FRAME_MIN) {
		*ret_sent_ns = frame.sent_ns;
		return true;
	}
	if (errno != EINTR && errno != EAGAIN)
		worker_fail(worker, "cannot receive frames: %s", strerror(errno));
	return false;
}
