// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Because of whom threads waited, for people: who lost most first, and what they lost it to; or who
 * cost most, and whom.
 */
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "model/blame_losses.h"
#include "model/blame_sum.h"
#include "model/blame_thieves.h"
#include "model/reason.h"
#include "view/blame.h"
#include "view/findings.h"
#include "view/view.h"

#define NAME_COLUMNS   15
#define VICTIM_COLUMNS 23
#define PATH_COLUMNS   40
#define CULPRITS_SHOWN 5
#define BECAUSE_AT     (VICTIM_COLUMNS + 38) /* where the last column begins */
#define BECAUSE_MIN    36		     /* columns; with less it is below */
#define BECAUSE_BELOW  4
#define BECAUSE_BYTES  384

const char *blame_cgroup(const struct blame_party *party, const struct session_info *session)
{
	const char *path = session ? session_cgroup(session, party->cgroup_id) : NULL;

	return path ? path : "unknown";
}

void blame_party_name(char *into, size_t room, const struct blame_party *party,
		      const struct session_info *session)
{
	char name[128];

	if (!party->pid && !*party->comm) {
		text_middle(into, room, blame_cgroup(party, session), PATH_COLUMNS);
		return;
	}
	text_printable(name, sizeof(name), party->comm, NAME_COLUMNS);
	/* of another pid namespace there is only the name */
	if (party->pid)
		snprintf(into, room, "%s %u", name, party->tid ? party->tid : party->pid);
	else
		snprintf(into, room, "%s", name);
}

/*
 * Where `by_thread`. Threads that the kernel side had no room for are their process, whose number
 * would be that of its first one.
 */
static void name_among(bool by_thread, char *into, size_t room, const struct blame_party *party,
		       const struct session_info *session)
{
	bool are_threads = by_thread && !party->tid && party->pid;
	int used = snprintf(into, room, "%s", are_threads ? "threads of " : "");

	blame_party_name(into + used, room - (size_t)used, party, session);
}

void blame_loss_name(char *into, size_t room, const struct blame_loss *loss, enum blame_side side,
		     const struct session_info *session)
{
	name_among(loss->shares[0]->victim.tid, into, room, blame_loss_party(loss, side), session);
}

void blame_limit_of(char *into, size_t room, const char *path, const char *name)
{
	char shown[192];

	text_middle(shown, sizeof(shown), path ? path : name, PATH_COLUMNS);
	if (path)
		snprintf(into, room, "cpu.max of %s", shown);
	else if (*name)
		snprintf(into, room, "the CPU quota of %s", shown);
	else
		snprintf(into, room, "its CPU budget");
}

void blame_limit_name(char *into, size_t room, const struct blame_party *limit,
		      const struct session_info *session)
{
	blame_limit_of(into, room, session_cgroup(session, limit->cgroup_id), limit->comm);
}

/* ", meanwhile disk fsync", ", meanwhile runnable (backup-tar 4711 ran)"; empty: not known. */
static void describe_meanwhile(char *into, size_t room, const struct blame *blame, bool native)
{
	const struct blame_thief *thief = blame_thief_of(blame);
	char reason[REASON_BYTES], name[128];

	*into = '\0';
	if (!blame->has_meanwhile)
		return;
	reason_format(reason, sizeof(reason), blame->meanwhile, native);
	if (thief && *thief->party.comm) {
		blame_party_name(name, sizeof(name), &thief->party, NULL);
		snprintf(reason, sizeof(reason), "(%.40s ran)", name);
	}
	snprintf(into, room, ", meanwhile %s%s%s", meanwhile_key(blame->meanwhile.state),
		 *reason ? " " : "", reason);
}

const char *blame_absent(const struct session_info *session)
{
	return session->is_live ? "because of whom threads waited is not measured"
				: "because of whom threads waited is not recorded";
}

/* "goes on, two 8289 has the lock"; as much as is known of a wait that has no end yet. */
static void describe_holder(char *into, size_t room, const struct blame *blame)
{
	char name[128];

	blame_party_name(name, sizeof(name), &blame->holder, NULL);
	snprintf(into, room, "goes on, %s has the lock",
		 blame->holder.tid == blame->victim.tid ? "and it" : name);
}

