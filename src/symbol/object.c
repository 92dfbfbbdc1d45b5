// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/object.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/identities.h"
#include "symbol/eh_table.h"
#include "symbol/linkage_table.h"
#include "symbol/symbol_table.h"

/* DWARF numbers of the registers we follow, by the ELF's machine. */
struct machine {
	int elf, stack, frame;
	int link; /* the column of the return address */
	int held; /* the register that holds it in code that has not saved it, or never does */
};

static const struct machine machines[] = {
	{EM_X86_64, 7, 6, 16, 5}, /* glibc's vfork() */
	{EM_AARCH64, 31, 29, 30, 30},
};

struct object {
	int fd;
	Elf *elf;
	struct stat opened;	       /* as its file was then */
	const struct machine *machine; /* NULL: not one whose frames we know */
	struct symbol_table symbols;
	bool symbols_loaded;
	struct linkage_table linkage;
	bool linkage_loaded;
	struct eh_table eh_table;
	struct go_table go_table;
	Dwarf_CFI *eh_frame, *debug_frame;
	Dwarf *dwarf; /* holds debug_frame */
	bool eh_frame_loaded, debug_frame_loaded, eh_table_loaded, go_table_loaded;
	/* rules that were asked for before, by number of (0, address) */
	struct identities rule_addresses;
	struct known_rule {
		struct frame_rule rule;
		bool found;
	} * rules;
	size_t rule_room;
};

static const struct machine *machine_of(Elf *elf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].elf == header.e_machine)
			return &machines[i];
	return NULL;
}

int object_open(struct object **ret_object, int fd)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object) {
		close(fd);
		return -ENOMEM;
	}
	elf_version(EV_CURRENT);
	object->fd = fd;
	if (fstat(fd, &object->opened) < 0)
		object->opened = (struct stat){.st_size = 0};
	object->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!object->elf || elf_kind(object->elf) != ELF_K_ELF) {
		object_free(object);
		return -ENOEXEC;
	}
	object->machine = machine_of(object->elf);
	*ret_object = object;
	return 0;
}

bool object_has_changed(const struct object *object)
{
	const struct timespec *before = &object->opened.st_mtim;
	struct stat now;

	/* not the time of its last change: a file that is replaced loses a link, and stays as it is
	 */
	return !fstat(object->fd, &now) &&
	       (now.st_size != object->opened.st_size || now.st_mtim.tv_sec != before->tv_sec ||
		now.st_mtim.tv_nsec != before->tv_nsec);
}

void object_free(struct object *object)
{
	if (!object)
		return;
	if (object->eh_frame)
		dwarf_cfi_end(object->eh_frame);
	dwarf_end(object->dwarf);
	elf_end(object->elf);
	symbol_table_release(&object->symbols);
	linkage_table_release(&object->linkage);
	free(object->rules);
	identities_release(&object->rule_addresses);
	close(object->fd);
	free(object);
}

void object_build_id(const struct object *object, char ret_id[BUILD_ID_BYTES])
{
	build_id_read(ret_id, object->elf);
}

