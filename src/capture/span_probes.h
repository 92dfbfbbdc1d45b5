/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is attached to see spans: probes on functions, tracepoints of waits, samples of CPUs. */
#ifndef DWELL_CAPTURE_SPAN_PROBES_H
#define DWELL_CAPTURE_SPAN_PROBES_H

#include <stddef.h>

#include "capture/cpu_samples.h"
#include "capture/sink.h"
#include "capture/spans.h"

struct dwell_bpf;
struct bpf_link;

/* All zeros: nothing is attached. */
struct span_probes {
	struct dwell_bpf *bpf;
	const struct span_options *options;
	struct bpf_link **links;
	size_t link_count, link_room;
	int *fds; /* of links that libbpf does not know */
	size_t fd_count, fd_room;
	size_t attached; /* of options->probes */
	struct cpu_samples samples;
};

/* Between opening and loading the BPF object: what it needs for them. */
void span_probes_configure(struct dwell_bpf *bpf, const struct span_options *options);

/* Only the probes on the runtime's functions. */
int span_probes_attach_polls(struct span_probes *probes, struct dwell_bpf *bpf,
			     const struct span_options *options,
			     struct record_sink sink) must_check;

/* Reports what the kernel refuses as missing. 0 or a negative errno; detach in either case. */
int span_probes_attach(struct span_probes *probes, struct dwell_bpf *bpf,
		       const struct span_options *options, struct record_sink sink) must_check;
void span_probes_detach(struct span_probes *probes);

#endif
