// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "capture/span_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/forked.h"
#include "capture/probe_cost.h"
#include "capture/proc_threads.h"
#include "base/tracefs.h"
#include "capture/uprobe_multi.h"
#include "dwell.skel.h"

/* System calls an event loop waits in. */
static const struct {
	const char *name;
	enum span_wait wait;
} waits[] = {
	{"epoll_wait", SPAN_WAIT_EPOLL},   {"epoll_pwait", SPAN_WAIT_EPOLL},
	{"epoll_pwait2", SPAN_WAIT_EPOLL}, {"io_uring_enter", SPAN_WAIT_URING},
	{"poll", SPAN_WAIT_POLL},	   {"ppoll", SPAN_WAIT_POLL},
	{"select", SPAN_WAIT_POLL},	   {"pselect6", SPAN_WAIT_POLL},
};

#define SPAN_STACKS_MIN 160

static __u32 threads_of(__u32 pid)
{
	cleanup_proc_threads struct proc_threads threads = {0};

	return proc_threads_of(&threads, pid) < 0 ? 0 : (__u32)threads.count;
}

/*
 * All of as many workers as CPUs can run at once, or some of more; and the first of each thread
 * that there is when we come, because all of them may wait for the same.
 */
static __u32 stacks_at_once(const struct span_options *options)
{
	__u32 by_cpus = 4 * SPAN_STACKS * (__u32)get_nprocs_conf();
	__u32 by_threads = SPAN_STACKS_MIN / 2 + threads_of(options->pid);
	__u32 stacks = by_cpus > by_threads ? by_cpus : by_threads;

	return stacks < SPAN_STACKS_MIN	  ? SPAN_STACKS_MIN
	       : stacks > MAX_SPAN_STACKS ? MAX_SPAN_STACKS
					  : stacks;
}

__u32 span_probes_sites(const struct span_options *options)
{
	return options->probe_count < SPAN_SITES_MAX ? (__u32)options->probe_count + 1
						     : SPAN_SITES_MAX;
}

static void attach_as(struct bpf_program *program, int attach_type)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)attach_type);
}

static void attach_as_one(struct dwell_bpf *bpf)
{
	bool session = uprobe_session_works();

	attach_as(bpf->progs.on_poll, UPROBE_MULTI_ATTACH_TYPE);
	attach_as(bpf->progs.on_poll_end, UPROBE_MULTI_ATTACH_TYPE);
	attach_as(bpf->progs.on_poll_session, UPROBE_SESSION_ATTACH_TYPE);
	bpf_program__set_autoload(bpf->progs.on_poll_end, !session);
	bpf_program__set_autoload(bpf->progs.on_poll_session, session);
}

void span_probes_configure(struct dwell_bpf *bpf, const struct span_options *options)
{
	__u32 stacks = stacks_at_once(options);

	bpf->rodata->span_threshold_ns = options->threshold_ns;
	bpf->rodata->span_stacks_half = stacks / 2;
	bpf_map__set_max_entries(bpf->maps.span_stacks, stacks);
	bpf_map__set_max_entries(bpf->maps.span_samples, (__u32)get_nprocs_conf());
	bpf_map__set_max_entries(bpf->maps.events, options->ring_bytes);
	bpf_map__set_max_entries(bpf->maps.span_sites, span_probes_sites(options));
	bpf_program__set_autoload(bpf->progs.on_poll, options->probe_count > 0);
	bpf_program__set_autoload(bpf->progs.on_poll_end, options->probe_count > 0);
	bpf_program__set_autoload(bpf->progs.on_poll_again, options->probe_count > 0);
	if (options->probe_count && uprobe_multi_works())
		attach_as_one(bpf);
	for (size_t i = 0; i < options->probe_count; i++)
		bpf->rodata->span_lives |= options->probes[i].kind == SPAN_LIFE ||
					   options->probes[i].kind == SPAN_CLOSURE;
	bpf->rodata->span_turns = options->turns;
	bpf->rodata->span_turns_rotate = options->turns_rotate;
	bpf->rodata->span_turns_judged = span_turns_are_judged(options);
	bpf->rodata->span_seeding = true;
	memcpy((void *)bpf->rodata->span_prefix, options->prefix, sizeof(options->prefix));
	bpf_program__set_autoload(bpf->progs.on_wait, true);
	bpf_program__set_autoload(bpf->progs.on_wait_end, options->turns);
	bpf_program__set_autoload(bpf->progs.on_restart, options->turns);
	bpf_program__set_autoload(bpf->progs.on_restart_end, options->turns);
	bpf_program__set_autoload(bpf->progs.on_handled, options->turns);
	bpf_program__set_autoload(bpf->progs.on_waking, true);
	bpf_program__set_autoload(bpf->progs.on_exec, true);
	bpf_program__set_autoload(bpf->progs.on_sample, true);
}

