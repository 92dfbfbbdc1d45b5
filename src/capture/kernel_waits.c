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
	WAIT(rpc_wait_bit_killable, DISK, BLOCK_IO, 0),
	WAIT(request_wait_answer, DISK, BLOCK_IO, 0),
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

static int scan(char *text, struct wait_function table[WAIT_FUNCTIONS])
{
	struct kallsyms_symbol symbol;
	struct known sorted[ARRAY_SIZE(known)];
	struct wait_function *open = NULL; /* its end is the next symbol's start */
	int found = 0;

	memcpy(sorted, known, sizeof(known));
	qsort(sorted, ARRAY_SIZE(sorted), sizeof(sorted[0]), by_name);
	while (kallsyms_next(&text, &symbol)) {
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
	return found;
}

int kernel_waits_load(struct wait_function table[WAIT_FUNCTIONS], const char *kallsyms,
		      struct error *error)
{
	cleanup_close int fd = open(kallsyms, O_RDONLY | O_CLOEXEC);
	cleanup_free char *text = NULL;
	int result;

	for (int i = 0; i < WAIT_FUNCTIONS; i++)
		table[i] = (struct wait_function){.start = ~0ULL};
	result = fd < 0 ? -errno : kallsyms_read(fd, &text);
	if (result < 0)
		return error_set(error, -result, "cannot read %s: %s", kallsyms, strerror(-result));
	result = scan(text, table);
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
