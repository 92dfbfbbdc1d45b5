/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completions of shells, one file each. */
#ifndef DWELL_COMMAND_COMPLETION_H
#define DWELL_COMMAND_COMPLETION_H

/* To standard output. */
void complete_bash(void);
void complete_zsh(void);
void complete_fish(void);

/* In single quotes; `special` characters get a backslash. */
void print_quoted(const char *text, const char *special);

#endif