/* Keeps the link; 0 or a negative errno. */
static int keep_link(void *data, struct bpf_link *link)
{
	struct span_probes *probes = data;

	if (!link)
		return -errno;
	if (array_reserve(&probes->links, &probes->link_room, probes->link_count + 1,
			  sizeof(link)) < 0) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	probes->links[probes->link_count++] = link;
	return 0;
}

static int attach_probe(struct span_probes *probes, const struct span_probe *probe, size_t number)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = SPAN_COOKIE(probe->kind, number + 1));
	int pid = (int)probes->options->pid;
	int result = 0;

	/* who works for the pool may block: only that it does is of interest */
	options.retprobe = true;
	if (probe->kind == SPAN_POLL)
		result = keep_link(probes, bpf_program__attach_uprobe_opts(
						   probes->bpf->progs.on_poll_end, pid, probe->path,
						   probe->offset, &options));
	options.retprobe = false;
	if (result < 0)
		return result;
	return keep_link(probes,
			 bpf_program__attach_uprobe_opts(probes->bpf->progs.on_poll, pid,
							 probe->path, probe->offset, &options));
}

static int attach_singly(struct span_probes *probes)
{
	for (size_t i = 0; i < probes->options->probe_count; i++) {
		int result = attach_probe(probes, &probes->options->probes[i], i);

		if (result < 0)
			return result;
		probes->attached++;
	}
	return 0;
}

/* What polls tasks, or all else. */
static bool is_of(const struct span_probe *probe, bool tasks)
{
	return (probe->kind == SPAN_POLL) == tasks;
}

static int keep_fd(struct span_probes *probes, int fd, bool tasks)
{
	int **fds = tasks ? &probes->poll_fds : &probes->fds;
	size_t *room = tasks ? &probes->poll_fd_room : &probes->fd_room;
	size_t *count = tasks ? &probes->poll_fd_count : &probes->fd_count;

	if (array_reserve(fds, room, *count + 1, sizeof(**fds)) < 0) {
		close(fd);
		return -ENOMEM;
	}
	(*fds)[(*count)++] = fd;
	return 0;
}

/* 0, or a negative errno. */
static int open_file(struct span_probes *probes, const char *path)
{
	int fd;

	if (array_reserve(&probes->files, &probes->file_room, probes->file_count + 1,
			  sizeof(*probes->files)) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	probes->files[probes->file_count++] = (struct span_file){path, fd};
	return 0;
}

/* -1: it is not open. */
static int file_of(const struct span_probes *probes, const char *path)
{
	for (size_t i = 0; i < probes->file_count; i++)
		if (!strcmp(probes->files[i].path, path))
			return probes->files[i].fd;
	return -1;
}

/* All that probes are in; how what polls tasks begins. */
static int open_files(struct span_probes *probes)
{
	const struct span_options *options = probes->options;
	size_t polls = 0, stepped = 0;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < options->probe_count; i++) {
		const struct span_probe *probe = &options->probes[i];

		if (file_of(probes, probe->path) < 0)
			result = open_file(probes, probe->path);
		if (result < 0 || probe->kind != SPAN_POLL)
			continue;
		polls++;
		stepped += probe_is_stepped(file_of(probes, probe->path), probe->offset);
	}
	probes->are_stepped = 2 * stepped > polls;
	return result;
}

static const struct bpf_program *program_at(const struct dwell_bpf *bpf, enum uprobe_multi_at at)
{
	return at == UPROBE_MULTI_SESSION  ? bpf->progs.on_poll_session
	       : at == UPROBE_MULTI_RETURN ? bpf->progs.on_poll_end
					   : bpf->progs.on_poll;
}

