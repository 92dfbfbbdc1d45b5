// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/push_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

/* "0123456789abcdef-01234567890123456789.batch": the queue, and when it was added, ns since 1970 */
#define NAME_FORMAT "%016" PRIx64 "-%020" PRIu64 ".batch"
#define NAME_BYTES  48

static const char magic[8] = "dwellpsh";

/* Read by the machine that wrote it. */
struct batch_header {
	char magic[8];
	uint32_t version;
	uint32_t checksum; /* of the rest of the header and of the bytes */
	uint64_t length;   /* of the bytes, which follow */
	char query[PUSH_QUERY_BYTES];
};

struct entry {
	uint64_t id;	 /* in the file's name */
	uint64_t bytes;	 /* with the header */
	char *in_memory; /* header and bytes; NULL: in a file */
	bool is_held;	 /* it is being sent */
};

struct push_queue {
	int directory;
	uint64_t hash;
	uint64_t max_bytes, bytes;
	struct entry *entries;
	size_t count, room;
	uint64_t last_id;
};

static uint32_t checksum_of(const struct batch_header *header, const void *bytes)
{
	uLong sum = crc32(0, (const Bytef *)&header->length,
			  sizeof(*header) - offsetof(struct batch_header, length));

	return (uint32_t)crc32_z(sum, bytes, header->length);
}

static void format_name(char name[NAME_BYTES], uint64_t hash, uint64_t id)
{
	snprintf(name, NAME_BYTES, NAME_FORMAT, hash, id);
}

static bool parse_name(const char *name, uint64_t *ret_hash, uint64_t *ret_id)
{
	char same[NAME_BYTES];

	if (sscanf(name, "%16" SCNx64 "-%20" SCNu64, ret_hash, ret_id) != 2)
		return false;
	format_name(same, *ret_hash, *ret_id);
	return !strcmp(name, same);
}

/* A file that we have made, or could have. */
static bool is_ours(int directory, const char *name, struct stat *ret_status)
{
	return fstatat(directory, name, ret_status, AT_SYMLINK_NOFOLLOW) >= 0 &&
	       S_ISREG(ret_status->st_mode) && ret_status->st_uid == geteuid();
}

static int append(struct push_queue *queue, const struct entry *entry)
{
	if (array_reserve(&queue->entries, &queue->room, queue->count + 1,
			  sizeof(*queue->entries)) < 0)
		return -ENOMEM;
	queue->entries[queue->count++] = *entry;
	queue->bytes += entry->bytes;
	return 0;
}

static int by_id(const void *left, const void *right)
{
	uint64_t a = ((const struct entry *)left)->id, b = ((const struct entry *)right)->id;

	return (a > b) - (a < b);
}

static int find(struct push_queue *queue, struct error *error)
{
	cleanup_dir DIR *files = dir_reading(queue->directory, ".");
	const struct dirent *file;

	if (!files)
		return error_set(error, errno, "cannot list the queue: %s", strerror(errno));
	while ((file = readdir(files))) {
		struct entry entry = {0};
		struct stat status;
		uint64_t hash;

		if (!parse_name(file->d_name, &hash, &entry.id) || hash != queue->hash ||
		    !is_ours(queue->directory, file->d_name, &status))
			continue;
		entry.bytes = (uint64_t)status.st_size;
		if (append(queue, &entry) < 0)
			return error_set(error, ENOMEM, "out of memory");
	}
	if (queue->count) {
		qsort(queue->entries, queue->count, sizeof(*queue->entries), by_id);
		queue->last_id = queue->entries[queue->count - 1].id;
	}
	return 0;
}

int push_queue_open(struct push_queue **ret_queue, int directory, const char *name,
		    uint64_t max_bytes, struct error *error)
{
	struct push_queue *queue = calloc(1, sizeof(*queue));
	int result = 0;

	if (!queue)
		return error_set(error, ENOMEM, "out of memory");
	queue->directory = directory;
	queue->hash = text_hash(name);
	queue->max_bytes = max_bytes;
	if (directory >= 0)
		result = find(queue, error);
	if (result < 0)
		push_queue_close(queue);
	else
		*ret_queue = queue;
	return result;
}

