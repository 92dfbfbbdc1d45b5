// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/board.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"

#define HEAD_BYTES 0x238 /* up to xloadflags of x86 */

enum { X86_64, AARCH64 };

static const struct board boards[] = {
	[X86_64] =
		{
			.name = "x86_64",
			.elf = EM_X86_64,
			.qemu = "qemu-system-x86_64",
			.qemu_package = "qemu-system-x86",
			.kernel_package = "linux-image-cloud-amd64",
			.machine = "pc",
			.cpu = "max",
			.console = "ttyS0",
			/* a busy host lets the boot's test of the timer fail, and the kernel panic
			 */
			.append = "no_timer_check ",
			/*
			 * Kernels are not to use cmpxchg16b (feature 4*32+13). Under QEMU 7.2 one
			 * of some hundred died of a double fault right behind it, with what looks
			 * like an address in EFLAGS. Programs still see it. The time stamp counter
			 * is the host's, the same on all CPUs, but does not say so: kernels would
			 * take the HPET instead, a device that one CPU at a time can read.
			 */
			.emulated = "clearcpuid=141 tsc=reliable ",
			.caches = true,
			.line_path = "/dev/ttyS1",
		},
	/*
	 * "virt" has one PL011. Distributions' kernels know a 16550 on PCI without a module. QEMU's
	 * own algorithm of pointer authentication is much faster to emulate than the
	 * architecture's.
	 */
	[AARCH64] =
		{
			.name = "aarch64",
			.elf = EM_AARCH64,
			.qemu = "qemu-system-aarch64",
			.qemu_package = "qemu-system-arm",
			.kernel_package = "linux-image-cloud-arm64",
			.machine = "virt,gic-version=max",
			.cpu = "max,pauth-impdef=on",
			.console = "ttyAMA0",
			.append = "",
			.emulated = "",
			.line_device = "pci-serial",
			.line_path = "/dev/ttyS0",
		},
};

const struct board *board_here(void)
{
#if defined(__x86_64__)
	return &boards[X86_64];
#elif defined(__aarch64__)
	return &boards[AARCH64];
#else
#error "add this architecture's board here"
#endif
}

const struct board *board_of_elf(uint16_t elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(boards); i++)
		if (boards[i].elf == elf)
			return &boards[i];
	return NULL;
}

static bool is_marked(const char *head, size_t length, size_t offset, const char *mark)
{
	return length >= offset + strlen(mark) && !memcmp(head + offset, mark, strlen(mark));
}

/* Documentation/arch/x86/boot.rst, Documentation/arch/arm64/booting.rst; zboot: zboot-header.S. */
static int read_head(const char *path, const char *head, size_t length, bool compressed,
		     const struct board **ret_board, struct error *error)
{
	if (is_marked(head, length, 4, "zimg"))
		return error_set(
			error, EINVAL,
			"the kernel %s unpacks itself under EFI only (zboot): name its Image",
			path);
	if (is_marked(head, length, 0, ELFMAG))
		return error_set(
			error, EINVAL,
			"the kernel %s is an ELF file (vmlinux): name its bzImage or Image", path);
	/* QEMU unpacks the latter by itself: load_aarch64_image() */
	if (is_marked(head, length, 0x202, "HdrS") && length == HEAD_BYTES && !compressed) {
		*ret_board = &boards[X86_64];
		/* protocol 2.12 has a flag for it, which kernels of 32 bits leave out */
		if ((unsigned char)head[0x206] + 256 * head[0x207] >= 0x20c && !(head[0x236] & 1))
			return error_set(error, EINVAL,
					 "the kernel %s is for 32-bit x86; guests have 64", path);
		return 0;
	}
	if (is_marked(head, length, 56, "ARM\x64")) {
		*ret_board = &boards[AARCH64];
		return 0;
	}
	return error_set(error, EINVAL,
			 "%s is not a kernel image of x86 (bzImage) or arm64 (Image)", path);
}

int board_of_kernel(const char *path, const struct board **ret_board, struct error *error)
{
	char head[HEAD_BYTES];
	gzFile file = gzopen(path, "rbe"); /* also reads what is not compressed */
	bool compressed;
	int got;

	if (!file)
		return error_set(error, errno ? errno : ENOMEM, "cannot read the kernel %s: %s",
				 path, strerror(errno ? errno : ENOMEM));
	got = gzread(file, head, sizeof(head));
	compressed = !gzdirect(file);
	gzclose(file);
	return read_head(path, head, got > 0 ? (size_t)got : 0, compressed, ret_board, error);
}
