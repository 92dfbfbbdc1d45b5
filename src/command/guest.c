// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell guest`: any of the other commands in a virtual machine, under another kernel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/file.h"
#include "base/json.h"
#include "command/command.h"
#include "command/guest_matrix.h"
#include "command/guest_options.h"
#include "guest/image.h"

#define UNPACKING_BYTES (128 << 20) /* what a kernel and a command need besides their files */

struct guest_run {
	struct guest_options options;
	struct returns returns;
	char dump[32];
	struct boot_result result;
};

static int make_image(struct guest_run *run, struct error *error)
enum {
	OPTION_KERNEL = 512,
	OPTION_TOPOLOGY,
	OPTION_MEMORY,
	OPTION_ACCEL,
	OPTION_PROGRAM,
	OPTION_SYSROOT,
	OPTION_ADD,
	OPTION_MODULE,
	OPTION_APPEND,
	OPTION_BOOT_TIMEOUT,
	OPTION_KEEP_LOG,
#define FILES_MAX   256
#define MODULES_MAX 32
struct guest_options {
	struct parsing parsing;
	struct boot_options boot;
	char kernel[PATH_MAX];
	const char *program, *sysroot; /* as in struct image_options */
	char *files[FILES_MAX + 1];
	size_t file_count;
	char *modules[MODULES_MAX + 1];
	size_t module_count;
	char **command; /* in argv */
static const char doc[] =
	"Runs a command of dwell in a virtual machine, with another kernel and another topology, "
	"and "
	"brings back what it prints and its exit status."
	"\v"
	"The guest's memory holds all its files: this program, what it needs, files that the "
	"command "
	"names, and those that are added. Needs QEMU.\n\n"
	"Examples:\n"
	"  dwell guest -- doctor                       what works under that kernel\n"
	"  dwell guest --topology 1n2l2c1t -- load steady-llc\n"
	"  dwell guest --kernel bzImage -- load spec.yaml --json\n";
static const struct argp_option argp_options[] = {
	{"kernel", OPTION_KERNEL, "FILE", 0, "a kernel image (the newest in /boot)", 1},
	{"topology", OPTION_TOPOLOGY, "NnLlCcTt", 0,
	 "nodes, last-level caches in all, cores of each, threads of each (1n1l2c1t)", 1},
	{"memory", OPTION_MEMORY, "SIZE", 0, "of the guest (1G)", 1},
	{"accel", OPTION_ACCEL, "HOW", 0, "auto, kvm or tcg (auto: kvm where it works)", 1},
	{"add", OPTION_ADD, "FILE", 0, "also in the guest, under the same name", 1},
	{"program", OPTION_PROGRAM, "FILE", 0,
	 "the dwell inside, for a kernel of another architecture (this one)", 1},
	{"sysroot", OPTION_SYSROOT, "DIR", 0, "where it finds its libraries (/)", 1},
	{"module", OPTION_MODULE, "NAME", 0, "of the kernel, loaded at first with all it needs", 1},
	{"append", OPTION_APPEND, "WORDS", 0, "to the kernel's command line", 1},
	{"boot-timeout", OPTION_BOOT_TIMEOUT, "TIME", 0, "until it must have booted (60s)", 1},
	{"keep-log", OPTION_KEEP_LOG, "FILE", 0, "what the kernel says", 1},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
static int take_accel(struct guest_options *options, const char *value, struct error *error)
{
	static const char *const names[] = {"auto", "kvm", "tcg"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			options->boot.accel = (enum boot_accel)i;
			return 0;
		}
	return parsing_unknown(error, "accelerator", value, "auto, kvm or tcg");
}
/* The newest of /boot, by the numbers in the names. */
static int find_kernel(struct guest_options *options, struct error *error)
{
	struct dirent **names = NULL;
	int count = scandir("/boot", &names, NULL, versionsort);
	bool found = false;
	for (int i = count; i-- > 0;) {
		if (!found && !strncmp(names[i]->d_name, "vmlinuz", 7)) {
			snprintf(options->kernel, sizeof(options->kernel), "/boot/%s",
				 names[i]->d_name);
			found = !access(options->kernel, R_OK);
		}
		free(names[i]);
	}
	free(names);
	options->boot.kernel = options->kernel;
	return found ? 0
		     : error_set(error, ENOENT,
				 "there is no kernel in /boot that can be read: install one "
				 "(%s), or name one: --kernel FILE",
				 board_here()->kernel_package);
}
/* What runs as init has to be of the kernel's architecture. */
static int check_program(const struct guest_options *options, struct error *error)
{
	const struct board *board = options->boot.board;
	const char *program = options->program ? options->program : "/proc/self/exe";
	uint16_t machine = needs_machine(program);
	const struct board *of = board_of_elf(machine);
	if (options->boot.accel == ACCEL_KVM && board != board_here())
		return error_set(error, EINVAL,
				 "the kernel %s is for %s: KVM runs those of this machine only, %s",
				 options->boot.kernel, board->name, board_here()->name);
	if (options->program && access(program, R_OK) < 0)
		return error_set(error, errno, "cannot read the program %s: %s", program,
				 strerror(errno));
	if (!machine)
		return error_set(error, EINVAL, "%s is no program", program);
	if (machine == board->elf)
		return 0;
	return error_set(error, EINVAL,
			 "the kernel %s is for %s, %s for %s: name a dwell for that "
			 "architecture, --program FILE, and its libraries, --sysroot DIR",
			 options->boot.kernel, board->name,
			 options->program ? options->program : "this dwell",
			 of ? of->name : "another one");
}
static int complete(struct guest_options *options, struct error *error)
{
	int result = 0;
	if (!options->command || !options->command[0])
		return error_set(error, EINVAL, "which command? dwell guest -- load steady");
	if (!strcmp(options->command[0], "guest"))
		return error_set(error, EINVAL, "a guest within a guest is not tried");
	if (!options->boot.kernel || !strcmp(options->boot.kernel, "auto"))
		result = find_kernel(options, error);
	if (result >= 0)
		result = board_of_kernel(options->boot.kernel, &options->boot.board, error);
	return result < 0 ? result : check_program(options, error);
}
static int take_option(struct guest_options *options, int key, char *value,
		       struct argp_state *state, struct error *error)
{
	switch (key) {
	case OPTION_KERNEL:
		options->boot.kernel = value;
		return 0;
	case OPTION_TOPOLOGY:
		return shape_parse(value, &options->boot.shape, error);
	case OPTION_MEMORY:
		return size_parse(value, &options->boot.memory_bytes, error);
	case OPTION_ACCEL:
		return take_accel(options, value, error);
	case OPTION_PROGRAM:
		options->program = value;
		return 0;
	case OPTION_SYSROOT:
		options->sysroot = value;
		return 0;
	case OPTION_ADD:
		if (options->file_count == FILES_MAX)
			return error_set(error, EINVAL, "too many files");
		options->files[options->file_count++] = value;
		return 0;
	case OPTION_MODULE:
		if (options->module_count == MODULES_MAX)
			return error_set(error, EINVAL, "too many modules");
		options->modules[options->module_count++] = value;
		return 0;
	case OPTION_APPEND:
		options->boot.append = value;
		return 0;
	case OPTION_BOOT_TIMEOUT:
		return duration_parse(value, &options->boot.timeout_ns, error);
	case OPTION_KEEP_LOG:
		options->boot.log = value;
		return 0;
	case ARGP_KEY_ARG:
		/* all from here on is the command's */
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		return complete(options, error);
	}
	return 1;
}
static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct guest_options *options = state->input;
	int result;
	if (!options)
		return ARGP_ERR_UNKNOWN;
	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	result = take_option(options, key, value, state, &options->parsing.error);
	return result > 0 ? ARGP_ERR_UNKNOWN : parsing_result(&options->parsing, result);
}
static const struct argp guest_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "-- COMMAND [ARG...]",
	.doc = doc,
static int run(struct guest_options *options, struct boot_result *result, struct error *error)
{
	const struct guest_options *options = &run->options;
	struct image_options image = {.program = options->program,
				      .sysroot = options->sysroot,
				      .arguments = options->command,
				      .files = options->files,
				      .scheduler = options->scheduler,
				      .repro = options->repro,
				      .returns = &run->returns};
	char directory[PATH_MAX];
				      .kernel = options->boot.kernel,
				      .modules = options->modules};
	uint64_t bytes;
	int result;

