// SPDX-License-Identifier: GPL-2.0-or-later
/* Callers, and whose code they are. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "symbol/frame_kind.h"
#include "symbol/jit_map.h"
#include "symbol/kernel_symbols.h"
#include "symbol/unwind.h"

CASE(whose_code_a_function_is)
{
	static const struct {
		const char *function, *file, *module;
		bool executable;
		enum frame_kind kind;
	} cases[] = {
		{"app::handle", NULL, "/srv/app", true, FRAME_KIND_USER},
		{"app::handle", "src/main.rs", "/srv/app", true, FRAME_KIND_USER},
		{"handle", "/home/me/app/main.c", "/srv/app", true, FRAME_KIND_USER},
		{"tokio::runtime::park", NULL, "/srv/app", true, FRAME_KIND_RUNTIME},
		{"<tokio::net::TcpStream as app::Conn>::read", NULL, "/srv/app", true,
		 FRAME_KIND_RUNTIME},
		{"<&mut app::Conn as core::future::Future>::poll", NULL, "/srv/app", true,
		 FRAME_KIND_USER},
		{"<core::pin::Pin<P> as core::future::Future>::poll", NULL, "/srv/app", true,
		 FRAME_KIND_STANDARD},
		{"<u64>::wrapping_mul", NULL, "/srv/app", true, FRAME_KIND_STANDARD},
		{"<[u8] as app::Digest>::digest", NULL, "/srv/app", true, FRAME_KIND_STANDARD},
		{"u64_of", NULL, "/srv/app", true, FRAME_KIND_USER},
		{"std::thread::sleep", NULL, "/srv/app", true, FRAME_KIND_STANDARD},
		{"standard::of_mine", NULL, "/srv/app", true, FRAME_KIND_USER},
		{"serde_json::from_str", NULL, "/srv/app", true, FRAME_KIND_DEPENDENCY},
		{"poll", "/home/me/.cargo/registry/src/github.com-1ecc/tokio-1.24.2/src/a.rs",
		 "/srv/app", true, FRAME_KIND_RUNTIME},
		{"parse", "/usr/share/cargo/registry/httparse-1.8.0/src/lib.rs", "/srv/app", true,
		 FRAME_KIND_DEPENDENCY},
		{"poll", "/usr/share/cargo/registry/futures-util-0.3.21/src/lib.rs", "/srv/app",
		 true, FRAME_KIND_RUNTIME},
		{"call_once", "/rustc/9fc6b/library/core/src/ops/function.rs", "/srv/app", true,
		 FRAME_KIND_STANDARD},
		{"handle", "/usr/src/app/src/main.c", "/usr/local/bin/app", true, FRAME_KIND_USER},
		{"vector<int>::push_back", "/usr/include/c++/12/bits/stl_vector.h", "/srv/app",
		 true, FRAME_KIND_STANDARD},
		{"list_add", "/usr/local/include/list.h", "/srv/app", true, FRAME_KIND_SYSTEM},
		{"__GI___libc_read", NULL, "/usr/lib/x86_64-linux-gnu/libc.so.6", false,
		 FRAME_KIND_SYSTEM},
		{"my_plugin", NULL, "/srv/plugins/mine.so", false, FRAME_KIND_USER},
		{"__vdso_clock_gettime", NULL, "[vdso]", false, FRAME_KIND_SYSTEM},
		{"LazyCompile:*handler /srv/app.js:12", NULL, "", false, FRAME_KIND_USER},
		{"JS:~readFileSync node:fs:445:22", NULL, "", false, FRAME_KIND_STANDARD},
		{"RegExp:^(a|a)*$", NULL, "", false, FRAME_KIND_STANDARD},
		{"JS:^parse /srv/node_modules/yaml/index.js:7:1", NULL, "", false,
		 FRAME_KIND_DEPENDENCY},
		{"node::fs::Read(v8::FunctionCallbackInfo<v8::Value> const&)", NULL,
		 "/usr/bin/node", true, FRAME_KIND_RUNTIME},
		{"non-virtual thunk to node::LibuvStreamWrap::DoTryWrite()", NULL, "/usr/bin/node",
		 true, FRAME_KIND_RUNTIME},
		{"void Orders.load(java.lang.String)", NULL, "", false, FRAME_KIND_USER},
		{"void sunshine.Orders.load()", NULL, "", false, FRAME_KIND_USER},
		{"int sun.nio.ch.EPoll.wait(int, long, int, int)", NULL, "", false,
		 FRAME_KIND_STANDARD},
		{"void io.netty.channel.nio.NioEventLoop.run()", NULL, "", false,
		 FRAME_KIND_RUNTIME},
		{"Interpreter", NULL, "", false, FRAME_KIND_STANDARD},
		{"SafepointBlob", NULL, "", false, FRAME_KIND_STANDARD},
		{"_complete_monitor_locking_Java", NULL, "", false, FRAME_KIND_STANDARD},
		{"monitorenter Runtime1 stub", NULL, "", false, FRAME_KIND_STANDARD},
		{"jni_fast_GetIntField", NULL, "", false, FRAME_KIND_STANDARD},
		{"resolve_orders", NULL, "", false, FRAME_KIND_USER},
		{"_ZN2os13PlatformEvent4parkEl", NULL, "/opt/jdk-21/lib/server/libjvm.so", false,
		 FRAME_KIND_SYSTEM},
		{"ngx_http_lua_run_thread", NULL, "/usr/lib/nginx/modules/ngx_http_lua_module.so",
		 false, FRAME_KIND_USER},
		{"_dl_fixup", NULL, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", false,
		 FRAME_KIND_STANDARD},
		{"gconv", NULL, "/usr/lib/x86_64-linux-gnu/gconv/UTF-16.so", false,
		 FRAME_KIND_SYSTEM},
		{"_ssl__SSLSocket_read", NULL,
		 "/usr/lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so", false,
		 FRAME_KIND_STANDARD},
		{"sha512_block_data_order_avx2", NULL, "/usr/local/bin/node", true,
		 FRAME_KIND_STANDARD},
		{"uv__spawn_and_init_child", NULL, "/opt/node/bin/node", true, FRAME_KIND_STANDARD},
		{"sha512_block_data_order_avx2", NULL, "/srv/node-agent", true, FRAME_KIND_USER},
		{"Builtins_InterpreterEntryTrampoline", NULL, "/usr/bin/node", true,
		 FRAME_KIND_STANDARD},
		{"_start", NULL, "/srv/app", true, FRAME_KIND_STANDARD},
		{"caml_sys_system_command", NULL, "/srv/app", true, FRAME_KIND_STANDARD},
		{"camlLw__run_child_901", "lw.ml", "/srv/app", true, FRAME_KIND_USER},
		{"unix_listen", NULL, "/srv/app", true, FRAME_KIND_USER},
		{"camlUnix__write_301", "unix.ml", "/srv/app", true, FRAME_KIND_STANDARD},
		{"camlUnixes__write_301", "unixes.ml", "/srv/app", true, FRAME_KIND_USER},
		{"camlStdlib__List__map_245", NULL, "/srv/app", true, FRAME_KIND_STANDARD},
		{"camlLwt_io__flush_7", NULL, "/srv/app", true, FRAME_KIND_DEPENDENCY},
		/* as crates are called, and are none */
		{"http::server::connection::handle(int)", "/home/me/app/http.cpp", "/srv/app", true,
		 FRAME_KIND_USER},
		{"core::Engine::step()", "/home/me/app/engine.cc", "/srv/app", true,
		 FRAME_KIND_USER},
		{"std::__detail::step()", "/home/me/gcc/step.cc", "/srv/app", true,
		 FRAME_KIND_STANDARD},
		{"http::header::parse", "/home/me/src/http/header.rs", "/srv/app", true,
		 FRAME_KIND_DEPENDENCY},
		{"log.part.0", NULL, "/srv/app", true, FRAME_KIND_USER},
		{"core.constprop.0", NULL, "/srv/app", true, FRAME_KIND_USER},
		{"log.Printf", "/home/me/app/log/log.go", "/srv/app", true, FRAME_KIND_USER},
		{"runtime.gopark", "/opt/golang/src/runtime/proc.go", "/srv/app", true,
		 FRAME_KIND_STANDARD},
		/* go build -trimpath */
		{"internal/runtime/syscall.Syscall6", "internal/runtime/syscall/asm_linux_amd64.s",
		 "/srv/app", true, FRAME_KIND_STANDARD},
		{"os.(*File).Sync", "os/file_posix.go", "/srv/app", true, FRAME_KIND_STANDARD},
		{"github.com/lib/pq.(*conn).query", "github.com/lib/pq@v1.10.9/conn.go", "/srv/app",
		 true, FRAME_KIND_DEPENDENCY},
		{"main.main", "example.com/app/main.go", "/srv/app", true, FRAME_KIND_USER},
		{"myapp/store.Save", "myapp/store/save.go", "/srv/app", true, FRAME_KIND_USER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(frame_kind_of(cases[i].function, cases[i].file, cases[i].module,
					       cases[i].executable, runtime_packages),
				 cases[i].kind);
}

