// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/wait_sites.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/identities.h"
#include "capture/wait_places.h"

#define QUESTIONS_MAX 16384
#define ASKED_MAX     128 /* of the helper at once */
/*
 * Reading a large file's symbols takes long; a snapshot must not wait for many of them. The first
 * round may: it is about the waits that began before dwell, which are right then from the first
 * interval on. None waits long for a single question, of a file or a memory that does not answer.
 */
#define FIRST_ANSWER_NS (2 * NS_PER_S)
#define SINGLE_NS	(20 * NS_PER_MS)
#define FIRST_SINGLE_NS NS_PER_S

struct wait_sites {
	struct helper *helper;
	int sites_fd, answers_fd;
	unsigned int site_count;
	struct site_question questions[QUESTIONS_MAX];
	unsigned int question_count;
	/* in the helper, by number modulo ASKED_MAX; those before `answered` are done */
	struct places_question asked[ASKED_MAX];
	struct wait_lock locks[ASKED_MAX];
	unsigned int lock_count;
	uint64_t first, next; /* numbers: the first unanswered one; the next to be given */
	bool answered_once;
	uint32_t answered[MAX_SITE_ANSWERS]; /* tids */
	unsigned int answered_count;
	struct identities
		hostile; /* processes over which a helper was lost: not asked about again */
};

struct wait_sites *wait_sites_new(struct error *error)
{
	struct wait_sites *sites = calloc(1, sizeof(*sites));

	if (!sites) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	sites->first = sites->next = 1;
	if (helper_start(&sites->helper, &places_work, NULL, error) < 0) {
		free(sites);
		return NULL;
	}
	return sites;
}

void wait_sites_use(struct wait_sites *sites, int sites_fd, int answers_fd)
{
	sites->sites_fd = sites_fd;
	sites->answers_fd = answers_fd;
}

void wait_sites_free(struct wait_sites *sites)
{
	if (!sites)
		return;
	helper_end(sites->helper);
	identities_release(&sites->hostile);
	free(sites);
}

static bool ask(struct wait_sites *sites, const struct places_question *question)
{
	if (sites->next - sites->first == ASKED_MAX)
		return false;
	if (!helper_ask(sites->helper, question, sizeof(*question)))
		return false;
	sites->asked[sites->next++ % ASKED_MAX] = *question;
	return true;
}

void wait_sites_preload(struct wait_sites *sites, uint32_t pid)
{
	const struct places_question question = {.kind = PLACES_PRELOAD, .site.key.pid = pid};

	if (!ask(sites, &question)) {
		/* its first questions take longer */
	}
}

static bool is_hostile(const struct wait_sites *sites, const struct site_key *key)
{
	return identities_find(&sites->hostile, key->pid, key->process_start_ns) != IDENTITY_NONE;
}

void wait_sites_ask(struct wait_sites *sites, const struct site_question *question)
{
	/* each may have left a helper behind that the kernel holds */
	if (sites->hostile.count < WAIT_SITES_HOSTILE_MAX &&
	    sites->question_count < QUESTIONS_MAX && !is_hostile(sites, &question->key))
		memcpy(&sites->questions[sites->question_count++], question,
		       question->header.size < sizeof(*question) ? question->header.size
								 : sizeof(*question));
}

bool wait_sites_ask_lock(struct wait_sites *sites, uint32_t pid, uint32_t tid, uint64_t address,
			 uint64_t instant_ns)
{
	const struct places_question question = {.kind = PLACES_LOCK,
						 .site = {.key.pid = pid,
							  .tid = tid,
							  .since_ns = instant_ns,
							  .futex.address = address}};

	return sites->hostile.count < WAIT_SITES_HOSTILE_MAX &&
	       !is_hostile(sites, &question.site.key) && ask(sites, &question);
}

static void take_lock(struct wait_sites *sites, const struct site_question *question,
		      const struct places_answer *found)
{
	if (!found->has_lock || sites->lock_count == ARRAY_SIZE(sites->locks))
		return;
	sites->locks[sites->lock_count].tid = question->tid;
	sites->locks[sites->lock_count].instant_ns = question->since_ns;
	memcpy(sites->locks[sites->lock_count++].words, found->lock, sizeof(found->lock));
}

bool wait_sites_take_lock(struct wait_sites *sites, struct wait_lock *ret_lock)
{
	if (!sites->lock_count)
		return false;
	*ret_lock = sites->locks[--sites->lock_count];
	return true;
}

/* Most are of processes that have ended; the others' are asked for again. */
static void forget_sites(struct wait_sites *sites)
{
	struct site_key key;

	while (!bpf_map_get_next_key(sites->sites_fd, NULL, &key) &&
	       !bpf_map_delete_elem(sites->sites_fd, &key))
		;
	sites->site_count = 0;
}

