// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/counters.h"

#include <string.h>

#include "base/text.h"
#include "model/blame.h"
#include "model/counters_parts.h"
#include "model/losses.h"
#include "model/name_groups.h"

int counters_init(struct counters *counters, enum grouping by, size_t groups, size_t marks)
{
	size_t names = groups * COUNTERS_NAMES_EACH;
	int result;

	if (names < COUNTERS_NAMES_LEAST)
		names = COUNTERS_NAMES_LEAST;
	*counters = (struct counters){.by = by};
	result = leaders_init(&counters->all, 0, 0, COUNTERS_KINDS, marks);
	if (result >= 0)
		result = leaders_init(&counters->groups, groups, names, COUNTERS_KINDS, marks);
	if (result >= 0)
		result = leaders_init(&counters->blames, 2 * groups, 2 * names, 1, marks);
	return result < 0 ? result
			  : leaders_init(&counters->reasons, COUNTERS_REASONS_EACH * groups,
					 2 * names, 1, 0);
}

void counters_release(struct counters *counters)
{
	leaders_release(&counters->all);
	leaders_release(&counters->groups);
	leaders_release(&counters->blames);
	leaders_release(&counters->reasons);
	reason_marks_release(&counters->marks);
}

/*
 * The kernel's threads of which it has one for each CPU, queue or disk, named after that behind a
 * slash; workers come and go, each with a name of its own.
 */
static const char *const kernel_threads[] = {
	"cpuhp", "idle_inject", "irq",	 "jbd2",  "ksoftirqd", "kworker", "migration",
	"rcub",	 "rcuc",	"rcuog", "rcuop", "rcuos",     "xfsaild"};

/* Where they are of one kind they are one group. */
static const char *group_of_process(const char *process)
{
	const char *slash = strchr(process, '/');

	if (!*process)
		return "unknown";
	/* that is the rest */
	if (!strcmp(process, "other"))
		return "other (a process)";
	for (size_t i = 0; slash && i < ARRAY_SIZE(kernel_threads); i++)
		if (!strncmp(kernel_threads[i], process, (size_t)(slash - process)) &&
		    !kernel_threads[i][slash - process])
			return kernel_threads[i];
	return process;
}

const char *counters_group(const struct counters *counters, const struct session_info *session,
			   uint64_t cgroup_id, const char *process)
{
	const char *path;

	if (counters->by == BY_PROCESS)
		return group_of_process(process);
	path = session_cgroup(session, cgroup_id);
	return path ? path : "unknown";
}

/* Names that look alike once they are printable are one group: no two series have the same labels.
 */
static struct leader *group_at(struct counters *counters, const char *name)
{
	struct counters_key key;

	counters_key_set(&key, name);
	return key.is_cut ? &counters->groups.rest
			  : leaders_at(&counters->groups, key.bytes, key.length - 1);
}

bool counters_is_called(const char *name, const char *group)
{
	struct counters_key key;

	if (!strcmp(name, group))
		return true;
	counters_key_set(&key, name);
	return !key.is_cut && !strcmp(key.bytes, group);
}

static void count_row(struct leader *group, const struct row *row)
{
	for (int i = 0; i < STATES; i++)
		group->fresh[i] += row->states_ns[i];
	for (int i = 0; row->latency_count && i < WIRE_LATENCY_BUCKETS; i++)
		group->fresh[COUNTERS_LATENCY + i] += row->latency[i];
	group->fresh_weight += row_active_ns(row);
	group->fresh_gauge += !row->exited;
}

/* Rows come by thread id, so that neighbours are often of one group. */
static void count_rows(struct counters *counters, const struct interval *interval)
{
	struct counters_near near[COUNTERS_REASONS_NEAR] = {0};
	struct leader *group = NULL;
	const struct row *last = NULL;

	/* without memory it is empty, and the reasons are those of the interval's ends */
	(void)!reason_marks_turn(&counters->marks, interval);
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		bool is_same =
			last && (counters->by == BY_PROCESS ? !strcmp(last->process, row->process)
							    : last->cgroup_id == row->cgroup_id);

		if (!is_same) {
			const char *name = counters_group(counters, interval->session,
							  row->cgroup_id, row->process);

			group = group_at(counters, name);
		}
		count_row(group, row);
		counters_count_reasons(counters, near, group, row, interval->session);
		count_row(&counters->all.rest, row);
		counters->unmeasured |= row->unmeasured;
		last = row;
	}
}

void counters_key_set(struct counters_key *key, const char *text)
{
	key->length = 0;
	key->is_cut = false;
	counters_key_add(key, text);
}

/* Not by printf(), as a busy machine has 50,000 an interval. */
void counters_key_add(struct counters_key *key, const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (bytes > COUNTERS_KEY_BYTES - key->length) {
		key->is_cut = true;
		return;
	}
	memcpy(key->bytes + key->length, text, bytes);
	key->length += text_tame(key->bytes + key->length, bytes - 1, "%s");
	key->bytes[key->length++] = '\0';
}

