/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a worker's own that is read and written in strides: what fills a cache. */
#ifndef DWELL_LOAD_WORK_CACHE_H
#define DWELL_LOAD_WORK_CACHE_H

#include "load/worker.h"

/* Makes worker->state a buffer: for begin() and end(). */
int cache_begin(struct worker *worker, uint64_t bytes) must_check;
void cache_end(struct worker *worker);

/* n units: each reads and writes one byte, `stride` behind the last one and round again. */
void cache_touch(struct worker *worker, uint64_t bytes, uint64_t stride, uint64_t n);

#endif
