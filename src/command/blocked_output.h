/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell blocked` writes: lines of stalls, the summary, and the file of --export. */
#ifndef DWELL_COMMAND_BLOCKED_OUTPUT_H
#define DWELL_COMMAND_BLOCKED_OUTPUT_H

#include "base/file.h"
#include "base/identities.h"
#include "base/output.h"
#include "command/blocked_options.h"
#include "model/stalls.h"

/* BLOCKED_OUTPUT_NONE is not open. */
struct blocked_output {
	const struct blocked_options *options;
	struct output output;
	struct identities reported;    /* workers, with -v */
	uint64_t stuck;		       /* blocked_stuck_now(), as last written */
	struct file_draft export_file; /* takes its name when it is complete */
	struct output export_output;
	struct blocked_export export;
};

#define BLOCKED_OUTPUT_NONE ((struct blocked_output){.export_file = FILE_DRAFT_NONE})

int blocked_output_open(struct blocked_output *output, const struct blocked_options *options,
			struct stalls *stalls, struct error *error) must_check;

int blocked_output_stall(struct blocked_output *output, struct stalls *stalls,
			 const struct stall *stall, struct error *error) must_check;

/* With -v, which workers there are, as they are found, and how; in JSON, which are stuck. */
int blocked_output_interval(struct blocked_output *output, struct stalls *stalls,
			    struct error *error) must_check;

/* While what the session says of itself is still there. Sets how many hotspots are shown. */
int blocked_output_end(struct blocked_output *output, struct blocked_summary *summary,
		       struct error *error) must_check;

void blocked_output_release(struct blocked_output *output);

/*
 * Of --max-stalls and --max-stall: the exit code, and a report where it is not EXIT_DONE. Workers
 * that have not come back count too.
 */
int blocked_check_limits(const struct blocked_options *options, struct stalls *stalls);

#endif
