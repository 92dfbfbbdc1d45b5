// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "symbol/closure_name.h"
#include "symbol/opener.h"

/* Scopes in scopes; more than compilers make, less than the stack bears. */
#define DEPTH_MAX 128

/* Of one unit: crafted siblings make a walk visit the same entries exponentially often. */
#define DIES_MAX 4000000

/* A part of the addresses of a compilation unit, or of a function. */
struct range {
	uint64_t start, end;
	size_t index; /* of the unit; of the function: offset of its DIE */
};

struct ranges {
	struct range *items;
	size_t count, room;
};

struct unit {
	Dwarf_Off offset;	 /* of its DIE */
	struct ranges functions; /* by start; found when the unit's first address is asked for */
	bool indexed;
	bool is_skeleton; /* its functions are in another file (-gsplit-dwarf) */
};

/* A file that is read: mapped, as most of it is not looked at. */
struct source {
	int fd;
	Elf *elf;
	Dwarf *dwarf; /* NULL: none */
};

struct debug_info {
	struct source own, separate, alternate; /* the last: what several files share (dwz) */
	Dwarf *dwarf;				/* of one of the first two; NULL: none */
	struct unit *units;
	size_t unit_count, unit_room;
	struct ranges ranges; /* of all units, by start */
	char missing[BUILD_ID_BYTES];
	bool other_build;
	char **names; /* that were put together */
	size_t name_count, name_room;
};

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static void sort(struct ranges *ranges)
{
	if (ranges->count)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), by_start);
}

/* The last that starts at or below the address, if it reaches that far. */
static const struct range *find(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges->items[low - 1].end ? &ranges->items[low - 1] : NULL;
}

/* What cannot be kept for want of memory is not found later. */
static void add_ranges(struct ranges *ranges, Dwarf_Die *die, size_t index)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0)
		if (start < end && !array_reserve(&ranges->items, &ranges->room, ranges->count + 1,
						  sizeof(*ranges->items)))
			ranges->items[ranges->count++] = (struct range){start, end, index};
}

/* Our own index: compilers need not write .debug_aranges, and clang does not. */
static void index_units(struct debug_info *info)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	while (dwarf_get_units(info->dwarf, unit, &unit, &version, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (array_reserve(&info->units, &info->unit_room, info->unit_count + 1,
				  sizeof(*info->units)) < 0)
			break;
		info->units[info->unit_count] = (struct unit){
			.offset = dwarf_dieoffset(&die), .is_skeleton = type == DW_UT_skeleton};
		add_ranges(&info->ranges, &die, info->unit_count++);
	}
	sort(&info->ranges);
}

/* What functions can be in. libdw's own search stops at scopes without addresses. */
static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_module ||
	       tag == DW_TAG_interface_type;
}

static void index_functions(struct unit *unit, Dwarf_Die *parent, int depth, size_t *left)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		if (!(*left)--) {
			*left = 0;
			return;
		}
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			add_ranges(&unit->functions, &die, dwarf_dieoffset(&die));
		else if (holds_functions(dwarf_tag(&die)))
			index_functions(unit, &die, depth + 1, left);
	} while (!dwarf_siblingof(&die, &die));
}

static bool find_function(struct debug_info *info, uint64_t address, Dwarf_Die *ret_unit,
			  Dwarf_Die *ret_function)
{
	const struct range *range = find(&info->ranges, address);
	struct unit *unit = range ? &info->units[range->index] : NULL;

	if (!unit || !dwarf_offdie(info->dwarf, unit->offset, ret_unit))
		return false;
	if (!unit->indexed) {
		size_t left = DIES_MAX;

		index_functions(unit, ret_unit, 0, &left);
		sort(&unit->functions);
		unit->indexed = true;
	}
	range = find(&unit->functions, address);
	return range && dwarf_offdie(info->dwarf, range->index, ret_function);
}

/* Takes the descriptor over; negative: there is none. False: it is not an ELF file. */
static bool source_open(struct source *source, int fd)
{
	*source = (struct source){.fd = fd};
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	source->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!source->elf || elf_kind(source->elf) != ELF_K_ELF)
		return false;
	source->dwarf = dwarf_begin_elf(source->elf, DWARF_C_READ, NULL);
	return true;
}

static void source_close(struct source *source)
{
	if (source->dwarf)
		dwarf_end(source->dwarf);
	if (source->elf)
		elf_end(source->elf);
	if (source->fd >= 0)
		close(source->fd);
	*source = (struct source){.fd = -1};
}