bool object_is_static(const struct object *object)
{
	GElf_Phdr header;
	size_t count;

	if (elf_getphdrnum(object->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(object->elf, (int)i, &header) && header.p_type == PT_INTERP)
			return false;
	return true;
}

/* The same place counted in the file and in memory, whichever of the two is looked for. */
static bool find_segment(const struct object *object, bool in_file, uint64_t at,
			 GElf_Phdr *ret_header)
{
	size_t count;

	if (elf_getphdrnum(object->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(object->elf, (int)i, ret_header) || ret_header->p_type != PT_LOAD)
			continue;
		uint64_t start = in_file ? ret_header->p_offset : ret_header->p_vaddr;

		if (at >= start && at - start < ret_header->p_filesz)
			return true;
	}
	return false;
}

bool object_address(const struct object *object, uint64_t offset, uint64_t *ret_address)
{
	GElf_Phdr segment;

	if (!find_segment(object, true, offset, &segment))
		return false;
	*ret_address = offset - segment.p_offset + segment.p_vaddr;
	return true;
}

bool object_offset(const struct object *object, uint64_t address, uint64_t *ret_offset)
{
	GElf_Phdr segment;

	if (!find_segment(object, false, address, &segment))
		return false;
	*ret_offset = address - segment.p_vaddr + segment.p_offset;
	return true;
}

size_t object_bytes(const struct object *object, uint64_t address, void *into, size_t bytes)
{
	uint64_t offset;
	ssize_t got = object_offset(object, address, &offset)
			      ? pread(object->fd, into, bytes, (off_t)offset)
			      : 0;

	return got > 0 ? (size_t)got : 0;
}

static const struct symbol_table *symbols_of(struct object *object)
{
	if (!object->symbols_loaded)
		object->symbols = symbol_table_read(object->elf);
	object->symbols_loaded = true;
	return &object->symbols;
}

static const struct function *find_function(struct object *object, uint64_t address)
{
	return symbol_table_function(symbols_of(object), address);
}

const char *object_function(struct object *object, uint64_t address)
{
	const struct function *function = find_function(object, address);

	return function ? function->name : NULL;
}

const char *object_name(struct object *object, uint64_t address)
{
	return symbol_table_name(symbols_of(object), address);
}

static size_t read_code(void *data, uint64_t address, void *into, size_t bytes)
{
	return object_bytes(data, address, into, bytes);
}

const char *object_stub(struct object *object, uint64_t address)
{
	const struct linkage_slot *slot;
	const struct function *function;

	if (!object->linkage_loaded)
		object->linkage = linkage_table_read(object->elf);
	object->linkage_loaded = true;
	slot = linkage_table_find(&object->linkage, address, read_code, object);
	if (!slot || slot->name)
		return slot ? slot->name : NULL;
	function = find_function(object, slot->function);
	return function && function->start == slot->function ? function->name : NULL;
}

const char *object_function_beside(struct object *object, uint64_t address, int steps)
{
	const struct function *function = find_function(object, address);
	const struct symbol_table *table = symbols_of(object);
	ptrdiff_t at = function ? function - table->functions + steps : -1;

	return at >= 0 && at < (ptrdiff_t)table->count ? table->functions[at].name : NULL;
}

bool object_function_named(struct object *object, const char *name, uint64_t *ret_start)
{
	const struct function *function;

	(void)symbols_of(object);
	function = symbol_table_named(&object->symbols, name);
	if (function)
		*ret_start = function->start;
	return function;
}

uint64_t object_function_end(struct object *object, uint64_t address)
{
	const struct function *function = find_function(object, address);

	return function ? function->end : 0;
}

void object_each_function(struct object *object,
			  void (*call)(void *data, uint64_t address, const char *name), void *data)
{
	const struct symbol_table *table = symbols_of(object);

	for (size_t i = 0; i < table->count; i++)
		call(data, table->functions[i].start, table->functions[i].name);
}

bool object_variable(struct object *object, const char *name, uint64_t *ret_address)
{
	return symbol_table_variable(object->elf, name, ret_address);
}

static bool has_section(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && !strcmp(name, wanted))
			return true;
	}
	return false;
}

static Dwarf_CFI *eh_frame_of(struct object *object)
{
	if (!object->eh_frame_loaded)
		object->eh_frame = dwarf_getcfi_elf(object->elf);
	object->eh_frame_loaded = true;
	return object->eh_frame;
}

/* Only for who has it: libdw reads all the debug information there is into memory for that. */
static Dwarf_CFI *debug_frame_of(struct object *object)
{
	if (!object->debug_frame_loaded &&
	    (has_section(object->elf, ".debug_frame") || has_section(object->elf, ".zdebug_frame")))
		object->dwarf = dwarf_begin_elf(object->elf, DWARF_C_READ, NULL);
	if (!object->debug_frame_loaded && object->dwarf)
		object->debug_frame = dwarf_getcfi(object->dwarf);
	object->debug_frame_loaded = true;
	return object->debug_frame;
}

/* Whether the table covers the address; the frame is to be freed. */
static bool find_frame(Dwarf_CFI *table, uint64_t address, Dwarf_Frame **ret_frame)
{
	return table && !dwarf_cfi_addrframe(table, address, ret_frame);
}

/* _start and what clone() begins with say so. */
static bool is_outermost(const struct machine *machine, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t count;

	return !dwarf_frame_register(frame, machine->link, memory, &ops, &count) && !count && ops;
}

/* Where a register is kept, as an offset from the CFA; 0: it is unchanged. False: another rule.
 */
