// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest is made of, and what it sends: archives, frames, topologies. */
#include "test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "guest/board.h"
#include "guest/cpio.h"
#include "guest/frame.h"
#include "guest/presets.h"
#include "guest/modules.h"
#include "guest/elf_dependencies.h"
#include "guest/shape.h"

struct member {
	char name[128];
	unsigned int mode, length;
	const char *bytes;
};

static unsigned int field(const char *header, int number)
{
	char text[9] = "";

	memcpy(text, header + 6 + 8 * number, 8);
	return (unsigned int)strtoul(text, NULL, 16);
}

/* The member at *at, which moves behind it; false: that was the trailer. */
static bool next_member(const struct output *out, size_t *at, struct member *member)
{
	const char *header = out->buffer + *at;
	unsigned int name_bytes;

	assert_true(*at + 110 <= out->used);
	assert_memory_equal(header, "070701", 6);
	assert_int_equal(*at % 4, 0);
	name_bytes = field(header, 11);
	member->mode = field(header, 1);
	member->length = field(header, 6);
	assert_int_equal(strlen(header + 110) + 1, name_bytes);
	snprintf(member->name, sizeof(member->name), "%s", header + 110);
	*at += (110 + name_bytes + 3) / 4 * 4;
	member->bytes = out->buffer + *at;
	*at += (member->length + 3) / 4 * 4;
	return strcmp(member->name, "TRAILER!!!") != 0;
}

CASE(archives_hold_files_and_the_directories_above_them)
{
	static const char *const names[] = {"etc",	 "etc/dwell", "etc/dwell/arguments",
					    "etc/other", "dev",	      "dev/console",
					    "empty"};
	struct output out;
	struct cpio cpio = {.out = &out};
	struct error error = {""};
	struct member member;
	size_t at = 0, count = 0;

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(
		cpio_add_bytes(&cpio, "etc/dwell/arguments", 0640, "load\0steady", 12, &error), 0);
	assert_int_equal(cpio_add_bytes(&cpio, "etc/other", 0755, "x", 1, &error), 0);
	assert_int_equal(cpio_add_directory(&cpio, "etc/dwell", &error), 0);
	assert_int_equal(cpio_add_device(&cpio, "dev/console", 5, 1, &error), 0);
	assert_int_equal(cpio_add_bytes(&cpio, "empty", 0600, "", 0, &error), 0);
	cpio_end(&cpio);
	assert_int_equal(out.used % 512, 0);
	while (next_member(&out, &at, &member)) {
		assert_true(count < 7);
		assert_string_equal(member.name, names[count]);
		if (count == 2) {
			assert_int_equal(member.mode, S_IFREG | 0640);
			assert_int_equal(member.length, 12);
			assert_memory_equal(member.bytes, "load\0steady", 12);
		}
		if (count < 2)
			assert_int_equal(member.mode, S_IFDIR | 0755);
		if (count == 5)
			assert_int_equal(member.mode, S_IFCHR | 0600);
		count++;
	}
	assert_int_equal(count, 7);
	cpio_release(&cpio);
	output_release(&out);
}

