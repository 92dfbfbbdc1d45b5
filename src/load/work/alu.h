/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic that keeps the integer units of a core busy, and nothing else. */
#ifndef DWELL_LOAD_WORK_ALU_H
#define DWELL_LOAD_WORK_ALU_H

#include "load/worker.h"

/* n units: each is a multiplication in four independent chains. */
void alu_chain(struct worker *worker, uint64_t n);

#endif
