/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Specs in YAML. docs/formats/spec.md describes them; every error names file, line, column
 * and key, and misspelt keys are answered with a guess.
 */
#ifndef DWELL_LOAD_SPEC_YAML_H
#define DWELL_LOAD_SPEC_YAML_H

#include "load/spec.h"

#define SPEC_BYTES_MAX (1024 * 1024)

/* Into an initialised spec; what was read before a mistake stays in it, to be released. */
int spec_read_text(struct spec *spec, const char *text, const char *name,
		   struct error *error) must_check;

/* "-" is standard input. */
int spec_read_file(struct spec *spec, const char *path, struct error *error) must_check;

#endif
