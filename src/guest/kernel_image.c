// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create */
#include "guest/kernel_image.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "guest/unpack.h"

/* Documentation/arch/x86/boot.rst */
#define SETUP_SECTORS		 0x1f1 /* of 512 bytes, after the first; 0 stands for 4 */
#define PAYLOAD_OFFSET		 0x248 /* from the end of these sectors */
#define PAYLOAD_LENGTH		 0x24c
#define HEAD_BYTES		 0x250

#define XEN_ELFNOTE_PHYS32_ENTRY 18 /* include/xen/interface/elfnote.h */
#define UNPACKED_MAX		 (1U << 30)
#define COPY_BYTES		 (1U << 30) /* at a time: sendfile(2) takes 2 GiB less a page */

/* lz4 (whose program reads this format) and lzo cost an emulated kernel little; bzip2 has no user.
 */
static const struct format {
	const char *mark;
	size_t length;
	const char *program;
	uint32_t appended; /* bytes behind: the unpacked size, where the format does not have it */
} formats[] = {
	{"\xfd"
	 "7zXZ",
	 5, "xz", 4},
	{"\x28\xb5\x2f\xfd", 4, "zstd", 4},
	{"\x1f\x8b", 2, "gzip", 0},
};

/* Up to `length` bytes from *offset on (NULL: from the file's own). */
static int copy_to(int from, off_t *offset, size_t length, const char *name)
{
	cleanup_close int copy = memfd_create(name, MFD_CLOEXEC);
	ssize_t copied = 1;
	int fd;

	if (copy < 0)
		return -errno;
	while (length && copied > 0) {
		copied = sendfile(copy, from, offset, length < COPY_BYTES ? length : COPY_BYTES);
		length -= copied > 0 ? (size_t)copied : 0;
	}
	if (copied < 0)
		return -errno;
	fd = copy;
	copy = -1;
	return fd;
}

/* The packed kernel inside a bzImage, at its start, or a negative errno. */
static int open_payload(int file, const struct format **ret_format)
{
	unsigned char head[HEAD_BYTES], mark[8];
	uint32_t from, length;
	off_t offset;

	if (pread(file, head, sizeof(head), 0) != sizeof(head) || memcmp(head + 0x202, "HdrS", 4))
		return -ENOEXEC;
	memcpy(&from, head + PAYLOAD_OFFSET, sizeof(from));
	memcpy(&length, head + PAYLOAD_LENGTH, sizeof(length));
	offset = ((head[SETUP_SECTORS] ? head[SETUP_SECTORS] : 4) + 1) * 512 + (off_t)le32toh(from);
	length = le32toh(length);
	if (pread(file, mark, sizeof(mark), offset) != sizeof(mark) || length < sizeof(mark))
		return -ENOEXEC;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		int payload;

		if (memcmp(mark, formats[i].mark, formats[i].length) != 0)
			continue;
		*ret_format = &formats[i];
		payload = copy_to(file, &offset, length - formats[i].appended, "dwell-payload");
		if (payload >= 0)
			lseek(payload, 0, SEEK_SET);
		return payload;
	}
	return -ENOEXEC;
}

static bool has_entry(Elf_Data *notes)
{
	size_t offset = 0, next, name, description;
	GElf_Nhdr note;

	while ((next = gelf_getnote(notes, offset, &note, &name, &description)) > 0) {
		if (note.n_type == XEN_ELFNOTE_PHYS32_ENTRY && note.n_namesz == 4 &&
		    !memcmp((char *)notes->d_buf + name, "Xen", 4))
			return true;
		offset = next;
	}
	return false;
}

/* QEMU looks for the same: load_elfboot(). */
static bool can_be_entered(int fd)
{
	Elf *elf = elf_version(EV_CURRENT) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	bool found = false;
	size_t count = 0;

	if (elf && elf_getphdrnum(elf, &count) < 0)
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		GElf_Phdr header;
		Elf_Data *notes;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_NOTE)
			continue;
		notes = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
					     ELF_T_NHDR);
		found = notes && has_entry(notes);
	}
	elf_end(elf);
	return found;
}

/* -ENOEXEC: the file has no kernel that can be entered; other errors: it cannot be read. */
static int open_unpacked(int file)
{
	const struct format *format = NULL;
	cleanup_close int payload = open_payload(file, &format);
	cleanup_close int unpacked = -1;
	int fd;

	if (payload < 0)
		return payload;
	unpacked = memfd_create("dwell-kernel", MFD_CLOEXEC);
	if (unpacked < 0)
		return -errno;
	if (unpack(format->program, payload, unpacked, UNPACKED_MAX) < 0 ||
	    !can_be_entered(unpacked))
		return -ENOEXEC;
	fd = unpacked;
	unpacked = -1;
	return fd;
}

int kernel_image_open(const char *path, struct error *error)
{
	cleanup_close int file = open(path, O_RDONLY | O_CLOEXEC);
	int fd = file < 0 ? -errno : open_unpacked(file);

	if (file >= 0 && fd < 0)
		fd = copy_to(file, NULL, SIZE_MAX, "dwell-kernel");
	return fd < 0 ? error_set(error, -fd, "cannot read %s: %s", path, strerror(-fd)) : fd;
}