	if (!getcwd(directory, sizeof(directory)))
		return error_set(error, errno, "the working directory: %s", strerror(errno));
	if (returns_add_command(&run->returns, directory, options->command) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = image_make(&image, &run->options.boot.qemu.image_fd, &bytes, error);
	/* unpacked, it is there twice for a while */
	if (result >= 0 && bytes * 2 + UNPACKING_BYTES > options->boot.qemu.memory_bytes)
		result = error_set(error, ENOMEM,
				   "the guest's files take %llu MiB, too much for its memory: more "
				   "by --memory",
				   (unsigned long long)(bytes >> 20));
	return result;
}

static int boot(struct guest_run *run, struct error *error)
{
	struct boot_options *boot = &run->options.boot;
	time_t now = time(NULL);
	struct tm utc;
	int result;

	gmtime_r(&now, &utc);
	strftime(run->dump, sizeof(run->dump), "scheduler-%Y%m%dT%H%M%SZ.log", &utc);
	if (!boot->dump)
		boot->dump = run->dump;
	boot->scheduler = run->options.scheduler != NULL;
	boot->judged = !strcmp(run->options.command[0], "load");
	boot->progress = isatty(STDERR_FILENO);
	boot->returns = &run->returns;
	boot->qemu.image_fd = -1;
	result = make_image(run, error);
	if (result >= 0)
		result = boot_run(boot, &run->result, error);
	if (boot->qemu.image_fd >= 0)
		close(boot->qemu.image_fd);
	return result;
}

static void add_text(struct json *json, const char *key, const char *text)
{
	if (text && *text)
		json_add_string(json, key, text);
	else
		json_add_null(json, key);
}

static void add_ns(struct json *json, const char *key, uint64_t ns)
{
	if (ns)
		json_add_u64(json, key, ns);
	else
		json_add_null(json, key);
}

static const char *const scheduler_states[] = {
	[BOOT_SCHEDULER_NONE] = NULL,	  [BOOT_SCHEDULER_NOT_STARTED] = "not-started",
	[BOOT_SCHEDULER_ALIVE] = "alive", [BOOT_SCHEDULER_STOPPED] = "stopped",
	[BOOT_SCHEDULER_DIED] = "died",
};

static void add_scheduler(struct json *json, const struct guest_run *run)
{
	const struct boot_result *result = &run->result;

	if (!run->options.scheduler) {
		json_add_null(json, "scheduler");
		return;
	}
	json_object_begin(json, "scheduler");
	json_add_string(json, "command", run->options.scheduler);
	add_text(json, "state", scheduler_states[result->scheduler]);
	add_ns(json, "after_ns", result->scheduler_after_ns);
	add_text(json, "reason", result->scheduler_reason);
	add_text(json, "dump", result->dumped ? run->options.boot.dump : "");
	json_object_end(json);
}

static void write_result(struct output *out, const struct guest_run *run, int code,
			 const struct error *failed)
{
	const struct qemu_options *qemu = &run->options.boot.qemu;
	const struct boot_result *result = &run->result;
	struct json json = {.out = out};
	char topology[24];

	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "guest");
	json_add_u64(&json, "version", 1);
	json_add_string(&json, "kernel", qemu->kernel);
	add_text(&json, "release", result->release);
	json_add_string(&json, "accel", result->kvm ? "kvm" : "tcg");
	shape_format(topology, sizeof(topology), &qemu->shape);
	json_add_string(&json, "topology", topology);
	json_add_u64(&json, "memory_bytes", qemu->memory_bytes);
	add_ns(&json, "boot_ns", result->ready_ns);
	add_ns(&json, "wall_ns", result->wall_ns);
	add_ns(&json, "teardown_ns", result->teardown_ns);
	if (result->ended)
		json_add_i64(&json, "exit", code);
	else
		json_add_null(&json, "exit");
	json_add_u64(&json, "files", result->files);
	add_scheduler(&json, run);
	add_text(&json, "error", failed->text);
	json_object_end(&json);
	output_char(out, '\n');
}

static int save_result(const struct guest_run *run, int code, const struct error *failed,
		       struct error *error)
{
	struct output output;
	int result;

