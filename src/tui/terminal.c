// SPDX-License-Identifier: GPL-2.0-or-later
#define NCURSES_WIDECHAR 1
#include "tui/terminal.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "tui/background.h"

/* Of a late answer: what is longer is none, and keys count again. */
#define ANSWER_MAX 64

/* curses defines macros of these names */
#undef columns
#undef lines

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGQUIT};

/* What a crash handler needs, which may not ask curses. Set while the terminal is open. */
static struct {
	SCREEN *screen;
	struct termios before;
	char restore[256]; /* ends what curses has begun, or may be in the middle of */
	struct palette palette;
	bool colours; /* there are any, and they are wanted */
	bool glyphs;  /* bars of signs, though there are colours */
} terminal;

/* Attributes by role: always, where roles have no colours, and where there are none at all. */
static const struct look {
	attr_t attribute, few, mono;
} looks[ROLE_COUNT] = {
	[ROLE_TITLE] = {A_BOLD, A_NORMAL, A_NORMAL},
	[ROLE_HEADER] = {A_UNDERLINE, A_NORMAL, A_NORMAL},
	[ROLE_SORTED] = {A_UNDERLINE | A_BOLD, A_NORMAL, A_NORMAL},
	[ROLE_DIM] = {A_NORMAL, A_NORMAL, A_DIM},
	/* the line is for boxes, which are in reverse all */
	[ROLE_WARNING] = {A_BOLD, A_REVERSE | A_UNDERLINE, A_NORMAL},
	[ROLE_KEY] = {A_NORMAL, A_BOLD, A_NORMAL},
	[ROLE_FINDING] = {A_BOLD, A_NORMAL, A_NORMAL},
};

/* Pairs of curses: of text by role, of bars by state, and each with the selected row's background.
 */
enum {
	PAIR_TEXT = 1,
	PAIR_BAR = PAIR_TEXT + ROLE_COUNT,
	PAIRS = PAIR_BAR + STATES - PAIR_TEXT,
};

static void restore_raw(void)
{
	/* the only calls that are safe in a handler */
	if (write(STDOUT_FILENO, terminal.restore, strlen(terminal.restore)) < 0)
		return;
	tcsetattr(STDOUT_FILENO, TCSANOW, &terminal.before);
}

static void on_crash(int signal)
{
	restore_raw();
	raise(signal); /* the handler is gone: this ends the program as it would have */
}

static void catch_crashes(void)
{
	struct sigaction action = {.sa_handler = on_crash,
				   .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &action, NULL);
}

static void forget_crashes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		signal(crashes[i], SIG_DFL);
}

/* A capability that is a text; NULL: the terminal has none. */
static char *capability(const char *name)
{
	char *text = tigetstr(name);

	return text && text != (char *)-1 ? text : NULL;
}

static void remember_text(const char *text)
{
	size_t used = strlen(terminal.restore);

	/* half of a sequence would take what follows with it */
	if (text && strlen(text) < sizeof(terminal.restore) - used)
		strcpy(terminal.restore + used, text);
}

static void remember(const char *name)
{
	remember_text(capability(name));
}

