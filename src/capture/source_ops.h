/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each kind of source gives to source.c. */
#ifndef DWELL_CAPTURE_SOURCE_OPS_H
#define DWELL_CAPTURE_SOURCE_OPS_H

#include "base/error.h"
#include "capture/sink.h"
#include "capture/source.h"

struct source_ops {
	enum source_choice choice;
	/* Begins to measure; fills in what is special about its session, and reports what is
	 * missing.
	 */
	int (*open)(void **ret_data, const struct source_options *options, struct targets *targets,
		    struct wire_session *session, struct record_sink sink, struct error *error);
	void (*close)(void *data);
	/* All threads as of one instant; `final`: no other one will come. */
	int (*snapshot)(void *data, bool final, uint64_t *ret_instant_ns, struct record_sink sink,
			struct error *error);
	/* As source_await() and source_leaving(); NULL: no events at the end of threads. */
	int (*await)(void *data, int timeout_ms, struct record_sink sink, struct error *error);
	uint64_t (*leaving)(const void *data);
	struct wire_losses (*losses)(const void *data);
	/* As wire_session.states, which the last snapshot may have changed; NULL: never. */
	uint32_t (*states)(const void *data);
	/* Readable when work() has to be called; NULL: never. */
	int (*descriptor)(const void *data);
	int (*work)(void *data, struct record_sink sink, struct error *error);
	/* CPU time so far of processes that work for it; NULL: there are none. */
	uint64_t (*helpers_cpu_ns)(const void *data);
	/* NULL: it has no hooks. */
	void (*hooks)(const void *data, struct hook_stats *stats);
	/* NULL: reasons cannot be kept. */
	void (*look_at)(void *data, uint32_t pid);
};

extern const struct source_ops source_bpf;
extern const struct source_ops source_taskstats;
extern const struct source_ops source_procfs;

#endif
