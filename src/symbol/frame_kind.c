// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "symbol/frame_kind.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

struct prefix {
	const char *text;
	enum frame_kind kind;
};

/* Crates and namespaces, as the first part of a path of names; those of runtimes are given. */
static const struct prefix packages[] = {
	{"std", FRAME_KIND_STANDARD},
	{"core", FRAME_KIND_STANDARD},
	{"alloc", FRAME_KIND_STANDARD},
	{"panic_unwind", FRAME_KIND_STANDARD},
	{"compiler_builtins", FRAME_KIND_STANDARD},
	{"__gnu_cxx", FRAME_KIND_STANDARD},
	{"__cxxabiv1", FRAME_KIND_STANDARD},
	{"runtime", FRAME_KIND_STANDARD}, /* Go */
	{"tracing", FRAME_KIND_DEPENDENCY},
	{"tracing_core", FRAME_KIND_DEPENDENCY},
	{"log", FRAME_KIND_DEPENDENCY},
	{"serde", FRAME_KIND_DEPENDENCY},
	{"serde_json", FRAME_KIND_DEPENDENCY},
	{"regex", FRAME_KIND_DEPENDENCY},
	{"regex_automata", FRAME_KIND_DEPENDENCY},
	{"crossbeam", FRAME_KIND_DEPENDENCY},
	{"rayon", FRAME_KIND_DEPENDENCY},
	{"rayon_core", FRAME_KIND_DEPENDENCY},
	{"parking_lot", FRAME_KIND_DEPENDENCY},
	{"parking_lot_core", FRAME_KIND_DEPENDENCY},
	{"lock_api", FRAME_KIND_DEPENDENCY},
	{"bytes", FRAME_KIND_DEPENDENCY},
	{"http", FRAME_KIND_DEPENDENCY},
	{"httparse", FRAME_KIND_DEPENDENCY},
	{"axum", FRAME_KIND_DEPENDENCY},
	{"bcrypt", FRAME_KIND_DEPENDENCY},
	{"blowfish", FRAME_KIND_DEPENDENCY},
	{"flate2", FRAME_KIND_DEPENDENCY},
	{"hashbrown", FRAME_KIND_DEPENDENCY},
	{"ahash", FRAME_KIND_DEPENDENCY},
	{"memchr", FRAME_KIND_DEPENDENCY},
	{"socket2", FRAME_KIND_DEPENDENCY},
	{"once_cell", FRAME_KIND_DEPENDENCY},
};

/* Names a compiler or its library adds, without a namespace. */
static const char *const standard_functions[] = {
	"__rust_",     "rust_begin_unwind", "rust_panic", "rust_eh_personality",
	"_start",      "__libc_csu_",	    "__cxa_",	  "_Unwind_",
	"frame_dummy", "__libc_start",	    "_dl_",	  "lang_start",
	"main::{{",    "Builtins_", /* V8 */
	"caml_",		    /* OCaml */
};

/* Parts of source paths, the more specific first. */
static const struct prefix places[] = {
	{"/rustc/", FRAME_KIND_STANDARD},
	{"/.rustup/toolchains/", FRAME_KIND_STANDARD},
	{"library/std/src/", FRAME_KIND_STANDARD},
	{"library/core/src/", FRAME_KIND_STANDARD},
	{"library/alloc/src/", FRAME_KIND_STANDARD},
	{"/include/c++/", FRAME_KIND_STANDARD},
	{"/go/src/", FRAME_KIND_STANDARD},
	{"/lib/go-", FRAME_KIND_STANDARD},
	{"/vendor/", FRAME_KIND_DEPENDENCY},
	{"/node_modules/", FRAME_KIND_DEPENDENCY},
	{"/pkg/mod/", FRAME_KIND_DEPENDENCY},
	{"/deps/", FRAME_KIND_DEPENDENCY},
};

/*
 * What a program takes from the system. Not all of /usr: containers build programs in /usr/src/app,
 * and distributions those that they ship debug information for.
 */
static const char *const system_places[] = {"/usr/include/",	   "/usr/lib",	     "/usr/share/",
					    "/usr/local/include/", "/usr/local/lib", "/lib"};

