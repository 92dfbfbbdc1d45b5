/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can stand in a command line, offered to a shell: from the tables that help is made of. */
#ifndef DWELL_COMMAND_COMPLETION_H
#define DWELL_COMMAND_COMPLETION_H

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

/* The value of an option; NULL: not given. "": without a value. */
const char *given_value(const struct given *given, const char *option);

/* Values of the option, and of arguments. */
void offer_values(struct offers *offers, const struct given *given,
		  const struct command_option *option);
void offer_arguments(struct offers *offers, const struct command *command);
void offer_commands(struct offers *offers, const char *without);

/* What runs on this machine. */
void offer_processes(struct offers *offers);
void offer_threads(struct offers *offers);
void offer_process_names(struct offers *offers);
void offer_cgroups(struct offers *offers);

#endif