static bool saved_at(Dwarf_Frame *frame, int number, int32_t *ret_offset)
{
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) < 0)
		return false;
	*ret_offset = 0;
	if (!count)
		return !ops; /* same value; else undefined */
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (count == 1)
		return false; /* at the CFA itself: no ABI does that */
	if (count != 2 || ops[1].atom != DW_OP_plus_uconst)
		return false;
	*ret_offset = (int32_t)ops[1].number;
	return true;
}

/* Whether the caller's is in the register `held`. */
static bool is_held(const struct machine *machine, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t count;

	return dwarf_frame_register(frame, machine->link, memory, &ops, &count) >= 0 &&
	       count == 1 && ops[0].atom == DW_OP_regx &&
	       ops[0].number == (Dwarf_Word)machine->held;
}

/* *ret_offset 0: the return address is in a register. */
static bool find_return(const struct machine *machine, Dwarf_Frame *frame, int32_t *ret_offset)
{
	if (saved_at(frame, machine->link, ret_offset))
		return *ret_offset || machine->link == machine->held;
	*ret_offset = 0;
	return is_held(machine, frame);
}

static bool is_base(const struct machine *machine, Dwarf_Word number, enum frame_base *ret_base)
{
	*ret_base = number == (Dwarf_Word)machine->frame ? FRAME_FROM_FRAME : FRAME_FROM_STACK;
	return number == (Dwarf_Word)machine->frame || number == (Dwarf_Word)machine->stack;
}

/*
 * Register and offset, or the expression *(register + offset) + another. What else there is, as in
 * the PLT and in signal frames, is not described.
 */
static bool describe_cfa(const struct machine *machine, Dwarf_Frame *frame, struct frame_rule *rule)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) < 0)
		return false;
	if (count == 1 && ops[0].atom == DW_OP_bregx) {
		rule->cfa_offset = (int32_t)ops[0].number2;
		return is_base(machine, ops[0].number, &rule->base);
	}
	if (count == 3 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 &&
	    ops[1].atom == DW_OP_deref && ops[2].atom == DW_OP_plus_uconst) {
		rule->indirect = true;
		rule->cfa_offset = (int32_t)ops[0].number;
		rule->indirect_offset = (int32_t)ops[2].number;
		return is_base(machine, ops[0].atom - DW_OP_breg0, &rule->base);
	}
	return false;
}

static bool describe(const struct machine *machine, Dwarf_Frame *frame, struct frame_rule *ret_rule)
{
	struct frame_rule rule = {0};

	if (is_outermost(machine, frame)) {
		*ret_rule = (struct frame_rule){.outermost = true};
		return true;
	}
	if (!describe_cfa(machine, frame, &rule))
		return false;
	if (!find_return(machine, frame, &rule.return_offset))
		return false;
	/* a frame pointer that cannot be followed is an error only where it is needed */
	if (!saved_at(frame, machine->frame, &rule.frame_offset))
		rule.frame_offset = 0;
	*ret_rule = rule;
	return true;
}

static const struct go_table *go_table_of(struct object *object)
{
	if (!object->go_table_loaded)
		object->go_table = go_table_open(object->elf);
	object->go_table_loaded = true;
	return &object->go_table;
}

enum place {
	PLACE_ORDINARY,
	PLACE_SIGRETURN, /* what handlers of signals return to: rt_sigreturn(2), and nothing else */
	PLACE_EXIT,	 /* what a thread of musl returns to: it ends */
};

/*
 * By the instructions at an address, as debuggers do, for in most C libraries the first has neither
 * a name nor a rule that struct frame_rule could say, and in musl the other has none at all.
 */
static enum place place_at(const struct object *object, uint64_t address)
{
	static const struct {
		enum place place;
		int elf;
		size_t length;
		uint8_t code[9];
	} places[] = {
		/* mov $15, %rax (or %eax); syscall */
		{PLACE_SIGRETURN, EM_X86_64, 9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}},
		{PLACE_SIGRETURN, EM_X86_64, 7, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}},
		/* mov x8, #139; svc #0 */
		{PLACE_SIGRETURN, EM_AARCH64, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}},
		/* mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall */
		{PLACE_EXIT, EM_X86_64, 8, {0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05}},
		/* mov x8, #93; svc #0 */
		{PLACE_EXIT, EM_AARCH64, 8, {0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4}},
	};
	uint8_t bytes[9];
	size_t got = object_bytes(object, address, bytes, sizeof(bytes));

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].elf == object->machine->elf && places[i].length <= got &&
		    !memcmp(places[i].code, bytes, places[i].length))
			return places[i].place;
	return PLACE_ORDINARY;
}

