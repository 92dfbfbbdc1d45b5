// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/core_btf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Names of structures; ___FLAVOUR is cut off, as libbpf does. */
struct names {
	char **items;
	size_t count;
};

struct reduction {
	const struct kernel_btf *kernel;
	struct btf *btf;
	int *ids;	/* by the kernel's; 0: not there yet */
	int pointer_id; /* to nothing: what pointers lead to is found by its own name */
	struct names names;
};

static void release(struct reduction *reduction)
{
	for (size_t i = 0; i < reduction->names.count; i++)
		free(reduction->names.items[i]);
	free(reduction->names.items);
	free(reduction->ids);
	btf__free(reduction->btf);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_wanted(const struct names *names, const char *name)
{
	return *name && bsearch(&name, names->items, names->count, sizeof(*names->items), by_name);
}

static int collect_names(struct names *names, const struct btf *local)
{
	__u32 count = btf__type_cnt(local);

	names->items = calloc(count, sizeof(*names->items));
	if (!names->items)
		return -ENOMEM;
	for (__u32 id = 1; id < count; id++) {
		const struct btf_type *type = btf__type_by_id(local, id);
		const char *name = btf__name_by_offset(local, type->name_off);
		const char *flavour = strstr(name, "___");

		if (!btf_is_composite(type) || !*name)
			continue;
		name = flavour ? strndup(name, (size_t)(flavour - name)) : strdup(name);
		if (!name)
			return -ENOMEM;
		names->items[names->count++] = (char *)name;
	}
	qsort(names->items, names->count, sizeof(*names->items), by_name);
	return 0;
}

static int take(struct reduction *reduction, __u32 id);

static int take_members(struct reduction *reduction, const struct btf_type *type)
{
	const struct btf_member *members = btf_members(type);

	for (__u32 i = 0; i < btf_vlen(type); i++) {
		__u32 bit = btf_member_bit_offset(type, i);
		__u32 bits = btf_member_bitfield_size(type, i);
		const char *name = kernel_btf_text(reduction->kernel, members[i].name_off);
		int id = take(reduction, members[i].type); /* it is there: see take_composite() */

		if (id >= 0)
			id = btf__add_field(reduction->btf, name, id, bit, bits);
		if (id < 0)
			return id;
	}
	return 0;
}

/* Others than those that are named lie in them as so many bytes. */
static int take_composite(struct reduction *reduction, const struct btf_type *type)
{
	const char *name = kernel_btf_text(reduction->kernel, type->name_off);
	bool whole = !*name || is_wanted(&reduction->names, name);
	int id, result = 0;

	/* members' types come first: what is added last is what gets fields */
	for (__u32 i = 0; whole && i < btf_vlen(type); i++) {
		result = take(reduction, btf_members(type)[i].type);
		if (result < 0)
			return result;
	}
	id = btf_is_union(type) ? btf__add_union(reduction->btf, name, type->size)
				: btf__add_struct(reduction->btf, name, type->size);
	if (id >= 0 && whole)
		result = take_members(reduction, type);
	return result < 0 ? result : id;
}

static int take_array(struct reduction *reduction, const struct btf_array *array)
{
	int element = take(reduction, array->type), index;

	if (element < 0)
		return element;
	index = take(reduction, array->index_type);
	return index < 0 ? index
			 : btf__add_array(reduction->btf, index, element, (__u32)array->nelems);
}

static int take_new(struct reduction *reduction, const struct btf_type *type)
{
	const char *name = kernel_btf_text(reduction->kernel, type->name_off);

	if (btf_is_composite(type))
		return take_composite(reduction, type);
	if (btf_is_array(type))
		return take_array(reduction, btf_array(type));
	if (btf_is_int(type))
		return btf__add_int(reduction->btf, name, type->size, btf_int_encoding(type));
	if (btf_is_float(type))
		return btf__add_float(reduction->btf, name, type->size);
	if (btf_is_any_enum(type))
		return btf__add_enum(reduction->btf, name, type->size);
	return -EINVAL; /* no other lies in a structure */
}

/* The id in the reduced ones, or a negative errno. */
static int take(struct reduction *reduction, __u32 id)
{
	const struct btf_type *type = kernel_btf_type(reduction->kernel, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type))) {
		id = type->type;
		type = kernel_btf_type(reduction->kernel, id);
	}
	if (!type)
		return id ? -EINVAL : 0;
	if (btf_is_ptr(type))
		return reduction->pointer_id;
	if (!reduction->ids[id])
		reduction->ids[id] = take_new(reduction, type);
	return reduction->ids[id];
}

static int reduce(struct reduction *reduction, const struct btf *local)
{
	__u32 count = reduction->kernel->count;
	int result = collect_names(&reduction->names, local);

	if (result < 0)
		return result;
	reduction->ids = calloc(count, sizeof(*reduction->ids));
	reduction->btf = btf__new_empty();
	if (!reduction->ids || !reduction->btf)
		return -ENOMEM;
	reduction->pointer_id = btf__add_ptr(reduction->btf, 0);
	if (reduction->pointer_id < 0)
		return reduction->pointer_id;
	for (__u32 id = 1; id < count; id++) {
		const struct btf_type *type = kernel_btf_type(reduction->kernel, id);

		if (!btf_is_composite(type) ||
		    !is_wanted(&reduction->names,
			       kernel_btf_text(reduction->kernel, type->name_off)))
			continue;
		result = take(reduction, id);
		if (result < 0)
			return result;
	}
	return 0;
}

struct btf *core_btf_reduce(const struct kernel_btf *kernel, const struct btf *local)
{
	cleanup(release) struct reduction reduction = {.kernel = kernel};
	int result = reduce(&reduction, local);
	struct btf *btf = reduction.btf;

	if (result < 0) {
		errno = -result;
		return NULL;
	}
	reduction.btf = NULL;
	return btf;
}
