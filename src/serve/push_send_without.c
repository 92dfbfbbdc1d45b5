// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without libcurl (-Dpush=disabled): the options refuse before there is anything to send.
 */
#include <unistd.h>

#include "base/build_options.h"
#include "serve/push_send.h"

int push_send_check(struct error *error)
{
	return build_option_missing(BUILD_PUSH, error);
}

void push_send_run(const struct push_engine *engine, int socket, pid_t parent)
{
	(void)engine;
	(void)socket;
	(void)parent;
	_exit(1);
}