static void keep_site(struct wait_sites *sites, const struct site_key *key, const struct site *site)
{
	if (sites->site_count == MAX_SITES)
		forget_sites(sites);
	if (!bpf_map_update_elem(sites->sites_fd, key, site, BPF_NOEXIST))
		sites->site_count++;
}

/* The operation is what the hook knew, and did not rely on. */
static uint32_t verdict_of(const struct site_question *question, uint32_t found)
{
	return found == SITE_OPERATION && !question->is_of_events
		       ? site_of_operation(&question->futex)
		       : found;
}

/* The helper has read hostile bytes: nothing that it says reaches further than the process asked
 * about. */
static void take(struct wait_sites *sites, const struct site_question *question,
		 const struct places_answer *found)
{
	struct site_answer answer = {.since_ns = question->since_ns,
				     .verdict = verdict_of(question, found->verdict)};

	for (uint32_t i = 0; i < found->count && i < ARRAY_SIZE(found->places); i++) {
		const struct site_key *key = &found->places[i].key;

		if (key->pid == question->key.pid && key->exec_id == question->key.exec_id &&
		    key->process_start_ns == question->key.process_start_ns &&
		    found->places[i].site.verdict < SITE_VERDICTS)
			keep_site(sites, key, &found->places[i].site);
	}
	if (found->verdict == SITE_UNKNOWN || found->verdict >= SITE_VERDICTS ||
	    sites->answered_count == MAX_SITE_ANSWERS)
		return;
	if (!bpf_map_update_elem(sites->answers_fd, &question->tid, &answer, BPF_ANY))
		sites->answered[sites->answered_count++] = question->tid;
}

/* Sends what there is room for. */
static void ask_more(struct wait_sites *sites, bool *fresh)
{
	unsigned int done = 0;

	while (done < sites->question_count) {
		struct places_question question = {
			.kind = PLACES_WALK, .fresh = *fresh, .site = sites->questions[done]};

		if (!is_hostile(sites, &question.site.key) && !ask(sites, &question))
			break;
		*fresh = false;
		done++;
	}
	sites->question_count -= done;
	memmove(sites->questions, sites->questions + done,
		sites->question_count * sizeof(sites->questions[0]));
}

void wait_sites_answer(struct wait_sites *sites, uint64_t deadline_ns)
{
	bool first = !sites->answered_once, fresh = true;

	if (first)
		deadline_ns = clock_monotonic_ns() + FIRST_ANSWER_NS;
	ask_more(sites, &fresh);
	/* what is no answer is taken too, or the descriptor would stay readable */
	if (sites->first == sites->next) {
		static uint8_t bytes[HELPER_MESSAGE_BYTES];
		uint64_t number;
		size_t length;

		(void)helper_next(sites->helper, 0, 0, &number, bytes, &length);
	}
	while (sites->first < sites->next) {
		static uint8_t bytes[HELPER_MESSAGE_BYTES];
		struct places_answer found;
		const struct places_question *question;
		uint64_t number;
		size_t length;
		enum helper_state state =
			helper_next(sites->helper, deadline_ns, first ? FIRST_SINGLE_NS : SINGLE_NS,
				    &number, bytes, &length);

		if (state == HELPER_NONE)
			break;
		question = &sites->asked[number % ASKED_MAX];
		if (state == HELPER_LOST &&
		    identities_add(&sites->hostile, question->site.key.pid,
				   question->site.key.process_start_ns) == IDENTITY_NONE) {
			/* without memory: it costs another helper */
		}
		if (state == HELPER_ANSWERED && length == sizeof(found)) {
			memcpy(&found, bytes, sizeof(found));
			if (question->kind == PLACES_LOCK)
				take_lock(sites, &question->site, &found);
			else
				take(sites, &question->site, &found);
		}
		sites->first = number + 1;
		sites->answered_once |= question->kind == PLACES_WALK;
		ask_more(sites, &fresh);
	}
}

int wait_sites_descriptor(const struct wait_sites *sites)
{
	return helper_descriptor(sites->helper);
}

void wait_sites_forget(struct wait_sites *sites)
{
	for (unsigned int i = 0; i < sites->answered_count; i++)
		bpf_map_delete_elem(sites->answers_fd, &sites->answered[i]);
	sites->answered_count = 0;
}

size_t wait_sites_hostile(const struct wait_sites *sites)
{
	return sites->hostile.count;
}

bool wait_sites_gone(const struct wait_sites *sites)
{
	return helper_is_gone(sites->helper);
}

uint64_t wait_sites_cpu_ns(const struct wait_sites *sites)
{
	return helper_cpu_ns(sites->helper);
}
