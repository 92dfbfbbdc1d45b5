/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's type information (Documentation/bpf/btf.rst), where the kernel has it: 5 MB, of
 * which libbpf would make two copies.
 */
#ifndef DWELL_CAPTURE_KERNEL_BTF_H
#define DWELL_CAPTURE_KERNEL_BTF_H

#include <bpf/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kernel_btf {
	void *bytes;
	size_t size;
	const char *types, *strings;
	uint32_t *offsets; /* of types, by id */
	uint32_t count;	   /* of types, and of the first one, which is void */
};

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* /sys is not mounted, so that it is not known whether there is any; and what to do. */
bool kernel_btf_lacks_sysfs(void);
#define MOUNT_SYSFS "mount -t sysfs none /sys"

/* 0, or a negative errno: there is none, and what to do. Close in the first case. */
int kernel_btf_open(struct kernel_btf *ret_btf, const char *path, struct error *error) must_check;
void kernel_btf_close(struct kernel_btf *btf);

/* NULL: void, or there is none. */
const struct btf_type *kernel_btf_type(const struct kernel_btf *btf, uint32_t id);
const char *kernel_btf_text(const struct kernel_btf *btf, uint32_t name_off);

struct btf_place {
	const char *name;
	uint32_t kind; /* BTF_KIND_* */
	uint32_t id;   /* found; 0: it is not there */
};

/* Fills in the ids, in one pass for all. */
void kernel_btf_find(const struct kernel_btf *btf, struct btf_place *places, size_t count);

#endif
