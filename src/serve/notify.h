/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service reports to systemd: sd_notify(3), whose protocol is a datagram. */
#ifndef DWELL_SERVE_NOTIFY_H
#define DWELL_SERVE_NOTIFY_H

#include <stdint.h>

/* "READY=1", "WATCHDOG=1", "STOPPING=1"; nothing where no service manager asked for it. */
void notify_send(const char *state);

/* With intervals that long it reports less often than the manager was going to wait: it waits
 * longer. */
void notify_watchdog(uint64_t interval_ns);

/* Before rights are given up. */
void notify_open(void);

#endif