/* Where cargo keeps the sources of what others wrote. */
static const char *const registries[] = {"/.cargo/registry/", "/cargo/registry/", "/.cargo/git/"};

/* Crates are written with - in directories, and with _ in names. */
static bool begins_directory(const char *directory, const char *crate)
{
	for (; *crate; crate++, directory++)
		if (*directory != (*crate == '_' ? '-' : *crate))
			return false;
	return *directory == '-' || *directory == '/';
}

/* Packages' directories there are `name-version`. */
static bool is_runtime_package(const char *directory, const char *const *runtimes)
{
	for (; runtimes && *runtimes; runtimes++)
		if (begins_directory(directory, *runtimes))
			return true;
	return false;
}

static enum frame_kind kind_of_file(const char *file, const char *const *runtimes)
{
	for (size_t i = 0; i < ARRAY_SIZE(registries); i++) {
		const char *at = strstr(file, registries[i]);

		if (!at)
			continue;
		at += strlen(registries[i]);
		/* an index's own directory may be between: src/index.crates.io-1234/ */
		for (const char *part = at; part; part = strchr(part, '/')) {
			part += *part == '/';
			if (is_runtime_package(part, runtimes))
				return FRAME_KIND_RUNTIME;
		}
		return FRAME_KIND_DEPENDENCY;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strstr(file, places[i].text))
			return places[i].kind;
	for (size_t i = 0; i < ARRAY_SIZE(system_places); i++)
		if (!strncmp(file, system_places[i], strlen(system_places[i])))
			return FRAME_KIND_SYSTEM;
	return FRAME_KIND_UNKNOWN;
}

/* Go's standard library (1.25), by the first directory of its packages. */
static const char *const go_packages[] = {
	"archive",  "bufio",   "bytes",	  "cmp",      "compress", "container", "context", "crypto",
	"database", "debug",   "embed",	  "encoding", "errors",	  "expvar",    "flag",	  "fmt",
	"go",	    "hash",    "html",	  "image",    "index",	  "internal",  "io",	  "iter",
	"log",	    "maps",    "math",	  "mime",     "net",	  "os",	       "path",	  "plugin",
	"reflect",  "regexp",  "runtime", "slices",   "sort",	  "strconv",   "strings", "structs",
	"sync",	    "syscall", "testing", "text",     "time",	  "unicode",   "unique",  "unsafe",
	"vendor",   "weak"};

/*
 * As `go build -trimpath` writes them: of the standard library, a package's; of a module, its name
 * and version, `github.com/lib/pq@v1.10.9/conn.go`; of the program's own, without a version.
 */
static enum frame_kind kind_of_trimmed(const char *file)
{
	const char *version = strstr(file, "@v");
	size_t length = strcspn(file, "/");

	if (!text_ending(file, ".go") && !text_ending(file, ".s"))
		return FRAME_KIND_UNKNOWN;
	if (version && isdigit((unsigned char)version[2]))
		return FRAME_KIND_DEPENDENCY;
	for (size_t i = 0; file[length] && i < ARRAY_SIZE(go_packages); i++)
		if (strlen(go_packages[i]) == length && !strncmp(file, go_packages[i], length))
			return FRAME_KIND_STANDARD;
	return FRAME_KIND_UNKNOWN;
}

/* `<&mut app::Conn as Future>::poll` is of app. */
static const char *skip_decoration(const char *name)
{
	static const char *const words[] = {
		"<", "&", "*", "(", "[", "mut ", "const ", "dyn ", "impl ", "non-virtual thunk to ",
	};

	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			if (strncmp(name, words[i], strlen(words[i])) != 0)
				continue;
			name += strlen(words[i]);
			again = true;
		}
	}
	return name;
}

/* Rust's own types, whose functions are the standard library's: `<u64>::wrapping_mul`. */
static bool is_primitive(const char *name, size_t length)
{
	static const char *const types[] = {"bool", "char", "str",   "u8",  "u16", "u32",
					    "u64",  "u128", "usize", "i8",  "i16", "i32",
					    "i64",  "i128", "isize", "f32", "f64"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i]) == length && !strncmp(name, types[i], length))
			return true;
	return false;
}

