/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DWELL_CAPTURE_RECORD_CHECK_H
#define DWELL_CAPTURE_RECORD_CHECK_H

#include <stdbool.h>

#include "bpf/wire.h"

/*
 * Whether a record is what its kind says. Everything behind a recording trusts it. Kinds of a newer
 * minor version pass; no reader looks at them.
 */
bool record_is_sound(const struct wire_header *record);

#endif
