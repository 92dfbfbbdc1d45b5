/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that listen: opened here, or by systemd. */
#ifndef DWELL_SERVE_LISTEN_H
#define DWELL_SERVE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The form of an address, as listen_open() takes it: -EINVAL, with the mistake. */
int listen_check(const char *address, struct error *error) must_check;

/* "127.0.0.1:9465", "[::1]:9465", ":9465" for all addresses, a name for its address. */
int listen_open(const char *address, int *ret_fd, struct error *error) must_check;

/* Of sd_listen_fds(3): how many there are, from *ret_first on; 0: not started by a socket. */
size_t listen_inherited(int *ret_first);

/* Whether only this machine can connect to it. */
bool listen_is_local(int fd);

/* "127.0.0.1:9465", as bound. */
void listen_format(int fd, char *into, size_t room);

#endif
