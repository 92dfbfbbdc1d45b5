// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/demangle.h"
#include "symbol/objects.h"
#include "symbol/symbolizer.h"

/* The file's address of a function of this program, with the mapping that holds it. */
static struct object *own_object(struct mappings *mappings, struct objects *objects,
				 const void *function, uint64_t *ret_address)
{
	uint64_t at = (uint64_t)(uintptr_t)function;
	const struct mapping *mapping;
	struct object *object;

	assert_int_equal(mappings_load(mappings, (uint32_t)getpid(), 0), 0);
	mapping = mappings_find(mappings, at);
	assert_non_null(mapping);
	object = objects_find(objects, mapping, (uint32_t)getpid());
	assert_non_null(object);
	assert_true(object_address(object, at - mapping->start + mapping->offset, ret_address));
	return object;
}

/* Frames deep enough to have a stack; called through a pointer, so never inlined. */
__attribute__((noinline)) static int with_a_frame(int (*call)(const char *), char *text)
{
	char buffer[64];

	snprintf(buffer, sizeof(buffer), "%s!", text);
	return call(buffer) + 1;
}

CASE(functions_are_found_by_address)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	uint64_t address;
	struct object *object =
		own_object(&mappings, &objects, (const void *)(uintptr_t)with_a_frame, &address);

	assert_string_equal(object_function(object, address), "with_a_frame");
	assert_string_equal(object_function(object, address + 1), "with_a_frame");
	assert_null(object_function(object, 1));
	assert_null(object_function(object, ~0ULL));
	assert_true(object_function_end(object, address) > address);
	assert_int_equal(object_function_end(object, ~0ULL), 0);
	/* the C library is stripped: what it exports is still known (sanitizers wrap some of it) */
	object = own_object(&mappings, &objects, (const void *)(uintptr_t)getpagesize, &address);
	assert_non_null(strstr(object_function(object, address), "getpagesize"));
	objects_release(&objects);
	mappings_release(&mappings);
}

/* Written by hand: a function without a size, labels, data, and the next section. */
__asm__(".pushsection dwell_first, \"ax\", %progbits\n"
	".globl hand_written\n"
	".type hand_written, %function\n"
	"hand_written: nop; nop; nop; nop\n"
	"hand_written.loop: nop; nop; nop; nop\n"
	".Lhand_written: nop; nop; nop; nop\n"
	"$x.hand: nop; nop; nop; nop\n"
	".globl hand_label\n"
	"hand_label: nop; nop; nop; nop\n"
	"hand_label.loop: nop; nop; nop; nop\n"
	".type hand_sized, %function\n"
	"hand_sized: nop; nop; nop; nop\n"
	"hand_inner: nop; nop; nop; nop\n"
	".size hand_sized, . - hand_sized\n"
	".globl hand_last\n"
	".type hand_last, %function\n"
	"hand_last: nop; nop; nop; nop\n"
	".type hand_constants, %object\n"
	"hand_constants: nop; nop; nop; nop\n"
	".popsection\n"
	".pushsection dwell_second, \"ax\", %progbits\n"
	"nop; nop; nop; nop\n"
	".type hand_second_sized, %function\n"
	"hand_second_sized: nop; nop; nop; nop\n"
	".size hand_second_sized, . - hand_second_sized\n"
	".popsection\n"
	".pushsection dwell_names, \"ax\", %progbits\n"
	".type __GI_hand_exported, %function\n"
	".globl hand_exported\n"
	".type hand_exported, %function\n"
	"__GI_hand_exported: hand_exported: nop; nop; nop; nop\n"
	".size __GI_hand_exported, . - __GI_hand_exported\n"
	".size hand_exported, . - hand_exported\n"
	".globl __GI_hand_hidden\n"
	".type __GI_hand_hidden, %function\n"
	"__GI_hand_hidden: nop; nop; nop; nop\n"
	".size __GI_hand_hidden, . - __GI_hand_hidden\n"
	".popsection\n");

extern const char hand_written[], hand_last[], hand_label[], hand_exported[], __GI_hand_hidden[];

