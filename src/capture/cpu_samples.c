// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/cpu_samples.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

int cpu_samples_attach(struct bpf_program *program, unsigned int frequency,
		       int (*keep)(void *data, struct bpf_link *link), void *data,
		       struct record_sink sink)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = frequency,
		.freq = 1,
	};
	char why[160];

	for (int cpu = 0; cpu < get_nprocs_conf(); cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link;
		int result;

		if (fd < 0 && errno == ENODEV)
			continue; /* not online */
		if (fd < 0) {
			snprintf(why, sizeof(why), "no samples: perf_event_open: %s",
				 strerror(errno));
			return sink_missing(sink, "samples", why);
		}
		link = bpf_program__attach_perf_event(program, fd);
		result = link ? keep(data, link) : -errno;
		if (!link)
			close(fd);
		if (result < 0)
			return result == -ENOMEM
				       ? result
				       : sink_missing(sink, "samples", "cannot attach to samples");
	}
	return 0;
}
