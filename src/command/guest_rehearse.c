// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_rehearse.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/forked.h"
#include "command/command.h"

#define MISTAKE_BYTES 512

/* In a child: parsers exit, print, and keep what they read. Its exit status. */
static int parse(const struct command *command, char *const *arguments, int mistake)
{
	cleanup_free char **words = NULL;
	int count = 0;

	while (arguments[count])
		count++;
	words = calloc((size_t)count + 1, sizeof(*words));
	if (!words)
		return EXIT_NOT_RUN;
	memcpy(words, arguments, (size_t)count * sizeof(*words));
	forked_silence();
	if (dup2(mistake, STDERR_FILENO) < 0)
		return EXIT_NOT_RUN;
	command_line_only_parse();
	return command->run(count, words);
}

/* The first line of what the child has written, without "dwell ". */
static void read_mistake(int fd, char into[MISTAKE_BYTES])
{
	static const char ours[] = "dwell ";
	ssize_t got = pread(fd, into, MISTAKE_BYTES - 1, 0);

	into[got < 0 ? 0 : got] = '\0';
	into[strcspn(into, "\n")] = '\0';
	if (!strncmp(into, ours, strlen(ours)))
		memmove(into, into + strlen(ours), strlen(into + strlen(ours)) + 1);
}

/* Other files than specs, and processes, may be there in a guest alone. */
static bool is_mistake(const struct command *command, int status)
{
	return WIFEXITED(status) &&
	       (WEXITSTATUS(status) == EXIT_USAGE ||
		(command == &command_load && WEXITSTATUS(status) == EXIT_NOT_RUN));
}

int guest_rehearse(char *const *arguments, struct error *error)
{
	cleanup_close int mistake = -1;
	char text[MISTAKE_BYTES];
	int status;
	pid_t pid;

	/* --version is of no command */
	if (strchr(arguments[0], '/') || *arguments[0] == '-')
		return 0;
	if (command_check(arguments[0], error) < 0)
		return -EINVAL;
	/* what is read from standard input is not ours to read */
	for (char *const *argument = arguments; *argument; argument++)
		if (!strcmp(*argument, "-"))
			return 0;
	mistake = file_in_memory("mistake");
	pid = mistake < 0 ? -1 : fork();
	if (!pid)
		_exit(parse(command_find(arguments[0]), arguments, mistake));
	status = forked_await(pid);
	if (pid < 0 || !is_mistake(command_find(arguments[0]), status))
		return 0;
	read_mistake(mistake, text);
	return error_set(error, EINVAL, "%s", text);
}
