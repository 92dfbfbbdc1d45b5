// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/blame_sum.h"
#include "model/blame_thieves.h"

/* Below these a loss is how a program works, or too small to speak of. */
#define OF_ACTIVE   10	 /* a part in, of the process's active time */
#define OF_INTERVAL 20	 /* of the interval */
#define OF_LOSS	    10	 /* a culprit of it */
#define OF_REST	    10	 /* of the loss of all: without it there is one that lost */
#define OF_WAIT	    2	 /* a partner that was busy, of a wait for it */
#define OF_LARGE    1024 /* a share, of the loss: there are no more of those */
#define CULPRITS    64	 /* of a loss, before the largest are chosen: blame has 12 a thread */

/* A thread that may have lost time. */
struct loser {
	const struct row *row;
	const char *process; /* one name for all of its process's, whatever each had */
	uint64_t open_ns;    /* of STATE_LOCK, for a lock that no one has released yet */
};

/* What one thread or process lost in one state, or the processes of a name. */
struct loss {
	const struct loser *losers; /* neighbours: of a process, of a name */
	size_t count;
	enum state state;
	uint64_t total_ns, active_ns;
};

static bool is_candidate(enum state state, bool has_blame)
{
	return state == STATE_RUNNABLE || state == STATE_LOCK || state == STATE_DISK ||
	       state == STATE_SWAP || state == STATE_STOLEN || state == STATE_IRQ ||
	       (state_has_partner(state) && has_blame);
}

/* Such a lock may be none: see site_of_futex(). */
static bool is_open(const struct blame *blame)
{
	return blame->state == STATE_LOCK && blame->goes_on;
}

static uint64_t lost_ns(const struct loser *loser, enum state state)
{
	uint64_t total_ns = loser->row->states_ns[state];
	uint64_t open_ns = state == STATE_LOCK ? loser->open_ns : 0;

	return total_ns > open_ns ? total_ns - open_ns : 0;
}

/* In which a wait for a partner, which is no active time, counts too. */
static uint64_t active_ns(const struct row *row, enum state state, uint64_t lost)
{
	return row_active_ns(row) + (state_has_partner(state) ? lost : 0);
}