CASE(functions_without_a_size_end_where_something_else_begins)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	uint64_t from, label, last, bytes;
	struct object *object = own_object(&mappings, &objects, hand_written, &from);

	(void)own_object(&mappings, &objects, hand_label, &label);
	(void)own_object(&mappings, &objects, hand_last, &last);
	bytes = (label - from) / 4;
	/* what is local to the function belongs to it */
	for (uint64_t at = from; at < label; at++)
		assert_string_equal(object_name(object, at), "hand_written");
	for (uint64_t at = label; at < label + 2 * bytes; at++)
		assert_string_equal(object_name(object, at), "hand_label");
	for (uint64_t at = label + 2 * bytes; at < last; at++)
		assert_string_equal(object_name(object, at), "hand_sized");
	assert_string_equal(object_name(object, last), "hand_last");
	assert_string_equal(object_name(object, last + bytes - 1), "hand_last");
	assert_null(object_name(object, last + bytes));
	/* who decides by names knows functions alone, to the end of their section */
	assert_string_equal(object_function(object, label), "hand_written");
	assert_int_equal(object_function_end(object, label), label + 2 * bytes);
	assert_int_equal(object_function_end(object, last), last + 2 * bytes);
	objects_release(&objects);
	mappings_release(&mappings);
}

CASE(of_several_names_the_exported_one_is_shown)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct symbol symbol;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	assert_int_equal(
		symbolizer_find(symbolizer, (uint64_t)(uintptr_t)hand_exported, false, &symbol), 0);
	assert_string_equal(symbol.frames[0].function, "hand_exported");
	/* glibc's for itself alone */
	assert_int_equal(
		symbolizer_find(symbolizer, (uint64_t)(uintptr_t)__GI_hand_hidden, false, &symbol),
		0);
	assert_string_equal(symbol.frames[0].function, "hand_hidden");
	symbolizer_free(symbolizer);
}

#define LINKED_BYTES (4 << 20) /* with sanitizers, or another linker, it is far away */

/* What this program calls of a library; what it calls itself has no entry. */
CASE(entries_of_the_linkage_table_are_called_after_their_functions)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct mappings mappings = {0};
	struct objects objects = {0};
	uint64_t own, from, entries = 0, last = 0;
	struct object *object =
		own_object(&mappings, &objects, (const void *)(uintptr_t)with_a_frame, &own);
	struct symbol symbol;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	from = own > LINKED_BYTES ? own - LINKED_BYTES : 0;
	for (uint64_t at = from; at < own + LINKED_BYTES; at += 4) {
		const char *name = object_stub(object, at);

		assert_true(!name || !object_function(object, at));
		if (!name || strcmp(name, "getpid") != 0)
			continue;
		entries += at - last > 16;
		last = at;
		assert_int_equal(symbolizer_find(symbolizer,
						 (uint64_t)(uintptr_t)with_a_frame + at - own,
						 false, &symbol),
				 0);
		assert_string_equal(symbol.frames[0].function, "getpid@plt");
		assert_true(symbol.frames[0].named);
		assert_int_equal(symbol.frames[0].kind, FRAME_KIND_STANDARD);
	}
	assert_in_range(entries, 1, 2);
	assert_null(object_stub(object, own));
	assert_null(object_stub(object, ~0ULL));
	symbolizer_free(symbolizer);
	objects_release(&objects);
	mappings_release(&mappings);
}

/* Two functions of 256 bytes from 0x1000 on; the first has two lines. */
CASE(go_programs_have_a_table_of_their_own)
{
	struct go_place place;
	struct object *object;

	assert_int_equal(object_open(&object, open(SEEDS "/elf/go", O_RDONLY | O_CLOEXEC)), 0);
	assert_true(object_go_place(object, 0x1000, &place));
	assert_string_equal(place.function, "main.a");
	assert_string_equal(place.file, "it.go");
	assert_int_equal(place.line, 10);
	assert_true(object_go_place(object, 0x1020, &place));
	assert_int_equal(place.line, 13);
	assert_true(object_go_place(object, 0x11ff, &place));
	assert_string_equal(place.function, "main.b");
	assert_false(object_go_place(object, 0xfff, &place));
	assert_false(object_go_place(object, 0x1200, &place));
	object_free(object);
}

