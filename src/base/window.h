/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much room there is for text that is written to a terminal, line after line. */
#ifndef DWELL_BASE_WINDOW_H
#define DWELL_BASE_WINDOW_H

/* The columns of the terminal, 80 where it does not say how many; 0: it is none. */
unsigned int window_columns(int fd);

#endif
