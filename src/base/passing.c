// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/passing.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr header;
	uint8_t room[CMSG_SPACE(sizeof(int))];
};

int passing_send(int socket, const void *bytes, size_t length, int fd, int flags)
{
	union control control = {{0}};
	struct iovec part = {(void *)(uintptr_t)bytes, length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t passing_receive(int socket, void *bytes, size_t room, int *ret_fd, int flags)
{
	union control control;
	struct iovec part = {bytes, room};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);

	*ret_fd = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	return got < 0 ? -errno : got;
}