/* A namespace of C++ or a package of Go may be called as a crate is: http, log, core. */
static bool is_package_of(const char *package, const char *file)
{
	if (!file || text_ending(file, ".rs"))
		return true;
	if (text_ending(file, ".go") || text_ending(file, ".s"))
		return !strcmp(package, "runtime");
	return !strcmp(package, "std") || !strcmp(package, "__gnu_cxx") ||
	       !strcmp(package, "__cxxabiv1");
}

/* Of a package, the first part of a path of names. */
static enum frame_kind kind_of_package(const char *name, size_t length, const char *file,
				       const char *const *runtimes)
{
	for (; runtimes && *runtimes; runtimes++)
		if (strlen(*runtimes) == length && !strncmp(name, *runtimes, length))
			return FRAME_KIND_RUNTIME;
	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (strlen(packages[i].text) == length &&
		    !strncmp(name, packages[i].text, length) &&
		    is_package_of(packages[i].text, file))
			return packages[i].kind;
	return FRAME_KIND_UNKNOWN;
}

/* `log.part.0` is a part of the function log(). */
static bool is_clone(const char *after_point)
{
	static const char *const parts[] = {"part.", "constprop.", "isra.", "cold", "lto_priv."};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strncmp(after_point, parts[i], strlen(parts[i])))
			return true;
	return false;
}

