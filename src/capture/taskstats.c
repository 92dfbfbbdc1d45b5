// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* recvmmsg */
#include "capture/taskstats.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"

/* Requests on their way at once: their answers fit into the socket's buffer. */
#define BATCH	      64
#define REQUEST_BYTES 64
#define RECEIVE_BYTES (4 << 20)
/*
 * Every end on the machine is a message, also of threads that are no targets: they are taken many
 * at a time, before even the buffer of a user without privileges (212,992 bytes, some 160 of them)
 * is full at 8,000 a second.
 */
#define COLLECT_EVERY_NS (20 * NS_PER_MS)
#define COLLECT_AT_ONCE	 32
#define MESSAGE_BYTES	 2048
/* Exits kept between two snapshots. */
#define ENDED_MAX 65536

struct taskstats_link {
	struct mnl_socket *requests, *exits;
	int timer_fd; /* when to take exits; with `exits` */
	uint16_t family;
	unsigned int version;
	bool delays_counted;
	uint32_t sequence;
	uint64_t lost;
	struct taskstats_reading *ended; /* collected */
	size_t ended_count, ended_room;
};

static struct nlmsghdr *put_request(void *buffer, struct taskstats_link *taskstats, uint16_t type,
				    uint8_t command)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(header, sizeof(*generic));

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST;
	header->nlmsg_seq = ++taskstats->sequence;
	generic->cmd = command;
	generic->version = TASKSTATS_GENL_VERSION;
	return header;
}

static int find_family_id(const struct nlattr *attribute, void *data)
{
	uint16_t *id = data;

	if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_ID &&
	    mnl_attr_validate(attribute, MNL_TYPE_U16) >= 0)
		*id = mnl_attr_get_u16(attribute);
	return MNL_CB_OK;
}

static int on_family(const struct nlmsghdr *header, void *data)
{
	return mnl_attr_parse(header, sizeof(struct genlmsghdr), find_family_id, data);
}

static int find_family(struct taskstats_link *taskstats)
{
	char buffer[8192];
	struct nlmsghdr *header = put_request(buffer, taskstats, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	ssize_t length;

	mnl_attr_put_strz(header, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
	if (mnl_socket_sendto(taskstats->requests, header, header->nlmsg_len) < 0)
		return -errno;
	length = mnl_socket_recvfrom(taskstats->requests, buffer, sizeof(buffer));
	if (length < 0 || mnl_cb_run(buffer, (size_t)length, taskstats->sequence, 0, on_family,
				     &taskstats->family) < 0)
		return -errno;
	return taskstats->family ? 0 : -ENOENT;
}

static struct mnl_socket *open_socket(void)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	int bytes = RECEIVE_BYTES;

	if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
		mnl_socket_close(socket);
		return NULL;
	}
	/* more than a user may have, where that is permitted */
	if (socket && setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
				 sizeof(bytes)) < 0)
		setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return socket;
}

struct answers {
	taskstats_callback callback;
	void *data;
	int result;	       /* of the callback */
	unsigned int versions; /* refused */
};

static void take_stats(struct answers *answers, const struct nlattr *stats)
{
	struct taskstats_reading reading;

	if (!taskstats_decode(mnl_attr_get_payload(stats), mnl_attr_get_payload_len(stats),
			      &reading))
		answers->versions++;
	else if (answers->result >= 0)
		answers->result = answers->callback(answers->data, &reading);
}

/* Of a thread; a process's sums (AGGR_TGID) come with the exit of its last one. */
static int on_aggregate(const struct nlattr *attribute, void *data)
{
	const struct nlattr *inner;

	if (mnl_attr_get_type(attribute) != TASKSTATS_TYPE_AGGR_PID)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(inner,
				 attribute) if (mnl_attr_get_type(inner) == TASKSTATS_TYPE_STATS)
		take_stats(data, inner);
	return MNL_CB_OK;
}

static int on_message(const struct nlmsghdr *header, void *data)
{
	return mnl_attr_parse(header, sizeof(struct genlmsghdr), on_aggregate, data);
}

/* Takes the messages of one datagram; how many answers were among them (errors are answers). */
static unsigned int take_datagram(struct taskstats_link *taskstats, char *buffer, ssize_t length,
				  uint32_t first_sequence, struct answers *answers)
{
	struct nlmsghdr *header = (struct nlmsghdr *)(void *)buffer;
	int left = (int)length;
	unsigned int taken = 0;

	for (; mnl_nlmsg_ok(header, left); header = mnl_nlmsg_next(header, &left)) {
		/* of a request before: late, and not to be counted for this batch */
		if (first_sequence &&
		    (header->nlmsg_seq < first_sequence || header->nlmsg_seq > taskstats->sequence))
			continue;
		taken++;
		if (header->nlmsg_type == taskstats->family)
			on_message(header, answers);
	}
	return taken;
}

static int read_batch(struct taskstats_link *taskstats, const uint32_t *tids, size_t count,
		      struct answers *answers)
{
	char requests[BATCH * REQUEST_BYTES], buffer[32768];
	uint32_t first = taskstats->sequence + 1;
	size_t used = 0, taken = 0;

