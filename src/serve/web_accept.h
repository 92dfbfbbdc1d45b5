/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client accepts: RFC 9110, section 12.5. In the process that speaks HTTP. */
#ifndef DWELL_SERVE_WEB_ACCEPT_H
#define DWELL_SERVE_WEB_ACCEPT_H

/*
 * In thousandths, how much a list (a header's value) wants the first of `names`, up to a NULL, that
 * it has: 0 refuses it. -1: it has none, or there is no list (NULL). Of a name that it has several
 * times, as with other versions, the highest.
 */
int web_accept_quality(const char *list, const char *const *names);

#endif