CASE(whose_code_a_function_of_python_is)
{
	assert_int_equal(frame_kind_of_python("/srv/app.py", "handle"), FRAME_KIND_USER);
	assert_int_equal(frame_kind_of_python("/srv/app.py", "<module>"), FRAME_KIND_USER);
	assert_int_equal(frame_kind_of_python("/usr/lib/python3.11/ssl.py", "read"),
			 FRAME_KIND_STANDARD);
	assert_int_equal(frame_kind_of_python("/usr/lib/python3/dist-packages/grpc/_channel.py",
					      "_blocking"),
			 FRAME_KIND_DEPENDENCY);
	/* what starts a package */
	assert_int_equal(frame_kind_of_python("/usr/bin/gunicorn", "<module>"),
			 FRAME_KIND_DEPENDENCY);
	assert_int_equal(frame_kind_of_python("/srv/venv/bin/celery", "<module>"),
			 FRAME_KIND_DEPENDENCY);
	/* functions are more than that */
	assert_int_equal(frame_kind_of_python("/usr/local/bin/report", "fetch"), FRAME_KIND_USER);
	assert_int_equal(frame_kind_of_python("/srv/cabin/app.py", "<module>"), FRAME_KIND_USER);
}

CASE(what_lies_beside_a_function)
{
	static const struct {
		const char *function;
		int verdict;
	} cases[] = {
		{"__libc_dn_expand", 1},
		{"__pthread_mutex_lock", 1},
		{"__cp_end", 1}, /* a label in musl */
		/* a program may have one of that name */
		{"getaddrinfo", 0},
		{"send_vc", 0},
		{"__no_such_function", 0},
		{"main", -1},
		{"frame_dummy", -1},
		{"_ZN3app4mainE", -1},
		{"_RNvC3app4main", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(frame_kind_of_neighbor(cases[i].function), cases[i].verdict);
}

CASE(the_user_says_what_is_their_own)
{
	static const struct {
		const char *prefix, *function, *file, *module;
		bool own;
	} cases[] = {
		{"app::", "app::serve", NULL, "/srv/app", true},
		{"app::", "<&mut app::Conn as Future>::poll", NULL, "/srv/app", true},
		{"app::", "mapp::serve", NULL, "/srv/app", false},
		{"/srv/app/src/", "serve", "/srv/app/src/main.c", "/srv/app/bin", true},
		{"/srv/app/src/", "serve", NULL, "/srv/app/bin", false},
		{"liborders", "x", NULL, "/usr/lib/liborders.so.1", true},
		{"/usr/lib/lib", "x", NULL, "/usr/lib/liborders.so.1", true},
		{"/srv/", "JS:~load /srv/app.js:12:3", NULL, "", true},
		{"node:", "JS:~readSync node:fs:12:3", NULL, "", true},
		{"load", "JS:~load /srv/app.js:12:3", NULL, "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(frame_kind_is_own(cases[i].prefix, cases[i].function,
						   cases[i].file, cases[i].module),
				 cases[i].own);
}

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

CASE(kernel_functions_by_address)
{
	char path[] = "/tmp/dwell-unit-XXXXXX", hidden[] = "/tmp/dwell-unit-XXXXXX";
	struct kernel_symbols symbols = {0};

	write_file(path, "ffffffff81000200 T second\nffffffff81000100 t first\n"
			 "ffffffff81000180 D data\nffffffffc0000000 t third\t[module]\n");
	assert_int_equal(kernel_symbols_load(&symbols, open(path, O_RDONLY)), 0);
	assert_null(kernel_symbols_find(&symbols, 0x1000));
	assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff81000100), "first");
	assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff810001ff), "first");
	assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff81000200), "second");
	assert_string_equal(kernel_symbols_find(&symbols, 0xffffffffc0001000), "third");
	kernel_symbols_release(&symbols);
	write_file(hidden, "0000000000000000 T first\n0000000000000000 t second\n");
	assert_int_equal(kernel_symbols_load(&symbols, open(hidden, O_RDONLY)), -EPERM);
	assert_int_equal(kernel_symbols_load(&symbols, -ENOENT), -ENOENT);
	unlink(path);
	unlink(hidden);
}

