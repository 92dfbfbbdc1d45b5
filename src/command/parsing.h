/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parsers of all command lines have in common. */
#ifndef DWELL_COMMAND_PARSING_H
#define DWELL_COMMAND_PARSING_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "session/watch.h"

/* A mistake in a command line, kept until parsing has come to its end. */
struct parsing {
	struct error error;
	int code; /* exit status of the first mistake; EXIT_DONE = none */
};

/* -h, which is not listed. True: that was it. */
bool parsing_helps(int key, struct argp_state *state);

/* A process by its name, as an argument: the message also says how to run a program. */
int parsing_name(struct targets *targets, const char *name, struct error *error) must_check;

/*
 * What a parser returns for the result of taking an option: negative errnos become the mistake, 1
 * is another parser's option. A missing file or process is no mistake in the command line: exit 1,
 * not 2.
 */
error_t parsing_result(struct parsing *parsing, int result);

/*
 * "unknown WHAT 'VALUE'; did you mean 'CHOICE'?", or "…: use CHOICES", as similar_choice() takes
 * them; -EINVAL.
 */
int parsing_unknown(struct error *error, const char *what, const char *value, const char *choices);

/* A number from 1 up. */
int parsing_count(const char *text, const char *option, uint64_t *ret_count,
		  struct error *error) must_check;

/*
 * Parses a whole command line, with `program` ("dwell top") for its messages. EXIT_DONE, or the
 * exit status to end with: the mistake has been printed.
 */
int parsing_run(const struct argp *argp, const char *program, int argc, char **argv, void *input,
		struct parsing *parsing);

/* An option whose value needs no look at: where it goes. */
struct plain_option {
	int key;
	enum plain_kind { PLAIN_FLAG, PLAIN_TEXT, PLAIN_TIME, PLAIN_SIZE } kind;
	size_t member; /* its offset in the command's options */
};

/* offsetof(), which does not compile for a member of another type. */
#define MEMBER_OF(options, member_, type)                                                          \
	(offsetof(options, member_) +                                                              \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((options *)0)->member_), type)   \
				 ? 1                                                               \
				 : -1]))
#define FLAG_OPTION(key, options, member)                                                          \
	{                                                                                          \
		key, PLAIN_FLAG, MEMBER_OF(options, member, bool)                                  \
	}
#define TEXT_OPTION(key, options, member)                                                          \
	{                                                                                          \
		key, PLAIN_TEXT, MEMBER_OF(options, member, const char *)                          \
	}
#define TIME_OPTION(key, options, member)                                                          \
	{                                                                                          \
		key, PLAIN_TIME, MEMBER_OF(options, member, uint64_t)                              \
	}
#define SIZE_OPTION(key, options, member)                                                          \
	{                                                                                          \
		key, PLAIN_SIZE, MEMBER_OF(options, member, uint64_t)                              \
	}

/* 1: it is none of these. */
int plain_option(const struct plain_option *plain, size_t count, void *options, int key,
		 const char *value, struct error *error) must_check;

#endif
