/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a process, by the runtime that it has. */
#ifndef DWELL_SESSION_RUNTIME_SPANS_H
#define DWELL_SESSION_RUNTIME_SPANS_H

#include <stdbool.h>

#include "capture/spans.h"
#include "model/stalls.h"
#include "runtime/runtime.h"

/*
 * Fills `spans`, whose process and symbols are set, by the runtime, or by the first that is there
 * (NULL). `plan`, all zeros before, has the strings of `spans`: it is released after it, whatever
 * comes of this. A process that `is_new` has no threads yet. -ENOENT: no thread has the prefix.
 */
int runtime_spans_make(struct span_options *spans, struct runtime_plan *plan,
		       const struct runtime_ops *runtime, bool is_new,
		       struct error *error) must_check;

void runtime_spans_release(struct span_options *spans, struct runtime_plan *plan);

/*
 * At the end: -ENOENT if there was no worker; the error says which threads the process has, if any,
 * or that polls were on other stacks than threads' own.
 */
int runtime_spans_check(const struct span_options *spans, struct stalls *stalls,
			bool polls_elsewhere, struct error *error) must_check;

#endif