static int by_pid(const void *left, const void *right)
{
	const struct row *a = ((const struct loser *)left)->row;
	const struct row *b = ((const struct loser *)right)->row;

	if (a->pid != b->pid)
		return a->pid > b->pid ? 1 : -1;
	return a->tid != b->tid ? (a->tid > b->tid) - (a->tid < b->tid)
				: (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_process(const void *left, const void *right)
{
	int order = strcmp(((const struct loser *)left)->process,
			   ((const struct loser *)right)->process);

	return order ? order : by_pid(left, right);
}

/* Very many are the threads of one process, and come in the order of their tids. */
static void sort_losers(struct loser *losers, size_t count,
			int compare(const void *left, const void *right))
{
	size_t sorted = 1;

	while (sorted < count && compare(&losers[sorted - 1], &losers[sorted]) <= 0)
		sorted++;
	if (sorted < count)
		qsort(losers, count, sizeof(*losers), compare);
}

/* Keeps the `FINDINGS_MAX * 4` largest, so that those without a cause can be left out. */
#define LOSSES_MAX (FINDINGS_MAX * 4)

static void keep(struct loss losses[LOSSES_MAX], size_t *count, const struct loss *loss)
{
	size_t at = *count;

	if (at == LOSSES_MAX && losses[at - 1].total_ns >= loss->total_ns)
		return;
	if (at < LOSSES_MAX)
		(*count)++;
	else
		at--;
	for (; at && losses[at - 1].total_ns < loss->total_ns; at--)
		losses[at] = losses[at - 1];
	losses[at] = *loss;
}

/* Of the interval; what is less is not looked at any closer. */
static bool may_be_large(uint64_t total_ns, const struct interval *interval)
{
	return total_ns >= interval_length_ns(interval) / OF_INTERVAL;
}

static bool is_large(uint64_t total_ns, uint64_t active_ns, const struct interval *interval)
{
	return may_be_large(total_ns, interval) && total_ns >= active_ns / OF_ACTIVE;
}

/* So many of the first ones are of the first one's process. */
static size_t count_process(const struct loser *losers, size_t count)
{
	size_t same = 1;

	while (same < count && losers[same].row->pid == losers[0].row->pid)
		same++;
	return same;
}

static size_t count_name(const struct loser *losers, size_t count)
{
	size_t same = 1;

	while (same < count && !strcmp(losers[same].process, losers[0].process))
		same++;
	return same;
}

/* Its number was another process's before: that had another first thread. */
static bool is_used_again(const struct loser *losers, size_t count)
{
	return count > 1 && losers[1].row->tid == losers[1].row->pid;
}

/* The last first thread that began before the thread; the thread itself where there is none. */
static const struct row *leader_of(const struct loser *losers, size_t count, const struct row *row)
{
	const struct row *leader = row;

	for (size_t i = 0; i < count && losers[i].row->tid == losers[i].row->pid; i++)
		if (losers[i].row->start_ns <= row->start_ns)
			leader = losers[i].row;
	return leader;
}

/* Threads that ended before an exec() have the name of the program before: the present one is the
 * process's. `losers` are in the order of by_pid(). */
static void name_processes(struct loser *losers, size_t count)
{
	size_t same;

	for (size_t i = 0; i < count; i += same) {
		const struct row *named = losers[i].row;

		same = count_process(losers + i, count - i);
		for (size_t j = i; j < i + same; j++)
			if (named->exited && !losers[j].row->exited)
				named = losers[j].row;
		for (size_t j = i; j < i + same; j++)
			losers[j].process =
				is_used_again(losers + i, same)
					? leader_of(losers + i, same, losers[j].row)->process
					: named->process;
	}
}

static struct loss sum_up(const struct loser *losers, size_t count, enum state state)
{
	struct loss loss = {.losers = losers, .count = count, .state = state};

	for (size_t i = 0; i < count; i++)
		loss.total_ns += lost_ns(&losers[i], state);
	return loss;
}

/* Finds out what its threads did, too, where that matters. */
static bool loss_is_large(struct loss *loss, const struct interval *interval)
{
	if (!may_be_large(loss->total_ns, interval))
		return false;
	for (size_t i = 0; i < loss->count; i++)
		loss->active_ns += active_ns(loss->losers[i].row, loss->state,
					     lost_ns(&loss->losers[i], loss->state));
	return is_large(loss->total_ns, loss->active_ns, interval);
}

/* Processes of one name: a sentence for all, where together they lost much, or for each that did.
 */
static void add_program(struct loss losses[LOSSES_MAX], size_t *count, const struct loser *losers,
			size_t loser_count, const struct interval *interval, enum state state)
{
	struct loss all = sum_up(losers, loser_count, state), most = {0}, one;
	bool together = loss_is_large(&all, interval), is_one_large;

	/* then no part of it is large either */
	if (!may_be_large(all.total_ns, interval))
		return;
	for (size_t i = 0; i < loser_count; i += one.count) {
		one = sum_up(losers + i, count_process(losers + i, loser_count - i), state);
		is_one_large = loss_is_large(&one, interval);
		if (!together && is_one_large)
			keep(losses, count, &one);
		if (one.total_ns > most.total_ns)
			most = one;
	}
	if (together)
		keep(losses, count,
		     most.total_ns >= all.total_ns - all.total_ns / OF_REST ? &most : &all);
}

static bool has_blame_by_process(const struct interval *interval)
{
	size_t at = 0;

	/* rows that were folded are none of either */
	while (at < interval->blame_count && !interval->blames[at].victim.pid)
		at++;
	return at < interval->blame_count && !interval->blames[at].victim.tid;
}

/*
 * A thread that lost nearly all of what its process lost stands for itself, if its own part is
 * enough. Where it is not known whom that part is owed to, the others must have lost nothing.
 */
static void narrow_to_thread(struct loss *loss, const struct interval *interval)
{
	uint64_t rest_ns = has_blame_by_process(interval) ? 0 : loss->total_ns / OF_REST;

	for (size_t i = 0; i < loss->count; i++) {
		struct loss one = sum_up(&loss->losers[i], 1, loss->state);

		if (one.total_ns < loss->total_ns - rest_ns || !loss_is_large(&one, interval))
			continue;
		*loss = one;
		return;
	}
}

/* A culprit of one loss, with what it did, by state. */
struct culprit {
	struct finding_cause cause;
	uint64_t meanwhile_ns[WIRE_STATES];	  /* by wire_wait_site.state */
	struct wire_wait_site sites[WIRE_STATES]; /* the largest share's */
	uint64_t site_ns[WIRE_STATES];
};

static bool is_same(const struct finding_cause *a, const struct finding_cause *b)
{
	/* other processes of a name are one: twelve compilers are one culprit */
	return a->kind == b->kind && a->is_own == b->is_own && a->party.tid == b->party.tid &&
	       !strcmp(a->party.comm, b->party.comm) &&
	       (a->kind == WIRE_CULPRIT_THREAD || a->party.cgroup_id == b->party.cgroup_id);
}

/* Who, as the sentence names them: other processes whole, threads of the victim one by one. */
static struct finding_cause name_cause(const struct finding *finding, const struct blame *blame)
{
	struct finding_cause cause = {.kind = blame->kind};

	cause.party = blame->culprit;
	if (blame->kind != WIRE_CULPRIT_THREAD)
		return cause;
	/* of several processes: themselves, by name */
	if (finding->processes == 1 && blame->culprit.pid == finding->victim.pid) {
		/* who of them ran says little; who of them holds a lock says all, but for several
		 * of the name that all have: the process, by its number, would seem to be one */
		cause.is_own = blame_is_own(blame) || blame->state == STATE_RUNNABLE ||
			       (!blame->culprit.tid &&
				(!blame_has_holder(blame) ||
				 !strcmp(blame->culprit.comm, finding->victim.process)));
		if (cause.is_own)
			cause.party = (struct blame_party){.pid = blame->culprit.pid};
		return cause;
	}
	cause.party.tid = 0;
	memcpy(cause.party.comm, cause.party.process, sizeof(cause.party.comm));
	return cause;
}

static void add_share(struct culprit *culprits, size_t *count, const struct finding *finding,
		      const struct blame *blame)
{
	struct finding_cause cause = name_cause(finding, blame);
	struct culprit *culprit = culprits;
	size_t state = blame->meanwhile.state;

	while (culprit < culprits + *count && !is_same(&culprit->cause, &cause))
		culprit++;
	if (culprit == culprits + CULPRITS)
		return; /* one of very many: none of them is large */
	if (culprit == culprits + *count) {
		*culprit = (struct culprit){.cause = cause};
		(*count)++;
	}
	if (culprit->cause.party.pid != cause.party.pid)
		culprit->cause.party.pid = 0;
	culprit->cause.total_ns += blame->total_ns;
	if (!blame->has_meanwhile || state >= WIRE_STATES)
		return;
	culprit->meanwhile_ns[state] += blame->total_ns;
	blame_thief_add(&culprit->cause.thief, &blame->thief);
	if (blame->total_ns > culprit->site_ns[state]) {
		culprit->site_ns[state] = blame->total_ns;
		culprit->sites[state] = blame->meanwhile;
	}
}

/* What it did for more than half of the time; else there is no one thing to name. */
static void settle_meanwhile(struct culprit *culprit)
{
	for (size_t i = 0; i < WIRE_STATES; i++) {
		if (culprit->meanwhile_ns[i] <= culprit->cause.total_ns / 2)
			continue;
		culprit->cause.has_meanwhile = true;
		culprit->cause.meanwhile = culprit->sites[i];
		culprit->cause.meanwhile_ns = culprit->meanwhile_ns[i];
	}
	if (culprit->cause.meanwhile.state != WIRE_RUNNABLE ||
	    culprit->cause.thief.least_ns <= culprit->cause.total_ns / 2)
		culprit->cause.thief.least_ns = 0;
}

static int by_total(const void *left, const void *right)
{
	const struct culprit *a = left, *b = right;

	return (a->cause.total_ns < b->cause.total_ns) - (a->cause.total_ns > b->cause.total_ns);
}

static int by_share(const void *left, const void *right)
{
	const struct blame *a = *(const struct blame *const *)left;
	const struct blame *b = *(const struct blame *const *)right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->victim.tid > b->victim.tid) - (a->victim.tid < b->victim.tid);
}

/* Whose pid is the key's. */
static int find_pid(const void *key, const void *item)
{
	uint32_t pid = *(const uint32_t *)key, other = ((const struct loser *)item)->row->pid;

	return (pid > other) - (pid < other);
}

static bool is_victim(const struct finding *finding, const struct loss *loss,
		      const struct blame *blame)
{
	if (blame->state != finding->state)
		return false;
	if (finding->victim.tid && blame->victim.tid && finding->victim.tid != blame->victim.tid)
		return false;
	if (finding->processes == 1)
		return blame->victim.pid == finding->victim.pid;
	return bsearch(&blame->victim.pid, loss->losers, loss->count, sizeof(*loss->losers),
		       find_pid);
}

/* The victim's; where they are many, the large ones first, as `culprits` has room for few. */
static size_t list_shares(const struct blame **shares, const struct finding *finding,
			  const struct loss *loss, const struct interval *interval)
{
	size_t count = 0, large = 0;

	for (size_t i = 0; i < interval->blame_count; i++)
		if (is_victim(finding, loss, &interval->blames[i]))
			shares[count++] = &interval->blames[i];
	for (size_t i = 0; i < count; i++) {
		const struct blame *share = shares[i];

		if (share->total_ns < finding->total_ns / OF_LARGE)
			continue;
		shares[i] = shares[large];
		shares[large++] = share;
	}
	if (large)
		qsort(shares, large, sizeof(*shares), by_share);
	return count;
}

/*
 * Who ends a wait for a mutex or a lock on a file had it. Who lets others go on at a semaphore, or
 * thaws a file system, may never have had anything.
 */
static bool has_owner(enum wire_detail detail)
{
	return detail == WIRE_DETAIL_FUTEX_LOCK || detail == WIRE_DETAIL_FUTEX_PI ||
	       detail == WIRE_DETAIL_FILE_LOCK;
}

/* Of the process that lost most of it, as far as its reasons are known. */
static bool waits_without_owner(uint32_t pid, const struct interval *interval)
{
	uint64_t owned_ns = 0, other_ns = 0;

	for (size_t i = 0; i < interval->reason_count; i++) {
		const struct wire_reason *reason = &interval->reasons[i];

		if (reason->pid != pid || reason->site.state != WIRE_LOCK)
			continue;
		if (has_owner((enum wire_detail)reason->site.detail))
			owned_ns += reason->total_ns;
		else
			other_ns += reason->total_ns;
	}
	return other_ns > owned_ns;
}

static void add_causes(struct finding *finding, const struct loss *loss,
		       const struct blame **shares, const struct interval *interval)
{
	size_t count = 0, share_count = list_shares(shares, finding, loss, interval);
	struct culprit culprits[CULPRITS];

	for (size_t i = 0; i < share_count; i++) {
		const struct blame *blame = shares[i];

		if (blame->kind != WIRE_CULPRIT_UNKNOWN && blame->kind != WIRE_CULPRIT_OTHERS)
			add_share(culprits, &count, finding, blame);
	}
	if (finding->state == STATE_LOCK && share_count)
		finding->is_released = waits_without_owner(shares[0]->victim.pid, interval);
	if (count)
		qsort(culprits, count, sizeof(*culprits), by_total);
	for (size_t i = 0; i < count && finding->cause_count < FINDING_CAUSES; i++) {
		if (culprits[i].cause.total_ns < finding->total_ns / OF_LOSS)
			break;
		settle_meanwhile(&culprits[i]);
		finding->causes[finding->cause_count++] = culprits[i].cause;
	}
}

/* The partner that was waited for could not go on, or had much to do. */
static bool has_busy_partner(const struct finding *finding)
{
	uint64_t busy_ns = 0;

	for (size_t i = 0; i < finding->cause_count; i++) {
		const struct finding_cause *cause = &finding->causes[i];
		unsigned int state = cause->meanwhile.state;

		if (cause->kind == WIRE_CULPRIT_THREAD && cause->has_meanwhile &&
		    (state == WIRE_ON_CPU || state == WIRE_RUNNABLE || state == WIRE_DISK ||
		     state == WIRE_LOCK || state == WIRE_SWAP))
			busy_ns += cause->total_ns;
	}
	return busy_ns >= finding->total_ns / OF_WAIT;
}

/* However small its part of the loss is, who counts is whose time is in the sum. */
static void name_victim(struct finding *finding, const struct loss *loss)
{
	const struct loser *losers = loss->losers, *most = losers;
	uint32_t pid = 0;

	for (size_t i = 0; i < loss->count; i++) {
		if (!lost_ns(&losers[i], loss->state))
			continue;
		if (lost_ns(&losers[i], loss->state) > lost_ns(most, loss->state))
			most = &losers[i];
		finding->threads++;
		finding->processes += losers[i].row->pid != pid;
		pid = losers[i].row->pid;
	}
	memcpy(finding->victim.process, most->process, sizeof(most->row->process));
	memcpy(finding->victim.comm, most->process, sizeof(most->row->process));
	finding->victim.cgroup_id = most->row->cgroup_id;
	if (finding->processes > 1)
		return;
	finding->victim.pid = most->row->pid;
	if (finding->threads == 1) {
		finding->victim.tid = most->row->tid;
		/* what its process did besides is not its time */
		finding->active_ns = active_ns(most->row, finding->state, finding->total_ns);
		memcpy(finding->victim.comm, most->row->comm, sizeof(most->row->comm));
	}
}

static void add_in_order(struct findings *findings, const struct finding *finding)
{
	size_t at = findings->count;

	if (at == FINDINGS_MAX && findings->items[at - 1].total_ns >= finding->total_ns)
		return;
	if (at < FINDINGS_MAX)
		findings->count++;
	else
		at--;
	for (; at && findings->items[at - 1].total_ns < finding->total_ns; at--)
		findings->items[at] = findings->items[at - 1];
	findings->items[at] = *finding;
}

void findings_put_deadlock(struct findings *findings, const struct deadlock *deadlock)
{
	struct finding finding = {.deadlock = *deadlock,
				  .victim = deadlock->threads[0],
				  .state = STATE_LOCK,
				  .processes = 1,
				  .threads = (uint32_t)deadlock->count,
				  .total_ns = deadlock->total_ns,
				  .active_ns = deadlock->total_ns};

	if (!deadlock->count)
		return;
	if (deadlock->count > 1) {
		finding.victim.tid = 0;
		memcpy(finding.victim.comm, finding.victim.process, sizeof(finding.victim.comm));
	}
	if (findings->count < FINDINGS_MAX)
		findings->count++;
	memmove(&findings->items[1], &findings->items[0],
		(findings->count - 1) * sizeof(findings->items[0]));
	findings->items[0] = finding;
}

static int by_victim(const void *left, const void *right)
{
	const struct blame_party *a = &(*(const struct blame *const *)left)->victim;
	const struct blame_party *b = &(*(const struct blame *const *)right)->victim;

	return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
				: (a->tid > b->tid) - (a->tid < b->tid);
}

/* Of a thread, or with tid 0 a process, among shares in the order of by_victim(). */
static uint64_t find_open(const struct blame *const *open, size_t count, uint32_t pid, uint32_t tid)
{
	const struct blame wanted = {.victim = {.pid = pid, .tid = tid}}, *key = &wanted;
	const struct blame *const *share = bsearch(&key, open, count, sizeof(*open), by_victim);

	return share ? (*share)->total_ns : 0;
}

static int by_lock(const void *left, const void *right)
{
	const struct row *a = ((const struct loser *)left)->row;
	const struct row *b = ((const struct loser *)right)->row;

	if (a->states_ns[STATE_LOCK] != b->states_ns[STATE_LOCK])
		return a->states_ns[STATE_LOCK] < b->states_ns[STATE_LOCK] ? 1 : -1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Which of a process's threads still wait is not known: those that have waited longest. */
static void spread_open(struct loser *losers, size_t count, uint64_t open_ns)
{
	if (open_ns)
		qsort(losers, count, sizeof(*losers), by_lock);
	for (size_t i = 0; i < count && open_ns; i++) {
		uint64_t most_ns = losers[i].row->states_ns[STATE_LOCK];

		losers[i].open_ns = open_ns < most_ns ? open_ns : most_ns;
		open_ns -= losers[i].open_ns;
	}
}

/* `open` has room for all shares. */
static void set_open(struct loser *losers, size_t count, const struct blame **open,
		     const struct interval *interval)
{
	size_t open_count = 0, same;

	for (size_t i = 0; i < interval->blame_count; i++)
		if (is_open(&interval->blames[i]))
			open[open_count++] = &interval->blames[i];
	if (!open_count)
		return;
	qsort(open, open_count, sizeof(*open), by_victim);
	for (size_t i = 0; i < count; i += same) {
		same = count_process(losers + i, count - i);
		for (size_t j = i; j < i + same; j++)
			losers[j].open_ns =
				find_open(open, open_count, losers[j].row->pid, losers[j].row->tid);
		if (has_blame_by_process(interval))
			spread_open(losers + i, same,
				    find_open(open, open_count, losers[i].row->pid, 0));
	}
}

/* Those of the threads that may have lost anything, in the order of by_process(). */
static size_t list_losers(struct loser *losers, const struct interval *interval)
{
	size_t count = 0;

	for (size_t i = 0; i < interval->row_count; i++)
		if (interval->rows[i].pid && row_active_ns(&interval->rows[i]) +
						     interval->rows[i].states_ns[STATE_IPC] +
						     interval->rows[i].states_ns[STATE_NET])
			losers[count++] = (struct loser){.row = &interval->rows[i]};
	sort_losers(losers, count, by_pid);
	name_processes(losers, count);
	sort_losers(losers, count, by_process);
	return count;
}

int findings_find(struct findings *ret_findings, const struct interval *interval)
{
	cleanup_free struct loser *losers =
		reallocarray(NULL, interval->row_count + 1, sizeof(*losers));
	cleanup_free const struct blame **shares =
		reallocarray(NULL, interval->blame_count + 1, sizeof(*shares));
	struct loss losses[LOSSES_MAX];
	struct deadlock deadlock;
	size_t count = 0, loser_count, loss_count = 0;

	*ret_findings = (struct findings){.count = 0};
	if (!losers || !shares)
		return -ENOMEM;
	/* who made these threads wait is not there */
	if (session_has_caused(interval->session))
		return 0;
	loser_count = list_losers(losers, interval);
	set_open(losers, loser_count, shares, interval);
	for (size_t i = 0; i < loser_count; i += count) {
		count = count_name(losers + i, loser_count - i);
		for (int state = 0; state < STATES; state++)
			if (is_candidate((enum state)state, session_has_blame(interval->session)))
				add_program(losses, &loss_count, losers + i, count, interval,
					    (enum state)state);
	}
	for (size_t i = 0; i < loss_count; i++) {
		struct loss *loss = &losses[i];
		struct finding finding = {.state = loss->state};

		if (count_process(loss->losers, loss->count) == loss->count)
			narrow_to_thread(loss, interval);
		finding.total_ns = loss->total_ns;
		finding.active_ns = loss->active_ns;
		name_victim(&finding, loss);
		add_causes(&finding, loss, shares, interval);
		if (!state_has_partner(finding.state) || has_busy_partner(&finding))
			add_in_order(ret_findings, &finding);
	}
	if (deadlock_find(&deadlock, interval) < 0)
		return -ENOMEM;
	findings_put_deadlock(ret_findings, &deadlock);
	return 0;
}
