// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* Bytes of a type behind its struct btf_type; -1: a kind that is not known here. */
static int bytes_behind(const struct btf_type *type)
{
	int count = btf_vlen(type);

	switch (btf_kind(type)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
		return sizeof(__u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * (int)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * (int)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return count * (int)sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return count * (int)sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return count * (int)sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	default:
		return -1;
	}
}

/* From 6.16 on it can be mapped (commit a539e2a6d51d). */
static int read_bytes(struct kernel_btf *btf, const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	btf->size = (size_t)status.st_size;
	btf->bytes = mmap(NULL, btf->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (btf->bytes != MAP_FAILED)
		return 0;
	btf->bytes = mmap(NULL, btf->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (btf->bytes == MAP_FAILED) {
		btf->bytes = NULL;
		return -ENOMEM;
	}
	for (size_t got = 0; got < btf->size;) {
		ssize_t result = read(fd, (char *)btf->bytes + got, btf->size - got);

		if (!result)
			return -EBADMSG;
		if (result < 0 && errno != EINTR)
			return -errno;
		got += result > 0 ? (size_t)result : 0;
	}
	return 0;
}

static int find_sections(struct kernel_btf *btf, size_t *ret_type_bytes)
{
	const struct btf_header *header = btf->bytes;

	if (btf->size < sizeof(*header) || header->magic != BTF_MAGIC ||
	    (size_t)header->hdr_len + header->type_off + header->type_len > btf->size ||
	    (size_t)header->hdr_len + header->str_off + header->str_len > btf->size ||
	    !header->str_len)
		return -EBADMSG;
	btf->types = (const char *)btf->bytes + header->hdr_len + header->type_off;
	btf->strings = (const char *)btf->bytes + header->hdr_len + header->str_off;
	*ret_type_bytes = header->type_len;
	return btf->strings[header->str_len - 1] ? -EBADMSG : 0;
}

static int find_types(struct kernel_btf *btf, size_t bytes)
{
	/* there is none that is smaller */
	size_t room = bytes / sizeof(struct btf_type) + 1, at = 0;

	btf->offsets = malloc(room * sizeof(*btf->offsets));
	if (!btf->offsets)
		return -ENOMEM;
	btf->count = 1;
	while (at < bytes) {
		const struct btf_type *type = (const struct btf_type *)(btf->types + at);
		int behind = at + sizeof(*type) > bytes ? -1 : bytes_behind(type);

		if (behind < 0 || at + sizeof(*type) + (size_t)behind > bytes)
			return -EBADMSG;
		btf->offsets[btf->count++] = (uint32_t)at;
		at += sizeof(*type) + (size_t)behind;
	}
	return 0;
}

/* As in a chroot. */
bool kernel_btf_lacks_sysfs(void)
{
	struct statfs sys;

	return statfs("/sys", &sys) < 0 || sys.f_type != SYSFS_MAGIC;
}

static int no_types(const char *path, int result, struct error *error)
{
	if (!strncmp(path, "/sys/", 5) && kernel_btf_lacks_sysfs())
		return error_set(error, ENOTSUP,
				 "/sys is not mounted here, where the kernel has its type "
				 "information (%s): " MOUNT_SYSFS,
				 path);
	if (result == -EMFILE)
		return error_set(error, EMFILE, "cannot open %s: %s", path,
				 limits_strerror(EMFILE));
	return error_set(error, ENOTSUP,
			 "this kernel has no type information (%s: %s): it needs "
			 "CONFIG_DEBUG_INFO_BTF=y, as distribution kernels from 5.15 have",
			 path, strerror(-result));
}

int kernel_btf_open(struct kernel_btf *ret_btf, const char *path, struct error *error)
{
	struct kernel_btf btf = {0};
	size_t type_bytes = 0;
	int result = read_bytes(&btf, path);

	if (result >= 0)
		result = find_sections(&btf, &type_bytes);
	if (result >= 0)
		result = find_types(&btf, type_bytes);
	if (result < 0) {
		kernel_btf_close(&btf);
		return no_types(path, result, error);
	}
	*ret_btf = btf;
	return 0;
}

void kernel_btf_close(struct kernel_btf *btf)
{
	if (btf->bytes)
		munmap(btf->bytes, btf->size);
	free(btf->offsets);
	*btf = (struct kernel_btf){0};
}

const struct btf_type *kernel_btf_type(const struct kernel_btf *btf, uint32_t id)
{
	if (!id || id >= btf->count)
		return NULL;
	return (const struct btf_type *)(btf->types + btf->offsets[id]);
}

const char *kernel_btf_text(const struct kernel_btf *btf, uint32_t name_off)
{
	return btf->strings + name_off;
}

/* Nearly all names differ in their first two bytes from those that are looked for. */
static unsigned int first_bytes(const char *name)
{
	return (unsigned char)name[0] | (unsigned int)(unsigned char)name[1] << 8;
}

void kernel_btf_find(const struct kernel_btf *btf, struct btf_place *places, size_t count)
{
	bool begins[1 << 16] = {false};

	for (size_t i = 0; i < count; i++) {
		places[i].id = 0;
		begins[first_bytes(places[i].name)] = true;
	}
	for (uint32_t id = 1; id < btf->count; id++) {
		const struct btf_type *type = kernel_btf_type(btf, id);
		const char *name = kernel_btf_text(btf, type->name_off);

		/* without one it ends in its first byte */
		if (!*name || !begins[first_bytes(name)])
			continue;
		for (size_t i = 0; i < count; i++)
			if (places[i].kind == btf_kind(type) && !places[i].id &&
			    !strcmp(places[i].name, name))
				places[i].id = id;
	}
}
