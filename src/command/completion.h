/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can stand in a command line, offered to a shell: from the tables that help is made of. */
#ifndef DWELL_COMMAND_COMPLETION_H
#define DWELL_COMMAND_COMPLETION_H

#include <stdbool.h>

#include "command/command.h"
#include "command/offers.h"

/* The last word. */
void complete_words(struct offers *offers);

/* The words of the command from `first` on, its name, say that the option has been given. */
struct given {
	const struct command *command;
	char **words;
	size_t count; /* the last one is being typed */
};

/* Whether the word is one: it begins with a dash. */
bool is_option(const char *word);

/* Which one is_option() saw; in *ret_value its value there, or NULL. NULL: there is none. */
const struct command_option *option_of(const struct command *command, const char *word,
				       const char **ret_value);

/* Its value is the next word, unless it is in the same. NULL has none. */
bool option_takes_next(const struct command_option *option);

/* The value of an option; NULL: not given. "": without a value. */
const char *given_value(const struct given *given, const char *option);

/* Values of the option, and of arguments. */
void offer_values(struct offers *offers, const struct given *given,
		  const struct command_option *option);
void offer_arguments(struct offers *offers, const struct command *command);
void offer_commands(struct offers *offers, const char *without);

/* For --fields; for --sort. */
void offer_fields(struct offers *offers, const struct given *given);
void offer_orders(struct offers *offers, const struct given *given);

/* What `dwell load` and `dwell verify` take. */
void offer_work(struct offers *offers);
void offer_scenarios(struct offers *offers);
void offer_checks(struct offers *offers);
void offer_metrics(struct offers *offers);
void offer_metric_list(struct offers *offers); /* of names, separated by commas */
void offer_subjects(struct offers *offers);
void offer_patterns(struct offers *offers);

/* What runs on this machine. */
void offer_processes(struct offers *offers);
void offer_threads(struct offers *offers);
void offer_process_names(struct offers *offers);
void offer_cgroups(struct offers *offers);

#endif