static bool has_units(const struct source *source)
{
	Dwarf_CU *unit = NULL;

	return source->dwarf &&
	       dwarf_get_units(source->dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0;
}

/* As .gnu_debuglink has it of the whole file. */
static bool has_checksum(int fd, GElf_Word wanted)
{
	static uint8_t bytes[1 << 16];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		sum = crc32(sum, bytes, (uInt)got);
		at += got;
	}
	return !got && sum == wanted;
}

/* A debug file of that build. Takes the descriptor over. */
static bool open_same_build(struct debug_info *info, struct source *source, int fd,
			    const char *build_id)
{
	char its[BUILD_ID_BYTES];

	if (source_open(source, fd)) {
		build_id_read(its, source->elf);
		if (!strcmp(its, build_id) && has_units(source))
			return true;
		info->other_build |= strcmp(its, build_id) != 0;
	}
	source_close(source);
	return false;
}

/* The same by name: of the build whose debug file has this sum. */
static bool open_same_sum(struct debug_info *info, struct source *source, int fd, GElf_Word sum)
{
	if (source_open(source, fd)) {
		bool is_same = has_checksum(source->fd, sum);

		if (is_same && has_units(source))
			return true;
		info->other_build |= !is_same;
	}
	source_close(source);
	return false;
}

/* Where packages put them: of this machine, or of the container of the process. */
static bool open_by_id(struct debug_info *info, struct source *source,
		       const struct mapping *mapping, uint32_t pid, const char *id)
{
	return open_same_build(info, source, opener_debug_id(0, 0, id), id) ||
	       (mapping && pid &&
		open_same_build(info, source, opener_debug_id(pid, mapping->time_ns, id), id));
}

/*
 * By build id, which is in both; else by name, and then by the sum of what it has; else from
 * debuginfod's cache.
 */
static void open_separate(struct debug_info *info, const struct mapping *mapping, uint32_t pid)
{
	struct source *separate = &info->separate;
	char id[BUILD_ID_BYTES];
	const char *name;
	GElf_Word sum;

	build_id_read(id, info->own.elf);
	if (*id && open_by_id(info, separate, mapping, pid, id))
		return;
	name = mapping ? dwelf_elf_gnu_debuglink(info->own.elf, &sum) : NULL;
	if (name && open_same_sum(info, separate,
				  opener_debug_link(pid, mapping->time_ns, mapping->start,
						    mapping->end, name),
				  sum))
		return;
	if (*id && open_same_build(info, separate, opener_debuginfod(id), id))
		return;
	memcpy(info->missing, id, sizeof(id));
}

static void open_alternate(struct debug_info *info, const struct mapping *mapping, uint32_t pid)
{
	struct source *alternate = &info->alternate;
	char id[BUILD_ID_BYTES];
	const char *name;
	const void *bytes = NULL;
	ssize_t length = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &bytes);

	build_id_format(id, bytes, length);
	if (!*id)
		return;
	if (!open_by_id(info, alternate, mapping, pid, id) &&
	    !open_same_build(info, alternate, opener_debuginfod(id), id)) {
		memcpy(info->missing, id, sizeof(id));
		return;
	}
	dwarf_setalt(info->dwarf, alternate->dwarf);
}

uint64_t debug_info_bytes(const struct debug_info *info)
{
	const int fds[] = {info->own.fd, info->separate.fd, info->alternate.fd};
	struct stat status;
	uint64_t bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0 && !fstat(fds[i], &status))
			bytes += (uint64_t)status.st_size;
	return bytes;
}

bool debug_info_other_build(const struct debug_info *info)
{
	return info->other_build && !info->separate.dwarf;
}

bool debug_info_missing(const struct debug_info *info, char ret_id[BUILD_ID_BYTES])
{
	memcpy(ret_id, info->missing, BUILD_ID_BYTES);
	return *ret_id;
}

