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

/*
 * What others did on the host meanwhile, as shares: the result of a guest has them, and a cell of a
 * matrix, which reads them from there.
 */
#define GUEST_HOST_HELP "what others did on the host meanwhile"
#define GUEST_HOST_SHARES(X)                                                                       \
	X(taken, "taken_share", "of its CPUs, by others and the hypervisor")                       \
	X(lacked, "lacked_share",                                                                  \
	  "of what the guest's CPUs could have had, what these left too little for")

/* The row is a struct guest_outcome. */
extern const struct schema guest_schema;

#endif