static bool begins(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

/* Functions of OCaml are called after their module: `camlUnix__write_301`, since 5.0 with a point.
 */
static enum frame_kind kind_of_ocaml(const char *function)
{
	static const struct prefix modules[] = {
		{"camlStdlib", FRAME_KIND_STANDARD},   {"camlCamlinternal", FRAME_KIND_STANDARD},
		{"camlUnix__", FRAME_KIND_STANDARD},   {"camlUnix.", FRAME_KIND_STANDARD},
		{"camlThread__", FRAME_KIND_STANDARD}, {"camlThread.", FRAME_KIND_STANDARD},
		{"camlMutex__", FRAME_KIND_STANDARD},  {"camlCondition__", FRAME_KIND_STANDARD},
		{"camlLwt_", FRAME_KIND_DEPENDENCY},   {"camlLwt.", FRAME_KIND_DEPENDENCY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (begins(function, modules[i].text))
			return modules[i].kind;
	return FRAME_KIND_UNKNOWN;
}

enum frame_kind frame_kind_of_ocaml_stub(const char *function)
{
	static const struct prefix libraries[] = {
		{"unix_", FRAME_KIND_STANDARD},	     {"st_", FRAME_KIND_STANDARD},
		{"mark_slice", FRAME_KIND_STANDARD}, {"sweep_slice", FRAME_KIND_STANDARD},
		{"lwt_", FRAME_KIND_DEPENDENCY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (begins(function, libraries[i].text))
			return libraries[i].kind;
	return FRAME_KIND_UNKNOWN;
}

static enum frame_kind kind_of_name(const char *function, const char *file,
				    const char *const *runtimes)
{
	const char *name = skip_decoration(function);
	enum frame_kind kind = FRAME_KIND_UNKNOWN;
	size_t length = 0;

	while (isalnum((unsigned char)name[length]) || name[length] == '_')
		length++;
	if (name > function && is_primitive(name, length))
		return FRAME_KIND_STANDARD;
	/* a v0 name contains the crate's hash: serde[1b2c]; a point is Go's, or of a clone of C's
	 */
	if (strncmp(name + length, "::", 2) == 0 || name[length] == '[' ||
	    (name[length] == '.' && !is_clone(name + length + 1)))
		kind = kind_of_package(name, length, file, runtimes);
	if (kind != FRAME_KIND_UNKNOWN)
		return kind;
	for (size_t i = 0; i < ARRAY_SIZE(standard_functions); i++)
		if (!strncmp(function, standard_functions[i], strlen(standard_functions[i])))
			return FRAME_KIND_STANDARD;
	return kind_of_ocaml(function);
}

/* V8 writes the place into the name: `JS:~load /srv/app.js:12:3`. Node.js's own is at node:fs. */
static enum frame_kind kind_of_script(const char *name)
{
	static const char *const others[] = {"RegExp:", "BytecodeHandler:", "Builtin:", "Stub:"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return FRAME_KIND_STANDARD;
	if (strstr(name, " node:"))
		return FRAME_KIND_STANDARD;
	return strstr(name, "/node_modules/") ? FRAME_KIND_DEPENDENCY : FRAME_KIND_UNKNOWN;
}

/*
 * As HotSpot lists what it has compiled, `void io.netty.channel.nio.NioEventLoop.run()`, and beside
 * that its interpreter and its stubs.
 */
static enum frame_kind kind_of_java(const char *function, const char *const *runtimes)
{
	static const char *const packages_of_java[] = {"java.", "javax.", "jdk.", "sun.",
						       "com.sun."};
	static const char *const stubs[] = {"Interpreter",	    "I2C/C2I adapters",
					    "StubRoutines (",	    "vtable chunks",
					    "jni_fast_Get",	    "resolve_static_call",
					    "resolve_virtual_call", "resolve_opt_virtual_call",
					    "g1_pre_barrier",	    "g1_post_barrier"};
	static const char *const endings[] = {" Runtime1 stub", "_stub", "_Java", "Blob"};
	const char *arguments = strchr(function, '('), *name = function;

	for (size_t i = 0; i < ARRAY_SIZE(stubs); i++)
		if (!strncmp(function, stubs[i], strlen(stubs[i])))
			return FRAME_KIND_STANDARD;
	for (size_t i = 0; !arguments && i < ARRAY_SIZE(endings); i++)
		if (text_ending(function, endings[i]))
			return FRAME_KIND_STANDARD;
	if (!arguments)
		return FRAME_KIND_UNKNOWN;
	for (const char *at = function; at < arguments; at++)
		if (*at == ' ')
			name = at + 1;
	for (size_t i = 0; i < ARRAY_SIZE(packages_of_java); i++)
		if (!strncmp(name, packages_of_java[i], strlen(packages_of_java[i])))
			return FRAME_KIND_STANDARD;
	for (; runtimes && *runtimes; runtimes++)
		if (!strncmp(name, *runtimes, strlen(*runtimes)) && name[strlen(*runtimes)] == '.')
			return FRAME_KIND_RUNTIME;
	return FRAME_KIND_UNKNOWN;
}

/* Whether it is called so, wherever it is. */
static bool is_file_of(const char *module, const char *const *names, size_t count)
{
	const char *name = strrchr(module, '/');

	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(name + 1, names[i]))
			return true;
	return false;
}

/* The virtual machine's own, wherever it is installed. */
static bool is_of_java(const char *module)
{
	static const char *const files[] = {"libjvm.so", "libjava.so", "libnio.so",
					    "libnet.so", "libjli.so",  "libzip.so"};

	return is_file_of(module, files, ARRAY_SIZE(files));
}

/*
 * A module that was chosen for the program (nginx's for Lua, an extension of Redis), not a library:
 * those are called lib*, and have their version behind the .so. Converters of iconv() are of the C
 * library.
 */
static bool is_plug_in(const char *module)
{
	const char *name = strrchr(module, '/');
	size_t length = name ? strlen(++name) : 0;

	return length > 3 && !strcmp(name + length - 3, ".so") && strncmp(name, "lib", 3) != 0 &&
	       !strstr(module, "/gconv/");
}

/*
 * What a package installs to start it by: a few lines in a directory of programs. All that it does
 * is below those, and would be called by their name.
 */
static bool is_launcher(const char *path, const char *function)
{
	const char *name = strrchr(path, '/');
	size_t directory = name ? (size_t)(name - path) : 0;

	return function && !strcmp(function, "<module>") &&
	       ((directory >= 4 && !strncmp(name - 4, "/bin", 4)) ||
		(directory >= 5 && !strncmp(name - 5, "/sbin", 5)));
}

enum frame_kind frame_kind_of_python(const char *path, const char *function)
{
	if (is_launcher(path, function) || strstr(path, "/site-packages/") ||
	    strstr(path, "/dist-packages/"))
		return FRAME_KIND_DEPENDENCY;
	if (strstr(path, "/lib/python3") || !strncmp(path, "<frozen ", 8))
		return FRAME_KIND_STANDARD;
	return FRAME_KIND_USER;
}

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

bool frame_kind_is_own(const char *prefix, const char *function, const char *file,
		       const char *module)
{
	const char *name = strrchr(module, '/'), *place = strchr(function, ' ');

	return begins(function, prefix) || begins(skip_decoration(function), prefix) ||
	       begins(file, prefix) || begins(module, prefix) ||
	       (name && begins(name + 1, prefix)) ||
	       (begins(function, "JS:") && place && begins(place + 1, prefix));
}

/* Beginnings of names that they do not export. */
static const char *const c_library_names[] = {
	/* glibc */
	"__lll_", "___pthread", "__pthread", "__GI_", "_IO_", "__libc_", "__new_sem", "__internal_",
	"__futex", "futex_", "__x64_", "__nanosleep", "__spawn",
	/* musl */
	"sccp", "__syscall", "__timedwait", "__wait", "__stdio_", "__fwritex", "printf_core",
	"__clone", "__lock", "__vm_", "__cp_", "libc_start_main"};

bool frame_kind_is_c_library(const char *function)
{
	static const char *const endings[] = {"_internal", "_nocancel", "_time64"};
	const char *bare = function + strspn(function, "_");
	size_t length = strlen(bare);
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(c_library_names); i++)
		if (!strncmp(function, c_library_names[i], strlen(c_library_names[i])))
			return true;
	if (!length || length >= sizeof(name) || strspn(bare, NAME_CHARACTERS) != length)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (length > strlen(endings[i]) &&
		    !strcmp(bare + length - strlen(endings[i]), endings[i]))
			length -= strlen(endings[i]);
	snprintf(name, sizeof(name), "%.*s", (int)length, bare);
	return dlsym(RTLD_DEFAULT, function) || dlsym(RTLD_DEFAULT, name);
}

int frame_kind_of_neighbor(const char *function)
{
	/* the program's own code begins behind these */
	static const char *const beginnings[] = {"_start", "frame_dummy", "main",
						 "register_tm_clones"};

	/* of another language: mangled */
	if (!strncmp(function, "_Z", 2) || !strncmp(function, "_R", 2))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strcmp(function, beginnings[i]))
			return -1;
	return !strncmp(function, "__", 2) && frame_kind_is_c_library(function);
}

/*
 * A program that runs others' scripts: what is built into it (OpenSSL, libuv) is theirs as a
 * language's library is, and what they call of the runtime says more.
 */
static bool is_of_scripts(const char *module)
{
	static const char *const programs[] = {"node", "nodejs", "deno", "bun", "electron"};

	return is_file_of(module, programs, ARRAY_SIZE(programs));
}

enum frame_kind frame_kind_of(const char *function, const char *file, const char *module,
			      bool executable, const char *const *runtimes)
{
	enum frame_kind kind = file ? kind_of_file(file, runtimes) : FRAME_KIND_UNKNOWN;

	if (kind == FRAME_KIND_UNKNOWN && file && *file != '/' && strchr(function, '.'))
		kind = kind_of_trimmed(file);
	if (kind == FRAME_KIND_UNKNOWN)
		kind = kind_of_name(function, file, runtimes);
	if (kind == FRAME_KIND_UNKNOWN && !*module)
		kind = kind_of_script(function);
	if (kind == FRAME_KIND_UNKNOWN && !*module)
		kind = kind_of_java(function, runtimes);
	if (executable && kind != FRAME_KIND_RUNTIME && is_of_scripts(module))
		return FRAME_KIND_STANDARD;
	if (kind != FRAME_KIND_UNKNOWN)
		return kind;
	if (executable)
		return FRAME_KIND_USER;
	if (!*module)
		return file || !strchr(function, '+') ? FRAME_KIND_USER : FRAME_KIND_UNKNOWN;
	if (is_of_java(module) || *module == '[')
		return FRAME_KIND_SYSTEM;
	if ((!strncmp(module, "/usr/", 5) || !strncmp(module, "/lib", 4)) && !is_plug_in(module))
		return FRAME_KIND_SYSTEM;
	return frame_kind_of_python(module, NULL);
}
