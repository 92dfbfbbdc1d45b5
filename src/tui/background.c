// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem */
#include "tui/background.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"

#define ANSWER_MS 100

/*
 * The colour (xterm's OSC 11), and then what kind of terminal it is (DA1): all answer the second,
 * so one that does not know the first is not waited for.
 */
#define QUESTION "\033]11;?\033\\\033[c"

/* The first two digits of one colour of "rgb:RRRR/GGGG/BBBB". */
static int part(const char *text, const char *end, int number)
{
	char digits[3] = "";

	for (; number; number--) {
		text = memchr(text, '/', (size_t)(end - text));
		if (!text)
			return -1;
		text++;
	}
	if (end - text < 2)
		return -1;
	memcpy(digits, text, 2);
	return (int)strtol(digits, NULL, 16);
}

int background_parse(const char *answer, size_t length)
{
	const char *end = answer + length;
	const char *colour = memmem(answer, length, "rgb:", 4);
	int red, green, blue;

	if (!colour)
		return -1;
	red = part(colour + 4, end, 0);
	green = part(colour + 4, end, 1);
	blue = part(colour + 4, end, 2);
	if (red < 0 || green < 0 || blue < 0)
		return -1;
	/* luma, ITU-R BT.601 */
	return 299 * red + 587 * green + 114 * blue > 127500;
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
	uint64_t end_ns = clock_monotonic_ns() + ANSWER_MS * NS_PER_MS, now_ns;
	size_t used = 0;

	while (used < room && (now_ns = clock_monotonic_ns()) < end_ns) {
		struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
		ssize_t got;

		if (poll(&ready, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) <= 0)
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

bool background_is_light(void)
{
	struct termios before, raw;
	char answer[256];
	size_t length = 0;
	int light = -1;

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
	light = background_parse(answer, length);
	return light < 0 ? environment_is_light() : light > 0;
}