/* That file as one of another machine. */
static struct object *go_program_of(int machine)
{
	uint8_t bytes[4096];
	int seed = open(SEEDS "/elf/go", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("go", MFD_CLOEXEC);
	ssize_t length = read(seed, bytes, sizeof(bytes));
	struct object *object;

	assert_true(length > (ssize_t)sizeof(Elf64_Ehdr));
	bytes[offsetof(Elf64_Ehdr, e_machine)] = (uint8_t)machine;
	assert_int_equal(write(fd, bytes, (size_t)length), length);
	close(seed);
	assert_int_equal(object_open(&object, fd), 0);
	return object;
}

/* The first function takes 24 bytes of stack from 0x1004 on; up to 0x1074 that is known. */
CASE(frames_of_go_are_in_its_table)
{
	struct object *intel = go_program_of(EM_X86_64), *arm = go_program_of(EM_AARCH64);
	struct frame_rule rule;

	assert_true(object_frame(intel, 0x1003, &rule));
	assert_int_equal(rule.base, FRAME_FROM_STACK);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.return_offset, -8);
	assert_true(object_frame(intel, 0x1073, &rule));
	assert_int_equal(rule.cfa_offset, 32);
	assert_int_equal(rule.return_offset, -8);
	assert_int_equal(rule.frame_offset, 0);
	assert_false(object_frame(intel, 0x1074, &rule));
	assert_false(object_frame(intel, 0x1180, &rule));
	/* the caller's address is in a register until the function has a frame */
	assert_true(object_frame(arm, 0x1003, &rule));
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.return_offset, 0);
	assert_true(object_frame(arm, 0x1004, &rule));
	assert_int_equal(rule.cfa_offset, 24);
	assert_int_equal(rule.return_offset, -24);
	object_free(intel);
	object_free(arm);
}

/* As in stripped files, which keep what unwinders need. */
CASE(functions_begin_where_the_tables_say)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	uint64_t address, start, end;
	struct object *object =
		own_object(&mappings, &objects, (const void *)(uintptr_t)with_a_frame, &address);

	end = object_function_end(object, address);
	for (uint64_t at = address; at < end; at++) {
		assert_true(object_function_start(object, at, &start));
		assert_int_equal(start, address);
	}
	assert_false(object_function_start(object, 1, &start));
	assert_false(object_function_start(object, ~0ULL, &start));
	objects_release(&objects);
	mappings_release(&mappings);
}

CASE(one_object_serves_all_mappings)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	uint64_t address;
	struct object *first =
		own_object(&mappings, &objects, (const void *)(uintptr_t)getpagesize, &address);

	assert_ptr_equal(first, own_object(&mappings, &objects, (const void *)(uintptr_t)gethostid,
					   &address));
	assert_int_equal(objects.count, 1);
	objects_release(&objects);
	mappings_release(&mappings);
}

CASE(frames_have_the_return_address)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	struct frame_rule rule;
	uint64_t address;
	struct object *object =
		own_object(&mappings, &objects, (const void *)(uintptr_t)with_a_frame, &address);

	/* at its first instruction nothing has been saved: the ABI says where it returns to */
	assert_true(object_frame(object, address, &rule));
	assert_int_equal(rule.base, FRAME_FROM_STACK);
#if defined(__x86_64__)
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.return_offset, -8);
#elif defined(__aarch64__)
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.return_offset, 0);
#endif
	assert_false(object_frame(object, 1, &rule));
	objects_release(&objects);
	mappings_release(&mappings);
}

CASE(code_without_a_file_has_no_object)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct mapping *mapping;

	assert_int_equal(mappings_load(&mappings, (uint32_t)getpid(), 0), 0);
	mapping = mappings_find(&mappings, (uint64_t)(uintptr_t)code);
	assert_non_null(mapping);
	assert_null(objects_find(&objects, mapping, (uint32_t)getpid()));
	/* data is not code */
	assert_null(mappings_find(&mappings, (uint64_t)(uintptr_t)&mappings));
	munmap(code, 4096);
	objects_release(&objects);
	mappings_release(&mappings);
}

