/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Engines that figures are sent to, where they cannot ask for them. */
#ifndef DWELL_SERVE_PUSH_H
#define DWELL_SERVE_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PUSH_ENGINES 8

enum push_protocol {
	PUSH_REMOTE_WRITE,
	PUSH_VICTORIAMETRICS,
	PUSH_OTLP,
	PUSH_PYROSCOPE,
	PUSH_CLICKHOUSE,
	PUSH_PROTOCOLS,
};

/* Between the parts of a profile's form: none has it in it. */
#define PUSH_BOUNDARY "dwell-4b1d7f0c9a52e836"

enum push_packing { PUSH_PLAIN, PUSH_GZIP, PUSH_SNAPPY };

struct push_protocol_info {
	const char *key;  /* in front of the URL */
	const char *path; /* of a URL that has none */
	const char *type; /* Content-Type */
	enum push_packing packing;
	const char *header; /* one more; NULL: none */
};

extern const struct push_protocol_info push_protocols[PUSH_PROTOCOLS];

struct push_engine {
	enum push_protocol protocol;
	const char *given; /* "otlp=http://host:4318": its name in messages and metrics */
	char *url;	   /* owned */
	bool has_user;	   /* in the URL: the token is its password */
	const char *token_file, *ca_file;
	char *token, *ca; /* what they have: owned; NULL: none */
};

struct push_options {
	struct push_engine engines[PUSH_ENGINES];
	size_t count;
	uint64_t every_ns;    /* 0: not given */
	uint64_t queue_bytes; /* of each engine, at most */
	uint64_t profile_ns;  /* of each minute */
};

/* Adds what --push says. */
int push_options_add(struct push_options *options, const char *given,
		     struct error *error) must_check;

/*
 * Reads the files. A token does not go through the network as it is, unless `is_insecure`.
 */
int push_options_read(struct push_options *options, bool is_insecure,
		      struct error *error) must_check;
void push_options_release(struct push_options *options);

#endif