	if (!run->options.result)
		return 0;
	if (output_init(&output, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	write_result(&output, run, code, failed);
	result = output.error
			 ? error_set(error, output.error, "out of memory")
			 : file_replace(run->options.result, output.buffer, output.used, error);
	output_release(&output);
	return result;
}

/* What the reader of the command's output has to know. */
static void remark(const struct guest_run *run)
{
	const struct boot_result *result = &run->result;
	char after[16];

	if (!result->kvm)
		fputs("dwell guest: emulated (TCG): its timings are indicative only\n", stderr);
	if (*result->oom)
		fprintf(stderr, "dwell guest: the guest was out of memory (--memory): killed %s\n",
			result->oom);
	if (result->log_error)
		fprintf(stderr, "dwell guest: %s is incomplete: %s\n", run->options.boot.log,
			strerror(result->log_error));
	if (result->scheduler != BOOT_SCHEDULER_DIED)
		return;
	duration_format(after, sizeof(after), result->scheduler_after_ns);
	fprintf(stderr, "dwell guest: the scheduler died after %s: %s%s%s\n", after,
		result->scheduler_reason, result->dumped ? "; its dump is in " : "",
		result->dumped ? run->options.boot.dump : "");
}

static int run_guest(struct guest_run *run)
{
	struct error failed = {""}, error = {""};
	int code;

	if (boot(run, &failed) < 0)
		code = command_fail("guest", EXIT_NOT_RUN, &failed);
	else if (run->result.scheduler == BOOT_SCHEDULER_DIED)
		code = EXIT_CHECK_FAILED;
	else
		code = run->result.code;
	if (run->result.ended && !*failed.text)
		remark(run);
	if (save_result(run, code, &failed, &error) < 0)
		code = command_fail("guest", EXIT_NOT_RUN, &error);
	returns_release(&run->returns);
	return code;
}

static int guest_run(int argc, char **argv)
{
	struct guest_run run = {
		.options = {.boot = {.qemu = {.shape = {1, 1, 2, 1}, .memory_bytes = 1ULL << 30},
				     .timeout_ns = 60 * NS_PER_S}},
	};
	int code = guest_options_parse(&run.options, argc, argv);

	if (code != EXIT_DONE)
		return code;
	return guest_matrix_asked(&run.options.matrix) ? guest_matrix_run(&run.options.matrix)
						       : run_guest(&run);
}

const struct command command_guest = {
	.name = "guest",
	.summary = "any of these in a virtual machine, under another kernel",
	.argp = &guest_argp,
	.run = guest_run,
};
