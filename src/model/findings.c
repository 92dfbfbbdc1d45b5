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
#define OF_REST	    10	 /* of the loss of all of a name: without it there is one that lost */
#define OF_WAIT	    2	 /* a partner that was busy, of a wait for it */
#define OF_THREADS  50	 /* a thread, of the loss: below, it does not count as one that lost */
#define OF_LARGE    1024 /* a share, of the loss: there are no more of those */
#define CULPRITS    64	 /* of a loss, before the largest are chosen: blame has 14 a thread */

/* What one process lost in one state, or the processes of a name. */
struct loss {
	const struct row **rows; /* of it: neighbours, in the order of by_process() */
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

static int by_process(const void *left, const void *right)
{
	const struct row *a = *(const struct row *const *)left;
	const struct row *b = *(const struct row *const *)right;
	int order = strcmp(a->process, b->process);

	if (order)
		return order;
	return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
				: (a->tid > b->tid) - (a->tid < b->tid);
}

/* Very many are the threads of one process, and come in the order of their tids. */
static void sort_by_process(const struct row **rows, size_t count)
{
	size_t sorted = 1;

	while (sorted < count && by_process(&rows[sorted - 1], &rows[sorted]) <= 0)
		sorted++;
	if (sorted < count)
		qsort(rows, count, sizeof(*rows), by_process);
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
	return total_ns >= (interval->end_ns - interval->start_ns) / OF_INTERVAL;
}

static bool is_large(uint64_t total_ns, uint64_t active_ns, const struct interval *interval)
{
	return may_be_large(total_ns, interval) && total_ns >= active_ns / OF_ACTIVE;
}

/* So many of the first rows are of the first one's process. */
static size_t count_process(const struct row **rows, size_t count)
{
	size_t same = 1;

	while (same < count && rows[same]->pid == rows[0]->pid)
		same++;
	return same;
}

static size_t count_name(const struct row **rows, size_t count)
{
	size_t same = 1;

	while (same < count &&
	       (rows[same]->pid == rows[0]->pid || !strcmp(rows[same]->process, rows[0]->process)))
		same++;
	return same;
}

static struct loss sum_up(const struct row **rows, size_t count, enum state state)
{
	struct loss loss = {.rows = rows, .count = count, .state = state};

