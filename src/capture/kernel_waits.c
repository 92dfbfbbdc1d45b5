// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/kernel_waits.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "bpf/wire.h"
#include "symbol/kallsyms.h"

/* Names without the compiler's suffixes (.constprop.0, .part.0, .cold, …), which all match. */
static const struct known {
	const char *name;
	unsigned char state, detail, decides;
} known[] = {
#define WAIT(name, state, detail, decides)                                                         \
	{                                                                                          \
#name, WIRE_##state, WIRE_DETAIL_##detail, decides                                 \
	}
	/* Memory: the thread waits for pages, no matter what is called on the way. */
	/* before TASK_FROZEN (6.1), whatever call it is in */
	WAIT(__refrigerator, STOPPED, FREEZER, 1),
	WAIT(do_freezer_trap, STOPPED, FREEZER, 1), /* of cgroup v2 */
	WAIT(do_swap_page, SWAP, SWAP_IN, 1),
	WAIT(shmem_swapin_folio, SWAP, SWAP_IN, 1),
	WAIT(swapin_readahead, SWAP, SWAP_IN, 1),
	WAIT(try_to_free_pages, SWAP, RECLAIM, 1),
	WAIT(reclaim_throttle, SWAP, RECLAIM, 1),
	WAIT(balance_pgdat, SWAP, RECLAIM, 1),
	WAIT(try_to_free_mem_cgroup_pages, SWAP, MEMORY_LIMIT, 1),
	WAIT(__mem_cgroup_handle_over_high, SWAP, MEMORY_LIMIT, 1),
	WAIT(mem_cgroup_handle_over_high, SWAP, MEMORY_LIMIT, 1),
	WAIT(mem_cgroup_oom_synchronize, SWAP, MEMORY_LIMIT, 1),
	WAIT(__alloc_pages_direct_compact, SWAP, COMPACTION, 1),
	WAIT(try_to_compact_pages, SWAP, COMPACTION, 1),
	WAIT(migration_entry_wait, SWAP, COMPACTION, 1),
	WAIT(migration_entry_wait_on_locked, SWAP, COMPACTION, 1),
	WAIT(handle_userfault, IPC, USERFAULT, 1),
	/* A filter of system calls asks a supervisor; nothing else in it waits. */
	WAIT(seccomp_do_user_notification, IPC, SECCOMP, 1),
	/* The same before a file is opened or read: a scanner of viruses says whether it may be. */
	WAIT(fanotify_handle_event, IPC, FANOTIFY, 1),
	WAIT(__seccomp_filter, IPC, SECCOMP, 1),
	/* Pipes and sockets; both pipes and sockets of a splice have their own. */
	WAIT(pipe_read, IPC, PIPE, 0),
	WAIT(pipe_write, IPC, PIPE, 0),
	WAIT(anon_pipe_read, IPC, PIPE, 0),
	WAIT(anon_pipe_write, IPC, PIPE, 0),
	WAIT(pipe_wait_readable, IPC, PIPE, 0),
	WAIT(pipe_wait_writable, IPC, PIPE, 0),
	WAIT(wait_for_space, IPC, PIPE, 0),
	WAIT(wait_for_partner, IPC, PIPE, 0),
	WAIT(fifo_open, IPC, PIPE, 0),
	WAIT(unix_stream_connect, IPC, UNIX, 0),
	WAIT(unix_stream_sendmsg, IPC, UNIX, 0),
	WAIT(unix_stream_read_generic, IPC, UNIX, 0),
	WAIT(unix_dgram_sendmsg, IPC, UNIX, 0),
	WAIT(__unix_dgram_recvmsg, IPC, UNIX, 0),
	WAIT(unix_wait_for_peer, IPC, UNIX, 0),
	WAIT(netlink_recvmsg, IDLE, NETLINK, 0),
	WAIT(__inet_stream_connect, NET, INET, 0),
	WAIT(inet_wait_for_connect, NET, INET, 0),
	WAIT(tcp_recvmsg_locked, NET, INET, 0),
	WAIT(tcp_sendmsg_locked, NET, INET, 0),
	WAIT(tcp_splice_read, NET, INET, 0),
	WAIT(udp_recvmsg, NET, INET, 0),
	WAIT(udpv6_recvmsg, NET, INET, 0),
	WAIT(raw_recvmsg, NET, INET, 0),
	WAIT(sk_stream_wait_connect, NET, INET, 0),
	WAIT(sk_stream_wait_close, NET, INET, 0),
	WAIT(sk_stream_wait_memory, NET, INET, 0),
	/* What is full: its reader is waited for. */
	WAIT(n_tty_write, IPC, CHARDEV, 0),
	WAIT(eventfd_write, IPC, EVENT, 0),
	WAIT(netlink_attachskb, IPC, NETLINK, 0),
	/* Other descriptors that news come from. */
	WAIT(wait_on_pipe, IDLE, EVENT, 0), /* of the tracer's buffer */
	WAIT(ring_buffer_wait, IDLE, EVENT, 0),
	WAIT(do_syslog, IDLE, EVENT, 0),
	WAIT(devkmsg_read, IDLE, CHARDEV, 0),
	WAIT(eventfd_read, IDLE, EVENT, 0),
	WAIT(timerfd_read_iter, IDLE, EVENT, 0),
	WAIT(timerfd_read, IDLE, EVENT, 0),
	WAIT(signalfd_read_iter, IDLE, EVENT, 0),
	WAIT(signalfd_read, IDLE, EVENT, 0),
	WAIT(inotify_read, IDLE, EVENT, 0),
	WAIT(fanotify_read, IDLE, EVENT, 0),
	WAIT(userfaultfd_read_iter, IDLE, EVENT, 0),
	WAIT(userfaultfd_read, IDLE, EVENT, 0),
	WAIT(seccomp_notify_ioctl, IDLE, EVENT, 1), /* a semaphore, up to 6.5 */
	WAIT(fuse_dev_do_read, IDLE, CHARDEV, 0),
	WAIT(n_tty_read, IDLE, CHARDEV, 0),
	WAIT(tty_port_block_til_ready, IDLE, CHARDEV, 0),
	WAIT(evdev_read, IDLE, CHARDEV, 0),
	/* System calls under another number, or under none that is known: restart_syscall. */
	WAIT(do_epoll_wait, IDLE, EVENT, 0),
	WAIT(do_sys_poll, IDLE, EVENT, 0),
	WAIT(do_select, IDLE, EVENT, 0),
	WAIT(do_wait, IDLE, CHILD, 0),
	WAIT(do_sigtimedwait, IDLE, EVENT, 0),
	WAIT(do_mq_timedreceive, IPC, QUEUE, 0),
	WAIT(wq_sleep, IPC, QUEUE, 0),
	WAIT(do_msgrcv, IPC, QUEUE, 0),
	WAIT(do_msgsnd, IPC, QUEUE, 0),
	WAIT(__break_lease, LOCK, LEASE, 0),
	WAIT(locks_lock_inode_wait, LOCK, FILE_LOCK, 0),
	WAIT(__do_semtimedop, LOCK, SEMAPHORE, 0),
	WAIT(do_semtimedop, LOCK, SEMAPHORE, 0),
	/* The other threads of a process that calls execve(), or all of a pid namespace, are to
	 * have ended: no disk. */
	WAIT(de_thread, IDLE, THREADS, 0),
	WAIT(begin_new_exec, IDLE, THREADS, 0), /* which the compiler puts it into */
	WAIT(zap_pid_ns_processes, IDLE, THREADS, 0),
	/* Voluntary sleeps. */
	WAIT(do_nanosleep, SLEEP, TIMER, 0),
	WAIT(msleep, SLEEP, TIMER, 0),
	WAIT(msleep_interruptible, SLEEP, TIMER, 0),
	WAIT(usleep_range_state, SLEEP, TIMER, 0),
	WAIT(schedule_timeout_interruptible, SLEEP, TIMER, 0),
	WAIT(schedule_timeout_uninterruptible, SLEEP, TIMER, 0),
	/* Kernel locks. */
	WAIT(__mutex_lock, LOCK, KERNEL_LOCK, 0),
	WAIT(__mutex_lock_slowpath, LOCK, KERNEL_LOCK, 0),
	WAIT(__mutex_lock_killable_slowpath, LOCK, KERNEL_LOCK, 0),
	WAIT(__mutex_lock_interruptible_slowpath, LOCK, KERNEL_LOCK, 0),
	WAIT(rwsem_down_read_slowpath, LOCK, KERNEL_LOCK, 0),
	WAIT(rwsem_down_write_slowpath, LOCK, KERNEL_LOCK, 0),
	WAIT(percpu_rwsem_wait, LOCK, KERNEL_LOCK, 0),
	WAIT(rt_mutex_slowlock, LOCK, KERNEL_LOCK, 0),
	WAIT(__rt_mutex_slowlock, LOCK, KERNEL_LOCK, 0),
	WAIT(rwbase_read_lock, LOCK, KERNEL_LOCK, 0),
	WAIT(rwbase_write_lock, LOCK, KERNEL_LOCK, 0),
	WAIT(__down, LOCK, KERNEL_LOCK, 0),
	WAIT(__down_killable, LOCK, KERNEL_LOCK, 0),
	WAIT(__down_common, LOCK, KERNEL_LOCK, 0),
	WAIT(__lock_sock, LOCK, KERNEL_LOCK, 0),
	/* File systems and block devices. */
	WAIT(jbd2_log_wait_commit, DISK, JOURNAL, 0),
	WAIT(wait_transaction_locked, DISK, JOURNAL, 0),
	WAIT(add_transaction_credits, DISK, JOURNAL, 0),
	WAIT(start_this_handle, DISK, JOURNAL, 0),
	WAIT(jbd2_journal_lock_updates, DISK, JOURNAL, 0),
	WAIT(xfs_log_force, DISK, JOURNAL, 0),
	WAIT(xfs_log_force_seq, DISK, JOURNAL, 0),
	WAIT(xlog_wait_on_iclog, DISK, JOURNAL, 0),
	WAIT(xlog_grant_head_wait, DISK, JOURNAL, 0),
	WAIT(btrfs_wait_for_commit, DISK, JOURNAL, 0),
	WAIT(wait_current_trans, DISK, JOURNAL, 0),
	WAIT(balance_dirty_pages, DISK, WRITEBACK, 0),
	WAIT(wb_wait_for_completion, DISK, WRITEBACK, 0),
	WAIT(folio_wait_writeback, DISK, WRITEBACK, 0),
	WAIT(wait_on_page_writeback, DISK, WRITEBACK, 0),
	WAIT(folio_wait_bit_common, DISK, BLOCK_IO, 0),
	WAIT(wait_on_page_bit_common, DISK, BLOCK_IO, 0),
	WAIT(filemap_fault, DISK, BLOCK_IO, 0),
	WAIT(__wait_on_buffer, DISK, BLOCK_IO, 0),
	WAIT(bit_wait_io, DISK, BLOCK_IO, 0),
	WAIT(submit_bio_wait, DISK, BLOCK_IO, 0),
	WAIT(blk_io_schedule, DISK, BLOCK_IO, 0),
	WAIT(blk_mq_get_tag, DISK, BLOCK_IO, 0),
	WAIT(rq_qos_wait, DISK, BLOCK_IO, 0),
	WAIT(__iomap_dio_rw, DISK, BLOCK_IO, 0),
	WAIT(btrfs_wait_ordered_range, DISK, BLOCK_IO, 0),
	/* Of file systems that another machine or a program serves. */
	WAIT(rpc_wait_bit_killable, DISK, RPC, 0),
	WAIT(request_wait_answer, DISK, FUSE, 0),
	/* Waits inside the kernel that are none of these. */
	WAIT(synchronize_rcu, SLEEP, GRACE_PERIOD, 0),
	WAIT(synchronize_rcu_normal, SLEEP, GRACE_PERIOD, 0),
	WAIT(synchronize_rcu_expedited, SLEEP, GRACE_PERIOD, 0),
	WAIT(__wait_rcu_gp, SLEEP, GRACE_PERIOD, 0),
	WAIT(__synchronize_srcu, SLEEP, GRACE_PERIOD, 0),
	WAIT(rcu_barrier, SLEEP, GRACE_PERIOD, 0),
	WAIT(wait_for_completion, SLEEP, KERNEL_WORK, 0),
	WAIT(wait_for_completion_killable, SLEEP, KERNEL_WORK, 0),
	WAIT(wait_for_completion_state, SLEEP, KERNEL_WORK, 0),
	WAIT(__flush_work, SLEEP, KERNEL_WORK, 0),
	WAIT(__flush_workqueue, SLEEP, KERNEL_WORK, 0),
	WAIT(wait_for_completion_interruptible, SLEEP, KERNEL_WORK, 0),
	WAIT(wait_for_completion_timeout, SLEEP, KERNEL_WORK, 0),
	WAIT(do_coredump, SLEEP, COREDUMP, 0),
	WAIT(vfs_coredump, SLEEP, COREDUMP, 0),
	WAIT(coredump_task_exit, SLEEP, COREDUMP, 0),
#undef WAIT
};

