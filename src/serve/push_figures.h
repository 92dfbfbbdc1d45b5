/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is pushed, as each engine wants it, before it is packed. */
#ifndef DWELL_SERVE_PUSH_FIGURES_H
#define DWELL_SERVE_PUSH_FIGURES_H

#include "serve/push.h"
#include "view/metrics.h"

/* Metrics of the machine `host`, for any protocol but Pyroscope's. 0 or -ENOMEM. */
int push_figures_metrics(enum push_protocol protocol, const struct metrics_input *input,
			 const char *host, char **ret_bytes, size_t *ret_length) must_check;

/* A profile in pprof's format, as Pyroscope's form. 0 or -ENOMEM. */
int push_figures_profile(const void *pprof, size_t length, char **ret_bytes,
			 size_t *ret_length) must_check;

#endif
