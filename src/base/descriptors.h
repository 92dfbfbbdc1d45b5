/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many files may be open at once: the soft limit is often 1,024, and some targets need more. */
#ifndef DWELL_BASE_DESCRIPTORS_H
#define DWELL_BASE_DESCRIPTORS_H

/* Up to the hard limit. */
void descriptors_raise(void);

/* In a child that becomes another program: as it was. Programs that use select(2) rely on it. */
void descriptors_restore(void);

#endif
