/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka, with what it wants included before it. */
#ifndef DWELL_UNIT_TEST_H
#define DWELL_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASE(name) static void name(__attribute__((unused)) void **state)
#define RUN(cases) cmocka_run_group_tests(cases, NULL, NULL)

#endif
