// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether colours can be read on the backgrounds they are for, and how much they differ, as xterm
 * has them.
 */
#include "test.h"

#include <math.h>

#include "tui/palette.h"

#define CONTRAST_MIN 4.5 /* WCAG 2.1, 1.4.3 */
#define DELTA_E_MIN  20.0

struct colour {
	double red, green, blue; /* 0 to 255 */
};

static const struct colour black = {0, 0, 0}, grey = {0x1e, 0x1e, 0x1e}, white = {255, 255, 255};

static struct colour xterm(short number)
{
	static const struct colour named[] = {
		{0, 0, 0},	 {205, 0, 0},	{0, 205, 0},   {205, 205, 0},
		{0, 0, 238},	 {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
		{127, 127, 127}, {255, 0, 0},	{0, 255, 0},   {255, 255, 0},
		{92, 92, 255},	 {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
	};
	static const double levels[] = {0, 95, 135, 175, 215, 255};
	double level = 8 + 10 * (number - 232);

	assert_in_range(number, 0, 255);
	if (number < 16)
		return named[number];
	if (number >= 232)
		return (struct colour){level, level, level};
	number = (short)(number - 16);
	return (struct colour){levels[number / 36], levels[number / 6 % 6], levels[number % 6]};
}

static double linear(double part)
{
	part /= 255;
	return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

static double luminance(struct colour colour)
{
	return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) +
	       0.0722 * linear(colour.blue);
}

static double contrast(struct colour a, struct colour b)
{
	double light = fmax(luminance(a), luminance(b)), dark = fmin(luminance(a), luminance(b));

	return (light + 0.05) / (dark + 0.05);
}

static double lab_part(double part)
{
	return part > 216.0 / 24389 ? cbrt(part) : (24389.0 / 27 * part + 16) / 116;
}

/* CIELAB, D65. */
static void to_lab(struct colour colour, double lab[3])
{
	double red = linear(colour.red), green = linear(colour.green), blue = linear(colour.blue);
	double x = lab_part((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047);
	double y = lab_part(0.2126 * red + 0.7152 * green + 0.0722 * blue);
	double z = lab_part((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883);

	lab[0] = 116 * y - 16;
	lab[1] = 500 * (x - y);
	lab[2] = 200 * (y - z);
}

/* CIE76. */
static double delta_e(struct colour a, struct colour b)
{
	double one[3], other[3];

	to_lab(a, one);
	to_lab(b, other);
	return hypot(hypot(one[0] - other[0], one[1] - other[1]), one[2] - other[2]);
}

static const struct {
	int colours;
	enum theme theme;
} sets[] = {
	{256, THEME_DARK}, {256, THEME_LIGHT}, {16, THEME_DARK}, {16, THEME_LIGHT},
	{8, THEME_DARK},   {8, THEME_LIGHT},   {88, THEME_DARK}, {1 << 24, THEME_DARK},
};

#define SETS (sizeof(sets) / sizeof(*sets))

CASE(figures_of_the_test_itself)
{
	double lab[3];

	assert_true(fabs(contrast(black, white) - 21) < 0.01);
	assert_true(fabs(contrast((struct colour){119, 119, 119}, white) - 4.48) < 0.01);
	to_lab((struct colour){255, 0, 0}, lab);
	assert_true(fabs(lab[0] - 53.24) < 0.1 && fabs(lab[1] - 80.09) < 0.1 &&
		    fabs(lab[2] - 67.20) < 0.1);
}

CASE(text_can_be_read)
{
	int unreadable = 0;

	for (size_t i = 0; i < SETS; i++) {
		bool light = sets[i].theme == THEME_LIGHT;
		struct palette palette;

		palette_init(&palette, sets[i].colours, sets[i].theme);
		for (int role = 0; role < ROLE_COUNT; role++) {
			struct colour text;
			double worst;

			if (palette.text[role] < 0)
				continue; /* the terminal's own */
			text = xterm(palette.text[role]);
			worst = light ? contrast(text, white)
				      : fmin(contrast(text, black), contrast(text, grey));
			if (worst >= CONTRAST_MIN)
				continue;
			print_error("%d colours, %s: role %d has colour %d, contrast %.2f\n",
				    sets[i].colours, theme_keys[sets[i].theme], role,
				    palette.text[role], worst);
			unreadable++;
		}
	}
	assert_int_equal(unreadable, 0);
}

CASE(solid_states_look_different)
{
	int alike = 0;

	for (size_t i = 0; i < SETS; i++) {
		struct palette palette;

		palette_init(&palette, sets[i].colours, sets[i].theme);
		for (int a = 0; a < STATES; a++) {
			for (int b = 0; b < a; b++) {
				double distance;

				if (!palette.solid[a] || !palette.solid[b])
					continue;
				distance = delta_e(xterm(palette.bar[a]), xterm(palette.bar[b]));
				if (distance >= DELTA_E_MIN)
					continue;
				print_error("%d colours, %s: %s and %s, distance %.1f\n",
					    sets[i].colours, theme_keys[sets[i].theme],
					    state_info[a].key, state_info[b].key, distance);
				alike++;
			}
		}
	}
	assert_int_equal(alike, 0);
}

/* A warning is not a state, whatever part of a bar is beside it. */
CASE(no_role_looks_like_a_solid_state)
{
	int alike = 0;

	for (size_t i = 0; i < SETS; i++) {
		struct palette palette;

		palette_init(&palette, sets[i].colours, sets[i].theme);
		for (int role = 0; role < ROLE_STATE; role++) {
			for (int of = 0; of < STATES; of++) {
				double distance;

				if (palette.text[role] < 0 || !palette.solid[of])
					continue;
				distance =
					delta_e(xterm(palette.text[role]), xterm(palette.bar[of]));
				if (distance >= DELTA_E_MIN)
					continue;
				print_error("%d colours, %s: role %d and %s, distance %.1f\n",
					    sets[i].colours, theme_keys[sets[i].theme], role,
					    state_info[of].key, distance);
				alike++;
			}
		}
		assert_true(palette.few == (palette.text[ROLE_WARNING] < 0));
	}
	assert_int_equal(alike, 0);
}

CASE(what_matters_is_solid)
{
	static const enum state most[] = {STATE_USER, STATE_KERNEL, STATE_RUNNABLE};

	for (size_t i = 0; i < SETS; i++) {
		struct palette palette;

		palette_init(&palette, sets[i].colours, sets[i].theme);
		for (size_t j = 0; j < sizeof(most) / sizeof(*most); j++)
			assert_true(palette.solid[most[j]]);
		/* it would be the background's */
		assert_false(palette.solid[STATE_IDLE]);
		assert_false(palette.solid[STATE_UNKNOWN]);
	}
}

CASE(without_colours_nothing_is_solid)
{
	struct palette palette;

	for (int colours = 0; colours < 8; colours++) {
		palette_init(&palette, colours, THEME_DARK);
		assert_int_equal(palette.selected, -1);
		for (int i = 0; i < ROLE_COUNT; i++)
			assert_int_equal(palette.text[i], -1);
		for (int i = 0; i < STATES; i++) {
			assert_int_equal(palette.bar[i], -1);
			assert_false(palette.solid[i]);
		}
	}
}

CASE(no_colour_is_beyond_the_terminal)
{
	for (int colours = 8; colours <= 256; colours++) {
		for (enum theme theme = THEME_DARK; theme <= THEME_LIGHT; theme++) {
			struct palette palette;

			palette_init(&palette, colours, theme);
			assert_true(palette.selected < colours);
			for (int i = 0; i < ROLE_COUNT; i++)
				assert_true(palette.text[i] < colours);
			for (int i = 0; i < STATES; i++)
				assert_true(palette.bar[i] < colours);
		}
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(figures_of_the_test_itself),
		cmocka_unit_test(text_can_be_read),
		cmocka_unit_test(solid_states_look_different),
		cmocka_unit_test(no_role_looks_like_a_solid_state),
		cmocka_unit_test(what_matters_is_solid),
		cmocka_unit_test(without_colours_nothing_is_solid),
		cmocka_unit_test(no_colour_is_beyond_the_terminal),
	};

	return RUN(cases);
}
