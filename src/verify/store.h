/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the last `dwell verify` on this machine found: root's, for `dwell doctor` of everyone. */
#ifndef DWELL_VERIFY_STORE_H
#define DWELL_VERIFY_STORE_H

#include "base/error.h"

#define VERIFY_STORE "/var/lib/dwell/verify.json"

/* Replaces it by one line of JSON. -EACCES and the like: it is left as it was. */
int verify_store_write(const char *line, size_t length) must_check;

#endif
