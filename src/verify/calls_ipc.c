// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for other threads by pipes, queues, semaphores and locks of files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verify/ends.h"
#include "verify/pattern.h"

static int crowded_pipe(void)
{
	return full_pipe(NULL);
}

static void read_parts(int argument)
{
	char byte;
	struct iovec part = {&byte, 1};

	(void)!readv(argument, &part, 1);
}

static void write_it(int argument)
{
	static const char bytes[65536];

	(void)!write(argument, bytes, sizeof(bytes));
}

static void splice_file(int argument)
{
	splice(some_file(), &(loff_t){0}, argument, NULL, 65536, 0);
}

static void splice_memory(int argument)
{
	static char bytes[65536];
	struct iovec part = {bytes, sizeof(bytes)};

	vmsplice(argument, &part, 1, 0);
}

static int tee_source;

static int two_full_pipes(void)
{
	return full_pipe(&tee_source) < 0 ? NOT_HERE : full_pipe(NULL);
}

static void tee_pipe(int argument)
{
	tee(tee_source, argument, 65536, 0);
}

/* For files without names, which a pattern that is killed would leave behind. */
static int open_again(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static int fifo(void)
{
	char name[] = "/tmp/dwell-verify-XXXXXX";
	int directory, fd;

	if (!mkdtemp(name) || (directory = open(name, O_PATH | O_CLOEXEC)) < 0 ||
	    mkfifoat(directory, "fifo", 0600) < 0)
		return pattern_skip("mkfifo");
	fd = openat(directory, "fifo", O_PATH | O_CLOEXEC);
	unlinkat(directory, "fifo", 0);
	rmdir(name);
	close(directory);
	return fd;
}

static void open_fifo(int argument)
{
	close(open_again(argument, O_WRONLY));
}

/* System V queues and semaphores outlive their process. */
static int message_queue(void)
{
	int queue = msgget(IPC_PRIVATE, 0600);

	return queue < 0 ? pattern_skip("msgget") : queue;
}

struct message {
	long type;
	char text[4096];
};

static int full_queue(void)
{
	struct message message = {.type = 1};
	int queue = message_queue();

	while (queue >= 0 && !msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT))
		;
	return queue;
}

static void receive_message(int argument)
{
	struct message message;

	msgrcv(argument, &message, sizeof(message.text), 0, 0);
}

static void send_message(int argument)
{
	struct message message = {.type = 1};

	msgsnd(argument, &message, sizeof(message.text), 0);
}

static void remove_queue(int argument)
{
	msgctl(argument, IPC_RMID, NULL);
}

static int posix_queue(void)
{
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
	char name[64];
	int queue;

	snprintf(name, sizeof(name), "/dwell-verify-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
	if (queue < 0)
		return pattern_skip("mq_open");
	mq_unlink(name);
	return queue;
}

static int full_posix_queue(void)
{
	int queue = posix_queue();

	if (queue >= 0)
		mq_send(queue, "", 1, 0);
	return queue;
}

static void receive_posix(int argument)
{
	char byte;

	mq_receive(argument, &byte, 1, NULL);
}

static void send_posix(int argument)
{
	mq_send(argument, "", 1, 0);
}

static int semaphores(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600);

	return set < 0 ? pattern_skip("semget") : set;
}

static void take_semaphore(int argument)
{
	semop(argument, &(struct sembuf){0, -1, 0}, 1);
}

static void remove_semaphores(int argument)
{
	semctl(argument, 0, IPC_RMID);
}

/* A second description of a file; the first one, which stays, has locked it. */
static int locked_file(bool by_flock)
{
	struct flock lock = {.l_type = F_WRLCK};
	int holder = some_file(), fd = open_again(holder, O_RDWR);

	if (fd < 0 || (by_flock ? flock(holder, LOCK_EX) : fcntl(holder, F_OFD_SETLK, &lock)) < 0)
		return pattern_skip("lock of a file");
	return fd;
}

static int flocked_file(void)
{
	return locked_file(true);
}

static int record_locked_file(void)
{
	return locked_file(false);
}

static void wait_for_flock(int argument)
{
	flock(argument, LOCK_EX);
}

static void wait_for_record_lock(int argument)
{
	fcntl(argument, F_OFD_SETLKW, &(struct flock){.l_type = F_WRLCK});
}

/* Its holder, another process, keeps it. */
static pid_t lease_holder;

static void ignore(int number)
{
	(void)number;
}

static _Noreturn void hold_lease(int file, int ready)
{
	/* what others are to be the last to close */
	dup2(ready, STDIN_FILENO);
	/* an opening of its own: that one's end is the end of the lease */
	dup2(open_again(file, O_RDONLY), STDOUT_FILENO);
	syscall(SYS_close_range, 3, ~0U, 0);
	signal(SIGIO, ignore);
	if (fcntl(STDOUT_FILENO, F_SETLEASE, F_RDLCK) < 0 || write(STDIN_FILENO, "", 1) != 1)
		_exit(EXIT_FAILURE);
	while (true)
		pause();
}

static int lease(void)
{
	int ready[2], fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int file = open_again(fd, O_RDONLY);
	char byte;
	bool held;

	if (file < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return pattern_skip("a file in /tmp");
	close(fd); /* a file that is open for writing has no lease for readers */
	lease_holder = pattern_fork();
	if (!lease_holder)
		hold_lease(file, ready[1]);
	close(ready[1]); /* ours: a child that fails is the end of the pipe */
	held = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	if (held)
		return file;
	errno = EINVAL;
	return pattern_skip("F_SETLEASE");
}

static void open_leased(int argument)
{
	close(open_again(argument, O_WRONLY));
}

static void end_lease(int argument)
{
	(void)argument;
	kill(lease_holder, SIGKILL);
}

const struct call ipc_calls[] = {
	{"pipe-read", STATE_IPC, "read:pipe", quiet_pipe, read_byte, NULL},
	{"pipe-readv", STATE_IPC, "readv:pipe", quiet_pipe, read_parts, NULL},
	{"pipe-write", STATE_IPC, "write:pipe", crowded_pipe, write_it, NULL},
	{"splice-to-pipe", STATE_IPC, "splice:pipe", crowded_pipe, splice_file, NULL},
	{"vmsplice", STATE_IPC, "vmsplice:pipe", crowded_pipe, splice_memory, NULL},
	{"tee", STATE_IPC, "tee:pipe", two_full_pipes, tee_pipe, NULL},
	{"fifo-open", STATE_IPC, "openat:pipe", fifo, open_fifo, NULL},
	{"msgrcv", STATE_IPC, "msgrcv", message_queue, receive_message, remove_queue},
	{"msgsnd", STATE_IPC, "msgsnd", full_queue, send_message, remove_queue},
	{"mq-receive", STATE_IPC, "mq_timedreceive", posix_queue, receive_posix, NULL},
	{"mq-send", STATE_IPC, "mq_timedsend", full_posix_queue, send_posix, NULL},
	{"semop-wait", STATE_LOCK, "sem*op", semaphores, take_semaphore, remove_semaphores},
	{"flock-wait", STATE_LOCK, "flock", flocked_file, wait_for_flock, NULL},
	{"fcntl-lock", STATE_LOCK, "fcntl*", record_locked_file, wait_for_record_lock, NULL},
	{"lease", STATE_LOCK, "openat:lease", lease, open_leased, end_lease},
	{NULL, STATES, NULL, NULL, NULL, NULL},
};
