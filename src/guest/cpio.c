// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/cpio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"

struct member {
	const char *name;
	mode_t mode;
	size_t length;
	unsigned int major, minor;
};

static void put(struct cpio *cpio, const void *bytes, size_t length)
{
	output_bytes(cpio->out, bytes, length);
	cpio->bytes += length;
}

static void align(struct cpio *cpio)
{
	static const char zeros[4];

	put(cpio, zeros, (4 - cpio->bytes % 4) % 4);
}

/* "070701", then 13 fields of eight hexadecimal digits, then the name with its NUL. */
static void put_header(struct cpio *cpio, const struct member *member)
{
	char header[6 + 13 * 8 + 1];
	int length = snprintf(header, sizeof(header),
			      "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
			      ++cpio->inode, (unsigned int)member->mode, 0, 0, 1, 0,
			      (unsigned int)member->length, 0, 0, member->major, member->minor,
			      (unsigned int)strlen(member->name) + 1, 0);

	put(cpio, header, (size_t)length);
	put(cpio, member->name, strlen(member->name) + 1);
	align(cpio);
}

static bool is_there(const struct cpio *cpio, const char *name)
{
	for (size_t i = 0; i < cpio->directory_count; i++)
		if (!strcmp(cpio->directories[i], name))
			return true;
	return false;
}

static int make_directory(struct cpio *cpio, const char *name, size_t length, struct error *error)
{
	char *copy = strndup(name, length);

	if (!copy || array_reserve(&cpio->directories, &cpio->directory_room,
				   cpio->directory_count + 1, sizeof(*cpio->directories)) < 0) {
		free(copy);
		return error_set(error, ENOMEM, "out of memory");
	}
	if (is_there(cpio, copy)) {
		free(copy);
		return 0;
	}
	put_header(cpio, &(struct member){.name = copy, .mode = S_IFDIR | 0755});
	cpio->directories[cpio->directory_count++] = copy;
	return 0;
}

/* All above the last component. */
static int make_parents(struct cpio *cpio, const char *name, struct error *error)
{
	int result = 0;

	for (const char *slash = strchr(name, '/'); result >= 0 && slash;
	     slash = strchr(slash + 1, '/'))
		result = make_directory(cpio, name, (size_t)(slash - name), error);
	return result;
}

int cpio_add_directory(struct cpio *cpio, const char *name, struct error *error)
{
	int result = make_parents(cpio, name, error);

	return result < 0 ? result : make_directory(cpio, name, strlen(name), error);
}

int cpio_add_bytes(struct cpio *cpio, const char *name, mode_t mode, const void *bytes,
		   size_t length, struct error *error)
{
	int result = make_parents(cpio, name, error);

	if (result < 0)
		return result;
	if (length > UINT32_MAX)
		return error_set(error, EFBIG, "%s is too large for an initramfs", name);
	put_header(cpio, &(struct member){.name = name, .mode = S_IFREG | mode, .length = length});
	put(cpio, bytes, length);
	align(cpio);
	return 0;
}

int cpio_add_file(struct cpio *cpio, const char *name, const char *path, struct error *error)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes = NULL;
	int result;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(error, EINVAL, "%s is not a file", path);
	if (st.st_size) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED)
			return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	}
	result = cpio_add_bytes(cpio, name, st.st_mode & 0777, bytes, (size_t)st.st_size, error);
	if (bytes)
		munmap(bytes, (size_t)st.st_size);
	return result;
}

int cpio_add_device(struct cpio *cpio, const char *name, unsigned int major, unsigned int minor,
		    struct error *error)
{
	int result = make_parents(cpio, name, error);

	if (result >= 0)
		put_header(cpio, &(struct member){.name = name,
						  .mode = S_IFCHR | 0600,
						  .major = major,
						  .minor = minor});
	return result;
}

void cpio_end(struct cpio *cpio)
{
	put_header(cpio, &(struct member){.name = "TRAILER!!!"});
	/* what follows is padding up to a whole block, by custom */
	while (cpio->bytes % 512)
		put(cpio, "", 1);
}

void cpio_release(struct cpio *cpio)
{
	for (size_t i = 0; i < cpio->directory_count; i++)
		free(cpio->directories[i]);
	free(cpio->directories);
	*cpio = (struct cpio){.out = NULL};
}