static int by_name(const void *left, const void *right)
{
	const struct known *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int by_start(const void *left, const void *right)
{
	const struct wait_function *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Without what the compiler adds. `name` has that room. */
static void base_name(const char *symbol, char *name, size_t room)
{
	size_t length = strcspn(symbol, ".");

	length = length < room ? length : room - 1;
	memcpy(name, symbol, length);
	name[length] = '\0';
}

bool kernel_waits_find(const char *name, __u8 *ret_state, __u8 *ret_detail)
{
	char base[64];

	base_name(name, base, sizeof(base));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, base))
			continue;
		*ret_state = known[i].state;
		*ret_detail = known[i].detail;
		return true;
	}
	return false;
}

/* How many were found, or -errno. */
static int scan(int fd, struct wait_function table[WAIT_FUNCTIONS])
{
	struct kallsyms_reader reader;
	struct kallsyms_symbol symbol;
	struct known sorted[ARRAY_SIZE(known)];
	struct wait_function *open = NULL; /* its end is the next symbol's start */
	int found = 0;

	memcpy(sorted, known, sizeof(known));
	qsort(sorted, ARRAY_SIZE(sorted), sizeof(sorted[0]), by_name);
	kallsyms_begin(&reader, fd);
	while (kallsyms_next(&reader, &symbol)) {
		char name[64]; /* longer than any known one */
		struct known key = {.name = name}, *match;

		if (!symbol.address || tolower((unsigned char)symbol.type) != 't')
			continue;
		if (open && symbol.address > open->start) {
			open->end = symbol.address;
			open = NULL;
		}
		base_name(symbol.name, name, sizeof(name));
		match = bsearch(&key, sorted, ARRAY_SIZE(sorted), sizeof(sorted[0]), by_name);
		if (!match || found == WAIT_FUNCTIONS)
			continue;
		/* two names of one address: the first will do */
		if (open)
			continue;
		table[found] = (struct wait_function){.start = symbol.address,
						      .state = match->state,
						      .detail = match->detail,
						      .decides = match->decides};
		open = &table[found++];
	}
	if (open)
		open->end = open->start + 1;
	return reader.error ? -reader.error : found;
}

