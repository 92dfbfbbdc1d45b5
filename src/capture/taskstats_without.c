// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without libmnl (-Dtaskstats=disabled): there is no link, so the rest is never called. */
#include <errno.h>

#include "base/build_options.h"
#include "capture/taskstats.h"

int taskstats_open(struct taskstats_link **ret_taskstats, struct error *error)
{
	*ret_taskstats = NULL;
	return build_option_missing(BUILD_TASKSTATS, error);
}

void taskstats_close(struct taskstats_link *taskstats)
{
	(void)taskstats;
}

unsigned int taskstats_version(const struct taskstats_link *taskstats)
{
	(void)taskstats;
	return 0;
}

int taskstats_read(struct taskstats_link *taskstats, const uint32_t *tids, size_t count,
		   taskstats_callback callback, void *data, struct error *error)
{
	(void)taskstats;
	(void)tids;
	(void)count;
	(void)callback;
	(void)data;
	return build_option_missing(BUILD_TASKSTATS, error);
}

int taskstats_listen(struct taskstats_link *taskstats, struct error *error)
{
	(void)taskstats;
	return build_option_missing(BUILD_TASKSTATS, error);
}

int taskstats_collect(struct taskstats_link *taskstats)
{
	(void)taskstats;
	return -ENOTSUP;
}

int taskstats_exits(struct taskstats_link *taskstats, taskstats_callback callback, void *data)
{
	(void)taskstats;
	(void)callback;
	(void)data;
	return -ENOTSUP;
}

int taskstats_exit_fd(const struct taskstats_link *taskstats)
{
	(void)taskstats;
	return -1;
}

uint64_t taskstats_lost(const struct taskstats_link *taskstats)
{
	(void)taskstats;
	return 0;
}
