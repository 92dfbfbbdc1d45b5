// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strptime */
#include "base/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/text.h"

#define DAY_S 86400

static const char *const dated[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
				    "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
static const char *const daily[] = {"%H:%M:%S", "%H:%M"};

/* What a time is in. */
struct zone {
	bool is_local;
	long offset_s; /* east of UTC */
};

/* `.250` of a second, of which we need none. */
static const char *skip_fraction(const char *text)
{
	size_t digits = *text == '.' ? strspn(text + 1, "0123456789") : 0;

	return digits ? text + 1 + digits : text;
}

static bool parse(const char *text, const char *format, struct tm *ret_tm, struct zone *ret_zone)
{
	struct tm zone = {0};
	const char *rest;

	*ret_tm = (struct tm){.tm_isdst = -1};
	*ret_zone = (struct zone){.is_local = true};
	rest = strptime(text, format, ret_tm);
	if (rest && text_ending(format, "%S"))
		rest = skip_fraction(rest);
	if (!rest || !*rest)
		return rest;
	/* strptime() would take blanks before it */
	if (*rest != 'Z' && *rest != '+' && *rest != '-')
		return false;
	rest = strptime(rest, "%z", &zone);
	*ret_zone = (struct zone){.offset_s = zone.tm_gmtoff};
	return rest && !*rest;
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
	struct zone zone;
	struct tm tm;

	for (size_t i = 0; i < ARRAY_SIZE(dated); i++) {
		time_t time;

		if (!parse(text, dated[i], &tm, &zone))
			continue;
		time = zone.is_local ? mktime(&tm) : timegm(&tm) - zone.offset_s;
		if (time < 0)
			return refuse(text, error);
		*ret_moment = (struct moment){MOMENT_AT, (uint64_t)time * NS_PER_S};
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(daily); i++) {
		long second;

		if (!parse(text, daily[i], &tm, &zone))
			continue;
		second = tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec - zone.offset_s;
		moment.kind = zone.is_local ? MOMENT_DAILY : MOMENT_DAILY_UTC;
		moment.ns = (uint64_t)((second % DAY_S + DAY_S) % DAY_S) * NS_PER_S;
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
	case MOMENT_DAILY_UTC:
		at_ns = end_ns - end_ns % (DAY_S * NS_PER_S) + moment->ns;
		return at_ns <= end_ns ? at_ns : at_ns - DAY_S * NS_PER_S;
	case MOMENT_BEFORE:
		return moment->ns < end_ns ? end_ns - moment->ns : 1;
	case MOMENT_NONE:
		break;
	}
	return 0;
}
