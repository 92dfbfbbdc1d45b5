/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose code a function is: the program's, the runtime's, a library's. By the source file where it
 * is known (package managers have directories of their own for sources), else by the demangled
 * name, else by the mapped file.
 */
#ifndef DWELL_SYMBOL_FRAME_KIND_H
#define DWELL_SYMBOL_FRAME_KIND_H

#include <stdbool.h>

enum frame_kind {
	FRAME_KIND_UNKNOWN,
	FRAME_KIND_USER,
	FRAME_KIND_RUNTIME,    /* of an async runtime */
	FRAME_KIND_STANDARD,   /* the language's own library */
	FRAME_KIND_DEPENDENCY, /* built into the program */
	FRAME_KIND_SYSTEM,     /* a shared library */
	FRAME_KIND_KERNEL,
};

/*
 * Whether a function without debug information in a program that has no shared libraries is its C
 * library's: by the names of ours, and those that glibc and musl use inside.
 */
bool frame_kind_is_c_library(const char *function);

/*
 * Of a program that contains OCaml's runtime, by the name of a function in C: of the libraries that
 * come with it, or of Lwt; FRAME_KIND_UNKNOWN: of neither.
 */
enum frame_kind frame_kind_of_ocaml_stub(const char *function);

/*
 * What a function says about those without a known name that lie beside it in such a program, whose
 * linker put the C library's together: 1: they may be its, for its name is reserved for the C
 * library; -1: they are not; 0: nothing.
 */
int frame_kind_of_neighbor(const char *function);

/*
 * `function`: demangled. `file`: NULL if not known. `module`: path of the mapped file, "" = code
 * made at run time. `executable`: the module is the program itself. `runtimes`: names of packages
 * that are an async runtime's, ended by NULL; NULL: none are known.
 */
enum frame_kind frame_kind_of(const char *function, const char *file, const char *module,
			      bool executable, const char *const *runtimes);

/*
 * Whether the name of the function, its source file, or the mapped file or its name begins so; of
 * JavaScript, whose names have the place in them (`JS:~load /srv/app.js:12:3`), also that.
 * `file`: NULL if not known.
 */
bool frame_kind_is_own(const char *prefix, const char *function, const char *file,
		       const char *module);

/*
 * Of a function in a file of a Python program: source, or an extension module. `function`: NULL if
 * not known.
 */
enum frame_kind frame_kind_of_python(const char *path, const char *function);

#endif