	for (size_t i = 0; i < count; i++) {
		struct nlmsghdr *header = put_request(requests + used, taskstats, taskstats->family,
						      TASKSTATS_CMD_GET);

		mnl_attr_put_u32(header, TASKSTATS_CMD_ATTR_PID, tids[i]);
		used += MNL_ALIGN(header->nlmsg_len);
	}
	if (mnl_socket_sendto(taskstats->requests, requests, used) < 0)
		return -errno;
	/* the kernel answers while it takes the requests: everything is there already */
	while (taken < count) {
		ssize_t length = recv(mnl_socket_get_fd(taskstats->requests), buffer,
				      sizeof(buffer), MSG_DONTWAIT);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && errno == ENOBUFS) {
			taskstats->lost++;
			continue;
		}
		if (length < 0)
			return errno == EAGAIN ? 0 : -errno;
		taken += take_datagram(taskstats, buffer, length, first, answers);
	}
	return 0;
}

int taskstats_read(struct taskstats_link *taskstats, const uint32_t *tids, size_t count,
		   taskstats_callback callback, void *data, struct error *error)
{
	struct answers answers = {.callback = callback, .data = data};

	for (size_t i = 0; i < count && answers.result >= 0; i += BATCH) {
		int result = read_batch(taskstats, tids + i, count - i < BATCH ? count - i : BATCH,
					&answers);

		if (result < 0)
			return error_set(error, -result, "cannot read taskstats: %s",
					 strerror(-result));
	}
	return answers.result < 0 ? error_set(error, -answers.result, "cannot take taskstats: %s",
					      strerror(-answers.result))
				  : 0;
}

static int keep_version(void *data, const struct taskstats_reading *reading)
{
	struct taskstats_link *taskstats = data;

	taskstats->version = reading->delays.version;
	return 0;
}

/* Whether we may ask, and can read the answer: about ourselves. */
static int probe(struct taskstats_link *taskstats, struct error *error)
{
	struct answers answers = {.callback = keep_version, .data = taskstats};
	char buffer[8192];
	struct nlmsghdr *header =
		put_request(buffer, taskstats, taskstats->family, TASKSTATS_CMD_GET);
	ssize_t length;

	mnl_attr_put_u32(header, TASKSTATS_CMD_ATTR_PID, (uint32_t)getpid());
	if (mnl_socket_sendto(taskstats->requests, header, header->nlmsg_len) < 0 ||
	    (length = mnl_socket_recvfrom(taskstats->requests, buffer, sizeof(buffer))) < 0 ||
	    mnl_cb_run(buffer, (size_t)length, taskstats->sequence, 0, on_message, &answers) < 0) {
		int code = errno;

		if (code == EPERM)
			return error_set(error, code,
					 "taskstats needs root, or CAP_NET_ADMIN in the initial "
					 "user namespace");
		return error_set(error, code, "cannot read taskstats: %s", strerror(code));
	}
	if (answers.versions)
		return error_set(
			error, ENOTSUP,
			"this kernel's taskstats has version %d, whose layout is "
			"incompatible with all others: use a kernel before 6.14 or a later "
			"one",
			TASKSTATS_INCOMPATIBLE);
	if (!taskstats->version)
		return error_set(error, ENOTSUP, "the kernel gave no taskstats");
	return 0;
}

int taskstats_open(struct taskstats_link **ret_taskstats, struct error *error)
{
	struct taskstats_link *taskstats = calloc(1, sizeof(*taskstats));
	int result;

	if (!taskstats)
		return error_set(error, ENOMEM, "out of memory");
	taskstats->timer_fd = -1;
	taskstats->requests = open_socket();
	if (!taskstats->requests) {
		result = error_set(error, errno, "cannot open a netlink socket: %s",
				   strerror(errno));
	} else {
		result = find_family(taskstats);
		if (result < 0)
			result = error_set(error, ENOTSUP,
					   "this kernel has no taskstats: it needs "
					   "CONFIG_TASKSTATS=y");
		else
			result = probe(taskstats, error);
	}
	if (result < 0) {
		taskstats_close(taskstats);
		return result;
	}
	*ret_taskstats = taskstats;
	return 0;
}

static void stop_listening(struct taskstats_link *taskstats)
{
	if (taskstats->exits)
		mnl_socket_close(taskstats->exits);
	taskstats->exits = NULL;
	if (taskstats->timer_fd >= 0)
		close(taskstats->timer_fd);
	taskstats->timer_fd = -1;
}

void taskstats_close(struct taskstats_link *taskstats)
{
	if (!taskstats)
		return;
	if (taskstats->requests)
		mnl_socket_close(taskstats->requests);
	/* with its socket goes the registration */
	stop_listening(taskstats);
	free(taskstats->ended);
	free(taskstats);
}

unsigned int taskstats_version(const struct taskstats_link *taskstats)
{
	return taskstats->version;
}

