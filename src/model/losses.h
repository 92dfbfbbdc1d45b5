/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is missing from, or blurred in, the figures. */
#ifndef DWELL_MODEL_LOSSES_H
#define DWELL_MODEL_LOSSES_H

#include <stdint.h>

#include "bpf/wire.h"

static inline void losses_add(struct wire_losses *sum, const struct wire_losses *part)
{
	sum->threads += part->threads;
	sum->exits += part->exits;
	sum->transitions += part->transitions;
	sum->torn += part->torn;
	sum->clamped += part->clamped;
}

/* Records and transitions that did not arrive. */
static inline uint64_t losses_lost(const struct wire_losses *losses)
{
	return losses->threads + losses->exits + losses->transitions;
}

/* Everything that makes a figure less than exact by more than a switch. */
static inline uint64_t losses_all(const struct wire_losses *losses)
{
	return losses_lost(losses) + losses->torn;
}

#endif
