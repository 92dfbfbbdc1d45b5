// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's type information, beside what libbpf reads in it. */
#include "test.h"

#include <bpf/btf.h>
#include <errno.h>
#include <unistd.h>

#include "capture/core_btf.h"
#include "capture/kernel_btf.h"

/* What programs may name; the last is in no kernel. */
static const char *const wanted[] = {"task_struct",    "rq",   "cgroup___with_ancestors",
				     "bpf_iter__task", "file", "dwell_is_no_structure"};

static int open_bytes(struct kernel_btf *ret_btf, const void *bytes, size_t size)
{
	char path[] = "/tmp/dwell-btf-XXXXXX";
	int fd = mkstemp(path), result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	result = kernel_btf_open(ret_btf, path, NULL);
	unlink(path);
	return result;
}

/* A structure of an array, a bit field, a pointer and an unnamed union. */
static struct btf *made_up(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), array, pointer, either, named;

	array = btf__add_array(btf, number, number, 3);
	pointer = btf__add_ptr(btf, number);
	either = btf__add_union(btf, NULL, 8);
	btf__add_field(btf, "one", number, 0, 0);
	btf__add_field(btf, "other", pointer, 0, 0);
	named = btf__add_typedef(btf, "array_t", btf__add_const(btf, array));
	btf__add_struct(btf, "outer", 32);
	btf__add_field(btf, "numbers", named, 0, 0);
	btf__add_field(btf, "bits", number, 96, 5);
	btf__add_field(btf, "", either, 128, 0);
	assert_true(btf__add_struct(btf, "unwanted", 4) > 0);
	btf__add_field(btf, "number", number, 0, 0);
	return btf;
}

CASE(types_are_found_by_name_and_kind)
{
	struct btf_place places[] = {{"outer", BTF_KIND_STRUCT, 9},
				     {"outer", BTF_KIND_UNION, 9},
				     {"array_t", BTF_KIND_TYPEDEF, 9},
				     {"int", BTF_KIND_INT, 9},
				     {"oute", BTF_KIND_STRUCT, 9}};
	struct btf *btf = made_up();
	struct kernel_btf read;
	const void *bytes;
	__u32 size;

	bytes = btf__raw_data(btf, &size);
	assert_int_equal(open_bytes(&read, bytes, size), 0);
	assert_int_equal(read.count, btf__type_cnt(btf));
	kernel_btf_find(&read, places, ARRAY_SIZE(places));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int id = btf__find_by_name_kind(btf, places[i].name, places[i].kind);

		assert_int_equal(places[i].id, id < 0 ? 0 : id);
	}
	assert_null(kernel_btf_type(&read, 0));
	assert_null(kernel_btf_type(&read, read.count));
	kernel_btf_close(&read);
	btf__free(btf);
}

CASE(damaged_type_information_is_none)
{
	struct btf *btf = made_up();
	struct kernel_btf read;
	char bytes[4096];
	__u32 size;

	memcpy(bytes, btf__raw_data(btf, &size), sizeof(bytes) < size ? sizeof(bytes) : size);
	assert_true(size < sizeof(bytes));
	for (__u32 cut = 0; cut < size; cut++)
		assert_int_equal(open_bytes(&read, bytes, cut), -ENOTSUP);
	/* a kind that there is not */
	((struct btf_type *)(bytes + sizeof(struct btf_header)))->info = 31U << 24;
	assert_int_equal(open_bytes(&read, bytes, size), -ENOTSUP);
	bytes[0] ^= 1;
	assert_int_equal(open_bytes(&read, bytes, size), -ENOTSUP);
	assert_int_equal(kernel_btf_open(&read, "/nowhere", NULL), -ENOTSUP);
	btf__free(btf);
}

