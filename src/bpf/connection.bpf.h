/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who sent the packet that ended a wait, where that was a thread of this machine. Between its own
 * addresses, and through veth, the kernel takes a packet to its receiver in the context of who
 * sends it: in a soft interrupt at the end of the system call's way down (netif_rx() in
 * net/core/dev.c). But a soft interrupt may also have hit any other thread, so only one that is in
 * a system call on the other end of the same connection has sent it.
 */
#ifndef DWELL_BPF_CONNECTION_BPF_H
#define DWELL_BPF_CONNECTION_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/kernel_types.h"

#define CONNECTION(own, other) ((__u32)(own) << 16 | (other))

/*
 * Ports of the Internet socket behind a descriptor of task->files: its own and that it is connected
 * to. 0: it is none, or not connected. Global, and with an address as a number, as pid_number() is.
 */
__weak __attribute__((noinline)) __u32 connection_of(__u64 files, __u32 descriptor)
{
	struct files_struct *open = (struct files_struct *)files;
	struct fdtable *table = FOLLOW_ADDRESS(files_struct, open, fdt);
	struct sock_common *sock;
	struct hlist_head *slot;
	struct socket *socket;
	struct file *file;
	__u16 family, own, other;

	if (descriptor >= FOLLOW_ADDRESS(fdtable, table, max_fds))
		return 0;
	slot = (struct hlist_head *)(FOLLOW_ADDRESS(fdtable, table, fd) + descriptor);
	file = (struct file *)FOLLOW_ADDRESS(hlist_head, slot, first);
	if ((FOLLOW_ADDRESS(file, file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = FOLLOW_ADDRESS(file, file, private_data);
	sock = (struct sock_common *)FOLLOW_ADDRESS(socket, socket, sk);
	family = FOLLOW_ADDRESS(sock_common, sock, skc_family);
	if (family != AF_INET && family != AF_INET6)
		return 0;
	own = FOLLOW_ADDRESS(sock_common, sock, skc_num);
	other = bpf_ntohs(FOLLOW_ADDRESS(sock_common, sock, skc_dport));
	return own && other ? CONNECTION(own, other) : 0;
}

/* Of the system call that the thread is in: where it takes one, a socket is the first argument. */
static __always_inline __u32 connection_in_use(struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);

	if (arch_syscall(task, regs) < 0)
		return 0;
	return connection_of((__u64)BPF_CORE_READ(task, files), (__u32)arch_argument_0(regs));
}

/* Whether the two threads are at the two ends of one connection. */
static __always_inline bool connects(struct task_struct *a, struct task_struct *b)
{
	__u32 ports = connection_in_use(a);

	return ports && connection_in_use(b) == (ports << 16 | ports >> 16);
}

#endif
