/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A YAML document read by tables of keys. On libyaml and not on libcyaml, because the parameters of
 * work types, their YAML, their options on the command line and their help come from one table
 * (params.h), for which a schema of libcyaml would be a second one, and because that cannot guess
 * what a misspelt key was meant to be.
 */
#ifndef DWELL_LOAD_YAML_READER_H
#define DWELL_LOAD_YAML_READER_H

#include <yaml.h>

#include "base/error.h"
#include "load/spec.h"
#include "load/spec_yaml.h"

struct yaml_reader {
	yaml_document_t document;
	const char *name; /* of the file */
	bool placed;	  /* the message says where already */
	/* read so far: aliases make large specs of small files */
	size_t bytes, groups, ops;
	struct spec *spec;
};

/* The whole text of a file, to be freed; "-" is standard input. */
int yaml_read_file(const char *path, char **ret_text, struct error *error) must_check;

/* What messages call it. */
const char *yaml_file_name(const char *path);

/*
 * Loads the one document of `text`, to be given to yaml_document_delete(). What would keep libyaml
 * busy for long, and no spec has, is refused.
 */
int yaml_load(struct yaml_reader *reader, const char *text, struct error *error) must_check;

/* A key of a mapping; a table of them ends with a NULL name. */
struct yaml_key {
	const char *name;
	int (*take)(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		    struct error *error);
};

/* Keys that are in no table of keys, but in some other list. */
struct yaml_others {
	/* 1: it does not know that one either. */
	int (*take)(struct yaml_reader *reader, const char *key, const yaml_node_t *value,
		    void *into, struct error *error);
	/* The nth of the names it knows, to guess from; NULL: there are no more. */
	const char *(*name)(const void *into, size_t number);
};

/* Every key of a mapping once, by the table; what is not in it goes to `others` (may be NULL). */
int yaml_read_mapping(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
		      const struct yaml_key *keys, const struct yaml_others *others, void *into,
		      struct error *error) must_check;

/* Each item of a sequence; a single item may stand for a sequence of one. */
int yaml_read_items(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		    int (*take)(struct yaml_reader *reader, const yaml_node_t *item, void *into,
				struct error *error),
		    struct error *error) must_check;

/* The value of a key of a mapping; NULL: not there, or no mapping. */
const yaml_node_t *yaml_find(struct yaml_reader *reader, const yaml_node_t *node, const char *key);

/* A scalar's text; its length is that of the string. */
int yaml_text(struct yaml_reader *reader, const yaml_node_t *node, const char **ret_text,
	      struct error *error) must_check;

/* A whole number from `min` to `max`. */
int yaml_number(struct yaml_reader *reader, const yaml_node_t *node, uint64_t min, uint64_t max,
		uint64_t *ret_number, struct error *error) must_check;

/* "FILE:LINE:COLUMN: " before the message, once. Returns `result`. */
int yaml_error_at(struct yaml_reader *reader, const yaml_node_t *node, int result,
		  struct error *error);

static inline struct spec_place yaml_place(const yaml_node_t *node)
{
	return (struct spec_place){(unsigned int)node->start_mark.line + 1,
				   (unsigned int)node->start_mark.column + 1};
}

#endif
