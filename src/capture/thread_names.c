// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/thread_names.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct name {
	char text[17];
	size_t count;
};

struct names {
	struct name *items;
	size_t count, room;
};

static void add(struct names *names, const char *text)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->items[i].text, text)) {
			names->items[i].count++;
			return;
		}
	}
	if (array_reserve(&names->items, &names->room, names->count + 1, sizeof(*names->items)) < 0)
		return;
	names->items[names->count] = (struct name){.count = 1};
	snprintf(names->items[names->count++].text, sizeof(names->items->text), "%s", text);
}

static int by_count(const void *left, const void *right)
{
	const struct name *a = left, *b = right;

	if (a->count != b->count)
		return (a->count < b->count) - (a->count > b->count);
	return strcmp(a->text, b->text);
}

static void list(const struct names *names, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < names->count; i++) {
		char one[96], shown[64];

		text_printable(shown, sizeof(shown), names->items[i].text, 16);
		snprintf(one, sizeof(one), names->items[i].count > 1 ? "%s%s (%zu)" : "%s%s",
			 i ? ", " : "", shown, names->items[i].count);
		if (used + strlen(one) + sizeof(", …") > size) {
			snprintf(text + used, size - used, ", …");
			return;
		}
		used += (size_t)snprintf(text + used, size - used, "%s", one);
	}
}

size_t thread_names(uint32_t pid, const char *prefix, size_t *ret_matching, char *text, size_t size)
{
	struct names names = {0};
	size_t threads = 0, matching = 0;
	struct dirent *entry;
	char path[64];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		char comm[64] = "";
		FILE *file;

		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%.16s/comm", pid,
			 entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file)) {
			comm[strcspn(comm, "\n")] = '\0';
			threads++;
			matching += !strncmp(comm, prefix, strlen(prefix));
			add(&names, comm);
		}
		fclose(file);
	}
	if (directory)
		closedir(directory);
	if (names.count)
		qsort(names.items, names.count, sizeof(*names.items), by_count);
	list(&names, text, size);
	free(names.items);
	*ret_matching = matching;
	return threads;
}
