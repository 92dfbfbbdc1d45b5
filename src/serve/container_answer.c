// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem */
#include "serve/container_answer.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* "HTTP/1.1 200 OK": the digit that says how it went. */
#define STATUS_AT (sizeof("HTTP/1.1 ") - 1)

static bool is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") >= CONTAINER_ID_BYTES - 1;
}

void container_name_set(struct container_name *into, const char *name)
{
	size_t left = strlen(name), used = 0;

	while (left) {
		uint32_t character;
		size_t taken = text_decode(name, left, &character), length;
		char bytes[4];

		length = text_encode(bytes, text_is_hostile(character) ? '?' : character);
		if (used + length >= sizeof(into->name))
			break;
		memcpy(into->name + used, bytes, length);
		used += length;
		name += taken;
		left -= taken;
	}
	into->name[used] = '\0';
}

/* {"Id": "0123…", "Names": ["/web", …], …} */
static bool take_container(const json_t *container, struct container_name *into)
{
	const char *id = json_string_value(json_object_get(container, "Id"));
	const char *name =
		json_string_value(json_array_get(json_object_get(container, "Names"), 0));

	if (!id || !is_id(id) || !name)
		return false;
	name += *name == '/';
	snprintf(into->id, sizeof(into->id), "%.*s", CONTAINER_ID_BYTES - 1, id);
	container_name_set(into, name);
	return *into->name != '\0';
}

int container_answer_read(const char *bytes, size_t length, struct container_name *into,
			  size_t room)
{
	const char *body = memmem(bytes, length, "\r\n\r\n", 4);
	int count = 0;
	json_t *all;

	if (!body || length <= STATUS_AT || memcmp(bytes, "HTTP/1.", 7) != 0)
		return -EBADMSG;
	if (bytes[STATUS_AT] != '2')
		return -EPROTO;
	body += 4;
	all = json_loadb(body, length - (size_t)(body - bytes), 0, NULL);
	if (!json_is_array(all)) {
		json_decref(all);
		return -EBADMSG;
	}
	for (size_t i = 0; i < json_array_size(all) && (size_t)count < room; i++)
		count += take_container(json_array_get(all, i), &into[count]);
	json_decref(all);
	return count;
}