/*
 * Where the shares of a victim's group because of a culprit's are counted. By the addresses of the
 * two names, which are those of many threads.
 */
struct blame_near {
	const char *victim, *culprit;
	enum state state;
	enum wire_culprit_kind kind;
	struct leader *leader; /* NULL: the names are too long */
};

/* A power of two. Groups that wait for each other are fewer in an interval, as a rule. */
#define BLAME_NEAR 1024

/* Of one interval. */
struct blame_course {
	const struct interval *interval;
	struct name_groups names;
	struct blame_near near[BLAME_NEAR];
};

static struct leader *find_blame(struct counters *counters, const struct blame_near *of)
{
	char state[2] = {(char)('A' + of->state), '\0'};
	struct counters_key key;

	_Static_assert(STATES < 'z' - 'A', "a character each");
	counters_key_set(&key, of->victim);
	counters_key_add(&key, culprit_key(of->kind));
	counters_key_add(&key, of->culprit);
	counters_key_add(&key, state);
	return key.is_cut ? NULL : leaders_at(&counters->blames, key.bytes, key.length - 1);
}

/*
 * Whom a wait is owed to is known when it ends: until then it is not counted, as what has been
 * counted cannot be taken back. What it owes of earlier intervals comes with its end.
 */
static void count_blame(struct counters *counters, struct blame_course *course,
			const struct blame *blame, const char *victim)
{
	uint64_t total_ns = blame->total_ns + blame->earlier_ns;
	struct blame_near of = {
		.victim = victim, .culprit = "", .state = blame->state, .kind = blame->kind};
	struct blame_near *near;

	if (blame->goes_on || !state_is_lost(blame->state))
		return;
	if (blame->kind == WIRE_CULPRIT_THREAD)
		of.culprit = counters_group(
			counters, course->interval->session,
			counters->by == BY_CGROUP
				? name_groups_cgroup(&course->names, course->interval, blame)
				: 0,
			blame->culprit.process);
	near = &course->near[((uintptr_t)of.victim * 31 + (uintptr_t)of.culprit +
			      (size_t)of.state * 7 + (size_t)of.kind) /
			     16 % BLAME_NEAR];
	if (near->victim != of.victim || near->culprit != of.culprit || near->state != of.state ||
	    near->kind != of.kind) {
		*near = of;
		near->leader = find_blame(counters, &of);
	}
	if (!near->leader)
		return;
	near->leader->fresh[0] += total_ns;
	near->leader->fresh_weight += total_ns;
}

struct blame_key counters_blame_key(const struct leader *leader)
{
	struct blame_key key = {.victim = leader->name};

	key.kind = key.victim + strlen(key.victim) + 1;
	key.culprit = key.kind + strlen(key.kind) + 1;
	key.state = (enum state)(key.culprit[strlen(key.culprit) + 1] - 'A');
	return key;
}

static void count_blames(struct counters *counters, const struct interval *interval)
{
	struct blame_course course = {.interval = interval};
	const char *victim = NULL;

	for (size_t i = 0; i < interval->blame_count; i++) {
		const struct blame *blame = &interval->blames[i], *last = blame - 1;

		/* all of a victim is in one place where nothing has sorted it */
		if (!i || last->victim.tid != blame->victim.tid ||
		    last->victim.start != blame->victim.start)
			victim = counters_group(counters, interval->session,
						blame->victim.cgroup_id, blame->victim.process);
		count_blame(counters, &course, blame, victim);
	}
	name_groups_release(&course.names);
}

/* Also of a name that was forgotten and is there again: its counts are new ones. */
static void begin_new_names(struct counters *counters, const struct interval *interval)
{
	counters->groups.begin_ns = interval->start_realtime_ns;
	counters->reasons.begin_ns = interval->start_realtime_ns;
	counters->blames.begin_ns = interval->start_realtime_ns;
}

void counters_add(struct counters *counters, const struct interval *interval)
{
	if (!counters->intervals++) {
		counters->start_ns = interval->start_ns;
		counters->start_realtime_ns = interval->start_realtime_ns;
	}
	counters->end_ns = interval->end_ns;
	counters->end_realtime_ns =
		interval->start_realtime_ns + interval->end_ns - interval->start_ns;
	losses_add(&counters->losses, &interval->losses);
	counters->self_cpu_ns += interval->self_cpu_ns;
	counters->snapshot_ns = interval->snapshot_ns;
	begin_new_names(counters, interval);
	count_rows(counters, interval);
	count_blames(counters, interval);
	leaders_turn(&counters->all, interval->end_ns);
	leaders_elect(&counters->groups, interval->end_ns);
	counters_settle_reasons(counters, interval->end_ns);
	leaders_book(&counters->groups);
	leaders_book(&counters->reasons);
	leaders_turn(&counters->blames, interval->end_ns);
}

void counters_set_mark(struct counters *counters, size_t mark)
{
	leaders_set_mark(&counters->all, mark);
	leaders_set_mark(&counters->groups, mark);
	leaders_set_mark(&counters->blames, mark);
}
