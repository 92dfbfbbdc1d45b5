// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/hook_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>

int hook_stats_begin(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

void hook_stats_add(struct hook_stats *stats, const struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {0};
		__u32 length = sizeof(info);
		int fd = bpf_program__fd(program);

		if (bpf_program__expected_attach_type(program) != BPF_TRACE_RAW_TP || fd < 0 ||
		    bpf_obj_get_info_by_fd(fd, &info, &length) < 0)
			continue;
		stats->runs += info.run_cnt;
		stats->ns += info.run_time_ns;
	}
}