void push_queue_close(struct push_queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < queue->count; i++)
		free(queue->entries[i].in_memory);
	free(queue->entries);
	free(queue);
}

static void take_out(struct push_queue *queue, size_t index)
{
	struct entry *entry = &queue->entries[index];

	queue->bytes -= entry->bytes;
	free(entry->in_memory);
	queue->count--;
	memmove(entry, entry + 1, (queue->count - index) * sizeof(*entry));
}

/* What cannot be removed is found again by the next one that opens the queue. */
static void drop(struct push_queue *queue, size_t index)
{
	char name[NAME_BYTES];

	format_name(name, queue->hash, queue->entries[index].id);
	if (!queue->entries[index].in_memory)
		unlinkat(queue->directory, name, 0);
	take_out(queue, index);
}

static unsigned int make_room(struct push_queue *queue, uint64_t bytes)
{
	unsigned int dropped = 0;

	while (queue->count && queue->bytes + bytes > queue->max_bytes) {
		size_t oldest = queue->entries[0].is_held;

		if (oldest == queue->count)
			break;
		drop(queue, oldest);
		dropped++;
	}
	return dropped;
}

static int write_file(struct push_queue *queue, uint64_t id, const char *bytes, size_t length)
{
	cleanup(file_draft_close) struct file_draft draft = FILE_DRAFT_NONE;
	char name[NAME_BYTES];
	int result;

	format_name(name, queue->hash, id);
	result = file_draft_open(&draft, queue->directory, name, 0600, false);
	if (result >= 0)
		result = file_write(draft.fd, bytes, length);
	/* it outlives the machine, too: without that, its name may be there without its bytes */
	if (result >= 0 && fdatasync(draft.fd) < 0)
		result = -errno;
	return result < 0 ? result : file_draft_keep(&draft);
}

static char *whole_of(const struct push_item *item, size_t *ret_length)
{
	struct batch_header header = {.version = 1, .length = item->length};
	char *whole = malloc(sizeof(header) + item->length);

	if (!whole)
		return NULL;
	memcpy(header.magic, magic, sizeof(magic));
	snprintf(header.query, sizeof(header.query), "%s", item->query);
	header.checksum = checksum_of(&header, item->bytes);
	memcpy(whole, &header, sizeof(header));
	memcpy(whole + sizeof(header), item->bytes, item->length);
	*ret_length = sizeof(header) + item->length;
	return whole;
}

int push_queue_add(struct push_queue *queue, struct push_item *item, unsigned int *ret_dropped,
		   struct error *error)
{
	struct entry entry = {.id = clock_realtime_ns()};
	size_t length = 0;
	char *whole = whole_of(item, &length);
	int written = -ENOENT;

	free(item->bytes);
	item->bytes = NULL;
	*ret_dropped = 0;
	if (!whole)
		return error_set(error, ENOMEM, "out of memory");
	*ret_dropped = make_room(queue, length);
	if (queue->bytes + length > queue->max_bytes) {
		free(whole);
		++*ret_dropped;
		return 0;
	}
	/* clocks can be set back */
	if (entry.id <= queue->last_id)
		entry.id = queue->last_id + 1;
	queue->last_id = entry.id;
	entry.bytes = length;
	if (queue->directory >= 0)
		written = write_file(queue, entry.id, whole, length);
	if (written < 0)
		entry.in_memory = whole;
	else
		free(whole);
	if (append(queue, &entry) < 0) {
		free(entry.in_memory);
		return error_set(error, ENOMEM, "out of memory");
	}
	if (queue->directory < 0 || written >= 0)
		return 0;
	error_set(error, -written, "cannot write to the queue: %s", strerror(-written));
	return 1;
}

/* Errors that say nothing of the file: it may be there, and whole, the next time. */
static bool is_passing(int result)
{
	return result == -EMFILE || result == -ENFILE || result == -ENOMEM;
}