/* It has ended, and waits for its parent. */
static uint32_t zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return (uint32_t)pid;
}

CASE(a_process_that_is_gone_keeps_what_it_mapped)
{
	struct mappings mappings = {0};

	assert_int_equal(mappings_load(&mappings, (uint32_t)getpid(), 0), 0);
	assert_true(mappings.count > 0);
	assert_int_equal(mappings_load(&mappings, 4194303, 0), -ESRCH);
	assert_true(mappings.count > 0);
	/* a kernel thread, or one that waits for its parent */
	assert_int_equal(mappings_load(&mappings, zombie(), 0), -ESRCH);
	assert_true(mappings.count > 0);
	assert_true(wait(NULL) > 0);
	mappings_release(&mappings);
}

/* Maps a copy of this program that is deleted, with so many bytes; 0: as many as it has. */
static void *map_copy(off_t bytes)
{
	char path[] = "/tmp/dwell-deleted-XXXXXX", buffer[65536];
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	ssize_t got;
	void *code;

	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)got), got);
	if (bytes)
		assert_int_equal(ftruncate(to, bytes), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, 0);
	assert_true(code != MAP_FAILED);
	unlink(path);
	close(from);
	close(to);
	return code;
}

CASE(a_deleted_file_is_still_read)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	void *code = map_copy(0);
	const struct mapping *mapping;

	assert_int_equal(mappings_load(&mappings, (uint32_t)getpid(), 0), 0);
	mapping = mappings_find(&mappings, (uint64_t)(uintptr_t)code);
	assert_non_null(mapping);
	assert_non_null(strstr(mapping->path, "(deleted)"));
	if (geteuid() == 0)
		assert_non_null(objects_find(&objects, mapping, (uint32_t)getpid()));
	munmap(code, 4096);
	objects_release(&objects);
	mappings_release(&mappings);
}

CASE(files_that_were_used_longest_ago_are_closed)
{
	struct mappings mappings = {0};
	struct objects objects = {0};
	void *copies[5];

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		copies[i] = map_copy((off_t)OBJECTS_BYTES_MAX / 3);
	assert_int_equal(mappings_load(&mappings, (uint32_t)getpid(), 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		/* the first stays, for it is used all the time */
		for (size_t used = 0; used <= i; used += i ? i : 1)
			assert_non_null(objects_find(
				&objects,
				mappings_find(&mappings, (uint64_t)(uintptr_t)copies[used]),
				(uint32_t)getpid()));
		assert_true(objects.bytes <= OBJECTS_BYTES_MAX);
	}
	assert_int_equal(objects.count, 3);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		const struct mapping *mapping =
			mappings_find(&mappings, (uint64_t)(uintptr_t)copies[i]);
		bool is_open = false;

		for (unsigned int j = 0; j < objects.count; j++)
			is_open |= objects.items[j].inode == mapping->inode;
		assert_int_equal(is_open, i != 1 && i != 2);
	}
	for (unsigned int j = 0; j < objects.count; j++)
		objects.items[j].used_ns -= j < 2 ? OBJECTS_UNUSED_NS : 0;
	objects_close_unused(&objects);
	assert_int_equal(objects.count, 1);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		munmap(copies[i], 4096);
	objects_release(&objects);
	mappings_release(&mappings);
}

