/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokio's functions that poll, in a program without symbols: by the tables of functions that each
 * type of task has (struct Vtable in tokio/src/runtime/task/raw.rs), which no compiler leaves out.
 */
#ifndef DWELL_RUNTIME_TOKIO_VTABLES_H
#define DWELL_RUNTIME_TOKIO_VTABLES_H

#include "symbol/object.h"

/*
 * `polls_tasks`: what is polled is a task of a scheduler's, else a closure of the blocking pool, in
 * which a worker may live. 0, also if the file has nothing of Tokio; or -ENOMEM.
 */
typedef void tokio_vtables_call(void *data, uint64_t poll, bool polls_tasks);
int tokio_vtables_each(struct object *object, tokio_vtables_call *call, void *data) must_check;

#endif
