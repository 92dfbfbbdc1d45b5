// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem */
#include "tui/background.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"

#define ANSWER_MS 100

/*
 * The colour (xterm's OSC 11), and then what kind of terminal it is (DA1): all answer the second,
 * so one that does not know the first is not waited for.
 */
#define QUESTION "\033]11;?\033\\\033[c"

/*
 * One part of a colour, from 0 to 255: one to four digits of base 16, and behind them something
 * else, or the answer is cut short. -1: it is none. *at is then behind them.
 */
static int part(const char **at, const char *end)
{
	static const char digits[] = "0123456789abcdef";
	int value = 0, most = 0;

	for (; *at < end && **at && strchr(digits, tolower((unsigned char)**at)); (*at)++) {
		value = value * 16 + (int)(strchr(digits, tolower((unsigned char)**at)) - digits);
		most = most * 16 + 15;
		if (most > 0xffff)
			return -1;
	}
	return most && *at < end ? value * 255 / most : -1;
}

/* Behind "rgb:", or "rgba:" where the background is see-through; NULL: there is neither. */
static const char *find_colour(const char *answer, size_t length)
{
	const char *colour = memmem(answer, length, "rgb:", 4);

	if (colour)
		return colour + 4;
	colour = memmem(answer, length, "rgba:", 5);
	return colour ? colour + 5 : NULL;
}

int background_parse(const char *answer, size_t length)
{
	const char *at = find_colour(answer, length), *end = answer + length;
	int parts[3];

	if (!at)
		return -1;
	for (int i = 0; i < 3; i++) {
		parts[i] = part(&at, end);
		if (parts[i] < 0 || (i < 2 && *at++ != '/'))
			return -1;
	}
	/* luma, ITU-R BT.601 */
	return 299 * parts[0] + 587 * parts[1] + 114 * parts[2] > 127500;
}

/* `15;default;0`: the last is the background; of 16 colours 7 and from 9 on are light. */
static bool environment_is_light(void)
{
	const char *colours = getenv("COLORFGBG");
	const char *last = colours ? strrchr(colours, ';') : NULL;
	int number = last && last[1] ? atoi(last + 1) : 0;

	return number == 7 || (number >= 9 && number <= 15);
}

/* Until the answer to the second question, which ends in `c`. */
static size_t read_answer(char *into, size_t room)
{
	uint64_t end_ns = clock_monotonic_ns() + ANSWER_MS * NS_PER_MS;
	size_t used = 0;

	while (used < room) {
		struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
		ssize_t got;

		if (await_ready(&ready, 1, end_ns) <= 0)
			break;
		got = read(STDIN_FILENO, into + used, room - used);
		if (got <= 0)
			break;
		used += (size_t)got;
		if (memmem(into, used, "\033[?", 3) && into[used - 1] == 'c')
			break;
	}
	return used;
}

/* Behind the sequence that begins there, or what there is of it. */
static size_t after_sequence(const char *answer, size_t length, size_t at)
{
	char kind = at + 1 < length ? answer[at + 1] : '[';
	bool is_string = kind == ']';

	/* a key alone, or a letter with Alt */
	if (!strchr("[O]", kind))
		return at + (kind == 27 ? 1 : 2);
	at += 2;
	/* OSC: to BEL, or ESC \; CSI: to its final byte */
	while (at < length && is_string && answer[at] != '\a' && answer[at] != '\033')
		at++;
	if (is_string)
		return at < length && answer[at] == '\033' ? at + 2 : at + 1;
	while (at < length && (unsigned char)answer[at] < '@')
		at++;
	return at + 1;
}

void background_typed(struct typed_ahead *ret_ahead, const char *answer, size_t length)
{
	size_t at = 0;

	ret_ahead->count = 0;
	while (at < length) {
		unsigned char byte = (unsigned char)answer[at];

		if (byte == 27) {
			at = after_sequence(answer, length, at);
			continue;
		}
		/* other letters than ASCII's are no keys of the screens */
		if (byte && byte < 128 && ret_ahead->count < sizeof(ret_ahead->bytes))
			ret_ahead->bytes[ret_ahead->count++] = answer[at];
		at++;
	}
}

bool background_is_light(struct typed_ahead *ret_ahead)
{
	struct termios before, raw;
	char answer[256];
	size_t length = 0;
	int light = -1;

	ret_ahead->count = 0;
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return environment_is_light();
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	if (write(STDOUT_FILENO, QUESTION, strlen(QUESTION)) > 0)
		length = read_answer(answer, sizeof(answer));
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	background_typed(ret_ahead, answer, length);
	light = background_parse(answer, length);
	return light < 0 ? environment_is_light() : light > 0;
}
