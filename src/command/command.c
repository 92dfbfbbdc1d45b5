// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/build_options.h"
#include "base/descriptors.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/print.h"
#include "base/privilege.h"
#include "base/similar.h"
#include "base/text.h"
#include "command/describe.h"
#include "guest/init.h"
#include "version.h"

static void print_version(void)
{
	char with[128], without[128];

	build_options_list(with, sizeof(with), true);
	build_options_list(without, sizeof(without), false);
	print_text(stdout, "dwell " DWELL_VERSION "\n");
	if (*with)
		print_text(stdout, "Built with %s.\n", with);
	if (*without)
		print_text(stdout, "Built without %s.\n", without);
	print_text(stdout, "Licence GPL-2.0-or-later. There is no warranty.\n");
}

/* A reader that has had enough is none that fails. */
static int end_text(void)
{
	static bool is_ended;

	if (is_ended || !fflush(stdout) || errno == EPIPE)
		return EXIT_DONE;
	is_ended = true;
	print_text(stderr, "dwell: cannot write to standard output: %s\n", limits_strerror(errno));
	return EXIT_NOT_RUN;
}

/* After argp's help, which ends the process itself. */
static void end_help(void)
{
	int code = end_text();

	if (code != EXIT_DONE)
		_exit(code);
}

/* A file that is opened later would be taken for the standard output that is not there. */
static void fill_standard_files(void)
{
	int fd = open("/dev/null", O_RDONLY);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = dup(fd);
	if (fd >= 0)
		close(fd);
}

/* Options come after the command: a word in its place that looks like one is no misspelt command.
 */
static int refuse_option(const char *word)
{
	struct similar similar = {.wanted = word};
	struct error error = {""};
	char shown[64];

	similar_try(&similar, "--help");
	similar_try(&similar, "--version");
	text_printable(shown, sizeof(shown), word, 40);
	similar_error(&error, EINVAL, &similar,
		      ": options come after the command; `dwell --help` lists the commands",
		      "'%s' is not an option of dwell itself", shown);
	print_text(stderr, "dwell: %s\n", error.text);
	return EXIT_USAGE;
}

static int run_command(const char *name, int argc, char **argv)
{
	struct error error = {""};
	int code;

	if (command_check(name, &error) >= 0) {
		code = command_find(name)->run(argc, argv);
		return code == EXIT_DONE ? end_text() : code;
	}
	print_text(stderr, "dwell: %s\n", error.text);
	return EXIT_USAGE;
}

/* `dwell help top` is `dwell top --help`. */
static int help_of(const char *name)
{
	char *arguments[] = {(char *)name, (char *)"--help", NULL};

	return run_command(name, 2, arguments);
}

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

static bool asks_for_version(const char *word)
{
	return !strcmp(word, "version") || !strcmp(word, "--version") || !strcmp(word, "-V");
}

/* What begins with no command. */
static bool is_of_dwell(const char *word)
{
	return asks_for_help(word) || asks_for_version(word);
}

/* Messages of helpers, and what is unwound and formatted, are on it: half of that is enough. */
#define STACK_KIB 256

static bool has_stack(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_KIB << 10)
		return true;
	print_text(stderr,
		   "dwell: needs a stack of %d KiB, and may have %llu: raise the limit (ulimit -s "
		   "8192)\n",
		   STACK_KIB, (unsigned long long)limit.rlim_cur >> 10);
	return false;
}

int command_main(int argc, char **argv)
{
	if (getpid() == 1 && !strcmp(argv[0], "/init"))
		guest_init();
	fill_standard_files();
	if (privilege_is_inherited()) {
		fputs("dwell: refuses to run set-user-ID or set-group-ID: give the file "
		      "capabilities, PRIVILEGES in dwell(1)\n",
		      stderr);
		return EXIT_NOT_RUN;
	}
	if (!has_stack())
		return EXIT_NOT_RUN;
	atexit(end_help);
	heap_for_long_runs();
	descriptors_raise();
	limits_outlive();
	setlocale(LC_ALL, "");
	/* numbers are written, and read, with a point everywhere */
	setlocale(LC_NUMERIC, "C");
	if (argc < 2) {
		commands_print(stderr);
		return EXIT_USAGE;
	}
	if (is_of_dwell(argv[1]) && argc > 2 + !strcmp(argv[1], "help")) {
		print_text(stderr, "dwell: nothing comes after '%s'\n", argv[argc - 2]);
		return EXIT_USAGE;
	}
	/* `dwell help help` is `dwell help` */
	if (!strcmp(argv[1], "help") && argc > 2 && !is_of_dwell(argv[2]))
		return help_of(argv[2]);
	if (asks_for_help(argv[1])) {
		commands_print(stdout);
		return end_text();
	}
	if (asks_for_version(argv[1])) {
		print_version();
		return end_text();
	}
	/* for the build of the manual */
	if (!strcmp(argv[1], "--manual") && argc == 3 && command_find(argv[2])) {
		describe_manual(command_find(argv[2]));
		return end_text();
	}
	if (*argv[1] == '-')
		return refuse_option(argv[1]);
	return run_command(argv[1], argc - 1, argv + 1);
}
