// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* setresuid */
#include "base/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Above what distributions and systemd give out, and below 2^31. The pid makes it one's own. */
#define USERS_FROM 2000000000U

#define NOBODY	   65534U

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static int become(unsigned int id)
{
	return setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ? -errno : 0;
}

void sandbox_become_nobody(const gid_t *groups, size_t count)
{
	if (geteuid())
		return;
	if (setgroups(count, groups) < 0 ||
	    (become(USERS_FROM + (unsigned int)getpid()) < 0 && become(NOBODY) < 0)) {
		/* no right to, or no such users: it goes on as it is */
	}
}

void sandbox_keep(const int *capabilities, size_t count)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(sets); i++) {
		__u32 kept = 0;

		for (size_t j = 0; j < count; j++)
			if (CAP_TO_INDEX((unsigned int)capabilities[j]) == i)
				kept |= CAP_TO_MASK((unsigned int)capabilities[j]);
		sets[i].permitted &= kept;
		sets[i].effective &= kept;
		sets[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)!syscall(SYS_capset, &header, sets);
}

/*
 * The directory of what a process has open is empty when it has ended, and can't be written to. A
 * child that shares our root directory enters its own. Needs CAP_SYS_CHROOT.
 */
static void empty_root(void)
{
	long pid = syscall(SYS_clone, CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid)
		_exit(chroot("/proc/self/fdinfo") < 0 || chdir("/") < 0);
	if (pid > 0)
		while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
			;
}

/* What computing, allocating, reading what is open, and talking over it take. */
static const int allowed[] = {
	SYS_read,
	SYS_pread64,
	SYS_write, /* of the vdso, into memory */
	SYS_memfd_create,
	SYS_close,
	SYS_dup,
	SYS_fcntl,
	SYS_fstat,
	SYS_newfstatat, /* which fstat(3) is */
	SYS_lseek,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
#ifdef SYS_poll
	SYS_poll,
#endif
	SYS_ppoll,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_futex,
	SYS_clock_gettime,
	SYS_getrandom,
	SYS_getpid,
	SYS_gettid,
	SYS_sysinfo, /* of qsort(3) */
	SYS_prlimit64,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_tgkill, /* of abort(3); other processes are of other users */
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
};

/* These may not make code. */
static const int without_code[] = {SYS_mmap, SYS_mprotect};

#define LOAD(field)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))

/* Documentation/userspace-api/seccomp_filter.rst */
static void filter_calls(void)
{
#ifdef ARCHITECTURE
	struct sock_filter program[4 + 2 * ARRAY_SIZE(allowed) + 5 * ARRAY_SIZE(without_code) + 1];
	struct sock_fprog filter = {.filter = program};
	unsigned short used = 0;

	program[used++] = (struct sock_filter)LOAD(arch);
	program[used++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	program[used++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	program[used++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		program[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							       (__u32)allowed[i], 0, 1);
		program[used++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_SIZE(without_code); i++) {
		program[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							       (__u32)without_code[i], 0, 4);
		program[used++] = (struct sock_filter)LOAD(args[2]);
		program[used++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
		program[used++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
		program[used++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	}
	program[used++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	filter.len = used;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		/* a kernel without seccomp: it has no rights left in any case */
	}
#endif
}

void sandbox_confine(void)
{
	empty_root();
	sandbox_become_nobody(NULL, 0);
	sandbox_keep(NULL, 0);
	filter_calls();
}
