// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "capture/probe_cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <link.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/duration.h"
#include "bpf/config.h"
#include "capture/uprobe_multi.h"
#include "dwell.skel.h"

/* The least of so many batches: what others take of the CPU only adds. */
#define BATCHES	     16
#define BATCH_CALLS  64
#define SELF_PROGRAM "/proc/self/exe"

/*
 * What the kernel does with a function's first instruction decides what a probe costs: a push or
 * a jump on x86-64 it emulates, most others run on their own in another trap. Elsewhere both are
 * alike.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	"dwell_pushes: push %rbp\n\tpop %rbp\n\tret\n"
	"dwell_steps: xor %eax, %eax\n\tret\n"
	".popsection");
void dwell_pushes(void);
void dwell_steps(void);
#else
__attribute__((noinline)) static void dwell_pushes(void)
{
	__asm__ volatile("" ::: "memory");
}
#define dwell_steps dwell_pushes
#endif

static uint64_t batch_ns(void (*probed_function)(void))
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < BATCHES; i++) {
		uint64_t start_ns = clock_monotonic_ns(), spent_ns;

		for (int j = 0; j < BATCH_CALLS; j++)
			probed_function();
		spent_ns = clock_monotonic_ns() - start_ns;
		if (spent_ns < least_ns)
			least_ns = spent_ns;
	}
	return least_ns;
}

struct place {
	uintptr_t address;
	uint64_t offset;
};

/* The first object is the program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *data)
{
	struct place *place = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && place->address >= start &&
		    place->address - start < header->p_filesz)
			place->offset = place->address - start + header->p_offset;
	}
	return 1;
}

/* In this process, as the probe of no function. A descriptor, or a negative errno. */
static int attach(const struct bpf_program *program, uint64_t offset, enum uprobe_multi_at at)
{
	const uint64_t cookie = SPAN_COOKIE(SPAN_POLL, 0);

	return uprobe_multi_attach(bpf_program__fd(program), SELF_PROGRAM, (uint32_t)getpid(),
				   &offset, &cookie, 1, at);
}

/* 0: they could not be attached. */
static uint64_t traps_ns(struct dwell_bpf *bpf, bool stepped)
{
	void (*probed_function)(void) = stepped ? dwell_steps : dwell_pushes;
	struct place place = {.address = (uintptr_t)probed_function};
	const bool session = bpf_program__autoload(bpf->progs.on_poll_session);
	cleanup_close int at_return = -1, at_entry = -1;
	uint64_t bare_ns = batch_ns(probed_function), probed_ns;

	dl_iterate_phdr(find_offset, &place);
	if (!place.offset)
		return 0;
	if (!session)
		at_return = attach(bpf->progs.on_poll_end, place.offset, UPROBE_MULTI_RETURN);
	if (session)
		at_entry = attach(bpf->progs.on_poll_session, place.offset, UPROBE_MULTI_SESSION);
	else if (at_return >= 0)
		at_entry = attach(bpf->progs.on_poll, place.offset, UPROBE_MULTI_ENTRY);
	if (at_entry < 0)
		return 0;
	probed_ns = batch_ns(probed_function);
	return probed_ns > bare_ns ? (probed_ns - bare_ns) / BATCH_CALLS : 0;
}

uint64_t probe_cost(struct dwell_bpf *bpf, const struct span_poll_counts *counts, bool stepped)
{
	uint64_t ns = traps_ns(bpf, stepped);

	for (int i = 0; ns && i < 2; i++)
		ns += counts->timed[i] ? counts->timed_ns[i] / counts->timed[i] : 0;
	return ns;
}

#if defined(__x86_64__)
/* push, jmp, call, jcc, nop: arch/x86/kernel/uprobes.c */
static bool is_emulated(const unsigned char code[2])
{
	unsigned char first = code[0] == 0x41 ? code[1] : code[0];

	if (first >= 0x50 && first <= 0x57)
		return true;
	if (code[0] == 0x0f)
		return code[1] == 0x1f || (code[1] & 0xf0) == 0x80;
	return code[0] == 0xe9 || code[0] == 0xeb || code[0] == 0xe8 || code[0] == 0x90 ||
	       (code[0] & 0xf0) == 0x70;
}
#endif

bool probe_is_stepped(int fd, uint64_t offset)
{
	unsigned char code[2];

	if (pread(fd, code, sizeof(code), (off_t)offset) != sizeof(code))
		return false;
#if defined(__x86_64__)
	return !is_emulated(code);
#else
	return false;
#endif
}