/*
 * Those probes of the file that the one at `first` is in that are of tasks, or of all else, as one
 * link; returns how many.
 */
static int attach_file(struct span_probes *probes, size_t first, bool tasks,
		       enum uprobe_multi_at at)
{
	const struct span_options *options = probes->options;
	const char *path = options->probes[first].path;
	const struct bpf_program *program = program_at(probes->bpf, at);
	cleanup_free uint64_t *offsets = calloc(options->probe_count, sizeof(*offsets));
	cleanup_free uint64_t *cookies = calloc(options->probe_count, sizeof(*cookies));
	char opened[sizeof("/proc/self/fd/") + 10];
	uint32_t count = 0;
	int result;

	if (!offsets || !cookies)
		return -ENOMEM;
	for (size_t i = first; i < options->probe_count; i++) {
		const struct span_probe *probe = &options->probes[i];

		if (strcmp(probe->path, path) != 0 || !is_of(probe, tasks))
			continue;
		offsets[count] = probe->offset;
		cookies[count++] = SPAN_COOKIE(probe->kind, i + 1);
	}
	if (!count)
		return 0;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", file_of(probes, path));
	result = uprobe_multi_attach(bpf_program__fd(program), opened, options->pid, offsets,
				     cookies, count, at);
	if (result >= 0)
		result = keep_fd(probes, result, tasks);
	return result < 0 ? result : (int)count;
}

/* Returns how many there are. */
static int attach_together(struct span_probes *probes, bool tasks)
{
	const struct span_options *options = probes->options;
	const enum uprobe_multi_at at =
		tasks && bpf_program__autoload(probes->bpf->progs.on_poll_session)
			? UPROBE_MULTI_SESSION
			: UPROBE_MULTI_ENTRY;
	int attached = 0;

	for (size_t i = 0; i < options->probe_count; i++) {
		size_t before = 0;
		int result = 0;

		while (before < i && strcmp(options->probes[before].path, options->probes[i].path))
			before++;
		if (before < i)
			continue; /* with that */
		/* an end without a beginning is nothing, a beginning without an end a leak; who
		 * works for the pool may block: only that it does is of interest */
		if (tasks && at == UPROBE_MULTI_ENTRY)
			result = attach_file(probes, i, tasks, UPROBE_MULTI_RETURN);
		if (result >= 0)
			result = attach_file(probes, i, tasks, at);
		if (result < 0)
			return result;
		attached += result;
	}
	return attached;
}

static bool are_together(const struct span_probes *probes)
{
	return bpf_program__expected_attach_type(probes->bpf->progs.on_poll) ==
	       (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE;
}

static int attach_all_together(struct span_probes *probes)
{
	int opened = open_files(probes);
	int others = opened < 0 ? opened : attach_together(probes, false);
	int tasks = others < 0 ? others : attach_together(probes, true);

	if (tasks >= 0)
		probes->attached = (size_t)(others + tasks);
	return tasks < 0 ? tasks : 0;
}

bool span_probes_may_change(const struct span_probes *probes)
{
	return probes->poll_fd_count && are_together(probes);
}

int span_probes_polls_on(struct span_probes *probes)
{
	int result = attach_together(probes, true), fd;

	if (result >= 0)
		return 0;
	while ((fd = span_probes_polls_next(probes)) >= 0)
		close(fd);
	return result;
}

int span_probes_polls_next(struct span_probes *probes)
{
	return probes->poll_fd_count ? probes->poll_fds[--probes->poll_fd_count] : -1;
}

int span_probes_report(struct span_probes *probes, struct record_sink sink)
{
	if (probes->elsewhere_reported || !probes->bpf || !probes->bpf->bss->polls_elsewhere)
		return 0;
	probes->elsewhere_reported = true;
	return sink_missing(sink, "polls",
			    "tasks are polled on stacks that are not their threads' own, as of "
			    "coroutines: those polls are not measured");
}

static int attach_probes(struct span_probes *probes, struct record_sink sink)
{
	const struct span_options *options = probes->options;
	struct dwell_bpf *bpf = probes->bpf;
	char why[160];
	int result;

	if (!probes->options->probe_count)
		return 0;
	result = are_together(probes) ? attach_all_together(probes) : attach_singly(probes);
	if (result >= 0 || result == -ENOMEM)
		return result;
	/* with half of them the figures would be wrong */
	span_probes_detach(probes);
	probes->bpf = bpf;
	probes->options = options;
	snprintf(why, sizeof(why), "a probe was refused: %s: polls are not seen",
		 strerror(-result));
	return sink_missing(sink, "uprobes", why);
}

/*
 * As bpf_program__attach_tracepoint_opts(), which knows only the usual places of the tracing file
 * system. 0, or a negative errno: -EACCES, its number may not be read; -ENOENT, it has none.
 */
static int attach_tracepoint(struct span_probes *probes, struct bpf_program *program, int tracefs,
			     const char *name, enum span_wait wait)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = wait);
	int number = tracefs_event(tracefs, "syscalls", name);
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attributes),
		.config = (__u64)number,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int fd, result;

	if (number < 0)
		return number;
	/* of any CPU: a program at a tracepoint runs on all */
	fd = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	result = keep_link(probes, bpf_program__attach_perf_event_opts(program, fd, &options));
	if (result < 0)
		close(fd);
	return result;
}

