/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles for other programs. */
#ifndef DWELL_VIEW_PROFILE_EXPORT_H
#define DWELL_VIEW_PROFILE_EXPORT_H

#include "base/output.h"
#include "view/profile.h"

/* What a stack begins with; key in options. */
#define PROFILE_ROOTS(X)                                                                           \
	X(STATE, "state")                                                                          \
	X(THREAD, "thread")                                                                        \
	X(NONE, "none")

enum profile_root {
#define X(name, key) PROFILE_ROOT_##name,
	PROFILE_ROOTS(X)
#undef X
		PROFILE_ROOTS_COUNT,
};

extern const char *const profile_root_keys[PROFILE_ROOTS_COUNT];

struct profile_export_ops {
	const char *name;
	const char *help;
	bool is_binary; /* nothing for a terminal */
	/* 0 or -ENOMEM; what cannot be written stays in output.error. */
	int (*write)(struct output *out, const struct profile_result *result,
		     enum profile_root root);
};

/* In profile_chrome.c. 0 or -ENOMEM. */
int profile_write_chrome(struct output *out, const struct profile_result *result,
			 enum profile_root root) must_check;

/* In pprof.c. 0 or -ENOMEM. */
int profile_write_pprof(struct output *out, const struct profile_result *result,
			enum profile_root root) must_check;

/* In profile_html.c. 0 or -ENOMEM. */
int profile_write_html(struct output *out, const struct profile_result *result,
		       enum profile_root root) must_check;

extern const struct profile_export_ops profile_exports[];
extern const size_t profile_export_count;

/* NULL: no such format. */
const struct profile_export_ops *profile_export_find(const char *name);

#endif