/* Each member is where it is in the whole, as long, and of the same kind. */
static void compare_members(const struct btf *whole, const struct btf *reduced, __u32 whole_id,
			    __u32 id)
{
	const struct btf_type *of = btf__type_by_id(whole, whole_id);
	const struct btf_type *type = btf__type_by_id(reduced, id);

	assert_int_equal(type->size, of->size);
	assert_int_equal(btf_vlen(type), btf_vlen(of));
	for (__u32 i = 0; i < btf_vlen(type); i++) {
		__u32 whole_member = btf_members(of)[i].type, member = btf_members(type)[i].type;
		const char *name = btf__name_by_offset(whole, btf_members(of)[i].name_off);
		long long bytes = btf__resolve_size(whole, whole_member);
		const struct btf_type *kind;

		assert_string_equal(btf__name_by_offset(reduced, btf_members(type)[i].name_off),
				    name);
		assert_int_equal(btf_member_bit_offset(type, i), btf_member_bit_offset(of, i));
		assert_int_equal(btf_member_bitfield_size(type, i),
				 btf_member_bitfield_size(of, i));
		assert_int_equal(btf__resolve_size(reduced, member), bytes);
		kind = btf__type_by_id(whole, btf__resolve_type(whole, whole_member));
		assert_int_equal(btf_kind(btf__type_by_id(reduced, member)),
				 btf_is_enum64(kind) ? BTF_KIND_ENUM : btf_kind(kind));
		if (!*name)
			compare_members(whole, reduced, whole_member, member);
	}
}

CASE(reduced_structures_are_the_kernels_own)
{
	struct btf *whole = btf__parse(KERNEL_BTF, NULL), *local = btf__new_empty(), *reduced;
	struct kernel_btf read;

	if (!whole)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_true(btf__add_struct(local, wanted[i], 4) > 0);
	assert_int_equal(kernel_btf_open(&read, KERNEL_BTF, NULL), 0);
	assert_int_equal(read.count, btf__type_cnt(whole));
	reduced = core_btf_reduce(&read, local);
	assert_non_null(reduced);
	assert_true(btf__type_cnt(reduced) < 2000);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		char name[64];
		int id, whole_id;

		snprintf(name, sizeof(name), "%s", wanted[i]);
		if (strstr(name, "___"))
			*strstr(name, "___") = '\0';
		id = btf__find_by_name_kind(reduced, name, BTF_KIND_STRUCT);
		whole_id = btf__find_by_name_kind(whole, name, BTF_KIND_STRUCT);
		assert_int_equal(id > 0, whole_id > 0);
		if (id > 0)
			compare_members(whole, reduced, (__u32)whole_id, (__u32)id);
	}
	kernel_btf_close(&read);
	btf__free(reduced);
	btf__free(local);
	btf__free(whole);
}

CASE(what_no_program_names_is_left_out)
{
	struct btf *btf = made_up(), *local = btf__new_empty(), *reduced;
	struct kernel_btf read;
	const void *bytes;
	__u32 size;

	btf__add_struct(local, "outer", 4);
	bytes = btf__raw_data(btf, &size);
	assert_int_equal(open_bytes(&read, bytes, size), 0);
	reduced = core_btf_reduce(&read, local);
	assert_non_null(reduced);
	assert_true(btf__find_by_name_kind(reduced, "outer", BTF_KIND_STRUCT) > 0);
	assert_true(btf__find_by_name_kind(reduced, "unwanted", BTF_KIND_STRUCT) < 0);
	compare_members(btf, reduced, (__u32)btf__find_by_name_kind(btf, "outer", BTF_KIND_STRUCT),
			(__u32)btf__find_by_name_kind(reduced, "outer", BTF_KIND_STRUCT));
	kernel_btf_close(&read);
	btf__free(reduced);
	btf__free(local);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(types_are_found_by_name_and_kind),
		cmocka_unit_test(damaged_type_information_is_none),
		cmocka_unit_test(reduced_structures_are_the_kernels_own),
		cmocka_unit_test(what_no_program_names_is_left_out),
	};

	return RUN(cases);
}