/* Of waits that a stop interrupts. Without them it looks like a turn, as it does to the program. */
static int attach_restarts(struct span_probes *probes, int tracefs)
{
	const struct {
		struct bpf_program *program;
		const char *name;
	} restarts[] = {
		{probes->bpf->progs.on_restart, "sys_enter_restart_syscall"},
		{probes->bpf->progs.on_restart_end, "sys_exit_restart_syscall"},
		{probes->bpf->progs.on_handled, "sys_enter_rt_sigreturn"},
	};
	int result = 0;

	for (size_t i = 0; result != -ENOMEM && i < ARRAY_SIZE(restarts); i++)
		result = attach_tracepoint(probes, restarts[i].program, tracefs, restarts[i].name,
					   SPAN_WAIT_NONE);
	return result;
}

static int attach_waits(struct span_probes *probes, struct record_sink sink)
{
	cleanup_close int tracefs = tracefs_open();
	int result = 0, attached = 0, refused = 0;
	char why[160];
	bool hidden = tracefs == -EACCES || tracefs == -EPERM;

	for (size_t i = 0; tracefs >= 0 && i < ARRAY_SIZE(waits); i++) {
		char enter[64], leave[64];

		snprintf(enter, sizeof(enter), "sys_enter_%s", waits[i].name);
		snprintf(leave, sizeof(leave), "sys_exit_%s", waits[i].name);
		/* an architecture need not have all of them */
		result = attach_tracepoint(probes, probes->bpf->progs.on_wait, tracefs, enter,
					   waits[i].wait);
		if (result >= 0 && probes->options->turns)
			result = attach_tracepoint(probes, probes->bpf->progs.on_wait_end, tracefs,
						   leave, waits[i].wait);
		if (result == -ENOMEM)
			return result;
		attached += result >= 0;
		hidden |= result == -EACCES;
		if (result < 0 && result != -EACCES && result != -ENOENT)
			refused = -result;
	}
	/* where polls are probed, it is only noted who waits for events */
	if (!probes->options->turns)
		return 0;
	result = attached ? attach_restarts(probes, tracefs) : 0;
	if (result == -ENOMEM)
		return result;
	if (!attached && hidden)
		return sink_missing(sink, "turns",
				    "/sys/kernel/tracing cannot be read: turns of event loops are "
				    "not seen: run as root");
	if (!attached && refused) {
		snprintf(why, sizeof(why),
			 "the tracepoints of system calls cannot be used: perf_event_open: %s: "
			 "turns of event loops are not seen",
			 strerror(refused));
		return sink_missing(sink, "turns", why);
	}
	if (!attached)
		return sink_missing(sink, "turns",
				    "the kernel has no tracepoints of system calls "
				    "(CONFIG_FTRACE_SYSCALLS): turns of event loops are not seen");
	return 0;
}