/* The file is read in pieces: lines that two of them share, a last one without an end. */
CASE(every_one_of_many_kernel_functions)
{
	char path[] = "/tmp/dwell-unit-XXXXXX", name[600];
	struct kernel_symbols symbols = {0};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (unsigned int i = 1; i <= 2000; i++) {
		memset(name, 'n', sizeof(name));
		snprintf(name + i % 512, sizeof(name) - 512, "%u", i);
		dprintf(fd, "%016x t %s%s", i << 4, name, i < 2000 ? "\n" : "");
	}
	close(fd);
	assert_int_equal(kernel_symbols_load(&symbols, open(path, O_WRONLY)), -EBADF);
	assert_int_equal(kernel_symbols_load(&symbols, open(path, O_RDONLY)), 0);
	assert_int_equal(symbols.count, 2000);
	for (unsigned int i = 1; i <= 2000; i++)
		assert_int_equal(strtoul(kernel_symbols_find(&symbols, i << 4) + i % 512, NULL, 10),
				 i);
	kernel_symbols_release(&symbols);
	unlink(path);
}

CASE(functions_made_at_run_time)
{
	struct jit_map map = {.pid = (uint32_t)getpid()};
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	assert_null(jit_map_find(&map, 0x1234));
	file = fopen(path, "w");
	fputs("1000 20 LazyCompile:~one /a.js:1\nnonsense\n2000 10 two\n3000 10 not who", file);
	fflush(file);
	assert_string_equal(jit_map_find(&map, 0x101f), "LazyCompile:~one /a.js:1");
	assert_null(jit_map_find(&map, 0x1020));
	assert_null(jit_map_find(&map, 0x3000)); /* the line goes on */
	fputs("le\n1000 20 again\n", file);
	fflush(file);
	assert_string_equal(jit_map_find(&map, 0x3008), "not whole");
	/* in place of two that are gone, and of the half of a third */
	fputs("ff0 2018 newer\n", file);
	fclose(file);
	assert_string_equal(jit_map_find(&map, 0x1008), "newer");
	assert_string_equal(jit_map_find(&map, 0x200f), "newer");
	assert_string_equal(jit_map_find(&map, 0x2fff), "newer");
	assert_string_equal(jit_map_find(&map, 0x3007), "newer");
	assert_string_equal(jit_map_find(&map, 0x3008), "not whole");
	assert_null(jit_map_find(&map, 0x3010));
	jit_map_release(&map);
	/* written again from its start, shorter */
	map = (struct jit_map){.pid = (uint32_t)getpid()};
	assert_int_equal(jit_map_listed(&map), 5);
	file = fopen(path, "w");
	fputs("5000 10 five\n", file);
	fclose(file);
	assert_string_equal(jit_map_find(&map, 0x5008), "five");
	assert_string_equal(jit_map_find(&map, 0x1008), "newer");
	jit_map_release(&map);
	/* longer, as HotSpot writes its list */
	file = fopen(path, "w");
	for (int i = 0; i < 10; i++)
		fprintf(file, "%x 10 first-%d\n", 0x7000 + 0x10 * i, i);
	fclose(file);
	map = (struct jit_map){.pid = (uint32_t)getpid()};
	assert_string_equal(jit_map_find(&map, 0x7008), "first-0");
	file = fopen(path, "w");
	for (int i = 0; i < 20; i++)
		fprintf(file, "%x 10 second-%d\n", 0x6fe0 + 0x10 * i, i);
	fclose(file);
	assert_string_equal(jit_map_find(&map, 0x6fe8), "second-0");
	assert_string_equal(jit_map_find(&map, 0x7008), "second-2");
	assert_string_equal(jit_map_find(&map, 0x7118), "second-19");
	jit_map_release(&map);
	file = fopen(path, "w");
	fputs("1000 20 older\nff0 2018 newer\n", file);
	fclose(file);
	/* what is there last counts */
	map = (struct jit_map){.pid = (uint32_t)getpid()};
	assert_string_equal(jit_map_find(&map, 0x1000), "newer");
	jit_map_release(&map);
	unlink(path);
}

