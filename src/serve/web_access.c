// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/web_access.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define CREDENTIALS_BYTES 1024

/* Whether that is all, or a port. */
static bool is_port(const char *rest)
{
	return !*rest || (*rest == ':' && !rest[1 + strspn(rest + 1, "0123456789")]);
}

/* Whether a Host header names this machine: an address, or localhost, with a port or without. */
static bool web_host_is_local(const char *host)
{
	bool is_bracketed = *host == '[';
	const char *begin = host + is_bracketed,
		   *end = begin + strcspn(begin, is_bracketed ? "]" : ":");
	char name[INET6_ADDRSTRLEN + 2];
	size_t length = (size_t)(end - begin);
	struct in6_addr address;

	if (length >= sizeof(name) || (is_bracketed && !*end) || !is_port(end + is_bracketed))
		return false;
	memcpy(name, begin, length);
	name[length] = '\0';
	if (is_bracketed)
		return inet_pton(AF_INET6, name, &address) == 1;
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &address) == 1;
}

/* Nothing that is seen from outside depends on how much of it is right. */
static bool is_same(const char *given, const char *token)
{
	size_t length = strlen(given), wanted = strlen(token);
	volatile unsigned char differs = length != wanted;

	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(given[i] ^ token[i % wanted]);
	return !differs;
}

static int digit_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* RFC 4648, section 4. False: it is too long, or none, or of no text. */
static bool decode(char *into, size_t room, const char *base64)
{
	uint32_t bits = 0;
	unsigned int held = 0;
	size_t used = 0;

	for (; *base64 && *base64 != '='; base64++) {
		int digit = digit_of(*base64);

		if (digit < 0 || used + 1 >= room)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		held += 6;
		if (held >= 8) {
			held -= 8;
			into[used] = (char)(bits >> held);
			if (!into[used++])
				return false;
		}
	}
	into[used] = '\0';
	return true;
}

/*
 * Whether an Authorization header has the token: as "Bearer TOKEN", or as the password of "Basic
 * BASE64", whatever the user. It takes as long for each wrong token of the same length.
 */
static bool web_token_matches(const char *authorization, const char *token)
{
	char credentials[CREDENTIALS_BYTES];
	const char *password;

	if (!authorization)
		return false;
	if (!strncasecmp(authorization, "Bearer ", 7))
		return is_same(authorization + 7, token);
	if (strncasecmp(authorization, "Basic ", 6) != 0 ||
	    !decode(credentials, sizeof(credentials), authorization + 6))
		return false;
	password = strchr(credentials, ':');
	return password && is_same(password + 1, token);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

unsigned int web_access_refuses(struct MHD_Connection *connection,
				const struct web_options *options, bool is_open)
{
	const char *host = header(connection, "Host");
	const char *site = header(connection, "Sec-Fetch-Site");

	/* a page of another site could make a browser ask, though not read the answer */
	if (site && !strcasecmp(site, "cross-site"))
		return MHD_HTTP_FORBIDDEN;
	if (options->token && !is_open)
		return web_token_matches(header(connection, "Authorization"), options->token)
			       ? 0
			       : MHD_HTTP_UNAUTHORIZED;
	if (!options->token && options->local_names_only && host && !web_host_is_local(host))
		return MHD_HTTP_FORBIDDEN;
	return 0;
}