static int keep_ended(void *data, const struct taskstats_reading *reading)
{
	struct taskstats_link *taskstats = data;

	if (taskstats->ended_count == ENDED_MAX) {
		taskstats->lost++;
		return 0;
	}
	if (array_reserve(&taskstats->ended, &taskstats->ended_room, taskstats->ended_count + 1,
			  sizeof(*taskstats->ended)) < 0)
		return -ENOMEM;
	taskstats->ended[taskstats->ended_count++] = *reading;
	return 0;
}

/* One datagram of the exits: `flags` as for recv(). Its length, 0: lost some; or a negative errno.
 */
static ssize_t collect_one(struct taskstats_link *taskstats, char *buffer, size_t room, int flags)
{
	struct answers answers = {.callback = keep_ended, .data = taskstats};
	ssize_t length = recv(mnl_socket_get_fd(taskstats->exits), buffer, room, flags);

	if (length < 0 && errno == ENOBUFS) {
		taskstats->lost++;
		return 0;
	}
	if (length < 0)
		return errno == EINTR ? 0 : -errno;
	take_datagram(taskstats, buffer, length, 0, &answers);
	return answers.result < 0 ? answers.result : length;
}

/* Exits may come before the kernel says that it listens to us. */
static int await_acknowledgement(struct taskstats_link *taskstats)
{
	char buffer[32768];

	for (;;) {
		ssize_t length = collect_one(taskstats, buffer, sizeof(buffer), 0);
		const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)buffer;

		if (length < 0)
			return (int)length;
		if (!mnl_nlmsg_ok(header, (int)length) || header->nlmsg_type != NLMSG_ERROR ||
		    header->nlmsg_seq != taskstats->sequence)
			continue;
		return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(header))->error;
	}
}

static int start_timer(struct taskstats_link *taskstats)
{
	struct itimerspec every = {.it_interval.tv_nsec = COLLECT_EVERY_NS,
				   .it_value.tv_nsec = COLLECT_EVERY_NS};

	taskstats->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (taskstats->timer_fd < 0 || timerfd_settime(taskstats->timer_fd, 0, &every, NULL) < 0)
		return -errno;
	return 0;
}

int taskstats_listen(struct taskstats_link *taskstats, struct error *error)
{
	char buffer[256], cpus[32];
	struct nlmsghdr *header =
		put_request(buffer, taskstats, taskstats->family, TASKSTATS_CMD_GET);
	int result;

	header->nlmsg_flags |= NLM_F_ACK;
	snprintf(cpus, sizeof(cpus), "0-%d", get_nprocs_conf() - 1);
	mnl_attr_put_strz(header, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
	taskstats->exits = open_socket();
	if (!taskstats->exits || mnl_socket_sendto(taskstats->exits, header, header->nlmsg_len) < 0)
		result = -errno;
	else
		result = await_acknowledgement(taskstats);
	if (result == 0)
		result = start_timer(taskstats);
	if (result == 0)
		return 0;
	stop_listening(taskstats);
	return error_set(error, -result, "cannot listen for exits: %s", strerror(-result));
}

int taskstats_exit_fd(const struct taskstats_link *taskstats)
{
	return taskstats->timer_fd;
}

/* What has arrived, up to COLLECT_AT_ONCE messages: how many; a negative errno at the end. */
static int collect_many(struct taskstats_link *taskstats)
{
	struct answers answers = {.callback = keep_ended, .data = taskstats};
	char buffers[COLLECT_AT_ONCE][MESSAGE_BYTES];
	struct iovec parts[COLLECT_AT_ONCE];
	struct mmsghdr messages[COLLECT_AT_ONCE] = {{.msg_len = 0}};
	int count;

	for (int i = 0; i < COLLECT_AT_ONCE; i++) {
		parts[i] = (struct iovec){buffers[i], MESSAGE_BYTES};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	count = recvmmsg(mnl_socket_get_fd(taskstats->exits), messages, COLLECT_AT_ONCE,
			 MSG_DONTWAIT, NULL);
	if (count < 0 && errno == ENOBUFS) {
		taskstats->lost++;
		return 0;
	}
	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
			taskstats->lost++;
		else
			take_datagram(taskstats, buffers[i], messages[i].msg_len, 0, &answers);
	}
	return answers.result < 0 ? answers.result : count;
}

int taskstats_collect(struct taskstats_link *taskstats)
{
	uint64_t expired;
	int count = 0;

	if (taskstats->timer_fd >= 0 && read(taskstats->timer_fd, &expired, sizeof(expired)) < 0 &&
	    errno != EAGAIN)
		return -errno;
	while (taskstats->exits && count >= 0)
		count = collect_many(taskstats);
	return count == -EAGAIN ? 0 : count;
}

int taskstats_exits(struct taskstats_link *taskstats, taskstats_callback callback, void *data)
{
	int result = taskstats_collect(taskstats);

	for (size_t i = 0; result >= 0 && i < taskstats->ended_count; i++)
		result = callback(data, &taskstats->ended[i]);
	taskstats->ended_count = 0;
	return result;
}

uint64_t taskstats_lost(const struct taskstats_link *taskstats)
{
	return taskstats->lost;
}
