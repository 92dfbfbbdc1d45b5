/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzzers share. */
#ifndef DWELL_FUZZ_HARNESS_H
#define DWELL_FUZZ_HARNESS_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads a recording with these bytes and shows it in every way there is, to nowhere. */
void harness_show(const void *bytes, size_t size);

#endif
