// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/shell_quotes.h"

#include <string.h>

char shell_unquote(char *word, size_t *ret_open)
{
	char quote = 0, *into = word;

	*ret_open = 0;
	for (const char *at = word; *at; at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"') {
			quote = quote ? 0 : *at;
			*ret_open = (size_t)(into - word);
			continue;
		}
		if (*at == '\\' && quote != '\'' && at[1] && (!quote || strchr("\"\\$`", at[1])))
			at++;
		*into++ = *at;
	}
	*into = '\0';
	return quote;
}

bool shell_write_quoted(struct output *out, const char *text, char quote)
{
	/* an interactive bash expands it even there, and keeps the backslash */
	if (quote == '"' && strchr(text, '!'))
		return false;
	for (; *text; text++) {
		bool is_plain = (unsigned char)*text >= 0x80 || (*text >= '0' && *text <= '9') ||
				(*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
				strchr("_./:=@%^+,-", *text);

		if (quote == '\'' && *text == '\'') {
			output_string(out, "'\\''");
			continue;
		}
		if (quote == '"' ? strchr("\"\\$`", *text) != NULL : !quote && !is_plain)
			output_char(out, '\\');
		output_char(out, *text);
	}
	return true;
}
