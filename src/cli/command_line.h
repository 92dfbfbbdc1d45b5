/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of a command: one table of its options, from which come the parser, --help, the
 * manual and completions.
 */
#ifndef DWELL_CLI_COMMAND_LINE_H
#define DWELL_CLI_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/error.h"

/*
 * A line of the table: an option, the heading of a group, or another table whose options this
 * command has too. Made by the macros below.
 */
struct command_option {
	enum option_kind {
		OPTION_END,
		OPTION_HEADING,
		OPTION_TABLE,
		OPTION_TAKEN, /* by `take` */
		OPTION_FLAG,  /* bool */
		OPTION_TEXT,  /* const char * */
		OPTION_TIME,  /* uint64_t, ns */
		OPTION_SIZE,  /* uint64_t, bytes */
	} kind;
	const char *name;     /* "interval": --interval */
	char letter;	      /* 'i': -i as well; 0: none */
	const char *argument; /* what help calls its value: "TIME"; NULL: it has none */
	bool is_optional;     /* the value may be left out */
	bool is_hidden;	      /* from help, manual and completions */
	const char *help;     /* of a heading its text, or NULL: that group goes on */
	int group;	      /* of a heading: groups are listed in order of their numbers */
	size_t member;	      /* where its value goes: an offset in the command's options */
	/* `member` is that place. 0, or -errno with the mistake. */
	int (*take)(void *member, const char *value, struct error *error);
	const struct command_option *table;
};

/* offsetof(), which does not compile for a member of another type. */
#define MEMBER_OF(options, member_, type)                                                          \
	(offsetof(options, member_) +                                                              \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((options *)0)->member_), type)   \
				 ? 1                                                               \
				 : -1]))

/* The options that follow are listed under it. */
#define OPTION_GROUP(group_, text)                                                                 \
	{                                                                                          \
		.kind = OPTION_HEADING, .group = group_, .help = text                              \
	}
/* All of another table, whose own options are that member. */
#define OPTIONS_OF(table_, options, member_)                                                       \
	{                                                                                          \
		.kind = OPTION_TABLE, .table = table_, .member = offsetof(options, member_)        \
	}
#define FLAG_OPTION(name_, letter_, options, member_, help_)                                       \
	{                                                                                          \
		.kind = OPTION_FLAG, .name = name_, .letter = letter_, .help = help_,              \
		.member = MEMBER_OF(options, member_, bool)                                        \
	}
#define TEXT_OPTION(name_, letter_, argument_, options, member_, help_)                            \
	{                                                                                          \
		.kind = OPTION_TEXT, .name = name_, .letter = letter_, .argument = argument_,      \
		.help = help_, .member = MEMBER_OF(options, member_, const char *)                 \
	}
#define TIME_OPTION(name_, letter_, options, member_, help_)                                       \
	{                                                                                          \
		.kind = OPTION_TIME, .name = name_, .letter = letter_, .argument = "TIME",         \
		.help = help_, .member = MEMBER_OF(options, member_, uint64_t)                     \
	}
#define SIZE_OPTION(name_, letter_, options, member_, help_)                                       \
	{                                                                                          \
		.kind = OPTION_SIZE, .name = name_, .letter = letter_, .argument = "SIZE",         \
		.help = help_, .member = MEMBER_OF(options, member_, uint64_t)                     \
	}
/* `take` gets the command's options; TAKEN_MEMBER: a member of them. */
#define TAKEN_OPTION(name_, letter_, argument_, take_, help_, ...)                                 \
	{                                                                                          \
		.kind = OPTION_TAKEN, .name = name_, .letter = letter_, .argument = argument_,     \
		.help = help_, .take = take_, ##__VA_ARGS__                                        \
	}
#define TAKEN_MEMBER(name_, letter_, argument_, options, member_, take_, help_)                    \
	TAKEN_OPTION(name_, letter_, argument_, take_, help_, .member = offsetof(options, member_))
#define END_OF_OPTIONS                                                                             \
	{                                                                                          \
		.kind = OPTION_END                                                                 \
	}

/* What command_line.take_argument() took: this one, or all up to the end of the line. */
enum { ARGUMENT_TAKEN, ARGUMENTS_TAKEN };

struct command_line {
	const struct command_option *options; /* NULL: none */
	const char *arguments;		      /* as the usage shows them; NULL: none */
	const char *text;		      /* what it does; \v; what follows the options */
	/* An argument, at rest[0], for that member. NULL: there are none. -errno: a mistake. */
	size_t argument_member; /* an offset in the command's options */
	int (*take_argument)(void *member, char **rest, bool is_behind_dashes, struct error *error);
	bool rest_is_command; /* from the first argument on all is another command's */
	/* Each option as it is given, after it was taken. May be NULL. */
	int (*take_note)(void *options, const struct command_option *option, const char *value,
			 struct error *error);
	/* When all are known: what does not go together, and what is missing. May be NULL. */
	int (*end)(void *options, struct error *error);
};

/*
 * Reads a whole command line, argv[0] being the command's name, into `options`. EXIT_DONE, or the
 * exit status to end with: the mistake has been printed. Asked for help, prints it and ends the
 * program.
 */
int command_line_parse(const struct command_line *line, int argc, char **argv, void *options);

/* From now on a command line that is correct ends the process, in place of being done: in a child.
 */
void command_line_only_parse(void);

/* Calls for each option that is given, with its value or NULL, as far as the line is correct. */
void command_line_scan(const struct command_line *line, int argc, char **argv,
		       void (*call)(const struct command_option *option, const char *value,
				    void *data),
		       void *data);

/* Calls for every option and heading that is shown, those of other tables too. */
void each_option(const struct command_line *line,
		 void (*call)(const struct command_option *option, void *data), void *data);

#endif