void blame_describe_named(char *into, size_t room, const struct blame *blame, const char *name,
			  bool native)
{
	static const char *const words[WIRE_CULPRIT_KINDS_COUNT] = {
		[WIRE_CULPRIT_UNKNOWN] = "not known",
		[WIRE_CULPRIT_IRQ] = "interrupts",
		[WIRE_CULPRIT_STEAL] = "stolen by the hypervisor",
		[WIRE_CULPRIT_IDLE] = "an idle CPU that had to wake up",
		[WIRE_CULPRIT_TIMER] = "ended by a timer",
		[WIRE_CULPRIT_DEVICE] = "ended by a disk",
		[WIRE_CULPRIT_OTHERS] = "others",
	};
	char meanwhile[REASON_BYTES + 32];

	if (blame->kind != WIRE_CULPRIT_THREAD) {
		bool is_net = blame->state == STATE_NET || blame->state == STATE_IDLE;

		if (blame->holder.tid) {
			describe_holder(into, room, blame);
			return;
		}
		if (blame->kind == WIRE_CULPRIT_DEVICE && *name) {
			snprintf(into, room, "ended by %s", name);
			return;
		}
		if (blame->kind == WIRE_CULPRIT_THROTTLE) {
			snprintf(into, room, "throttled: %s",
				 *name ? name : "its CPU budget was used up");
			return;
		}
		snprintf(into, room, "%s",
			 blame->goes_on					? "goes on"
			 : blame->kind == WIRE_CULPRIT_DEVICE && is_net ? "ended by the network"
									: words[blame->kind]);
		return;
	}
	describe_meanwhile(meanwhile, sizeof(meanwhile), blame, native);
	snprintf(into, room, "%s %s%s",
		 blame->state == STATE_RUNNABLE ? "ran instead:" : "ended by", name, meanwhile);
}

/* How many a name stands for. */
static void add_several(char *into, size_t room, size_t parties, bool is_least)
{
	size_t used = strlen(into);

	if (parties > 1)
		snprintf(into + used, room - used, " (%zu%s of that name)", parties,
			 is_least ? " or more" : "");
	else if (is_least)
		snprintf(into + used, room - used, " (several of that name)");
}

static void describe_share(char *into, size_t room, const struct blame *blame,
			   const struct session_info *session)
{
	char name[192], comm[128];

	*name = '\0';
	if (blame->kind == WIRE_CULPRIT_DEVICE) {
		text_printable(name, sizeof(name), blame->culprit.comm, NAME_COLUMNS);
	} else if (blame->kind == WIRE_CULPRIT_THROTTLE) {
		if (*blame->culprit.comm)
			blame_limit_name(name, sizeof(name), &blame->culprit, session);
	} else if (blame_is_own(blame)) {
		snprintf(name, sizeof(name), "its own threads");
	} else if (blame_has_holder(blame) && !blame->victim.tid) {
		text_printable(comm, sizeof(comm), blame->culprit.comm, NAME_COLUMNS);
		snprintf(name, sizeof(name), "its own %s", comm);
	} else {
		name_among(blame->victim.tid, name, sizeof(name), &blame->culprit, session);
	}
	blame_describe_named(into, room, blame, name, session_is_native(session));
}

void blame_describe(char *into, size_t room, const struct blame *blame,
		    const struct session_info *session)
{
	describe_share(into, room, blame, session);
	add_several(into, room, 1, blame_is_of_several(blame) && !blame->culprit.pid);
}

/* The other way round: `http-0 8622, while it ran`, `http-0 8622, meanwhile disk fsync`. */
static void describe_victim(char *into, size_t room, const struct blame *blame,
			    const struct session_info *session)
{
	char name[192], meanwhile[REASON_BYTES + 32];

	if (blame_is_own(blame))
		snprintf(name, sizeof(name), "its own threads");
	else
		blame_party_name(name, sizeof(name), &blame->victim, session);
	describe_meanwhile(meanwhile, sizeof(meanwhile), blame, session_is_native(session));
	snprintf(into, room, "%s%s", name, meanwhile);
}

/* The last column; what a terminal has not the room for, on a line of its own. */
static void write_because(const struct view *view, const char *because)
{
	char shown[BECAUSE_BYTES];
	size_t at = BECAUSE_AT;

	size_t width = text_printable(shown, sizeof(shown), because, sizeof(shown));

	if (view->columns && view->columns < BECAUSE_AT + BECAUSE_MIN &&
	    view->columns < BECAUSE_AT + width) {
		at = BECAUSE_BELOW;
		output_format(view->out, "\n%*s", (int)at, "");
	} else {
		output_string(view->out, "  ");
	}
	text_wrapped(view->out, shown, at, view->columns);
	output_char(view->out, '\n');
}

static void write_share(const struct view *view, const struct blame *blame, uint64_t whole_ns,
			const struct session_info *session, const struct blame_line *line)
{
	char because[BECAUSE_BYTES], time[16];
	struct blame named = *blame;

	/* of several there is the name, and how many they are */
	if (line->parties > 1 && view->blame == BLAME_CAUSED)
		named.victim.pid = named.victim.tid = 0;
	else if (line->parties > 1)
		named.culprit.pid = named.culprit.tid = 0;
	if (view->blame == BLAME_CAUSED && blame->kind == WIRE_CULPRIT_THREAD)
		describe_victim(because, sizeof(because), &named, session);
	else
		describe_share(because, sizeof(because), &named, session);
	duration_format(time, sizeof(time), blame->total_ns);
	output_format(view->out, "%8s %6.1f%%", time,
		      100.0 * (double)blame->total_ns / (double)whole_ns);
	add_several(because, sizeof(because), line->parties, line->is_least && !named.culprit.pid);
	write_because(view, because);
}