CASE(other_files_are_no_objects)
{
	char path[] = "/tmp/dwell-object-XXXXXX";
	struct object *object;

	assert_int_equal(object_open(&object, open("/etc/passwd", O_RDONLY)), -ENOEXEC);
	/* a header and nothing behind it */
	int fd = mkstemp(path), from = open("/proc/self/exe", O_RDONLY);
	char header[200];

	unlink(path);
	assert_int_equal(read(from, header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	close(from);
	if (object_open(&object, fd) == 0) {
		struct frame_rule rule;
		uint64_t address;

		object_address(object, 0, &address);
		assert_null(object_function(object, 4096));
		assert_false(object_frame(object, 4096, &rule));
		object_free(object);
	}
}

CASE(names_are_demangled)
{
	static const struct {
		const char *mangled, *plain;
	} known[] = {
		{"_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE",
		 "tokio::runtime::task::raw::poll"},
		{"_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE.llvm.1234567",
		 "tokio::runtime::task::raw::poll"},
		{"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h87b356b4fd9c8f1fE",
		 "<T as core::convert::Into<U>>::into"},
		{"_RNvNtCsjrHSEGnQ3l9_3std6thread4park", "std::thread::park"},
		{"_ZN4absl5Mutex4LockEv", "absl::Mutex::Lock()"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi.cold",
		 "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_Z10inner_coroPZ10inner_corolE21_Z10inner_corol.Frame.actor", "inner_coro(long)"},
		{"_Z10inner_coroPZ10inner_corolE21_Z10inner_corol.Frame.actor.cold",
		 "inner_coro(long)"},
		{"_ZN2ns1SIiE6memberEPZNKS1_6memberEiE27_ZNK2ns1SIiE6memberEi.Frame.destroy",
		 "ns::S<int>::member(int) const"},
		{"_ZZ4mainENUliE_clEPZZ4mainENKS_clEiE26_ZZ4mainENKUliE_clEi.Frame.actor",
		 "main::{lambda(int)#1}::operator()(int) const"},
		{"_Z10inner_corol.actor", "inner_coro(long)"}, /* clang's */
		{"_Z4openP5a.Frame.actor", "_Z4openP5a"},
		{"camlStdlib__List__map_483", "Stdlib.List.map"},
		{"camlM.fib_81", "M.fib"}, /* 5.1 on */
		{"camlStdlib__$5e$5e_12", "Stdlib.^^"},
		{"camlM__fun_97", "M.fun_97"},
		{"camlM__3", "M.3"},
		{"camlM__a__", "M.a__"},
		{"camlM__$", "M.$"},
		{"camlM__$0a$4", "M.$0a$4"},
		{"camlA", "A"},
		{"caml_main", "caml_main"},
		{"main", "main"},
		{"read.part.0", "read.part.0"},
		{"_Z", "_Z"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char *name = demangle(known[i].mangled);

		assert_string_equal(name, known[i].plain);
		free(name);
	}
}

/* Where it returns to. */
__attribute__((noinline)) static uint64_t return_address(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) uint64_t inner_function(int *ret_line)
{
	uint64_t address;

	*ret_line = __LINE__ + 1;
	address = return_address();
	__asm__ volatile("" ::: "memory"); /* the call is not the last thing it does */
	return address;
}

__attribute__((noinline)) static uint64_t outer_function(int *ret_inner, int *ret_outer)
{
	*ret_outer = __LINE__ + 1;
	return inner_function(ret_inner) + 0;
}

CASE(inlined_functions_are_named)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	int inner_line, outer_line;
	uint64_t address = outer_function(&inner_line, &outer_line);
	struct symbol symbol, again;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	assert_int_equal(symbolizer_find(symbolizer, address, true, &symbol), 0);
	assert_int_equal(symbol.count, 2);
	assert_string_equal(symbol.frames[0].function, "inner_function");
	assert_true(symbol.frames[0].inlined);
	assert_int_equal(symbol.frames[0].line, inner_line);
	assert_non_null(strstr(symbol.frames[0].file, "test-symbol.c"));
	assert_string_equal(symbol.frames[1].function, "outer_function");
	assert_false(symbol.frames[1].inlined);
	assert_int_equal(symbol.frames[1].line, outer_line);
	assert_non_null(strstr(symbol.frames[1].module, "test-symbol"));
	/* known already */
	assert_int_equal(symbolizer_find(symbolizer, address, true, &again), 0);
	assert_ptr_equal(again.frames, symbol.frames);
	assert_int_equal(symbolizer_counts(symbolizer).addresses, 1);
	symbolizer_free(symbolizer);
}

CASE(code_of_the_kernel_in_every_process_has_names)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct mappings mappings = {0};
	struct frame_rule rule;
	struct symbol symbol;
	struct code_view code;
	bool named = false, tables = true;

#if defined(__aarch64__)
	tables = false; /* the kernel is built without any there */
#endif
	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	code = symbolizer_code(symbolizer);
	assert_int_equal(mappings_load(&mappings, (uint32_t)getpid(), 0), 0);
	for (size_t i = 0; i < mappings.count; i++) {
		const struct mapping *mapping = &mappings.items[i];

		if (strcmp(mapping->path, "[vdso]") != 0)
			continue;
		for (uint64_t at = mapping->start; at < mapping->end && !named; at += 16) {
			assert_int_equal(symbolizer_find(symbolizer, at, false, &symbol), 0);
			named = strstr(symbol.frames[0].function, "clock_gettime") &&
				symbol.frames[0].kind == FRAME_KIND_SYSTEM &&
				(!tables || code_frame(&code, at, &rule));
		}
	}
	assert_true(named);
	mappings_release(&mappings);
	symbolizer_free(symbolizer);
}

CASE(code_without_names_has_an_offset)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct symbol symbol;
	char expected[32];

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	assert_int_equal(
		symbolizer_find(symbolizer, (uint64_t)(uintptr_t)code + 16, false, &symbol), 0);
	snprintf(expected, sizeof(expected), "%p", (void *)((char *)code + 16));
	assert_string_equal(symbol.frames[0].function, expected);
	assert_false(symbol.frames[0].named);
	/* in a library without debug information: its exported name */
	assert_int_equal(
		symbolizer_find(symbolizer, (uint64_t)(uintptr_t)getpagesize, false, &symbol), 0);
	assert_non_null(strstr(symbol.frames[0].function, "getpagesize"));
	/* an address that is not mapped */
	assert_int_equal(symbolizer_find(symbolizer, 16, true, &symbol), 0);
	assert_string_equal(symbol.frames[0].function, "0xf");
	munmap(code, 4096);
	symbolizer_free(symbolizer);
}

