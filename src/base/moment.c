// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strptime */
#include "base/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/duration.h"

static const char *const dated[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
				    "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
static const char *const daily[] = {"%H:%M:%S", "%H:%M"};

static bool parse(const char *text, const char *format, struct tm *ret_tm, bool *ret_is_utc)
{
	const char *rest;

	*ret_tm = (struct tm){.tm_isdst = -1};
	rest = strptime(text, format, ret_tm);
	*ret_is_utc = rest && !strcmp(rest, "Z");
	return rest && (!*rest || *ret_is_utc);
}

static int refuse(const char *text, struct error *error)
{
	return error_set(error, EINVAL,
			 "'%s' is not a time: 14:05, 14:05:30, '2026-11-27 14:05', "
			 "2026-11-27T14:05:30Z, or 10m for ten minutes before the end",
			 text);
}

int moment_parse(const char *text, struct moment *ret_moment, struct error *error)
{
	struct moment moment = {MOMENT_BEFORE, 0};
	struct tm tm;
	bool is_utc;

	for (size_t i = 0; i < ARRAY_SIZE(dated); i++) {
		time_t time;

		if (!parse(text, dated[i], &tm, &is_utc))
			continue;
		time = is_utc ? timegm(&tm) : mktime(&tm);
		if (time < 0)
			return refuse(text, error);
		*ret_moment = (struct moment){MOMENT_AT, (uint64_t)time * NS_PER_S};
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(daily); i++) {
		if (!parse(text, daily[i], &tm, &is_utc) || is_utc)
			continue;
		moment.kind = MOMENT_DAILY;
		moment.ns = (uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * NS_PER_S;
		*ret_moment = moment;
		return 0;
	}
	if (duration_parse(text, &moment.ns, NULL) < 0)
		return refuse(text, error);
	*ret_moment = moment;
	return 0;
}

/* So many days before that of `end`, local time: a day may have 23 hours, or 25. */
static uint64_t on_day(time_t end, int days_before, uint64_t ns)
{
	struct tm tm;
	time_t time;

	localtime_r(&end, &tm);
	tm.tm_mday -= days_before;
	tm.tm_hour = (int)(ns / NS_PER_S / 3600);
	tm.tm_min = (int)(ns / NS_PER_S / 60 % 60);
	tm.tm_sec = (int)(ns / NS_PER_S % 60);
	tm.tm_isdst = -1;
	time = mktime(&tm);
	return time < 0 ? 0 : (uint64_t)time * NS_PER_S;
}

uint64_t moment_ns(const struct moment *moment, uint64_t end_ns)
{
	time_t end = (time_t)(end_ns / NS_PER_S);
	uint64_t at_ns;

	switch (moment->kind) {
	case MOMENT_AT:
		return moment->ns;
	case MOMENT_DAILY:
		at_ns = on_day(end, 0, moment->ns);
		return at_ns <= end_ns ? at_ns : on_day(end, 1, moment->ns);
	case MOMENT_BEFORE:
		return moment->ns < end_ns ? end_ns - moment->ns : 1;
	case MOMENT_NONE:
		break;
	}
	return 0;
}