/* Any user can write one, of any length, and without a single line end. */
CASE(hostile_lists_of_functions)
{
	struct jit_map map = {.pid = (uint32_t)getpid()};
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fputs("1000 10 first\n2000 10 ", file);
	for (int i = 0; i < 100000; i++)
		fputc('x', file);
	fflush(file);
	assert_string_equal(jit_map_find(&map, 0x1000), "first");
	assert_true(map.read_bytes > 90000);
	for (int i = 0; i < 100000; i++)
		fputs("3000 10 ", file);
	fputs("\n4000 10 last\nffffffffffffffff 10 round\n", file);
	fflush(file);
	assert_string_equal(jit_map_find(&map, 0x4000), "last");
	assert_null(jit_map_find(&map, 0x2000));
	assert_null(jit_map_find(&map, 0x3000));
	assert_null(jit_map_find(&map, 0x5));
	assert_int_equal(map.count, 2);
	jit_map_release(&map);
	/* each covers all that follow: as many steps are not taken for one address */
	rewind(file);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	for (int i = 0; i < 5000; i++)
		fprintf(file, "%x 10000000 f%d\n", 0x1000 + i, i);
	fflush(file);
	map = (struct jit_map){.pid = (uint32_t)getpid()};
	assert_string_equal(jit_map_find(&map, 0x100000), "f4999");
	jit_map_release(&map);
	/* of another user: it names our functions as it likes */
	if (geteuid() == 0) {
		assert_int_equal(fchown(fileno(file), 65534, 65534), 0);
		map = (struct jit_map){.pid = (uint32_t)getpid()};
		assert_null(jit_map_find(&map, 0x1000));
		jit_map_release(&map);
	}
	fclose(file);
	unlink(path);
}