/* As in an OCaml program, which contains its runtime and what its libraries have in C. */
void caml_start_program(void);
void unix_of_a_library(void);
void of_a_user(void);

void caml_start_program(void)
{
}

void unix_of_a_library(void)
{
}

void of_a_user(void)
{
}

static enum frame_kind kind_at(struct symbolizer *symbolizer, void (*function)(void))
{
	struct symbol symbol;

	assert_int_equal(symbolizer_find(symbolizer, (uint64_t)(uintptr_t)function, false, &symbol),
			 0);
	return symbol.frames[0].kind;
}

CASE(libraries_of_ocaml_are_not_the_users)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	assert_int_equal(kind_at(symbolizer, caml_start_program), FRAME_KIND_STANDARD);
	assert_int_equal(kind_at(symbolizer, unix_of_a_library), FRAME_KIND_STANDARD);
	assert_int_equal(kind_at(symbolizer, of_a_user), FRAME_KIND_USER);
	symbolizer_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(functions_are_found_by_address),
		cmocka_unit_test(functions_without_a_size_end_where_something_else_begins),
		cmocka_unit_test(of_several_names_the_exported_one_is_shown),
		cmocka_unit_test(entries_of_the_linkage_table_are_called_after_their_functions),
		cmocka_unit_test(functions_begin_where_the_tables_say),
		cmocka_unit_test(one_object_serves_all_mappings),
		cmocka_unit_test(frames_have_the_return_address),
		cmocka_unit_test(code_without_a_file_has_no_object),
		cmocka_unit_test(a_process_that_is_gone_keeps_what_it_mapped),
		cmocka_unit_test(a_deleted_file_is_still_read),
		cmocka_unit_test(files_that_were_used_longest_ago_are_closed),
		cmocka_unit_test(other_files_are_no_objects),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(go_programs_have_a_table_of_their_own),
		cmocka_unit_test(frames_of_go_are_in_its_table),
		cmocka_unit_test(inlined_functions_are_named),
		cmocka_unit_test(code_of_the_kernel_in_every_process_has_names),
		cmocka_unit_test(code_without_names_has_an_offset),
		cmocka_unit_test(libraries_of_ocaml_are_not_the_users),
	};

	return RUN(cases);
}
