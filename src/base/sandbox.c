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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/forked.h"
#include "base/privilege.h"

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

static void keep(const __u32 kept[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(sets); i++) {
		sets[i].permitted &= kept[i];
		sets[i].effective &= kept[i];
		sets[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)!syscall(SYS_capset, &header, sets);
}

void sandbox_keep(const int *capabilities, size_t count)
{
	__u32 kept[_LINUX_CAPABILITY_U32S_3] = {0};

	for (size_t i = 0; i < count; i++)
		kept[CAP_TO_INDEX((unsigned int)capabilities[i])] |=
			CAP_TO_MASK((unsigned int)capabilities[i]);
	keep(kept);
}

/*
 * cap_ptrace_access_check(), security/commoncap.c, compares the target's permitted capabilities
 * with the reader's: effective ones for what is in /proc, so it does not help to keep them
 * permitted only. A target is any process that begins later, too, with any of the capabilities that
 * dwell was started with, as all of root's have in a container: so none can be spared.
 *
 * A copy with file capabilities gives up all the same: what its user runs has none, and other
 * programs with file capabilities are not for reading (suid_dumpable).
 */
void sandbox_keep_to_read(const int *capabilities, size_t count)
{
	static const __u32 all[_LINUX_CAPABILITY_U32S_3] = {UINT32_MAX, UINT32_MAX};

	if (privilege_has(CAP_SYS_PTRACE) || privilege_is_lent())
		sandbox_keep(capabilities, count);
	else
		keep(all);
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
	forked_await((pid_t)pid);
}

#define CALLS_MORE 48 /* that sandbox_confine_to() adds, at most */

/* What computing, allocating, reading what is open, and talking over it take. */
static const int allowed[] = {
	SYS_read,	  SYS_pread64,	      SYS_write, /* of the vdso, into memory */
	SYS_memfd_create, SYS_close,	      SYS_dup,		SYS_fcntl,	     SYS_fstat,
	SYS_newfstatat, /* which fstat(3) is */
	SYS_lseek,	  SYS_munmap,	      SYS_mremap,	SYS_madvise,	     SYS_brk,
#ifdef SYS_poll
	SYS_poll,
#endif
	SYS_ppoll,	  SYS_recvfrom,	      SYS_recvmsg,	SYS_sendto,	     SYS_sendmsg,
	SYS_futex,	  SYS_clock_gettime,  SYS_getrandom,	SYS_getpid,	     SYS_gettid,
	SYS_sysinfo, /* of qsort(3) */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit,
	SYS_exit_group,
};

/* Those of which one argument must not have a bit: no new code, and no memory beyond RLIMIT_DATA.
 */
static const struct {
	int number;
	unsigned int argument;
	__u32 bits;
} without[] = {
	{SYS_mmap, 2, PROT_EXEC},
	{SYS_mmap, 3, MAP_SHARED},
	{SYS_mprotect, 2, PROT_EXEC},
};

#define LOAD(field)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE	       RETURN(SECCOMP_RET_ERRNO | EPERM)
#define IF(test, value, then, otherwise)                                                           \
	BPF_JUMP(BPF_JMP | (test) | BPF_K, (__u32)(value), (then), (otherwise))

/* Documentation/userspace-api/seccomp_filter.rst. False: this kernel has none. */
static bool filter_calls(const int *more, size_t more_count, bool has_threads)
{
#ifdef ARCHITECTURE
	/* abort(3) and limits are its own; by low words, as both are 32 bits wide */
	const struct {
		int number;
		__u32 first; /* argument */
	} own[] = {{SYS_tgkill, (__u32)getpid()}, {SYS_prlimit64, 0}};
	struct sock_filter program[5 + 2 * (ARRAY_SIZE(allowed) + CALLS_MORE) +
				   5 * (ARRAY_SIZE(own) + ARRAY_SIZE(without)) + 10];
	struct sock_fprog filter = {.filter = program};
	unsigned short used = 0;

#define ADD(...) (program[used++] = (struct sock_filter)__VA_ARGS__)
	ADD(LOAD(arch));
	ADD(IF(BPF_JEQ, ARCHITECTURE, 1, 0));
	ADD(REFUSE);
	ADD(LOAD(nr));
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		ADD(IF(BPF_JEQ, allowed[i], 0, 1));
		ADD(RETURN(SECCOMP_RET_ALLOW));
	}
	for (size_t i = 0; i < more_count && i < CALLS_MORE; i++) {
		ADD(IF(BPF_JEQ, more[i], 0, 1));
		ADD(RETURN(SECCOMP_RET_ALLOW));
	}
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		ADD(IF(BPF_JEQ, own[i].number, 0, 4));
		ADD(LOAD(args[0]));
		ADD(IF(BPF_JEQ, own[i].first, 0, 1));
		ADD(RETURN(SECCOMP_RET_ALLOW));
		ADD(REFUSE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
		ADD(IF(BPF_JEQ, without[i].number, 0, 4));
		ADD(LOAD(args[without[i].argument]));
		ADD(IF(BPF_JSET, without[i].bits, 0, 1));
		ADD(REFUSE);
		ADD(LOAD(nr));
	}
	/* its flags are in memory, and no filter sees them: the C library makes do with clone(2) */
	ADD(IF(BPF_JEQ, SYS_clone3, 0, 1));
	ADD(RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	if (has_threads) {
		ADD(IF(BPF_JEQ, SYS_clone, 0, 4));
		ADD(LOAD(args[0]));
		ADD(IF(BPF_JSET, CLONE_THREAD, 0, 1));
		ADD(RETURN(SECCOMP_RET_ALLOW));
		ADD(REFUSE);
	}
	ADD(IF(BPF_JEQ, SYS_mmap, 1, 0));
	ADD(IF(BPF_JEQ, SYS_mprotect, 0, 1));
	ADD(RETURN(SECCOMP_RET_ALLOW));
	ADD(REFUSE);
#undef ADD
	filter.len = used;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) >= 0;
#else
	(void)more;
	(void)more_count;
	(void)has_threads;
	return false;
#endif
}

static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &header, sets) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (sets[i].permitted || sets[i].effective)
			return true;
	return false;
}

void sandbox_limit(int resource, uint64_t most)
{
	const struct rlimit limit = {most, most};

	setrlimit(resource, &limit);
}

static bool confine(pid_t parent, const int *calls, size_t count, bool is_client)
{
	bool capable, filtered;

	if (!is_client)
		empty_root();
	sandbox_become_nobody(NULL, 0);
	sandbox_keep(NULL, 0);
	forked_end_with(parent);
	capable = has_capabilities();
	filtered = filter_calls(calls, count, is_client);
	return filtered || !capable;
}

bool sandbox_confine(pid_t parent)
{
	return confine(parent, NULL, 0, false);
}

bool sandbox_confine_to(pid_t parent, const int *calls, size_t count)
{
	return confine(parent, calls, count, false);
}

bool sandbox_confine_client(pid_t parent, const int *calls, size_t count)
{
	return confine(parent, calls, count, true);
}
