// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command_line.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/size.h"
#include "base/exit_code.h"
#include "base/similar.h"
#include "base/text.h"
#include "cli/finish.h"

/* Keys of options without a letter begin here, where argp takes them for no letter. */
#define FIRST_KEY 256

/* An option, and where the options of its table lie in those of the command. */
struct placed {
	const struct command_option *option;
	size_t offset;
};

struct parse {
	const struct command_line *line;
	void *options;
	struct placed *placed;
	struct argp_option *shown; /* one for each of `placed`, and two */
	size_t count;
	struct error error;
	int code; /* exit status of the first mistake; EXIT_DONE = none */
	int next; /* argument behind the last option or argument that was understood */
	/* command_line_scan() */
	void (*call)(const struct command_option *option, const char *value, void *data);
	void *data;
};

static size_t count_options(const struct command_option *table)
{
	size_t count = 0;

	for (; table && table->kind != OPTION_END; table++)
		count += table->kind == OPTION_TABLE ? count_options(table->table) : 1;
	return count;
}

static int key_of(const struct parse *parse, size_t index)
{
	char letter = parse->placed[index].option->letter;

	return letter ? letter : FIRST_KEY + (int)index;
}

static void place(struct parse *parse, const struct command_option *table, size_t offset)
{
	int group = 0;

	for (; table && table->kind != OPTION_END; table++) {
		struct argp_option *shown = &parse->shown[parse->count];

		if (table->kind == OPTION_TABLE) {
			place(parse, table->table, offset + table->member);
			continue;
		}
		group = table->kind == OPTION_HEADING ? table->group : group;
		if (table->kind == OPTION_HEADING && !table->help)
			continue;
		parse->placed[parse->count] = (struct placed){table, offset};
		*shown = (struct argp_option){.doc = table->help, .group = group};
		if (table->kind != OPTION_HEADING) {
			shown->name = table->name;
			shown->key = key_of(parse, parse->count);
			shown->arg = table->argument;
			shown->flags = (table->is_optional ? OPTION_ARG_OPTIONAL : 0) |
				       (table->is_hidden ? OPTION_HIDDEN : 0);
		}
		parse->count++;
	}
}

static const struct placed *find_key(const struct parse *parse, int key)
{
	for (size_t i = 0; i < parse->count; i++)
		if (parse->placed[i].option->kind != OPTION_HEADING && key_of(parse, i) == key)
			return &parse->placed[i];
	return NULL;
}

static int take_value(const struct command_option *option, void *member, const char *value,
		      struct error *error)
{
	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)member = value;
		return 0;
	case OPTION_TIME:
		return duration_parse(value, member, error);
	case OPTION_SIZE:
		return size_parse(value, member, error);
	default:
		return option->take(member, value, error);
	}
}

/* What is wrong with its value, in front of it which option that is. */
static int blame_option(const struct command_option *option, int result, struct error *error)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s", option->name);
	return strstr(error->text, name) ? result : error_wrap(error, result, "%s", name);
}

static int take_option(struct parse *parse, const struct placed *placed, const char *value)
{
	const struct command_option *option = placed->option;
	char *member = (char *)parse->options + placed->offset + option->member;
	int result = take_value(option, member, value, &parse->error);

	if (result == -EINVAL || result == -E2BIG)
		return blame_option(option, result, &parse->error);

	if (result < 0 || !parse->line->take_note)
		return result;
	return parse->line->take_note(parse->options, option, value, &parse->error);
}

static int take_argument(struct parse *parse, struct argp_state *state)
{
	int result = parse->line->take_argument(
		(char *)parse->options + parse->line->argument_member,
		state->argv + state->next - 1, state->quoted && state->next > state->quoted,
		&parse->error);

	if (result == ARGUMENTS_TAKEN)
		state->next = state->argc;
	return result;
}

/* A missing file or process is no mistake in the command line: exit 1, not 2. */
static error_t result_of(struct parse *parse, int result)
{
	if (result >= 0)
		return 0;
	parse->code = result == -EINVAL || result == -E2BIG ? EXIT_USAGE : EXIT_NOT_RUN;
	return -result;
}

static error_t parse_key(int key, char *value, struct argp_state *state)
{
	struct parse *parse = state->input;
	const struct placed *placed = find_key(parse, key);

	if (placed)
		return result_of(parse, take_option(parse, placed, value));
	if (key == 'h') /* what most people try first */
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	if (key == ARGP_KEY_ARG && parse->line->take_argument)
		return result_of(parse, take_argument(parse, state));
	if (key == ARGP_KEY_END && parse->line->end && parse->code == EXIT_DONE)
		return result_of(parse, parse->line->end(parse->options, &parse->error));
	return ARGP_ERR_UNKNOWN;
}

