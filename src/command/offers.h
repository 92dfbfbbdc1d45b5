/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a shell is offered for the word that is being typed. A line is a word, a tab and a
 * description; one that begins with a tab is an instruction.
 */
#ifndef DWELL_COMMAND_OFFERS_H
#define DWELL_COMMAND_OFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/output.h"

struct offers {
	struct output out;
	char **words;	/* without quotes; the last one is being typed. Owned. */
	size_t *places; /* of each word among the shell's. Owned. */
	size_t count;
	const char *word;  /* the last one */
	size_t kept;	   /* how much of it precedes the value: "--pid=12," */
	bool is_bash;	   /* words have quotes there, and so have offers */
	size_t dropped;	   /* how much of the word bash does not replace */
	char quote;	   /* that is open; 0: none */
	bool has_open_end; /* one of the values goes on */
	bool is_argument;  /* a dash would make an option of it */
	bool in_guest;	   /* what runs here says nothing */
};

/* The words as the shell has them, from the program's name on. 0 or -ENOMEM. */
int offers_init(struct offers *offers, const char *shell, char **words, size_t count) must_check;
/* After the last offer: whether the shell adds a blank. */
void offers_end(struct offers *offers);
void offers_release(struct offers *offers);

/* What has been typed of the value. */
const char *offers_typed(const struct offers *offers);

/* Another value begins behind the last of these characters. */
void offers_after(struct offers *offers, const char *separators);

/*
 * Unless it does not go on what has been typed, or is nothing that a person could see. `end` is
 * what follows it at once, "" or "=".
 */
void offer_with(struct offers *offers, const char *value, const char *end, const char *help);
void offer(struct offers *offers, const char *value, const char *help);

/* Words separated by blanks. */
void offer_words(struct offers *offers, const char *words);

/* "files", "directories". */
void offers_instruct(struct offers *offers, const char *instruction);
/* From this word on it is another program's. */
void offers_command(struct offers *offers, size_t word);

#endif