/* A sample of each CPU, often enough that a span of the threshold gets one. */
static int attach_samples(struct span_probes *probes, struct record_sink sink)
{
	uint64_t needed = 2 * NS_PER_S / probes->options->threshold_ns;
	unsigned int frequency = needed > 1000 ? 1000 : (unsigned int)needed;

	if (frequency < probes->options->frequency)
		frequency = probes->options->frequency;
	return cpu_samples_attach(&probes->samples, probes->bpf->progs.on_sample, frequency, sink);
}

int span_probes_attach_polls(struct span_probes *probes, struct dwell_bpf *bpf,
			     const struct span_options *options, struct record_sink sink)
{
	*probes = (struct span_probes){.bpf = bpf, .options = options};
	return attach_probes(probes, sink);
}

int span_probes_attach(struct span_probes *probes, struct dwell_bpf *bpf,
		       const struct span_options *options, struct record_sink sink)
{
	int free_stacks = bpf_map__fd(bpf->maps.span_stacks_free);
	int result = 0;

	*probes = (struct span_probes){0};
	/* before the first span */
	for (__u32 i = 0; result >= 0 && i < bpf_map__max_entries(bpf->maps.span_stacks); i++)
		result = bpf_map_update_elem(free_stacks, NULL, &i, BPF_ANY);
	if (result >= 0)
		result = span_probes_attach_polls(probes, bpf, options, sink);
	if (result >= 0)
		result = attach_waits(probes, sink);
	bpf->bss->span_waits_seen = result >= 0;
	if (result >= 0)
		result = attach_samples(probes, sink);
	return result;
}

static bool is_ours(const struct span_probes *probes, int fd)
{
	for (size_t i = 0; i < probes->link_count; i++)
		if (bpf_link__fd(probes->links[i]) == fd)
			return true;
	for (size_t i = 0; i < probes->fd_count; i++)
		if (probes->fds[i] == fd)
			return true;
	for (size_t i = 0; i < probes->poll_fd_count; i++)
		if (probes->poll_fds[i] == fd)
			return true;
	return false;
}

/* With nothing open but what is attached, until we have closed it: then this is the last to. */
_Noreturn static void close_later(const struct span_probes *probes, int until)
{
	int last = until;
	char byte;

	prctl(PR_SET_NAME, "dwell-closer");
	for (size_t i = 0; i < probes->link_count; i++)
		last = bpf_link__fd(probes->links[i]) > last ? bpf_link__fd(probes->links[i])
							     : last;
	for (size_t i = 0; i < probes->fd_count; i++)
		last = probes->fds[i] > last ? probes->fds[i] : last;
	for (size_t i = 0; i < probes->poll_fd_count; i++)
		last = probes->poll_fds[i] > last ? probes->poll_fds[i] : last;
	for (int fd = 0; fd < last; fd++)
		if (fd != until && !is_ours(probes, fd))
			close(fd);
	syscall(SYS_close_range, last + 1, ~0U, 0);
	while (read(until, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/*
 * The kernel waits for a grace period whenever the last descriptor of a tracepoint's event is
 * closed, under one lock: more than a second for all. The end of dwell does not wait for that: a
 * process of its own holds them until then. Links of tracepoints are disabled immediately, before.
 */
static int hold_open(const struct span_probes *probes)
{
	int ends[2];
	pid_t pid;

	if (!probes->link_count || pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		/* not our child: it may outlive this detachment, and nothing waits for it */
		if (fork())
			_exit(0);
		close(ends[1]);
		close_later(probes, ends[0]);
	}
	close(ends[0]);
	forked_await(pid);
	return ends[1];
}

void span_probes_detach(struct span_probes *probes)
{
	int held = hold_open(probes), fd;

	for (size_t i = 0; i < probes->link_count; i++)
		bpf_link__destroy(probes->links[i]);
	for (size_t i = 0; i < probes->fd_count; i++)
		close(probes->fds[i]);
	while ((fd = span_probes_polls_next(probes)) >= 0)
		close(fd);
	cpu_samples_release(&probes->samples);
	if (held >= 0)
		close(held);
	free(probes->links);
	free(probes->fds);
	free(probes->poll_fds);
	for (size_t i = 0; i < probes->file_count; i++)
		close(probes->files[i].fd);
	free(probes->files);
	*probes = (struct span_probes){0};
}
