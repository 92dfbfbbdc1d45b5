// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits that no C library offers: supervisors, page faults, rings, the tracer. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel_text.h"
#include "base/schedstat.h"
#include "capture/features.h"
#include "verify/ends.h"
#include "verify/pattern.h"

/* Wherever tracefs is mounted, or not. */
static int trace_pipe(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), root, fd;

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return pattern_skip("tracefs");
	root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	fd = openat(root, "trace_pipe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pattern_skip("trace_pipe");
	close(root);
	close(context);
	return fd;
}

/* A page that release() fills: no signal ends the wait for it in the kernel. */
struct missing_page {
	int fd;
	char *page;
};

static struct missing_page in_call, in_program;

static int prepare_page(struct missing_page *missing)
{
	struct uffdio_api api = {.api = UFFD_API};
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uintptr_t)page, 4096},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	missing->page = page;
	missing->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (missing->fd < 0 || ioctl(missing->fd, UFFDIO_API, &api) < 0 ||
	    ioctl(missing->fd, UFFDIO_REGISTER, &range) < 0)
		return pattern_skip("userfaultfd");
	return 0;
}

static void fill_page(const struct missing_page *missing)
{
	struct uffdio_zeropage zero = {.range = {(uintptr_t)missing->page, 4096}};

	ioctl(missing->fd, UFFDIO_ZEROPAGE, &zero);
}

static int page_for_call(void)
{
	return prepare_page(&in_call);
}

static void fault_in_call(int argument)
{
	(void)argument;
	getrlimit(RLIMIT_NOFILE, (struct rlimit *)(void *)in_call.page);
}

static void fill_for_call(int argument)
{
	(void)argument;
	fill_page(&in_call);
}

static int page_for_program(void)
{
	return prepare_page(&in_program);
}

static void fault_in_program(int argument)
{
	(void)argument;
	*(volatile char *)in_program.page = 1;
}

static void fill_for_program(int argument)
{
	(void)argument;
	fill_page(&in_program);
}

static int faults_of_others(void)
{
	static struct missing_page untouched;

	return prepare_page(&untouched) == NOT_HERE ? NOT_HERE : untouched.fd;
}

/* For this thread: a supervisor is asked about connect(). Its descriptor, or -1. */
static int supervise_connect(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static int has_seccomp(void)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0
		       ? pattern_skip("seccomp notifications")
		       : 0;
}

/* There is no answer. */
static void ask_supervisor(int argument)
{
	struct sockaddr_in address = {.sin_family = AF_INET};

	(void)argument;
	if (supervise_connect() < 0)
		return;
	connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&address,
		sizeof(address));
}

/* There is no question. */
static void wait_for_question(int argument)
{
	struct seccomp_notif question = {.id = 0};
	int fd = supervise_connect();

	(void)argument;
	if (fd >= 0)
		ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &question);
}

/* A worker of the kernel's waits for an empty pipe in its place: "iou-wrk-…". */
static int has_uring(void)
{
	int fd = (int)syscall(SYS_io_uring_setup, 1, &(struct io_uring_params){0});

	if (fd < 0)
		return pattern_skip("io_uring");
	close(fd);
	return 0;
}

/* The worker that the calling thread's request has made; 0: it is a thread of the kernel here. */
static uint32_t uring_worker(void)
{
	char wanted[TRUTH_NAME_BYTES], path[64], name[TRUTH_NAME_BYTES] = "";
	DIR *threads = opendir("/proc/self/task");
	uint32_t worker = 0;

	snprintf(wanted, sizeof(wanted), "iou-wrk-%ld", syscall(SYS_gettid));
	for (struct dirent *entry; threads && !worker && (entry = readdir(threads));) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", entry->d_name);
		if (kernel_line(path, name, sizeof(name)) && !strcmp(name, wanted))
			worker = (uint32_t)atoi(entry->d_name);
	}
	if (threads)
		closedir(threads);
	return worker;
}

/*
 * It cannot measure itself: its request was made between the first two instants, and goes on. Its
 * end, soon, is the first that dwell hears of it, unless it was seen at its first wakeup.
 */
static void report_worker(uint64_t before_ns, uint64_t made_ns)
{
	struct truth truth = {.pattern = "io-uring",
			      .thread = "iou-wrk",
			      .state = STATE_IPC,
			      .tid = features_sees_unforked() ? uring_worker() : 0};
	struct schedstat counted;

	if (!truth.tid || !schedstat_of((pid_t)truth.tid, &counted))
		return;
	truth.wall_ns = now_ns() - made_ns;
	truth.cpu_ns = counted.cpu_ns;
	truth.states_ns[STATE_RUNNABLE] = counted.delay_ns;
	truth.states_ns[STATE_IPC] = above(truth.wall_ns, counted.cpu_ns + counted.delay_ns);
	truth.uncertain_ns = made_ns - before_ns;
	truth_sink(&truth);
}

static void wait_for_uring(int argument)
{
	struct io_uring_params params = {0};
	uint64_t before_ns, made_ns;
	int to, ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	char *queue = mmap(NULL, params.sq_off.array + sizeof(uint32_t), PROT_READ | PROT_WRITE,
			   MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry = mmap(NULL, sizeof(*entry), PROT_READ | PROT_WRITE, MAP_SHARED,
					  ring, IORING_OFF_SQES);

	if (queue == MAP_FAILED || entry == MAP_FAILED)
		return;
	(void)argument;
	empty_pipe(&to);
	*entry = (struct io_uring_sqe){.opcode = IORING_OP_SPLICE,
				       .flags = IOSQE_ASYNC,
				       .splice_fd_in = empty_pipe(NULL),
				       .splice_off_in = ~0ULL,
				       .fd = to,
				       .off = ~0ULL,
				       .len = 1};
	*(uint32_t *)(void *)(queue + params.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	before_ns = now_ns();
	syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
	made_ns = now_ns();
	syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	report_worker(before_ns, made_ns);
}

static aio_context_t requests;

static int new_requests(void)
{
	return syscall(SYS_io_setup, 1, &requests) < 0 ? pattern_skip("io_setup") : 0;
}

static void wait_for_requests(int argument)
{
	struct io_event event;

	(void)argument;
	syscall(SYS_io_getevents, requests, 1, 1, &event, NULL);
}

const struct call kernel_calls[] = {
	{"trace-pipe", STATE_IDLE, "read:event", trace_pipe, read_news, NULL},
	{"fault-in-call", STATE_IPC, "*:userfaultfd", page_for_call, fault_in_call, fill_for_call},
	{"fault", STATE_IPC, "page fault:userfaultfd", page_for_program, fault_in_program,
	 fill_for_program},
	{"userfaultfd", STATE_IDLE, "read:event", faults_of_others, read_news, NULL},
	{"seccomp", STATE_IPC, "connect:seccomp", has_seccomp, ask_supervisor, NULL},
	{"seccomp-listen", STATE_IDLE, "ioctl:event", has_seccomp, wait_for_question, NULL},
	{"io-uring", STATE_IDLE, "io_uring_enter", has_uring, wait_for_uring, NULL},
	{"io-getevents", STATE_IDLE, "io_getevents", new_requests, wait_for_requests, NULL},
	{NULL, STATES, NULL, NULL, NULL, NULL},
};