struct debug_info *debug_info_open(int fd, const struct mapping *mapping, uint32_t pid)
{
	struct debug_info *info = calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	info->own.fd = info->separate.fd = info->alternate.fd = -1;
	if (!source_open(&info->own, dup(fd))) {
		debug_info_close(info);
		return NULL;
	}
	if (!has_units(&info->own))
		open_separate(info, mapping, pid);
	info->dwarf = info->separate.dwarf ? info->separate.dwarf : info->own.dwarf;
	if (info->dwarf) {
		open_alternate(info, mapping, pid);
		index_units(info);
	}
	return info;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	/* before what it refers to */
	source_close(&info->own);
	source_close(&info->separate);
	source_close(&info->alternate);
	for (size_t i = 0; i < info->unit_count; i++)
		free(info->units[i].functions.items);
	free(info->units);
	free(info->ranges.items);
	for (size_t i = 0; i < info->name_count; i++)
		free(info->names[i]);
	free(info->names);
	free(info);
}

/* A place in the source. */
struct place {
	const char *file;
	int line;
};

/* The linkage name of a function; NULL: none. */
static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
			       dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute)
		       ? dwarf_formstring(&attribute)
		       : NULL;
}

/* Of a closure; lives as long as the debug information. NULL: it is none, or no memory. */
static const char *kept_closure_name(struct debug_info *info, Dwarf_Die *die)
{
	char *name = closure_name(die);

	if (!name || array_reserve(&info->names, &info->name_room, info->name_count + 1,
				   sizeof(*info->names)) < 0) {
		free(name);
		return NULL;
	}
	return info->names[info->name_count++] = name;
}

/* The name of a function, which an inlined or separately defined one has from its declaration. */
static struct source_frame frame_of(struct debug_info *info, Dwarf_Die *die, struct place place)
{
	struct source_frame frame = {
		.function = linkage_name(die), .file = place.file, .line = place.line};

	if (frame.function)
		return frame;
	frame.function = kept_closure_name(info, die);
	frame.is_plain = !frame.function;
	if (!frame.function)
		frame.function = dwarf_diename(die);
	return frame;
}

static struct place place_of_address(Dwarf_Die *unit, uint64_t address)
{
	struct place place = {NULL, 0};
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);

	if (line) {
		place.file = dwarf_linesrc(line, NULL, NULL);
		if (dwarf_lineno(line, &place.line))
			place.line = 0;
	}
	return place;
}

/* Where an inlined function was called. */
static struct place place_of_call(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct place place = {NULL, 0};
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number))
		place.line = number <= INT_MAX ? (int)number : 0;
	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) &&
	    !dwarf_getsrcfiles(unit, &files, &count) && number < count)
		place.file = dwarf_filesrc(files, number, NULL, NULL);
	return place;
}

/* The inlined function, or block, of `parent` that the address is in. */
static bool find_inner(Dwarf_Die *parent, uint64_t address, Dwarf_Die *ret_die)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(&die, address) > 0) {
			*ret_die = die;
			return true;
		}
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/* The lines of a skeleton are in its own file. The other is not read: its path may be anyone's. */
static int bare_frame(struct debug_info *info, uint64_t address, struct source_frame *ret_frame)
{
	const struct range *range = find(&info->ranges, address);
	Dwarf_Die unit;
	struct place place;

	if (!range || !info->units[range->index].is_skeleton ||
	    !dwarf_offdie(info->dwarf, info->units[range->index].offset, &unit))
		return 0;
	place = place_of_address(&unit, address);
	*ret_frame = (struct source_frame){.file = place.file, .line = place.line, .is_bare = true};
	return place.file ? 1 : 0;
}

int debug_info_frames(struct debug_info *info, uint64_t address,
		      struct source_frame frames[SOURCE_FRAMES_MAX])
{
	Dwarf_Die unit, chain[SOURCE_FRAMES_MAX], die; /* outermost first */
	int depth = 1, count = 0;
	struct place place;

	if (!info->dwarf)
		return 0;
	if (!find_function(info, address, &unit, &chain[0]))
		return bare_frame(info, address, frames);
	die = chain[0];
	for (int i = 0;
	     i < DEPTH_MAX && depth < SOURCE_FRAMES_MAX && find_inner(&die, address, &die); i++)
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			chain[depth++] = die;
	place = place_of_address(&unit, address);
	while (depth--) {
		frames[count] = frame_of(info, &chain[depth], place);
		frames[count++].inlined = depth > 0;
		place = place_of_call(&unit, &chain[depth]);
	}
	return count;
}

const char *debug_info_name(struct debug_info *info, uint64_t address)
{
	Dwarf_Die unit, function;

	if (!info->dwarf || !find_function(info, address, &unit, &function))
		return NULL;
	return dwarf_diename(&function);
}