/* A copy of this thread's stack and registers, as the kernel side takes one of another's. */
static uint8_t copy[65536];
static struct unwind_start here;
static sigjmp_buf after_trap;

/* Reads other functions' frames, which the address sanitizer does not allow. */
__attribute__((noinline, no_sanitize("address"))) static void take_copy(size_t bytes)
{
	uint64_t address, frame, stack, link = 0;

	/* at once: rules hold from one instruction to the next */
#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rbp, %1\n\tmov %%rsp, %2"
			 : "=&r"(address), "=&r"(frame), "=&r"(stack));
#else
	__asm__ volatile("adr %0, .\n\tmov %1, x29\n\tmov %2, sp\n\tmov %3, x30"
			 : "=&r"(address), "=&r"(frame), "=&r"(stack), "=&r"(link));
#endif
	here = (struct unwind_start){.address = address,
				     .exact = true,
				     .stack = stack,
				     .frame = frame,
				     .link = link,
				     .memory = copy,
				     .memory_start = stack,
				     .memory_bytes = bytes};
	for (size_t i = 0; i < bytes; i++)
		copy[i] = ((const volatile uint8_t *)(uintptr_t)stack)[i];
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void inner(size_t bytes)
{
	take_copy(bytes);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void outer(size_t bytes)
{
	volatile char room[500];

	room[0] = 1;
	inner(bytes);
	room[1] = room[0];
}

static int find(struct symbolizer *symbolizer, const uint64_t *addresses, unsigned int count,
		const char *name)
{
	struct symbol symbol;

	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(symbolizer_find(symbolizer, addresses[i], i > 0, &symbol), 0);
		if (strstr(symbol.frames[symbol.count - 1].function, name))
			return (int)i;
	}
	return -1;
}