static void empty(struct wait_function table[WAIT_FUNCTIONS])
{
	for (int i = 0; i < WAIT_FUNCTIONS; i++)
		table[i] = (struct wait_function){.start = ~0ULL};
}

int kernel_waits_load(struct wait_function table[WAIT_FUNCTIONS], const char *kallsyms,
		      struct error *error)
{
	cleanup_close int fd = open(kallsyms, O_RDONLY | O_CLOEXEC);
	int result;

	empty(table);
	result = fd < 0 ? -errno : scan(fd, table);
	if (result < 0) {
		empty(table);
		return error_set(error, -result, "cannot read %s: %s", kallsyms, strerror(-result));
	}
	qsort(table, WAIT_FUNCTIONS, sizeof(table[0]), by_start);
	return result;
}

static void *search_thread(void *data)
{
	struct kernel_waits_search *search = data;

	search->found = kernel_waits_load(search->table, "/proc/kallsyms", NULL);
	return NULL;
}

void kernel_waits_begin(struct kernel_waits_search *search)
{
	sigset_t all, before;

	/* signals are for the thread that waits for them */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	search->has_thread = !pthread_create(&search->thread, NULL, search_thread, search);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!search->has_thread)
		search_thread(search);
}

int kernel_waits_end(struct kernel_waits_search *search)
{
	if (search->has_thread)
		pthread_join(search->thread, NULL);
	search->has_thread = false;
	return search->found;
}