/*
 * The file's bytes, for the caller to free. -ESTALE: there is none that dwell has written;
 * -EBADMSG: it is shorter than it was, or cannot be read; or an error that is_passing().
 */
static int read_file(const struct push_queue *queue, const struct entry *entry, char **ret_whole)
{
	cleanup_free char *whole = malloc(entry->bytes + 1);
	cleanup_close int fd = -1;
	char name[NAME_BYTES];
	size_t got = 0;
	ssize_t part;

	if (!whole)
		return -ENOMEM;
	format_name(name, queue->hash, entry->id);
	fd = openat(queue->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return is_passing(-errno) ? -errno : -ESTALE;
	while (got < entry->bytes && (part = read(fd, whole + got, entry->bytes - got)) > 0)
		got += (size_t)part;
	if (got < sizeof(magic) || memcmp(whole, magic, sizeof(magic)) != 0)
		return -ESTALE;
	if (got != entry->bytes)
		return -EBADMSG;
	*ret_whole = whole;
	whole = NULL;
	return 0;
}

static int parse(const char *whole, size_t length, struct push_item *item)
{
	struct batch_header header;

	if (length < sizeof(header))
		return -EBADMSG;
	memcpy(&header, whole, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || header.version != 1 ||
	    header.length != length - sizeof(header) ||
	    header.checksum != checksum_of(&header, whole + sizeof(header)) ||
	    header.query[PUSH_QUERY_BYTES - 1])
		return -EBADMSG;
	item->bytes = malloc(header.length + 1);
	if (!item->bytes)
		return -ENOMEM;
	memcpy(item->bytes, whole + sizeof(header), header.length);
	memcpy(item->query, header.query, sizeof(header.query));
	item->length = header.length;
	return 1;
}

static int read_item(const struct push_queue *queue, const struct entry *entry,
		     struct push_item *item)
{
	cleanup_free char *whole = NULL;
	int result;

	if (entry->in_memory)
		return parse(entry->in_memory, entry->bytes, item);
	if (entry->bytes > sizeof(struct batch_header) + PUSH_BATCH_MOST)
		return -EBADMSG;
	result = read_file(queue, entry, &whole);
	return result < 0 ? result : parse(whole, entry->bytes, item);
}

int push_queue_first(struct push_queue *queue, struct push_item *ret_item)
{
	struct entry *entry = queue->entries;
	int result;

	if (!queue->count)
		return 0;
	*ret_item = (struct push_item){.id = entry->id};
	result = read_item(queue, entry, ret_item);
	if (result > 0)
		entry->is_held = true;
	else if (result == -ESTALE)
		take_out(queue, 0);
	else if (result == -EBADMSG)
		drop(queue, 0);
	return result == -ESTALE ? -EBADMSG : result;
}

void push_queue_remove(struct push_queue *queue, uint64_t id)
{
	for (size_t i = 0; i < queue->count; i++)
		if (queue->entries[i].id == id) {
			drop(queue, i);
			return;
		}
}

void push_queue_put_back(struct push_queue *queue)
{
	for (size_t i = 0; i < queue->count; i++)
		queue->entries[i].is_held = false;
}

uint64_t push_queue_bytes(const struct push_queue *queue)
{
	return queue->bytes;
}

size_t push_queue_count(const struct push_queue *queue)
{
	return queue->count;
}

size_t push_queue_foreign(int directory, const char *const *names, size_t count)
{
	cleanup_dir DIR *files = dir_reading(directory, ".");
	const struct dirent *file;
	size_t foreign = 0;

	while (files && (file = readdir(files))) {
		struct stat status;
		uint64_t hash, id;
		bool is_known = !strcmp(file->d_name, ".") || !strcmp(file->d_name, "..");

		if (parse_name(file->d_name, &hash, &id) &&
		    is_ours(directory, file->d_name, &status))
			for (size_t i = 0; i < count; i++)
				is_known = is_known || hash == text_hash(names[i]);
		foreign += !is_known;
	}
	return foreign;
}