CASE(what_is_not_a_file_is_an_error)
{
	struct output out;
	struct cpio cpio = {.out = &out};
	struct error error = {""};

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(cpio_add_file(&cpio, "a", "/nonexistent", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent"));
	assert_int_equal(cpio_add_file(&cpio, "a", "/tmp", &error), -EINVAL);
	cpio_release(&cpio);
	output_release(&out);
}

/* A kernel image of which only the head is there. */
static int told_board(size_t offset, const char *mark, bool compressed, const char **ret_name)
{
	char path[] = "/tmp/dwell-board-XXXXXX", head[0x238] = "MZ";
	const struct board *board = NULL;
	struct error error = {""};
	int fd = mkstemp(path), result;
	gzFile file;

	assert_true(fd >= 0);
	memcpy(head + offset, mark, strlen(mark));
	file = gzdopen(fd, compressed ? "wb" : "wbT");
	assert_non_null(file);
	assert_int_equal(gzwrite(file, head, sizeof(head)), sizeof(head));
	assert_int_equal(gzclose(file), Z_OK);
	result = board_of_kernel(path, &board, &error);
	*ret_name = result < 0 ? strdup(error.text) : board->name;
	unlink(path);
	return result;
}

CASE(kernels_say_what_they_are_for)
{
	const char *name;

	assert_int_equal(told_board(0x202, "HdrS", false, &name), 0);
	assert_string_equal(name, "x86_64");
	assert_int_equal(told_board(56, "ARM\x64", false, &name), 0);
	assert_string_equal(name, "aarch64");
	/* QEMU unpacks this one, and not the other */
	assert_int_equal(told_board(56, "ARM\x64", true, &name), 0);
	assert_string_equal(name, "aarch64");
	assert_int_equal(told_board(0x202, "HdrS", true, &name), -EINVAL);
	assert_non_null(strstr(name, "not a kernel image"));
	free((char *)name);
	assert_int_equal(told_board(4, "zimg", false, &name), -EINVAL);
	assert_non_null(strstr(name, "zboot"));
	free((char *)name);
	assert_int_equal(told_board(0, "\177ELF", false, &name), -EINVAL);
	assert_non_null(strstr(name, "vmlinux"));
	free((char *)name);
	assert_int_equal(told_board(0, "other", false, &name), -EINVAL);
	free((char *)name);
}

struct found {
	char names[64][128];
	size_t count;
};

static int note_found(void *data, const char *name, const char *path, struct error *error)
{
	struct found *found = data;

	assert_true(found->count < 64);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(found->names[found->count++], sizeof(found->names[0]), "%s", name);
	return strstr(name, "ld-linux") ? 0 : error_set(error, ECANCELED, "enough");
}

/* What has the loader's name in a directory is not the loader until the link leads to it. */
CASE(programs_need_their_loader_and_it_is_looked_for_below_the_root)
{
	char root[] = "/tmp/dwell-root-XXXXXX", command[512];
	struct found found = {.count = 0};
	struct error error = {""};

	assert_true(elf_machine("/proc/self/exe") == board_here()->elf);
	assert_int_equal(elf_machine("/proc/self/status"), 0);
	assert_int_equal(elf_machine("/nonexistent"), 0);
	/* here: the loader, then a library, which ends it */
	assert_int_equal(elf_dependencies_find("/", "/proc/self/exe", note_found, &found, &error),
			 -ECANCELED);
	assert_int_equal(found.count, 2);
	assert_non_null(strstr(found.names[0], "/ld-linux"));
	assert_non_null(strstr(found.names[1], ".so"));
	/* a root in which the same name is a link that is absolute, and good only there */
	assert_non_null(mkdtemp(root));
	snprintf(command, sizeof(command), "mkdir -p %s$(dirname %s) && ln -s /dwell-loader %s%s",
		 root, found.names[0], root, found.names[0]);
	assert_int_equal(system(command), 0);
	found.count = 0;
	assert_int_equal(elf_dependencies_find(root, "/proc/self/exe", note_found, &found, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "ld-linux"));
	assert_int_equal(found.count, 0);
	snprintf(command, sizeof(command), "cp /proc/self/exe %s/dwell-loader", root);
	assert_int_equal(system(command), 0);
	assert_int_equal(elf_dependencies_find(root, "/proc/self/exe", note_found, &found, &error),
			 -ENOENT);
	assert_int_equal(found.count, 1);
	assert_null(strstr(error.text, "ld-linux"));
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* So that a copy of this program can stand for a module. */
__attribute__((used, section(".modinfo"))) static const char modinfo[] =
	"license=GPL\0depends=low_part,part-of-it\0name=test";

static int note_module(void *data, const char *name, const void *bytes, size_t length,
		       struct error *error)
{
	struct found *found = data;

	(void)error;
	assert_true(found->count < 64 && length > 4);
	assert_memory_equal(bytes, "\177ELF", 4); /* whatever it was packed by */
	snprintf(found->names[found->count++], sizeof(found->names[0]), "%s", name);
	return 0;
}

CASE(modules_come_behind_those_that_they_need)
{
	char root[] = "/tmp/dwell-modules-XXXXXX", command[1024], kernel[64];
	static const char *const names[] = {"high-part", "low_part", "part_of_it", NULL};
	static const char *const missing[] = {"none", NULL};
	struct found found = {.count = 0};
	struct error error = {""};

	assert_non_null(mkdtemp(root));
	snprintf(kernel, sizeof(kernel), "%s/boot/vmlinuz-1.2-x", root);
	snprintf(command, sizeof(command),
		 "mkdir -p %s/boot %s/lib/modules/1.2-x/kernel/a && touch %s && "
		 "cd %s/lib/modules/1.2-x && cp /proc/%d/exe kernel/a/high_part.ko && "
		 "gzip -c kernel/a/high_part.ko > kernel/a/low-part.ko.gz && "
		 "printf 'kernel/a/low-part.ko\\nkernel/a/high_part.ko\\n' > modules.order && "
		 "printf 'kernel/b/part-of-it.ko\\n' > modules.builtin",
		 root, root, kernel, root, getpid());
	assert_int_equal(system(command), 0);
	assert_int_equal(modules_find(kernel, names, note_module, &found, &error), 0);
	assert_int_equal(found.count, 2);
	assert_string_equal(found.names[0], "low_part");
	assert_string_equal(found.names[1], "high-part");
	assert_int_equal(modules_find(kernel, missing, note_module, &found, &error), -ENOENT);
	assert_non_null(strstr(error.text, "no module none"));
	assert_int_equal(modules_find("/proc/version", names, note_module, &found, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "lib/modules"));
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* What frame_write() writes. */
static size_t made_frame(char *into, size_t room, enum frame_kind kind, const char *payload,
			 size_t length)
{
	int ends[2];
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(frame_write(ends[1], kind, payload, length), 0);
	got = read(ends[0], into, room);
	assert_true(got > 0);
	close(ends[0]);
	close(ends[1]);
	return (size_t)got;
}

CASE(frames_are_found_in_a_stream_however_it_comes)
{
	char bytes[256];
	size_t used = 0;
	struct frame_reader reader = {.bytes = NULL};
	enum frame_kind kind;
	const char *payload;
	size_t length, found = 0;

	memcpy(bytes, "SeaBIOS\r\n", 9);
	used = 9;
	used += made_frame(bytes + used, sizeof(bytes) - used, FRAME_READY, "", 0);
	used += made_frame(bytes + used, sizeof(bytes) - used, FRAME_OUT, "hello", 5);
	memcpy(bytes + used, "dw", 2); /* like the beginning of one */
	used += 2;
	used += made_frame(bytes + used, sizeof(bytes) - used, FRAME_EXIT, "\3\0\0\0", 4);
	for (size_t i = 0; i < used; i++) {
		assert_int_equal(frame_feed(&reader, bytes + i, 1), 0);
		while (frame_next(&reader, &kind, &payload, &length)) {
			static const enum frame_kind kinds[] = {FRAME_READY, FRAME_OUT, FRAME_EXIT};

			assert_true(found < 3);
			assert_int_equal(kind, kinds[found]);
			if (found == 1) {
				assert_int_equal(length, 5);
				assert_memory_equal(payload, "hello", 5);
			}
			found++;
		}
	}
	assert_int_equal(found, 3);
	assert_int_equal(reader.damaged, 0);
	assert_int_equal(reader.skipped, 11);
	frame_release(&reader);
}

CASE(damaged_frames_are_counted_and_the_next_one_is_found)
{
	char whole[256];
	size_t first = made_frame(whole, sizeof(whole), FRAME_OUT, "hello", 5);
	size_t both =
		first + made_frame(whole + first, sizeof(whole) - first, FRAME_OUT, "again", 5);

	/* any bit but of the magic, without which it is no frame at all, or of the length's upper
	 * half, which only makes it wait */
	for (size_t bit = 32; bit < first * 8; bit++) {
		char bytes[256];
		struct frame_reader reader = {.bytes = NULL};
		enum frame_kind kind;
		const char *payload;
		size_t length;

		if (bit / 8 >= 8 && bit / 8 < 12)
			continue;
		memcpy(bytes, whole, both);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(frame_feed(&reader, bytes, both), 0);
		assert_true(frame_next(&reader, &kind, &payload, &length));
		assert_memory_equal(payload, "again", 5);
		assert_int_equal(reader.damaged, 1);
		assert_false(frame_next(&reader, &kind, &payload, &length));
		frame_release(&reader);
	}
}

CASE(frames_larger_than_there_can_be_are_none)
{
	static const uint32_t header[] = {0x6c6c7764, FRAME_OUT, FRAME_BYTES_MAX + 1, 0};
	struct frame_reader reader = {.bytes = NULL};
	enum frame_kind kind;
	const char *payload;
	size_t length;

	assert_int_equal(frame_feed(&reader, header, sizeof(header)), 0);
	assert_false(frame_next(&reader, &kind, &payload, &length));
	assert_int_equal(reader.damaged, 1);
	frame_release(&reader);
}

CASE(topologies_are_read)
{
	struct shape shape;
	struct error error = {""};
	char text[64];

	assert_int_equal(shape_parse("2n4l3c2t", &shape, &error), 0);
	assert_int_equal(shape.nodes, 2);
	assert_int_equal(shape.llcs, 4);
	assert_int_equal(shape.cores, 3);
	assert_int_equal(shape.threads, 2);
	assert_int_equal(shape_cpus(&shape), 24);
	shape_smp(text, sizeof(text), &shape);
	assert_string_equal(text, "24,sockets=4,cores=3,threads=2");
}

CASE(topologies_that_cannot_be_are_refused)
{
	static const char *const wrong[][2] = {
		{"", "bad topology"},
		{"2", "bad topology"},
		{"1n1l1c", "bad topology"},
		{"1n1l1c1tx", "bad topology"},
		{"1l1n1c1t", "bad topology"},
		{"0n1l1c1t", "none of the four can be 0"},
		{"1n1l0c1t", "none of the four can be 0"},
		{"2n3l1c1t", "3 caches cannot be divided evenly among 2 nodes"},
		{"1n16l16c1t", "256 CPUs, more than the 255"},
	};
	struct shape shape;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error error = {""};

		assert_int_equal(shape_parse(wrong[i][0], &shape, &error), -EINVAL);
		if (!strstr(error.text, wrong[i][1]))
			fail_msg("'%s': %s", wrong[i][0], error.text);
	}
}

CASE(topologies_have_names)
{
	struct shape shape;
	struct error error = {""};
	char text[24];

	assert_int_equal(shape_parse("smt-2llc", &shape, &error), 0);
	shape_format(text, sizeof(text), &shape);
	assert_string_equal(text, "1n2l2c2t");
	assert_int_equal(shape_parse("Max_CPU", &shape, &error), 0);
	assert_int_equal(shape_cpus(&shape), 252);
	assert_int_equal(shape_parse("smt-2lcc", &shape, &error), -EINVAL);
	assert_non_null(strstr(error.text, "did you mean 'smt-2llc'?"));
}

/* What shape_parse() would refuse, and what would be run twice. */
CASE(presets_are_sound_and_all_different)
{
	size_t count = 0;

	for (const struct shape_preset *preset = shape_presets; preset->name; preset++, count++) {
		struct error error = {""};
		struct shape shape;
		char text[24];

		shape_format(text, sizeof(text), &preset->shape);
		if (shape_parse(text, &shape, &error) < 0)
			fail_msg("%s: %s", preset->name, error.text);
		assert_memory_equal(&shape, &preset->shape, sizeof(shape));
		for (const struct shape_preset *other = shape_presets; other < preset; other++) {
			assert_memory_not_equal(&other->shape, &preset->shape, sizeof(shape));
			assert_string_not_equal(other->name, preset->name);
		}
	}
	assert_int_equal(count, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archives_hold_files_and_the_directories_above_them),
		cmocka_unit_test(what_is_not_a_file_is_an_error),
		cmocka_unit_test(kernels_say_what_they_are_for),
		cmocka_unit_test(modules_come_behind_those_that_they_need),
		cmocka_unit_test(programs_need_their_loader_and_it_is_looked_for_below_the_root),
		cmocka_unit_test(frames_are_found_in_a_stream_however_it_comes),
		cmocka_unit_test(damaged_frames_are_counted_and_the_next_one_is_found),
		cmocka_unit_test(frames_larger_than_there_can_be_are_none),
		cmocka_unit_test(topologies_are_read),
		cmocka_unit_test(topologies_that_cannot_be_are_refused),
		cmocka_unit_test(topologies_have_names),
		cmocka_unit_test(presets_are_sound_and_all_different),
	};

	return RUN(tests);
}