static void write_padded(struct output *out, const char *text, size_t columns)
{
	char shown[VICTIM_COLUMNS * 4 + 1];
	size_t width = text_middle(shown, sizeof(shown), text, columns);

	output_string(out, shown);
	for (; width < columns; width++)
		output_char(out, ' ');
}

/* The small ones are one line. */
static void write_loss(const struct view *view, const struct blame_loss *loss,
		       const struct session_info *session)
{
	struct blame rest = {.kind = WIRE_CULPRIT_OTHERS};
	struct blame_line lines[CULPRITS_SHOWN + 1];
	struct output *out = view->out;
	char name[192], time[16];
	size_t count = blame_loss_lines(loss, view->blame, lines, CULPRITS_SHOWN, &rest.total_ns);

	blame_loss_name(name, sizeof(name), loss, view->blame, session);
	duration_format(time, sizeof(time), loss->total_ns);
	write_padded(out, name, VICTIM_COLUMNS);
	output_format(out, " %8s  %-8s ", time, state_info[loss->shares[0]->state].key);
	if (rest.total_ns)
		lines[count++] = (struct blame_line){
			.share = &rest, .parties = 1, .total_ns = rest.total_ns};
	for (size_t i = 0; i < count; i++) {
		struct blame share = *lines[i].share;

		share.total_ns = lines[i].total_ns;
		if (i)
			output_format(out, "%*s", VICTIM_COLUMNS + 20, "");
		write_share(view, &share, loss->total_ns, session, &lines[i]);
	}
}

/*
 * An empty table would say that all is well: what the time was where none was lost, and that a
 * process was stopped, which is no loss but seldom meant.
 */
static void write_unlost(const struct view *view, const struct interval *interval, bool any_lost)
{
	uint64_t totals[STATES] = {0}, whole_ns = 0;
	int most = STATE_STOPPED;

	for (size_t i = 0; i < interval->row_count; i++)
		for (int state = 0; state < STATES; state++) {
			totals[state] += interval->rows[i].states_ns[state];
			whole_ns += interval->rows[i].states_ns[state];
		}
	if (!whole_ns || (any_lost && totals[STATE_STOPPED] < whole_ns / 10))
		return;
	for (int state = 0; state < STATES && !any_lost; state++)
		most = totals[state] > totals[most] ? state : most;
	output_format(view->out, "%s%s %.1f %% of the time%s\n",
		      any_lost ? "" : "Nothing was lost: ", state_info[most].key,
		      100.0 * (double)totals[most] / (double)whole_ns,
		      state_is_lost((enum state)most) || most <= STATE_KERNEL
			      ? ""
			      : "; -a shows what ended it");
}

/* Of victims, or culprits: not of rows, of which many have lost nothing. */
static void write_title(const struct view *view, const struct interval *interval,
			const struct blame_losses *losses, size_t shown)
{
	size_t total = blame_losses_parties(losses, losses->count);
	char noun[16];

	snprintf(noun, sizeof(noun), "%s%s", view->blame == BLAME_CAUSED ? "culprit" : "victim",
		 text_plural(total));
	page_title(view, interval, session_has_blame(interval->session) ? noun : NULL, total,
		   blame_losses_parties(losses, shown));
}

static void write_heading(const struct view *view, const char *party, const char *total,
			  const char *because)
{
	output_format(view->out, "%-*s %8s  %-8s %8s %7s", VICTIM_COLUMNS, party, total, "STATE",
		      "TIME", "SHARE");
	write_because(view, because);
}

int page_blame(const struct view *view, const struct interval *interval)
{
	cleanup_blame_losses struct blame_losses losses = {0};
	bool is_caused = view->blame == BLAME_CAUSED;
	const char *total = view->show_idle ? "TOTAL" : is_caused ? "COST" : "LOST";
	size_t shown;

	if (blame_losses_find(&losses, interval, view->blame, view->show_idle) < 0)
		return -ENOMEM;
	shown = view->order.top && view->order.top < losses.count ? view->order.top : losses.count;
	write_title(view, interval, &losses, shown);
	if (!session_has_blame(interval->session))
		output_format(view->out, "%s\n", blame_absent(interval->session));
	else if (view->findings && !is_caused && interval->findings)
		findings_write(view->out, interval->findings, interval->session, view->columns);
	if (session_has_blame(interval->session) && shown)
		write_heading(view, is_caused ? "CULPRIT" : "VICTIM", total,
			      is_caused ? "TO" : "BECAUSE OF");
	for (size_t i = 0; i < shown; i++)
		write_loss(view, &losses.items[i], interval->session);
	if (session_has_blame(interval->session) && !is_caused && !view->show_idle)
		write_unlost(view, interval, shown);
	output_char(view->out, '\n');
	return 0;
}
