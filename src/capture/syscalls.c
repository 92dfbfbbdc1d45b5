// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/syscalls.h"

#include <asm/unistd.h>
#include <stddef.h>

#include "base/cleanup.h"

/*
 * Class and call, by name; those an architecture does not have are left out below. Numbers that a
 * C library's headers may be too old to know are given (they are the same everywhere since 5.x).
 */
static const struct {
	short number;
	unsigned char class;
} classes[] = {
#define C(class, name)                                                                             \
	{                                                                                          \
		__NR_##name, SYSCALL_##class                                                       \
	}
	/* waits for work */
	C(WAIT, epoll_pwait),
	C(POLL, ppoll),
	C(SELECT, pselect6),
	C(CHILD, wait4),
	C(CHILD, waitid),
	C(WAIT, rt_sigtimedwait),
	C(WAIT, rt_sigsuspend),
	C(WAIT, accept),
	C(WAIT, accept4),
	C(WAIT, io_getevents),
	C(WAIT, io_pgetevents),
	{426, SYSCALL_WAIT}, /* io_uring_enter */
	{441, SYSCALL_WAIT}, /* epoll_pwait2 */
#ifdef __NR_epoll_wait
	C(WAIT, epoll_wait),
	C(POLL, poll),
	C(SELECT, select),
	C(WAIT, pause),
#endif
	/* timed sleep */
	C(SLEEP, nanosleep),
	C(SLEEP, clock_nanosleep),
	/* the descriptor decides */
	C(DESCRIPTOR, read),
	C(WRITE, write),
	C(DESCRIPTOR, readv),
	C(WRITE, writev),
	C(DESCRIPTOR, pread64),
	C(WRITE, pwrite64),
	C(DESCRIPTOR, preadv),
	C(WRITE, pwritev),
	C(DESCRIPTOR, preadv2),
	C(WRITE, pwritev2),
	C(DESCRIPTOR, connect),
	C(DESCRIPTOR, recvfrom),
	C(DESCRIPTOR, recvmsg),
	C(DESCRIPTOR, recvmmsg),
	C(WRITE, sendto),
	C(WRITE, sendmsg),
	C(WRITE, sendmmsg),
	C(DESCRIPTOR, shutdown),
	C(DESCRIPTOR, ioctl),
	/* two descriptors */
	C(SPLICE, splice),
	C(SPLICE, tee),
	C(SPLICE, vmsplice),
	C(SPLICE, copy_file_range),
	C(SPLICE, sendfile),
	/* works on files */
	C(FILE, fsync),
	C(FILE, fdatasync),
	C(FILE, sync),
	C(FILE, syncfs),
	C(FILE, sync_file_range),
	C(FILE, msync),
	C(FILE, close),
	C(FILE, fallocate),
	C(FILE, ftruncate),
	C(FILE, truncate),
	C(FILE, getdents64),
	C(FILE, lseek),
	C(FILE, fadvise64),
	C(FILE, readahead),
	C(FILE, unlinkat),
	C(FILE, renameat2),
	C(FILE, mkdirat),
	C(FILE, linkat),
	C(FILE, symlinkat),
	C(FILE, fchmodat),
	C(FILE, fchownat),
	C(FILE, newfstatat),
	C(FILE, fstat),
	C(FILE, statx),
	C(FILE, faccessat),
	C(FILE, readlinkat),
	C(FILE, statfs),
	C(FILE, io_submit),
	C(FILE, mount),
	C(FILE, umount2),
	C(FILE, execve),
	C(FILE, execveat),
	C(FILE, openat),
	{437, SYSCALL_FILE}, /* openat2 */
#ifdef __NR_open
	C(FILE, open),
	C(FILE, creat),
	C(FILE, getdents),
	C(FILE, unlink),
	C(FILE, rename),
	C(FILE, mkdir),
	C(FILE, rmdir),
	C(FILE, link),
	C(FILE, symlink),
	C(FILE, chmod),
	C(FILE, chown),
	C(FILE, stat),
	C(FILE, lstat),
	C(FILE, access),
	C(FILE, readlink),
#endif
#ifdef __NR_renameat
	C(FILE, renameat),
#endif
	/* message queues */
	C(IPC, msgrcv),
	C(IPC, msgsnd),
	C(IPC, mq_timedreceive),
	C(IPC, mq_timedsend),
	/* locks */
	C(FLOCK, flock),
	C(LOCK, semop),
	C(LOCK, semtimedop),
	C(FCNTL, fcntl),
	C(FUTEX, futex),
	{449, SYSCALL_WAIT},	   /* futex_waitv: any of several objects */
	{455, SYSCALL_FUTEX_WAIT}, /* futex_wait */
	/* others with a rule of their own */
	C(VFORK, clone),
	{435, SYSCALL_VFORK}, /* clone3 */
#ifdef __NR_vfork
	C(VFORK, vfork),
#endif
	C(RESTART, restart_syscall),
	C(YIELD, sched_yield),
#undef C
};

void syscalls_classify(volatile __u8 into[SYSCALL_TABLE_SIZE])
{
	for (unsigned int i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].number >= 0 && classes[i].number < SYSCALL_TABLE_SIZE)
			into[classes[i].number] = classes[i].class;
}

bool syscalls_is_futex(int number)
{
	return number == __NR_futex || number == 455; /* futex_wait */
}

bool syscalls_is_event_wait(int number)
{
	static const short numbers[] = {
#ifdef __NR_epoll_wait
		__NR_epoll_wait,
#endif
		__NR_epoll_pwait, 426, /* io_uring_enter */
		441,		       /* epoll_pwait2 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

bool syscalls_waits_for_descriptors(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		unsigned char class = classes[i].class;

		if (classes[i].number == number)
			return class == SYSCALL_POLL || class == SYSCALL_SELECT ||
			       class == SYSCALL_WAIT || class == SYSCALL_RESTART;
	}
	return false;
}