/* As curses begins it: by XM, or as xterm has it where clicks are known to come like keys. */
static void remember_mouse(void)
{
	const char *name = getenv("TERM");
	char *mouse = capability("XM");

	if (mouse)
		remember_text(tparm(mouse, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
	else if (capability("kmous") || (name && strstr(name, "xterm")))
		remember_text(tigetnum("XM") == 1006 ? "\033[?1006;1000l" : "\033[?1000l");
}

/* The other screen is left last: what belongs to it ends with it. */
static void remember_all(void)
{
	*terminal.restore = '\0';
	remember("sgr0");
	remember("cnorm");
	remember("rmkx");
	remember("rmir");
	/* curses ends it for the last column of the last line */
	if (capability("rmam"))
		remember("smam");
	remember_mouse();
	remember("rmcup");
}

static bool wants_colours(enum theme theme)
{
	const char *no = getenv("NO_COLOR");

	return theme != THEME_MONO && !(no && *no) && has_colors();
}

/* What a number of the 256-colour palette looks like: 0xRRGGBB. */
static int true_colour(int number)
{
	static const int levels[] = {0, 95, 135, 175, 215, 255};
	int grey = 8 + 10 * (number - 232);

	if (number < 16) /* not of the palettes of 256, but for black */
		return number < 8 ? number : 0;
	if (number >= 232)
		return grey << 16 | grey << 8 | grey;
	number -= 16;
	return levels[number / 36] << 16 | levels[number / 6 % 6] << 8 | levels[number % 6];
}

/* As this terminal numbers it. */
static int own_colour(short colour)
{
	return colour >= 0 && COLORS > 256 ? true_colour(colour) : colour;
}

static void init_pair_of(int pair, short colour)
{
	init_extended_pair(pair, own_colour(colour), -1);
	init_extended_pair(PAIRS + pair, own_colour(colour), own_colour(terminal.palette.selected));
}

static void init_colours(enum theme theme)
{
	terminal.colours = wants_colours(theme);
	if (terminal.colours) {
		start_color();
		use_default_colors();
	}
	palette_init(&terminal.palette, terminal.colours ? COLORS : 0, theme);
	if (!terminal.colours)
		return;
	for (int role = 0; role < ROLE_COUNT; role++)
		init_pair_of(PAIR_TEXT + role, terminal.palette.text[role]);
	for (int state = 0; state < STATES; state++)
		init_pair_of(PAIR_BAR + state, terminal.palette.bar[state]);
}

enum terminal_use terminal_use(void)
{
	const char *name = getenv("TERM");
	enum terminal_use use;
	int ignored;

	/* "dumb" is asked for, also where terminfo has nothing at all */
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || (name && !strcmp(name, "dumb")))
		return TERMINAL_NONE;
	if (!name || !*name || setupterm(NULL, STDOUT_FILENO, &ignored) != OK)
		return TERMINAL_UNKNOWN;
	use = capability("cup") ? TERMINAL_USABLE : TERMINAL_NONE;
	del_curterm(cur_term);
	return use;
}

/* A press and its end that come together are a click. The others mean nothing. */
#define BUTTON(n)    (BUTTON##n##_PRESSED | BUTTON##n##_RELEASED | BUTTON##n##_CLICKED)
#define MOUSE_EVENTS (BUTTON(1) | BUTTON(2) | BUTTON(3) | BUTTON4_PRESSED | BUTTON5_PRESSED)

int terminal_open(const struct terminal_options *options, struct error *error)
{
	const char *name = getenv("TERM");
	enum theme theme = options->theme;
	struct typed_ahead ahead = {.count = 0};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(error, ENOTTY,
				 "the screen needs a terminal on standard input and output: use "
				 "--format table, json or csv");
	if (terminal_use() != TERMINAL_USABLE)
		return error_set(error, ENOTTY,
				 "the terminal '%s' is not known here (TERM, terminfo), or cannot "
				 "move its cursor: use --format table, json or csv",
				 name ? name : "");
	tcgetattr(STDOUT_FILENO, &terminal.before);
	if (theme == THEME_AUTO)
		theme = background_is_light(&ahead) ? THEME_LIGHT : THEME_DARK;
	terminal.screen = newterm(NULL, stdout, stdin);
	if (!terminal.screen)
		return error_set(error, ENOTTY, "cannot use the terminal '%s': use --format table",
				 name);
	set_term(terminal.screen);
	remember_all();
	init_colours(theme);
	terminal.glyphs = options->glyphs;
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	/* ncurses waits for the next key after an event that it was not asked for */
	mousemask(MOUSE_EVENTS, NULL);
	mouseinterval(0);
	catch_crashes();
	while (ahead.count)
		ungetch((unsigned char)ahead.bytes[--ahead.count]);
	return 0;
}

void terminal_close(void)
{
	if (!terminal.screen)
		return;
	forget_crashes();
	/* where there is no second screen to leave, the shell's prompt comes here */
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
}

void terminal_resized(void)
{
	struct winsize size;

	/* a size of zero means nothing */
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

int terminal_prepare(struct canvas *canvas)
{
	int rows, columns;

	getmaxyx(stdscr, rows, columns);
	canvas->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	memcpy(canvas->solid, terminal.palette.solid, sizeof(canvas->solid));
	if (terminal.glyphs)
		memset(canvas->solid, 0, sizeof(canvas->solid));
	return canvas_reset(canvas, rows, columns);
}

static attr_t attributes(const struct cell *cell)
{
	attr_t result = looks[cell->role].attribute;

	if (terminal.palette.few)
		result |= looks[cell->role].few;
	if (!terminal.colours)
		result |= looks[cell->role].mono;
	if (cell->filled)
		return result | A_REVERSE;
	/* a solid bar in reverse would be a gap */
	if (cell->selected && terminal.palette.selected < 0 &&
	    !(cell->bar && terminal.palette.solid[cell->role - ROLE_STATE] && !terminal.glyphs))
		result ^= A_REVERSE; /* a warning stands out of such a row, too */
	else if (cell->selected)
		result |= A_BOLD;
	return result;
}

static short pair_of(const struct cell *cell)
{
	bool is_bar = cell->bar || (cell->filled && cell->role >= ROLE_STATE);
	int pair = is_bar ? PAIR_BAR + cell->role - ROLE_STATE : PAIR_TEXT + cell->role;

	if (!terminal.colours)
		return 0;
	return (short)(cell->selected && terminal.palette.selected >= 0 ? PAIRS + pair : pair);
}

void terminal_show(const struct canvas *canvas)
{
	for (int row = 0; row < canvas->rows; row++) {
		for (int column = 0; column < canvas->columns; column++) {
			const struct cell *cell = &canvas->cells[row * canvas->columns + column];
			wchar_t text[2] = {(wchar_t)cell->character, 0};
			cchar_t shown;

			if (!cell->character) /* behind a wide one */
				continue;
			setcchar(&shown, text, attributes(cell), pair_of(cell), NULL);
			mvadd_wch(row, column, &shown);
		}
	}
	refresh();
}

void terminal_suspend(void)
{
	struct sigaction stops = {.sa_handler = SIG_DFL}, before;
	sigset_t stop;

	endwin();
	/* not SIGSTOP: where no shell could let it go on, the kernel does not stop it for this one
	 */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &stops, &before); /* ncurses has a handler */
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	sigaction(SIGTSTP, &before, NULL);
	terminal_resized();
	refresh();
}

void terminal_write(const char *bytes)
{
	if (write(STDOUT_FILENO, bytes, strlen(bytes)) < 0)
		return;
}

/* KEY_KIND_NONE: nothing that means anything. */
static struct key mouse_key(void)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return (struct key){.kind = KEY_KIND_NONE};
	if (event.bstate & BUTTON4_PRESSED)
		return (struct key){.kind = KEY_KIND_WHEEL_UP};
	if (event.bstate & BUTTON5_PRESSED)
		return (struct key){.kind = KEY_KIND_WHEEL_DOWN};
	if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		return (struct key){.kind = KEY_KIND_CLICK, .row = event.y, .column = event.x};
	return (struct key){.kind = KEY_KIND_NONE};
}

