/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How glibc's heap takes memory from the kernel, and gives it back. */
#ifndef DWELL_BASE_HEAP_H
#define DWELL_BASE_HEAP_H

/* For a program that runs for long: mallopt(3), where that is; and gives back what is free. */
void heap_for_long_runs(void);

/* What is free goes back to the kernel: worth its time where much is. */
void heap_give_back(void);

#endif
