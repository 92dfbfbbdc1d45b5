/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes had mapped that are gone, or run another program by now; in the reader
 * (symbol/opener.h). Where no one follows processes, nothing is past.
 */
#ifndef DWELL_SYMBOL_PAST_MAPS_H
#define DWELL_SYMBOL_PAST_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/opener.h"

bool past_maps_followed(void);

/* Whether it is about a process that is no more: then the history has it, or nothing does. */
bool past_maps_has(uint32_t pid, uint64_t time_ns);

struct opener_unchanged past_maps_unchanged(uint32_t pid, uint64_t time_ns);

/* The process runs, but has mapped other code since then, or does so often. */
bool past_maps_changed(uint32_t pid, uint64_t time_ns);

/* As map_history_groups(); up to when all is known. 0: nothing is. */
uint64_t past_maps_groups(uint64_t since_ns, uint8_t *ret_bits);

/* As /proc/PID/maps would have been; code alone. The descriptor, or a negative errno. */
int past_maps_open(uint32_t pid, uint64_t time_ns) must_check;

/* The same of map_history_differences(). */
int past_maps_open_differences(uint32_t pid, uint64_t from_ns, uint64_t time_ns) must_check;

/* The path of its program; NULL: not known. Valid until the next call. */
const char *past_maps_program(uint32_t pid, uint64_t time_ns);

/* A process that sees what this one saw: itself, or the next of its parents. 0: none does. */
uint32_t past_maps_viewer(uint32_t pid, uint64_t time_ns);

#endif