static struct key function_key(wint_t code)
{
	static const struct {
		wint_t code;
		enum key_kind kind;
	} known[] = {
		{KEY_UP, KEY_KIND_UP},
		{KEY_DOWN, KEY_KIND_DOWN},
		{KEY_LEFT, KEY_KIND_LEFT},
		{KEY_RIGHT, KEY_KIND_RIGHT},
		{KEY_PPAGE, KEY_KIND_PAGE_UP},
		{KEY_NPAGE, KEY_KIND_PAGE_DOWN},
		{KEY_HOME, KEY_KIND_HOME},
		{KEY_END, KEY_KIND_END},
		{KEY_ENTER, KEY_KIND_ENTER},
		{KEY_BACKSPACE, KEY_KIND_BACKSPACE},
		{KEY_F(7), KEY_KIND_CHANGES_PROCESS},
		{KEY_F(8), KEY_KIND_CHANGES_PROCESS},
		{KEY_F(9), KEY_KIND_CHANGES_PROCESS},
	};

	static const struct {
		unsigned int number;
		uint32_t character;
	} functions[] = {{1, '?'}, {3, '/'}, {4, '\\'}, {5, 't'}, {6, 's'}, {10, 'q'}};

	/* as in htop: help, search, filter, tree, sort, end; F2, its menu, is to change nothing */
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (code == (wint_t)KEY_F(functions[i].number))
			return (struct key){.kind = KEY_KIND_CHARACTER,
					    .character = functions[i].character};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return (struct key){.kind = known[i].kind};
	/* one without a meaning, but not the end of what there is to read */
	return (struct key){.kind = KEY_KIND_CHARACTER};
}

