/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest that has ended came to: `dwell guest --result`. */
#ifndef DWELL_GUEST_OUTCOME_H
#define DWELL_GUEST_OUTCOME_H

#include "emit/schema.h"
#include "guest/boot.h"

struct guest_outcome {
	const struct boot_options *boot;
	const struct boot_result *result;
	const char *scheduler;	    /* command; NULL: none was asked for */
	const char *trace;	    /* of a load that failed; NULL: none came back */
	int code;		    /* exit status of `dwell guest` */
	const struct error *failed; /* text "": nothing */
};

/* The row is a struct guest_outcome. */
extern const struct schema guest_schema;

#endif
