// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "load/guardian.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "load/cgroups.h"
#include "scheduler/trace_instance.h"
#include "base/clock.h"
#include "base/priority.h"

#define TIDY_UP_NS 15000000000ULL /* workers that do not stop are killed after 5 s */
#define GUARDIANS  2		  /* one remains if any two of the three processes are killed */

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* All children of this thread; by a name that is right in a pid namespace, too. */
static unsigned int kill_children(void)
{
	cleanup_file FILE *list = fopen("/proc/thread-self/children", "re");
	unsigned int count = 0;
	int pid;

	while (list && fscanf(list, "%d", &pid) == 1) {
		kill(pid, SIGKILL);
		count++;
	}
	return count;
}

void guardian_kill_all(void)
{
	/* each round may bring orphans of those that died in it; waitpid() waits for the dying */
	while (kill_children())
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			break;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/*
 * A guardian below us was killed, and what it guarded is our child now. It has got SIGTERM and
 * tidies up; were we to kill it, and be killed then, nothing would be left to do that.
 */
static void await_children(void)
{
	const struct timespec step = {.tv_nsec = 10000000};
	uint64_t deadline_ns = clock_monotonic_ns() + TIDY_UP_NS;
	pid_t got;

	do {
		got = waitpid(-1, NULL, WNOHANG);
		if (!got)
			nanosleep(&step, NULL);
	} while (got >= 0 && clock_monotonic_ns() < deadline_ns);
}

static void tidy_up(struct guarded *guarded)
{
	guardian_kill_all();
	if (*guarded->cgroup)
		cgroups_remove_tree(guarded->cgroup);
	if (*guarded->scratch.path)
		scratch_remove(&guarded->scratch);
	if (guarded->traced)
		trace_instances_tidy();
}

/* Waits for signals until the child has ended; its wait status. */
static int watch(pid_t child, const sigset_t *heard)
{
	int status;

	for (;;) {
		siginfo_t info;
		pid_t got = waitpid(child, &status, WNOHANG);

		if (got == child)
			return status;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (sigwaitinfo(heard, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		/* what the terminal sends, it sends to the child as well */
		if (info.si_code != SI_KERNEL)
			kill(child, info.si_signo);
	}
}

/* What is run, by a process that others guard. */
struct guarding {
	int (*run)(void *data, struct guarded *guarded);
	void *data;
	struct guarded *guarded; /* shared by all of them */
};

static int guard(const struct guarding *guarding, unsigned int levels, struct error *error);

_Noreturn static void run_child(const struct guarding *guarding, unsigned int levels, pid_t parent,
				const sigset_t *mask)
{
	struct guarded *guarded = guarding->guarded;
	int code;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (getppid() != parent)
		_exit(1);
	sigprocmask(SIG_SETMASK, mask, NULL);
	code = levels ? guard(guarding, levels, &guarded->error)
		      : guarding->run(guarding->data, guarded);
	guardian_kill_all();
	/* the first of us says what went wrong */
	if (code < 0)
		guarded->result = code;
	exit(code < 0 ? 1 : code);
}

static int guard(const struct guarding *guarding, unsigned int levels, struct error *error)
{
	struct guarded *guarded = guarding->guarded;
	pid_t parent = getpid(), child;
	sigset_t heard, mask;
	bool raised;
	int status;

	sigemptyset(&heard);
	sigaddset(&heard, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&heard, passed_on[i]);
	sigprocmask(SIG_BLOCK, &heard, &mask);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* it only waits; but when it has to end a run, that is not to take a turn of all
	 * workers */
	raised = priority_raise();
	fflush(NULL);
	child = fork();
	if (!child)
		run_child(guarding, levels - 1, parent, &mask);
	status = child < 0 ? -errno : watch(child, &heard);
	if (child > 0 && status >= 0 && WIFSIGNALED(status) && levels > 1)
		await_children();
	if (child > 0)
		tidy_up(guarded);
	if (raised)
		priority_restore();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (status < 0)
		return error_set(error, -status, "cannot run: %s", strerror(-status));
	if (WIFSIGNALED(status))
		return error_set(
			error, EINTR,
			"the process that ran the workers was killed by signal %d (%s); what "
			"it left has been removed",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}

int guardian_run(int (*run)(void *data, struct guarded *guarded), void *data, struct error *error)
{
	struct guarded *guarded = mmap(NULL, sizeof(*guarded), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct guarding guarding = {run, data, guarded};
	int result;

	if (guarded == MAP_FAILED)
		return error_set(error, errno, "cannot map memory: %s", strerror(errno));
	result = guard(&guarding, GUARDIANS, error);
	if (result >= 0 && guarded->result < 0) {
		result = guarded->result;
		*error = guarded->error;
	}
	munmap(guarded, sizeof(*guarded));
	return result;
}
