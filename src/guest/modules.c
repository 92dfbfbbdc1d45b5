// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "guest/unpack.h"

#define MODULE_MAX (256 << 20)

struct modules {
	char directory[PATH_MAX];
	modules_found *found;
	void *data;
	char **done; /* names; owned */
	size_t count, room;
};

struct bytes {
	char *items;
	size_t count, room;
};

static void bytes_release(struct bytes *bytes)
{
	free(bytes->items);
}

/* "-" in the name of a file is "_" in that of the module. */
static bool is_same(const char *a, const char *b, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (a[i] != b[i] && !(strchr("-_", a[i]) && b[i] && strchr("-_", b[i])))
			return false;
	return !b[length];
}

/* The line of a list (modules.order, modules.builtin) that names it: "kernel/fs/xfs/xfs.ko". */
static bool find_line(const struct modules *modules, const char *list, const char *name,
		      char line[PATH_MAX])
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", modules->directory, list);
	cleanup_file FILE *file = fopen(path, "re");

	while (file && fgets(line, PATH_MAX, file)) {
		const char *slash = strrchr(line, '/'), *base = slash ? slash + 1 : line;

		line[strcspn(line, "\n")] = '\0';
		if (is_same(base, name, strcspn(base, ".")))
			return true;
	}
	return false;
}

/* Kernels are installed as vmlinuz-VERSION; /usr: systems that have merged it. */
static int find_directory(struct modules *modules, const char *kernel, struct error *error)
{
	static const char *const places[] = {"lib/modules", "usr/lib/modules"};
	char path[PATH_MAX], order[PATH_MAX + 32];
	char *slash, *version;

	if (!realpath(kernel, path))
		return error_set(error, errno, "cannot find %s: %s", kernel, strerror(errno));
	slash = strrchr(path, '/');
	/* or kept with them, and /boot has a link to it */
	snprintf(modules->directory, sizeof(modules->directory), "%.*s", (int)(slash - path), path);
	snprintf(order, sizeof(order), "%s/modules.order", modules->directory);
	if (!access(order, R_OK))
		return 0;
	version = strchr(slash + 1, '-');
	*slash = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; version && i < ARRAY_SIZE(places); i++) {
		snprintf(modules->directory, sizeof(modules->directory), "%.2000s/%s/%.256s", path,
			 places[i], version + 1);
		if (!access(modules->directory, R_OK | X_OK))
			return 0;
	}
	return error_set(error, ENOENT,
			 "there are no modules of the kernel %s: it is to be vmlinuz-VERSION, "
			 "beside ../lib/modules/VERSION, or in that directory",
			 kernel);
}

static int read_all(int fd, struct bytes *bytes)
{
	ssize_t got = 1;

	while (got > 0) {
		if (bytes->count > MODULE_MAX)
			return -EFBIG;
		if (array_reserve(&bytes->items, &bytes->room, bytes->count + 65536, 1) < 0)
			return -ENOMEM;
		got = read(fd, bytes->items + bytes->count, 65536);
		bytes->count += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? -errno : 0;
}

static int read_packed(const char *program, const char *path, struct bytes *bytes)
{
	cleanup_close int packed = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_close int module = packed < 0 ? -1 : memfd_create("dwell-module", MFD_CLOEXEC);
	int result;

	if (module < 0)
		return -errno;
	result = unpack(program, packed, module, MODULE_MAX);
	if (result < 0)
		return result;
	return lseek(module, 0, SEEK_SET) < 0 ? -errno : read_all(module, bytes);
}

static int read_module(const char *path, struct bytes *bytes, struct error *error)
{
	static const char *const packed[][2] = {{".xz", "xz"}, {".zst", "zstd"}, {".gz", "gzip"}};
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? -ENOENT : read_all(fd, bytes);

	for (size_t i = 0; result == -ENOENT && i < ARRAY_SIZE(packed); i++) {
		char name[2 * PATH_MAX + 8];

		snprintf(name, sizeof(name), "%s%s", path, packed[i][0]);
		if (access(name, R_OK) < 0)
			continue;
		result = read_packed(packed[i][1], name, bytes);
		if (result < 0)
			return error_set(error, -result, "cannot unpack %s by %s: %s", name,
					 packed[i][1], strerror(-result));
	}
	return result < 0 ? error_set(error, -result, "cannot read %s: %s", path, strerror(-result))
			  : 0;
}

/* "depends=a,b" among the texts of .modinfo, to be freed; NULL: it is not there. */
static char *read_depends(const struct bytes *bytes)
{
	Elf *elf = elf_version(EV_CURRENT) ? elf_memory(bytes->items, bytes->count) : NULL;
	Elf_Scn *section = NULL;
	char *depends = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) < 0)
		names = 0;
	while (elf && !depends && (section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_rawdata(section, NULL);
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, ".modinfo") != 0 || !data || !data->d_size ||
		    ((char *)data->d_buf)[data->d_size - 1])
			continue;
		for (size_t at = 0; !depends && at < data->d_size;
		     at += strlen((char *)data->d_buf + at) + 1)
			if (!strncmp((char *)data->d_buf + at, "depends=", 8))
				depends = strdup((char *)data->d_buf + at + 8);
	}
	elf_end(elf);
	return depends;
}

/* 1: it is to be found; 0: it has been. */
static int note(struct modules *modules, const char *name)
{
	for (size_t i = 0; i < modules->count; i++)
		if (is_same(modules->done[i], name, strlen(modules->done[i])))
			return 0;
	if (array_reserve(&modules->done, &modules->room, modules->count + 1,
			  sizeof(*modules->done)) < 0)
		return -ENOMEM;
	modules->done[modules->count] = strdup(name);
	return modules->done[modules->count] ? (modules->count++, 1) : -ENOMEM;
}

static int find_module(struct modules *modules, const char *name, struct error *error)
{
	cleanup(bytes_release) struct bytes bytes = {0};
	cleanup_free char *depends = NULL;
	char line[PATH_MAX], path[2 * PATH_MAX];
	int result = note(modules, name);

	if (result <= 0)
		return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	if (find_line(modules, "modules.builtin", name, line))
		return 0;
	if (!find_line(modules, "modules.order", name, line))
		return error_set(error, ENOENT, "there is no module %s in %s", name,
				 modules->directory);
	snprintf(path, sizeof(path), "%s/%s", modules->directory, line);
	result = read_module(path, &bytes, error);
	if (result < 0)
		return result;
	depends = read_depends(&bytes);
	for (char *rest = depends, *one; result >= 0 && (one = strsep(&rest, ","));)
		if (*one)
			result = find_module(modules, one, error);
	return result < 0 ? result
			  : modules->found(modules->data, name, bytes.items, bytes.count, error);
}

int modules_find(const char *kernel, const char *const *names, modules_found *found, void *data,
		 struct error *error)
{
	struct modules modules = {.found = found, .data = data};
	int result = find_directory(&modules, kernel, error);

	for (size_t i = 0; result >= 0 && names[i]; i++)
		result = find_module(&modules, names[i], error);
	for (size_t i = 0; i < modules.count; i++)
		free(modules.done[i]);
	free(modules.done);
	return result;
}

void modules_load(const char *directory)
{
	struct dirent **names = NULL;
	int count = scandir(directory, &names, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (*names[i]->d_name != '.' &&
		    (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0) && errno != EEXIST)
			fprintf(stderr, "init: module %s: %s\n", names[i]->d_name, strerror(errno));
		free(names[i]);
	}
	free(names);
}
