// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/offers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command/shell_quotes.h"

#define TEXT_BYTES 4096

/* What bash splits words at, beside blanks: it hands `--by=th` on as three words. */
#define BREAKS "=:@"

static bool is_break(const char *word)
{
	return *word && !word[strspn(word, BREAKS)];
}

static int join(char **word, const char *end)
{
	size_t length = strlen(*word);
	char *longer = realloc(*word, length + strlen(end) + 1);

	if (!longer)
		return -ENOMEM;
	strcpy(longer + length, end);
	*word = longer;
	return 0;
}

/*
 * A blank behind what splits words cannot be seen here, except at the end: there an empty word
 * follows.
 */
static bool continues(const struct offers *offers, char **words, size_t index)
{
	if (!offers->is_bash || index < 2 || !*words[index])
		return false;
	return is_break(words[index]) || is_break(words[index - 1]);
}

static int add_word(struct offers *offers, char **words, size_t index)
{
	cleanup_free char *word = strdup(words[index]);
	char **last = offers->count ? &offers->words[offers->count - 1] : NULL;
	size_t open = 0;

	if (!word)
		return -ENOMEM;
	offers->quote = offers->is_bash ? shell_unquote(word, &open) : 0;
	if (last && continues(offers, words, index)) {
		/* at a break the next word is still empty */
		offers->dropped = strlen(*last) + (is_break(words[index]) ? strlen(word) : open);
		return join(last, word);
	}
	offers->places[offers->count] = index;
	offers->words[offers->count++] = word;
	word = NULL;
	offers->dropped = offers->quote ? open : 0;
	return 0;
}

int offers_init(struct offers *offers, const char *shell, char **words, size_t count)
{
	int result;

	*offers = (struct offers){.is_bash = !strcmp(shell, "bash")};
	result = output_init(&offers->out, STDOUT_FILENO);
	offers->words = calloc(count + 1, sizeof(*offers->words));
	offers->places = calloc(count + 1, sizeof(*offers->places));
	if (!offers->words || !offers->places)
		result = -ENOMEM;
	for (size_t i = 0; result >= 0 && i < count; i++)
		result = add_word(offers, words, i);
	if (result >= 0)
		offers->word = offers->words[offers->count - 1];
	return result;
}

void offers_end(struct offers *offers)
{
	if (offers->has_open_end)
		offers_instruct(offers, "nospace");
}

void offers_release(struct offers *offers)
{
	for (size_t i = 0; offers->words && i < offers->count; i++)
		free(offers->words[i]);
	free(offers->words);
	free(offers->places);
	output_release(&offers->out);
}

const char *offers_typed(const struct offers *offers)
{
	return offers->word + offers->kept;
}

void offers_after(struct offers *offers, const char *separators)
{
	for (size_t i = offers->kept; offers->word[i]; i++)
		if (strchr(separators, offers->word[i]))
			offers->kept = i + 1;
}

/* Shells and terminals take what we write as they like: nothing but characters that are seen. */
static bool is_printable(const char *text)
{
	char shown[TEXT_BYTES];

	text_printable(shown, sizeof(shown), text, sizeof(shown));
	return *text && !strcmp(shown, text);
}

static void write_offer(struct offers *offers, const char *text, const char *help)
{
	char shown[256];

	if (offers->is_bash) {
		if (strlen(text) <= offers->dropped ||
		    !shell_write_quoted(&offers->out, text + offers->dropped, offers->quote))
			return;
	} else {
		output_string(&offers->out, text);
	}
	text_printable(shown, sizeof(shown), help ? help : "", 72);
	output_char(&offers->out, '\t');
	output_string(&offers->out, shown);
	output_char(&offers->out, '\n');
}

void offer_with(struct offers *offers, const char *value, const char *end, const char *help)
{
	const char *typed = offers_typed(offers);
	char text[TEXT_BYTES];
	int length;

	if (strncmp(value, typed, strlen(typed)) || !is_printable(value))
		return;
	length = snprintf(text, sizeof(text), "%.*s%s%s", (int)offers->kept, offers->word, value,
			  end);
	if (length < 0 || (size_t)length >= sizeof(text))
		return;
	offers->has_open_end |= *end != '\0';
	write_offer(offers, text, help);
}

void offer(struct offers *offers, const char *value, const char *help)
{
	offer_with(offers, value, "", help);
}

void offer_words(struct offers *offers, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");
		/* an argument of it follows */
		bool is_open = length && words[length - 1] == ':';
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)(length - is_open), words);
		offer_with(offers, word, is_open ? ":" : "", NULL);
		words += length;
		words += strspn(words, " ");
	}
}

void offers_instruct(struct offers *offers, const char *instruction)
{
	output_format(&offers->out, "\t%s\n", instruction);
}

void offers_command(struct offers *offers, size_t word)
{
	output_format(&offers->out, "\tcommand %zu\n", offers->places[word]);
}