/*
 * Where a program or its interpreter begins there is no caller. glibc's ld.so and musl say nothing
 * of that code, which is so short on all machines: it ends before the first function of theirs that
 * has a caller.
 */
#define ENTRY_BYTES 64

static bool is_entry(const struct object *object, uint64_t address)
{
	GElf_Ehdr header;

	return gelf_getehdr(object->elf, &header) && header.e_entry && address >= header.e_entry &&
	       address - header.e_entry < ENTRY_BYTES;
}

/*
 * A stripped Go program has no other table. The return address is what a call has put on the stack,
 * or what the function has put there first of its frame, if it has one (arm64).
 */
static bool find_go_rule(struct object *object, uint64_t address, struct frame_rule *ret_rule)
{
	bool in_register = object->machine->link == object->machine->held;
	int32_t bytes;

	if (!go_table_stack(go_table_of(object), address, &bytes))
		return false;
	*ret_rule = in_register ? (struct frame_rule){.cfa_offset = bytes, .return_offset = -bytes}
				: (struct frame_rule){.cfa_offset = bytes + 8, .return_offset = -8};
	return true;
}

static bool find_rule(struct object *object, uint64_t address, struct frame_rule *ret_rule)
{
	/* a handler returns to its first instruction, and what is asked for is before that */
	enum place place = place_at(object, address + 1);
	Dwarf_Frame *frame = NULL;
	bool found;

	*ret_rule = (struct frame_rule){.outermost = place == PLACE_EXIT,
					.signal = place == PLACE_SIGRETURN};
	if (place != PLACE_ORDINARY)
		return ret_rule->outermost;
	/* what Go's tables of frames do not say */
	switch (go_table_frame(go_table_of(object), address)) {
	case GO_FRAME_OUTERMOST:
		*ret_rule = (struct frame_rule){.outermost = true};
		return true;
	case GO_FRAME_OTHER_STACK:
		return false; /* where the frame pointer leads, if that has been copied */
	case GO_FRAME_USUAL:
		break;
	}
	if (!find_frame(eh_frame_of(object), address, &frame) &&
	    !find_frame(debug_frame_of(object), address, &frame)) {
		*ret_rule = (struct frame_rule){0};
		if (find_go_rule(object, address, ret_rule))
			return true;
		ret_rule->outermost = is_entry(object, address);
		return ret_rule->outermost;
	}
	found = describe(object->machine, frame, ret_rule);
	free(frame);
	return found;
}

/* Programs of any size return to so many addresses; more come from a hostile stack. */
#define RULES_MAX 65536

bool object_frame(struct object *object, uint64_t address, struct frame_rule *ret_rule)
{
	size_t known = object->rule_addresses.count, index;
	struct known_rule rule = {.found = false};

	if (!object->machine)
		return false;
	index = identities_find(&object->rule_addresses, 0, address);
	if (index != IDENTITY_NONE) {
		*ret_rule = object->rules[index].rule;
		return object->rules[index].found;
	}
	rule.found = find_rule(object, address, &rule.rule);
	if (known == RULES_MAX) {
		identities_clear(&object->rule_addresses);
		known = 0;
	}
	if (!array_reserve(&object->rules, &object->rule_room, known + 1, sizeof(rule)) &&
	    identities_add(&object->rule_addresses, 0, address) != IDENTITY_NONE)
		object->rules[known] = rule;
	*ret_rule = rule.rule;
	return rule.found;
}

bool object_function_start(struct object *object, uint64_t address, uint64_t *ret_start)
{
	struct frame_rule rule;

	if (!object->eh_table_loaded)
		object->eh_table = eh_table_open(object->elf);
	object->eh_table_loaded = true;
	/* between functions there is none, and the table does not say where one ends */
	return eh_table_find(&object->eh_table, address, ret_start) &&
	       object_frame(object, address, &rule);
}

bool object_go_version(const struct object *object, char into[GO_VERSION_BYTES])
{
	return go_version_read(object->elf, into);
}

struct linked_code object_code(const struct object *object)
{
	return linked_code_of(object->elf);
}

int object_each_data(const struct object *object,
		     void (*call)(void *data, const struct linked_data *part), void *data)
{
	return linked_data_each(object->elf, call, data);
}

bool object_go_place(struct object *object, uint64_t address, struct go_place *ret_place)
{
	return go_table_find(go_table_of(object), address, ret_place);
}