CASE(callers_by_the_unwind_tables)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	uint64_t addresses[UNWIND_MAX];
	enum unwind_end end;
	unsigned int count;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	outer(1500);
	count = unwind(symbolizer, &here, addresses, &end, NULL);
	assert_int_equal(find(symbolizer, addresses, count, "take_copy"), 0);
	assert_int_equal(find(symbolizer, addresses, count, "inner"), 1);
	assert_int_equal(find(symbolizer, addresses, count, "outer"), 2);
	assert_true(count > 3);
	/* cut off: as far as the copy goes, and it says so */
	outer(64);
	count = unwind(symbolizer, &here, addresses, &end, NULL);
	assert_true(end != UNWIND_COMPLETE && count < 5);
	/* bytes that are no stack: an address at which there is no code */
	memset(copy, 0x41, sizeof(copy));
	here.memory_bytes = sizeof(copy);
	here.link = 0x4141414141414141;
	count = unwind(symbolizer, &here, addresses, &end, NULL);
	assert_int_equal(end, UNWIND_UNMAPPED);
	assert_int_equal(count, 1);
	symbolizer_free(symbolizer);
}

CASE(no_more_of_a_stack_than_was_needed)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	uint64_t addresses[UNWIND_MAX], fewer[UNWIND_MAX], needed, again;
	enum unwind_end end, other_end;
	unsigned int count;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	outer(1500);
	count = unwind(symbolizer, &here, addresses, &end, &needed);
	assert_true(count > 3);
	assert_true(needed > here.stack && needed <= here.memory_start + 1500);
	/* up to there it is the same */
	here.memory_bytes = needed - here.memory_start;
	assert_int_equal(unwind(symbolizer, &here, fewer, &other_end, &again), count);
	assert_memory_equal(fewer, addresses, count * sizeof(*addresses));
	assert_int_equal(other_end, end);
	assert_int_equal(again, needed);
	/* a word less, and the outermost is missing */
	here.memory_bytes -= sizeof(uint64_t);
	assert_true(unwind(symbolizer, &here, fewer, &other_end, &again) < count ||
		    other_end != end);
	assert_true(again < needed);
	symbolizer_free(symbolizer);
}

/* At its first instruction: what is before it belongs to another function. */
__asm__(".text\n"
	".type traps_at_once, %function\n"
	".type before_it, %function\n"
	"before_it:\n"
	".cfi_startproc\n"
	"ret\n"
	".cfi_endproc\n"
	".size before_it, . - before_it\n"
	"traps_at_once:\n"
	".cfi_startproc\n"
#if defined(__x86_64__)
	"ud2\n"
#else
	"udf #0\n"
#endif
	".cfi_endproc\n"
	".size traps_at_once, . - traps_at_once\n");
extern void traps_at_once(void);

static void leave_trap(int number)
{
	(void)number;
	/* the kernel's frame has all vector registers: some KiB */
	inner(16384);
	siglongjmp(after_trap, 1);
}

