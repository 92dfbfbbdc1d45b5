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
	int *poll_fds; /* likewise, of what polls tasks: these come and go */
	size_t poll_fd_count, poll_fd_room;
	size_t attached; /* of options->probes */
	/* with the program's rights from before: a path of another process's map takes more */
	struct span_file {
		const char *path; /* of options->probes */
		int fd;
	} * files;
	size_t file_count, file_room;
	bool elsewhere_reported;
	bool are_stepped; /* most of what polls tasks: probe_is_stepped() */
	struct cpu_samples samples;
};

/* Between opening and loading the BPF object: what it needs for them. */
void span_probes_configure(struct dwell_bpf *bpf, const struct span_options *options);

/* Entries of the map of sites: one for each probe, up to SPAN_SITES_MAX, and that of the rest. */
__u32 span_probes_sites(const struct span_options *options);

/* Only the probes on the runtime's functions. */
int span_probes_attach_polls(struct span_probes *probes, struct dwell_bpf *bpf,
			     const struct span_options *options,
			     struct record_sink sink) must_check;

/* Reports what the kernel refuses as missing. 0 or a negative errno; detach in either case. */
int span_probes_attach(struct span_probes *probes, struct dwell_bpf *bpf,
		       const struct span_options *options, struct record_sink sink) must_check;

/* At each snapshot: what was not measured so far, once. 0 or a negative errno. */
int span_probes_report(struct span_probes *probes, struct record_sink sink) must_check;

/* Whether those of what polls tasks may be attached and detached by themselves. */
bool span_probes_may_change(const struct span_probes *probes);

/*
 * Attaches those of what polls tasks, which are detached. 0 or a negative errno: then none is. Any
 * thread, one at a time.
 */
int span_probes_polls_on(struct span_probes *probes) must_check;

/*
 * One of their descriptors, to be closed, which takes the kernel a grace period; -1: there is none
 * any more.
 */
int span_probes_polls_next(struct span_probes *probes);

void span_probes_detach(struct span_probes *probes);

#endif
