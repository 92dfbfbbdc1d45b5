/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom threads waited: as text, and by its schema. */
#ifndef DWELL_VIEW_BLAME_H
#define DWELL_VIEW_BLAME_H

#include "emit/schema.h"
#include "model/blame_losses.h"

/* Of struct blame; getters take the session as context. */
extern const struct schema blame_schema;

/* Of struct blame_party, likewise. */
extern const struct schema party_schema;

/* What a culprit did meanwhile: "disk", …; "cpu" where it ran. */
const char *meanwhile_key(__u8 wire_state);

/* Of struct blame, for any context: its state, and what the culprit did meanwhile. */
void get_blame_state(const struct field *field, const struct item *item, struct value *value);
void get_blame_culprit_state(const struct field *field, const struct item *item,
			     struct value *value);

/* Because of whom, in words: "ran instead: backup-tar 4711", "ended by http-4 8626, meanwhile disk
 * fsync", "ran instead: threads of rustc 812", "ended by sh (several of that name)". */
void blame_describe(char *into, size_t room, const struct blame *blame,
		    const struct session_info *session);
/* The same of a culprit that has that name; system calls have one where `native`. */
void blame_describe_named(char *into, size_t room, const struct blame *blame, const char *name,
			  bool native);
/* "http-4 8626"; of a cgroup its path, for which `session` is asked: NULL where there is a name. */
void blame_party_name(char *into, size_t room, const struct blame_party *party,
		      const struct session_info *session);
/* Of a row of a table: several threads are no process. */
void blame_loss_name(char *into, size_t room, const struct blame_loss *loss, enum blame_side side,
		     const struct session_info *session);
/* The path of its cgroup; "unknown". `session` may be NULL. */
const char *blame_cgroup(const struct blame_party *party, const struct session_info *session);

/* "cpu.max of /system.slice/pg": the limit that a thread had reached. */
void blame_limit_name(char *into, size_t room, const struct blame_party *limit,
		      const struct session_info *session);
/* The same of a cgroup's path, NULL: not known, and the first 15 bytes of its name, or "". */
void blame_limit_of(char *into, size_t room, const char *path, const char *name);

/* In place of all that, without WIRE_SESSION_BLAME. */
const char *blame_absent(const struct session_info *session);

#endif
