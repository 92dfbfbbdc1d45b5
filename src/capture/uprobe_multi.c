// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/uprobe_multi.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#define AT_RETURN 1U /* BPF_F_UPROBE_MULTI_RETURN */

/* union bpf_attr, link_create with uprobe_multi: headers of distributions may be older. */
struct link_create {
	uint32_t program_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counters;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t pad;
};

static int create(const struct link_create *create)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, create, sizeof(*create));

	return fd < 0 ? -errno : (int)fd;
}

int uprobe_multi_attach(int program_fd, const char *path, uint32_t pid, const uint64_t *offsets,
			const uint64_t *cookies, uint32_t count, enum uprobe_multi_at at)
{
	return create(&(struct link_create){
		.program_fd = (uint32_t)program_fd,
		.attach_type = at == UPROBE_MULTI_SESSION ? UPROBE_SESSION_ATTACH_TYPE
							  : UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = count,
		.multi_flags = at == UPROBE_MULTI_RETURN ? AT_RETURN : 0,
		.pid = pid,
	});
}

static int load_nothing(int attach_type)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "probe", "GPL", code, ARRAY_SIZE(code),
			     &options);
}

/*
 * A kernel that has it looks at the path first: no regular file is -EBADF. One that filters right
 * looks at the process before that: -1 is -EINVAL. (As libbpf asks from 1.4 on.)
 */
bool uprobe_multi_works(void)
{
	static const uint64_t offset;
	int program_fd = load_nothing(UPROBE_MULTI_ATTACH_TYPE), exists, filters;

	if (program_fd < 0)
		return false;
	exists = uprobe_multi_attach(program_fd, "/", 0, &offset, NULL, 1, UPROBE_MULTI_ENTRY);
	filters = uprobe_multi_attach(program_fd, "/", UINT32_MAX, &offset, NULL, 1,
				      UPROBE_MULTI_ENTRY);
	close(program_fd);
	return exists == -EBADF && filters == -EINVAL;
}

bool uprobe_session_works(void)
{
	static const uint64_t offset;
	int program_fd = load_nothing(UPROBE_SESSION_ATTACH_TYPE), exists;

	if (program_fd < 0)
		return false;
	exists = uprobe_multi_attach(program_fd, "/", 0, &offset, NULL, 1, UPROBE_MULTI_SESSION);
	close(program_fd);
	return exists == -EBADF;
}
