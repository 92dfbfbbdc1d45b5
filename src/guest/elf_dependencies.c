// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/elf_dependencies.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "guest/board.h"

struct search {
	const char *sysroot, *program;
	elf_dependency_found *found;
	void *data;
	uint16_t machine;
	const char *run_path; /* DT_RUNPATH, else DT_RPATH; "": neither */
};

static void cleanup_elf(Elf **elf)
{
	elf_end(*elf);
}

static Elf *open_elf(const char *path, int *ret_fd)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	return elf_begin(*ret_fd, ELF_C_READ, NULL);
}

uint16_t elf_machine(const char *path)
{
	cleanup_close int fd = -1;
	cleanup(cleanup_elf) Elf *elf = open_elf(path, &fd);
	GElf_Ehdr header;

	return elf && gelf_getehdr(elf, &header) ? header.e_machine : 0;
}

/* As one sees it whose root the sysroot is: absolute links stay within. */
static int open_below(const char *sysroot, const char *name)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	cleanup_close int root = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -1 : (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
}

/* 1: found; 0: it is not there, or is one of another architecture. */
static int try_name(const struct search *search, const char *name, struct error *error)
{
	cleanup_close int fd = open_below(search->sysroot, name);
	char path[64];
	int result;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || elf_machine(path) != search->machine)
		return 0;
	result = search->found(search->data, name, path, error);
	return result < 0 ? result : 1;
}

/* ":"-separated, as in DT_RUNPATH. $ORIGIN is a place on this machine, and not tried. */
static int try_directories(const struct search *search, const char *directories,
			   const char *library, struct error *error)
{
	char name[PATH_MAX];
	int result = 0;

	for (const char *at = directories; !result && *at;) {
		size_t length = strcspn(at, ":");

		snprintf(name, sizeof(name), "%.*s/%s", (int)length, at, library);
		if (*at == '/')
			result = try_name(search, name, error);
		at += length + (at[length] == ':');
	}
	return result;
}

static int find_library(const struct search *search, const char *library, struct error *error)
{
	const struct board *board = board_of_elf(search->machine);
	const char *name = board ? board->name : "";
	char usual[256];
	int result = *library == '/' ? try_name(search, library, error)
				     : try_directories(search, search->run_path, library, error);

	/* Debian's and its like first, then Fedora's */
	snprintf(usual, sizeof(usual),
		 "/lib/%s-linux-gnu:/usr/lib/%s-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib", name,
		 name);
	if (!result && *library != '/')
		result = try_directories(search, usual, library, error);
	return result ? result
		      : error_set(error, ENOENT, "%s needs %s, which is not below %s",
				  search->program, library, search->sysroot);
}

/* The next text of this kind in the dynamic section; NULL: no more. */
static const char *next_text(Elf *elf, Elf_Scn *section, GElf_Sxword tag, int *at)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;
	GElf_Dyn entry;

	while (data && gelf_getshdr(section, &header) && gelf_getdyn(data, (*at)++, &entry) &&
	       entry.d_tag != DT_NULL)
		if (entry.d_tag == tag)
			return elf_strptr(elf, header.sh_link, entry.d_un.d_val);
	return NULL;
}

static int find_libraries(struct search *search, Elf *elf, Elf_Scn *section, struct error *error)
{
	int at = 0, result = 0;
	const char *text = next_text(elf, section, DT_RUNPATH, &at);

	if (!text)
		text = next_text(elf, section, DT_RPATH, &(int){0});
	search->run_path = text ? text : "";
	at = 0;
	while (result >= 0 && (text = next_text(elf, section, DT_NEEDED, &at)))
		result = find_library(search, text, error);
	return result;
}

static int find_loader(struct search *search, Elf *elf, int fd, struct error *error)
{
	char loader[PATH_MAX] = "";
	GElf_Phdr segment;
	size_t count = 0;

	if (elf_getphdrnum(elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP &&
		    segment.p_filesz < sizeof(loader) &&
		    pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) > 0)
			return find_library(search, loader, error);
	return 0;
}

int elf_dependencies_find(const char *sysroot, const char *path, elf_dependency_found *found,
			  void *data, struct error *error)
{
	cleanup_close int fd = -1;
	cleanup(cleanup_elf) Elf *elf = open_elf(path, &fd);
	struct search search = {.sysroot = sysroot, .program = path, .found = found, .data = data};
	Elf_Scn *section = NULL;
	GElf_Ehdr header;
	GElf_Shdr of;
	int result;

	if (!elf || !gelf_getehdr(elf, &header))
		return 0;
	search.machine = header.e_machine;
	result = find_loader(&search, elf, fd, error);
	while (result >= 0 && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &of) && of.sh_type == SHT_DYNAMIC)
			result = find_libraries(&search, elf, section, error);
	return result;
}
