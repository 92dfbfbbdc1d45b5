/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What dwell says to a person outside of its tables. */
#ifndef DWELL_BASE_PRINT_H
#define DWELL_BASE_PRINT_H

#include <stdio.h>

/*
 * As fprintf(), for a terminal: names in the arguments are chosen by programs under study, guests
 * and files, and cannot move the cursor, end the line or hide anything: text_printable(). What the
 * format has before its first conversion and behind its last one, as "\n" or "\033[K", is written
 * as it is.
 */
__attribute__((format(printf, 2, 3))) void print_text(FILE *to, const char *format, ...);

#endif