/* There has to be as much of the stack: the address sanitizer would put the room elsewhere. */
__attribute__((noinline, no_sanitize("address"))) static void outer_of_trap(void)
{
	char room[16384];

	__asm__ volatile("" ::"r"(room) : "memory");
	if (!sigsetjmp(after_trap, 1))
		traps_at_once();
	__asm__ volatile("" ::"r"(room) : "memory");
}

CASE(callers_of_what_a_signal_has_interrupted)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	uint64_t addresses[UNWIND_MAX];
	struct symbol symbol;
	enum unwind_end end;
	unsigned int count;
	int handler, trap;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	signal(SIGILL, leave_trap);
	outer_of_trap();
	signal(SIGILL, SIG_DFL);
	count = unwind(symbolizer, &here, addresses, &end, NULL);
	handler = find(symbolizer, addresses, count, "leave_trap");
	trap = find(symbolizer, addresses, count, "traps_at_once");
	assert_true(handler > 0 && trap > handler);
	assert_int_equal(find(symbolizer, addresses, count, "before_it"), -1);
	assert_int_equal(find(symbolizer, addresses, count, "outer_of_trap"), trap + 1);
	assert_int_equal(symbolizer_find(symbolizer, addresses[trap - 1], true, &symbol), 0);
	assert_non_null(strstr(symbol.frames[0].function, "rt_sigreturn")
				?: strstr(symbol.frames[0].function, "restore_rt"));
	symbolizer_free(symbolizer);
}

#if defined(__aarch64__)
/* As syscall() of the C library, in which threads wait. */
__asm__(".text\n"
	".type waits_without_a_frame, %function\n"
	".globl waits_without_a_frame\n"
	"waits_without_a_frame:\n"
	".cfi_startproc\n"
	"nop\n"
	"ret\n"
	".cfi_endproc\n"
	".size waits_without_a_frame, . - waits_without_a_frame\n");
extern const char waits_without_a_frame[];

CASE(a_caller_that_is_in_the_link_register_only)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	uint64_t addresses[UNWIND_MAX];
	enum unwind_end end;
	unsigned int count;

	assert_int_equal(symbolizer_attach(symbolizer, (uint32_t)getpid(), 0), 0);
	outer(1500);
	/* in the place of take_copy(), which has no frame either */
	here.address = (uint64_t)(uintptr_t)waits_without_a_frame + 4;
	here.exact = false;
	count = unwind(symbolizer, &here, addresses, &end, NULL);
	assert_int_equal(find(symbolizer, addresses, count, "waits_without_a_frame"), 0);
	assert_int_equal(find(symbolizer, addresses, count, "inner"), 1);
	assert_int_equal(find(symbolizer, addresses, count, "outer"), 2);
	/* an outer one has saved it, or its caller is not known */
	here.link = (uint64_t)(uintptr_t)waits_without_a_frame + 4;
	count = unwind(symbolizer, &here, addresses, &end, NULL);
	assert_int_equal(count, 2);
	assert_int_equal(end, UNWIND_TRUNCATED);
	symbolizer_free(symbolizer);
}
#endif

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(whose_code_a_function_is),
		cmocka_unit_test(whose_code_a_function_of_python_is),
		cmocka_unit_test(what_lies_beside_a_function),
		cmocka_unit_test(the_user_says_what_is_their_own),
		cmocka_unit_test(kernel_functions_by_address),
		cmocka_unit_test(every_one_of_many_kernel_functions),
		cmocka_unit_test(functions_made_at_run_time),
		cmocka_unit_test(hostile_lists_of_functions),
		cmocka_unit_test(callers_by_the_unwind_tables),
		cmocka_unit_test(no_more_of_a_stack_than_was_needed),
		cmocka_unit_test(callers_of_what_a_signal_has_interrupted),
#if defined(__aarch64__)
		cmocka_unit_test(a_caller_that_is_in_the_link_register_only),
#endif
	};

	return RUN(cases);
}