/* An answer to background.c's questions that comes late: its letters are not keys. */
static struct {
	enum { ANSWER_NONE, ANSWER_COLOUR, ANSWER_KIND } part; /* it is in the middle of */
	unsigned int length;				       /* of it, so far */
} late;

/* After ESC: begins an answer, or leaves what follows to be read again. */
static bool begins_answer(void)
{
	static const wint_t begun[][2] = {[ANSWER_COLOUR] = {']', '1'}, [ANSWER_KIND] = {'[', '?'}};
	wint_t next, second;
	int result = get_wch(&next);

	if (result == KEY_CODE_YES)
		ungetch((int)next);
	if (result != OK)
		return false;
	for (int i = ANSWER_COLOUR; i <= ANSWER_KIND; i++) {
		if (next != begun[i][0])
			continue;
		result = get_wch(&second);
		if (result == OK && second == begun[i][1]) {
			late.part = i;
			late.length = 0;
			return true;
		}
		if (result == OK)
			unget_wch((wchar_t)second);
		else if (result == KEY_CODE_YES)
			ungetch((int)second);
	}
	unget_wch((wchar_t)next);
	return false;
}

/* Whether it is of an answer: a colour ends in BEL or in ESC \, a kind of terminal in a letter. */
static bool is_of_answer(wint_t code)
{
	if (late.part == ANSWER_NONE)
		return code == 27 && begins_answer();
	if (++late.length >= ANSWER_MAX ||
	    (late.part == ANSWER_COLOUR && (code == 7 || code == '\\')) ||
	    (late.part == ANSWER_KIND && code >= '@' && code <= '~'))
		late.part = ANSWER_NONE;
	return true;
}

struct key terminal_key(void)
{
	struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
	struct key mouse = {.kind = KEY_KIND_NONE};
	wint_t code;
	int result;

	do {
		result = get_wch(&code);
		if (result == KEY_CODE_YES && code == KEY_MOUSE)
			mouse = mouse_key();
	} while (mouse.kind == KEY_KIND_NONE && ((result == OK && is_of_answer(code)) ||
						 (result == KEY_CODE_YES && code == KEY_MOUSE)));
	if (mouse.kind != KEY_KIND_NONE)
		return mouse;
	if (result == ERR) {
		/* readable, and nothing there: the other side has closed */
		if (poll(&ready, 1, 0) > 0 && (ready.revents & (POLLHUP | POLLERR)))
			return (struct key){.kind = KEY_KIND_CLOSED};
		return (struct key){.kind = KEY_KIND_NONE};
	}
	if (result == KEY_CODE_YES)
		return function_key(code);
	switch (code) {
	case '\r':
	case '\n':
		return (struct key){.kind = KEY_KIND_ENTER};
	case 27:
		return (struct key){.kind = KEY_KIND_ESCAPE};
	case 8:
	case 127:
		return (struct key){.kind = KEY_KIND_BACKSPACE};
	}
	return (struct key){.kind = KEY_KIND_CHARACTER, .character = (uint32_t)code};
}
