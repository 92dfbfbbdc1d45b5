/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the reader of rt-app's files: rt_app.c is the file, rt_app_words.c its tasks. */
#ifndef DWELL_LOAD_RT_APP_PARTS_H
#define DWELL_LOAD_RT_APP_PARTS_H

#include "base/output.h"
#include "load/rt_app.h"
#include "load/work/rt_app_program.h"

/* A name that tasks may have in common: "lock m". */
struct common {
	char name[RT_APP_NAME_BYTES + 16];
};

struct imported {
	char name[RT_APP_NAME_BYTES];
	const yaml_node_t *node;
	struct output words;
	unsigned int instances;
	const char *taskgroup; /* NULL: none */
	struct common *commons;
	size_t common_count, common_room;
	size_t part_of; /* the first of its component */
};

struct import {
	struct yaml_reader *reader;
	struct imported tasks[RT_APP_TASKS_MAX];
	size_t count;
	const char *default_policy;
	bool inherit, lock_pages;
	uint64_t buffer;
	struct error *error;
};

#define RT_APP_REFUSE(import, node, ...)                                                           \
	rt_app_mistake(import, node, error_set((import)->error, EINVAL, __VA_ARGS__))

/* Puts the place of `node` before the message, where `result` is one of a mistake. */
int rt_app_mistake(const struct import *import, const yaml_node_t *node, int result);

/* "" of what is no single value. */
const char *rt_app_text(const yaml_node_t *node);
const yaml_node_t *rt_app_node(const struct import *import, int number);

/* From 0 up. */
int rt_app_number(const struct import *import, const yaml_node_t *node,
		  uint64_t *ret_number) must_check;
int rt_app_signed(const struct import *import, const yaml_node_t *node, long min, long max,
		  long *ret_number) must_check;

/* A name, which becomes a part of a word. */
int rt_app_name(const struct import *import, const yaml_node_t *node,
		const char **ret_name) must_check;

/* A member of an object, in microseconds; `otherwise` where it is not there. */
int rt_app_usec(const struct import *import, const yaml_node_t *node, const char *key,
		uint64_t otherwise, uint64_t *ret_usec) must_check;

/* "run", "run0", "timer_2": what rt-app distinguishes by what is behind it. The longest one fits.
 */
bool rt_app_find_event(const char *key, enum rt_app_kind *ret_kind);

/* Adds the words of an event, and of the settings of a task or phase. */
int rt_app_write_event(const struct import *import, struct imported *task, enum rt_app_kind kind,
		       const yaml_node_t *node) must_check;
int rt_app_write_settings(const struct import *import, struct imported *task,
			  const yaml_node_t *node, bool is_task) must_check;

bool rt_app_is_one_of(const char *key, const char *const *keys);

#endif
