// SPDX-License-Identifier: GPL-2.0-or-later
/* Which kernel a guest gets: what files are, and which of several is chosen. */
#define _GNU_SOURCE /* mkdtemp */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "guest/board.h"
#include "guest/kernel.h"
#include "guest/kernel_image.h"

#define HEAD_BYTES 0x400

/* A directory of a test, with boot/ and cache/ in it. */
static char top[64], boot[80], cache[80];

static int make_places(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/dwell-kernels-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(boot, sizeof(boot), "%s/boot", top);
	snprintf(cache, sizeof(cache), "%s/cache", top);
	return mkdir(boot, 0755) || mkdir(cache, 0755);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int remove_places(void **state)
{
	(void)state;
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in(const char *directory, const char *name)
{
	static char path[512];

	assert_in_range(snprintf(path, sizeof(path), "%s/%s", directory, name), 1,
			sizeof(path) - 1);
	return path;
}

static void write_file(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* The head of a bzImage, protocol 2.15. */
static void make_kernel(const char *path, unsigned int flags)
{
	unsigned char head[HEAD_BYTES] = {'M', 'Z'};

	memcpy(head + 0x202, "HdrS\x0f\x02", 6);
	head[0x236] = (unsigned char)flags;
	write_file(path, head, sizeof(head));
}

static void make_boot(const char *version)
{
	char name[128];

	snprintf(name, sizeof(name), "vmlinuz-%s", version);
	make_kernel(in(boot, name), 1);
}

static void make_config(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

static void make_cached(const char *name, const char *config, time_t made_s)
{
	char directory[192];
	struct timespec times[2] = {{.tv_sec = made_s}, {.tv_sec = made_s}};

	snprintf(directory, sizeof(directory), "%s/%s", cache, name);
	assert_int_equal(mkdir(directory, 0755), 0);
	make_kernel(in(directory, "bzImage"), 1);
	assert_int_equal(utimensat(AT_FDCWD, in(directory, "bzImage"), times, 0), 0);
	make_config(in(directory, "config"), config);
}

static void expect(bool sched_ext, const char *directory, const char *name)
{
	struct error error = {""};
	char path[PATH_MAX];

	if (kernel_find_in(boot, cache, sched_ext, path, &error) < 0)
		fail_msg("%s", error.text);
	assert_string_equal(path, in(directory, name));
}

/* The error's text says each of these. */
static void expect_none(bool sched_ext, const char *first, const char *second)
{
	struct error error = {""};
	char path[PATH_MAX];

	assert_int_equal(kernel_find_in(boot, cache, sched_ext, path, &error), -ENOENT);
	if (!strstr(error.text, first) || !strstr(error.text, second))
		fail_msg("%s", error.text);
}

CASE(kernels_for_x86_64_are_bootable_and_others_of_x86_not)
{
	const char *path = in(top, "bzImage");
	const struct board *board;
	struct error error = {""};

	make_kernel(path, 0x7f);
	assert_int_equal(board_of_kernel(path, &board, &error), 0);
	make_kernel(path, 0x7e);
	assert_int_equal(board_of_kernel(path, &board, &error), -EINVAL);
	assert_non_null(strstr(error.text, "32-bit"));
	assert_int_equal(truncate(path, 0x210), 0);
	assert_int_equal(board_of_kernel(path, &board, &error), -EINVAL);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(board_of_kernel(path, &board, &error), -EINVAL);
	assert_int_equal(board_of_kernel(in(top, "absent"), &board, &error), -ENOENT);
	assert_int_equal(board_of_kernel(top, &board, &error), -EINVAL);
}

CASE(the_newest_of_boot_is_by_version)
{
	make_boot("6.1.0-9-amd64");
	expect(false, boot, "vmlinuz-6.1.0-9-amd64");
	make_boot("6.1.0-50-cloud-amd64");
	make_boot("0-rescue-0123456789abcdef");
	expect(false, boot, "vmlinuz-6.1.0-50-cloud-amd64");
	make_boot("6.12.117+deb12-cloud-amd64");
	make_boot("6.9.1-1-amd64");
	/* whatever it points to */
	make_kernel(in(boot, "vmlinuz.old"), 1);
	make_cached("6.18.1-0123456789ab", "", 1000);
	expect(false, boot, "vmlinuz-6.12.117+deb12-cloud-amd64");
}

CASE(names_without_a_version_will_do)
{
	make_kernel(in(boot, "vmlinuz"), 1);
	expect(false, boot, "vmlinuz");
}

CASE(what_cannot_be_booted_is_passed_over)
{
	make_boot("6.1.0-9-amd64");
	make_kernel(in(boot, "vmlinuz-6.12.1-686"), 0);
	assert_int_equal(symlink("nowhere", in(boot, "vmlinuz-6.13.1-amd64")), 0);
	expect(false, boot, "vmlinuz-6.1.0-9-amd64");
}

CASE(the_cache_is_for_want_of_others)
{
	/* being built */
	make_cached(".6.18.1-000000000000.x", "", 4000);
	expect_none(false, "no kernel that can boot", "make guest-kernel");
	make_cached("6.9.20-ffffffffffff", "", 3000);
	make_cached("6.12.107-aaaaaaaaaaaa", "", 1000);
	make_cached("6.12.107-111111111111", "", 2000);
	expect(false, cache, "6.12.107-111111111111/bzImage");
}

CASE(with_a_scheduler_only_kernels_that_say_sched_ext)
{
	make_boot("6.18.1-amd64");
	make_config(in(boot, "config-6.18.1-amd64"), "# CONFIG_SCHED_CLASS_EXT is not set\n");
	make_boot("6.19.1-amd64");
	make_cached("6.14.1-222222222222", "CONFIG_SMP=y\n", 1000);
	expect_none(true, "no kernel with sched_ext", "make guest-kernel");
	make_cached("6.12.1-333333333333", "CONFIG_SMP=y\nCONFIG_SCHED_CLASS_EXT=y\n", 1000);
	expect(true, cache, "6.12.1-333333333333/bzImage");
	make_boot("6.17.1-amd64");
	make_config(in(boot, "config-6.17.1-amd64"), "CONFIG_SCHED_CLASS_EXT=y\n");
	expect(true, boot, "vmlinuz-6.17.1-amd64");
	expect(false, boot, "vmlinuz-6.19.1-amd64");
}

CASE(without_any_kernel_all_ways_out_are_named)
{
	expect_none(false, "linux-image-cloud-amd64", "make guest-kernel");
	expect_none(false, "--kernel FILE", boot);
	make_kernel(in(boot, "vmlinuz-6.12.1-686"), 0);
	expect_none(false, "vmlinuz-6.12.1-686 is for 32-bit x86", "make guest-kernel");
}

CASE(the_cache_is_where_the_user_has_it)
{
	char path[PATH_MAX];

	assert_int_equal(setenv("HOME", "/home/someone", 1), 0);
	assert_int_equal(setenv("XDG_CACHE_HOME", "/var/cache/someone", 1), 0);
	kernel_cache(path);
	assert_string_equal(path, "/var/cache/someone/dwell/kernels");
	assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
	kernel_cache(path);
	assert_string_equal(path, "/home/someone/.cache/dwell/kernels");
	assert_int_equal(unsetenv("HOME"), 0);
	kernel_cache(path);
	assert_string_equal(path, "");
	/* then only boot counts */
	make_boot("6.1.0-9-amd64");
	*cache = '\0';
	expect(false, boot, "vmlinuz-6.1.0-9-amd64");
	expect_none(true, "no kernel with sched_ext", "make guest-kernel");
}

/* An ELF file with one note of Xen's, as the kernel's entry for PVH (type 18). */
struct vmlinux {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Nhdr note;
	char name[4];
	uint64_t entry;
};

static struct vmlinux make_vmlinux(uint32_t note_type)
{
	return (struct vmlinux){
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phoff = offsetof(struct vmlinux, segment),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1},
		.segment = {.p_type = PT_NOTE,
			    .p_offset = offsetof(struct vmlinux, note),
			    .p_filesz = sizeof(struct vmlinux) - offsetof(struct vmlinux, note),
			    .p_align = 4},
		.note = {.n_namesz = 4, .n_descsz = 8, .n_type = note_type},
		.name = "Xen",
		.entry = 0x1000000,
	};
}

/* A bzImage with that file packed inside by gzip, from `offset` on as its head says. */
static void make_packed(const char *path, const struct vmlinux *vmlinux, uint32_t offset)
{
	unsigned char image[HEAD_BYTES + 1024] = {'M', 'Z'};
	z_stream stream = {.next_in = (unsigned char *)vmlinux,
			   .avail_in = sizeof(*vmlinux),
			   .next_out = image + HEAD_BYTES,
			   .avail_out = sizeof(image) - HEAD_BYTES};
	uint32_t length;

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	length = (uint32_t)stream.total_out;
	deflateEnd(&stream);
	memcpy(image + 0x202, "HdrS\x0f\x02", 6);
	image[0x1f1] = 1; /* sector of setup, after the first: 1024 bytes */
	memcpy(image + 0x248, &offset, sizeof(offset));
	memcpy(image + 0x24c, &length, sizeof(length));
	write_file(path, image, HEAD_BYTES + length);
}

static void expect_image(const char *path, const void *bytes, size_t length)
{
	struct error error = {""};
	char got[4096];
	int fd = kernel_image_open(path, &error);

	if (fd < 0)
		fail_msg("%s", error.text);
	assert_int_equal(pread(fd, got, sizeof(got), 0), length);
	assert_memory_equal(got, bytes, length);
	close(fd);
}

/* As it is. */
static void expect_copy(const char *path)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, bytes, sizeof(bytes));

	assert_in_range(length, 1, sizeof(bytes) - 1);
	close(fd);
	expect_image(path, bytes, (size_t)length);
}

CASE(a_packed_kernel_that_can_be_entered_is_unpacked)
{
	struct vmlinux vmlinux = make_vmlinux(18);
	const char *path = in(top, "bzImage");

	make_packed(path, &vmlinux, 0);
	expect_image(path, &vmlinux, sizeof(vmlinux));
}

CASE(other_kernels_are_booted_as_they_are)
{
	struct vmlinux vmlinux = make_vmlinux(17);
	const char *path = in(top, "bzImage");
	struct error error = {""};

	make_packed(path, &vmlinux, 0);
	expect_copy(path);
	/* a payload that is not there, not whole, or of another format */
	vmlinux = make_vmlinux(18);
	make_packed(path, &vmlinux, 0xfffffff0);
	expect_copy(path);
	make_packed(path, &vmlinux, 0);
	assert_int_equal(truncate(path, HEAD_BYTES + 20), 0);
	expect_copy(path);
	make_packed(path, &vmlinux, 1);
	expect_copy(path);
	/* notes that reach beyond the file */
	vmlinux.note.n_namesz = 0xfffffff0;
	make_packed(path, &vmlinux, 0);
	expect_copy(path);
	vmlinux.segment.p_filesz = UINT64_MAX - 8;
	make_packed(path, &vmlinux, 0);
	expect_copy(path);
	make_kernel(path, 1);
	expect_copy(path);
	assert_int_equal(kernel_image_open(in(top, "absent"), &error), -ENOENT);
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_places, remove_places)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(kernels_for_x86_64_are_bootable_and_others_of_x86_not),
		PLACED(the_newest_of_boot_is_by_version),
		PLACED(names_without_a_version_will_do),
		PLACED(what_cannot_be_booted_is_passed_over),
		PLACED(the_cache_is_for_want_of_others),
		PLACED(with_a_scheduler_only_kernels_that_say_sched_ext),
		PLACED(without_any_kernel_all_ways_out_are_named),
		PLACED(the_cache_is_where_the_user_has_it),
		PLACED(a_packed_kernel_that_can_be_entered_is_unpacked),
		PLACED(other_kernels_are_booted_as_they_are),
	};

	return RUN(tests);
}