	for (size_t i = 0; i < count; i++)
		loss.total_ns += rows[i]->states_ns[state];
	return loss;
}

/* Finds out what its threads did, too, where that matters. */
static bool loss_is_large(struct loss *loss, const struct interval *interval)
{
	if (!may_be_large(loss->total_ns, interval))
		return false;
	loss->active_ns = state_has_partner(loss->state) ? loss->total_ns : 0;
	for (size_t i = 0; i < loss->count; i++)
		loss->active_ns += row_active_ns(loss->rows[i]);
	return is_large(loss->total_ns, loss->active_ns, interval);
}

/* Processes of one name: a sentence for all, where together they lost much, or for each that did.
 */
static void add_program(struct loss losses[LOSSES_MAX], size_t *count, const struct row **rows,
			size_t row_count, const struct interval *interval, enum state state)
{
	struct loss all = sum_up(rows, row_count, state), most = {0}, one;
	bool together = loss_is_large(&all, interval), is_one_large;

	/* then no part of it is large either */
	if (!may_be_large(all.total_ns, interval))
		return;
	for (size_t i = 0; i < row_count; i += one.count) {
		one = sum_up(rows + i, count_process(rows + i, row_count - i), state);
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

static bool is_victim(const struct finding *finding, const struct blame *blame)
{
	if (blame->state != finding->state)
		return false;
	return finding->processes == 1 ? blame->victim.pid == finding->victim.pid
				       : !strcmp(blame->victim.process, finding->victim.process);
}

/* The victim's; where they are many, the large ones first, as `culprits` has room for few. */
static size_t list_shares(const struct blame **shares, const struct finding *finding,
			  const struct interval *interval)
{
	size_t count = 0, large = 0;

	for (size_t i = 0; i < interval->blame_count; i++)
		if (is_victim(finding, &interval->blames[i]))
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

static void add_causes(struct finding *finding, const struct blame **shares,
		       const struct interval *interval)
{
	size_t count = 0, share_count = list_shares(shares, finding, interval);
	struct culprit culprits[CULPRITS];

	for (size_t i = 0; i < share_count; i++) {
		const struct blame *blame = shares[i];

		/* a lock that no one has released yet may be none: see site_of_futex() */
		if (blame->state == STATE_LOCK && blame->goes_on)
			finding->total_ns -= blame->total_ns < finding->total_ns
						     ? blame->total_ns
						     : finding->total_ns;
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

static void name_victim(struct finding *finding, const struct loss *loss)
{
	const struct row *most = loss->rows[0];
	uint64_t enough_ns;

	for (size_t i = 0; i < loss->count; i++)
		if (loss->rows[i]->states_ns[loss->state] > most->states_ns[loss->state])
			most = loss->rows[i];
	/* where very many lose alike, none of them has much of it */
	enough_ns = most->states_ns[loss->state] / 2;
	if (enough_ns > loss->total_ns / OF_THREADS)
		enough_ns = loss->total_ns / OF_THREADS;
	for (size_t i = 0, count; i < loss->count; i += count) {
		count = count_process(loss->rows + i, loss->count - i);
		finding->processes +=
			sum_up(loss->rows + i, count, loss->state).total_ns > enough_ns;
	}
	for (size_t i = 0; i < loss->count; i++)
		finding->threads += loss->rows[i]->states_ns[loss->state] > enough_ns;
	memcpy(finding->victim.process, most->process, sizeof(most->process));
	memcpy(finding->victim.comm, most->process, sizeof(most->process));
	finding->victim.cgroup_id = most->cgroup_id;
	if (loss->rows[0]->pid != loss->rows[loss->count - 1]->pid) {
		if (finding->processes < 2)
			finding->processes = 2; /* each lost too little to count by itself */
		return;
	}
	finding->processes = 1;
	finding->victim.pid = most->pid;
	if (finding->threads == 1) {
		finding->victim.tid = most->tid;
		memcpy(finding->victim.comm, most->comm, sizeof(most->comm));
	}
}

/* Waits that go on have made some smaller than they were chosen for. */
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

int findings_find(struct findings *ret_findings, const struct interval *interval)
{
	cleanup_free const struct row **rows =
		reallocarray(NULL, interval->row_count + 1, sizeof(*rows));
	cleanup_free const struct blame **shares =
		reallocarray(NULL, interval->blame_count + 1, sizeof(*shares));
	struct loss losses[LOSSES_MAX];
	struct deadlock deadlock;
	size_t count = 0, row_count = 0, loss_count = 0;

	*ret_findings = (struct findings){.count = 0};
	if (!rows || !shares)
		return -ENOMEM;
	/* who made these threads wait is not there */
	if (session_has_caused(interval->session))
		return 0;
	for (size_t i = 0; i < interval->row_count; i++)
		if (interval->rows[i].pid && row_active_ns(&interval->rows[i]) +
						     interval->rows[i].states_ns[STATE_IPC] +
						     interval->rows[i].states_ns[STATE_NET])
			rows[row_count++] = &interval->rows[i];
	sort_by_process(rows, row_count);
	for (size_t i = 0; i < row_count; i += count) {
		count = count_name(rows + i, row_count - i);
		for (int state = 0; state < STATES; state++)
			if (is_candidate((enum state)state, session_has_blame(interval->session)))
				add_program(losses, &loss_count, rows + i, count, interval,
					    (enum state)state);
	}
	for (size_t i = 0; i < loss_count; i++) {
		struct finding finding = {.state = losses[i].state,
					  .total_ns = losses[i].total_ns,
					  .active_ns = losses[i].active_ns};

		name_victim(&finding, &losses[i]);
		add_causes(&finding, shares, interval);
		if (is_large(finding.total_ns, finding.active_ns, interval) &&
		    (!state_has_partner(finding.state) || has_busy_partner(&finding)))
			add_in_order(ret_findings, &finding);
	}
	if (deadlock_find(&deadlock, interval) < 0)
		return -ENOMEM;
	findings_put_deadlock(ret_findings, &deadlock);
	return 0;
}