static error_t scan_key(int key, char *value, struct argp_state *state)
{
	struct parse *parse = state->input;
	const struct placed *placed = find_key(parse, key);

	if (placed && parse->call)
		parse->call(placed->option, value, parse->data);
	if (key == ARGP_KEY_ARG && parse->line->rest_is_command)
		state->next = state->argc;
	/* at a mistake there is another call */
	if (!placed && key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	parse->next = state->next;
	return 0;
}

/* 0, or ENOMEM, or what the parser returned. */
static error_t run(struct parse *parse, argp_parser_t parser, int argc, char **argv,
		   unsigned int flags)
{
	size_t count = count_options(parse->line->options);
	struct argp argp = {
		.parser = parser, .args_doc = parse->line->arguments, .doc = parse->line->text};
	error_t failed = ENOMEM;

	parse->placed = calloc(count + 1, sizeof(*parse->placed));
	parse->shown = calloc(count + 2, sizeof(*parse->shown));
	if (parse->placed && parse->shown) {
		place(parse, parse->line->options, 0);
		parse->shown[parse->count] =
			(struct argp_option){.key = 'h', .flags = OPTION_HIDDEN, .group = -1};
		argp.options = parse->shown;
		failed = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | flags, NULL, parse);
	}
	free(parse->placed);
	free(parse->shown);
	return failed;
}

/* Those that are hidden and the headings without a text, too. */
static void each_of(const struct command_option *table,
		    void (*call)(const struct command_option *option, void *data), void *data)
{
	for (; table && table->kind != OPTION_END; table++) {
		if (table->kind == OPTION_TABLE)
			each_of(table->table, call, data);
		else
			call(table, data);
	}
}

struct guess {
	const char *name; /* without the dashes */
	bool is_known;	  /* the beginning of one: it is the value that is wrong */
	struct similar similar;
};

static void try_option(const struct command_option *option, void *data)
{
	struct guess *guess = data;

	if (option->kind == OPTION_HEADING)
		return;
	guess->is_known |= !strncmp(option->name, guess->name, strlen(guess->name));
	if (!option->is_hidden)
		similar_try(&guess->similar, option->name);
}

/*
 * 0, or -EINVAL with the option that may have been meant by one that there is not. Other mistakes
 * are argp's to report, which knows no misspelt names.
 */
static int check_names(const struct command_line *line, int argc, char **argv, struct error *error)
{
	struct parse parse = {.line = line, .next = 1};
	char name[64], shown[64];
	struct guess guess = {.name = name, .similar.wanted = name};

	if (!run(&parse, scan_key, argc, argv, ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT) ||
	    parse.next >= argc || strncmp(argv[parse.next], "--", 2) != 0)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[parse.next] + 2, "="),
		 argv[parse.next] + 2);
	each_of(line->options, try_option, &guess);
	if (guess.is_known || !strncmp("help", name, strlen(name)) ||
	    !strncmp("usage", name, strlen(name)))
		return 0;
	text_printable(shown, sizeof(shown), name, 40);
	if (!guess.similar.best)
		return 0;
	return error_set(error, EINVAL, "unrecognized option '--%s'; did you mean '--%s'?", shown,
			 guess.similar.best);
}

/* `-- $COMMAND` with nothing in the variable: not the same as without a command. */
static int check_command(const struct command_line *line, int argc, char **argv,
			 struct error *error)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		if (i + 1 < argc || !line->arguments || !strstr(line->arguments, "-- COMMAND"))
			return 0;
		return error_set(error, EINVAL, "-- needs a command after it");
	}
	return 0;
}

static bool only_parses;

void command_line_only_parse(void)
{
	only_parses = true;
}

int command_line_parse(const struct command_line *line, int argc, char **argv, void *options)
{
	/* without the note on mandatory arguments; a help_filter does not see it */
	bool is_ours = !setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
	struct parse parse = {.line = line, .options = options, .code = EXIT_DONE};
	const char *name = argv[0];
	static char program[64]; /* argp keeps it for messages */
	error_t failed;

	snprintf(program, sizeof(program), "dwell %s", name);
	if (check_names(line, argc, argv, &parse.error) < 0 ||
	    check_command(line, argc, argv, &parse.error) < 0)
		return command_fail(name, EXIT_USAGE, &parse.error);
	argv[0] = program;
	argp_err_exit_status = EXIT_USAGE;
	failed = run(&parse, parse_key, argc, argv, 0);
	/* not for programs that we start, nor where the user has set it */
	if (is_ours && !strcmp(getenv("ARGP_HELP_FMT"), "no-dup-args-note"))
		unsetenv("ARGP_HELP_FMT");
	if (parse.code != EXIT_DONE)
		return command_fail(name, parse.code, &parse.error);
	if (!failed && only_parses)
		_exit(EXIT_DONE);
	if (failed != ENOMEM)
		return failed ? EXIT_USAGE : EXIT_DONE;
	error_set(&parse.error, ENOMEM, "out of memory");
	return command_fail(name, EXIT_NOT_RUN, &parse.error);
}

void command_line_scan(const struct command_line *line, int argc, char **argv,
		       void (*call)(const struct command_option *option, const char *value,
				    void *data),
		       void *data)
{
	struct parse parse = {.line = line, .call = call, .data = data};

	run(&parse, scan_key, argc, argv, ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT);
}

struct shown {
	void (*call)(const struct command_option *option, void *data);
	void *data;
};

static void call_if_shown(const struct command_option *option, void *data)
{
	const struct shown *shown = data;

	if (!option->is_hidden && option->help)
		shown->call(option, shown->data);
}

void each_option(const struct command_line *line,
		 void (*call)(const struct command_option *option, void *data), void *data)
{
	each_of(line->options, call_if_shown, &(struct shown){call, data});
}
