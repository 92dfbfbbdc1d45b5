// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "symbol/closure_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"

#define CALL "operator()"

/* Closures in closures. */
#define DEPTH_MAX 8

static char *name_of(Dwarf_Die *die, int depth);

/* The function around a closure, demangled; NULL: none has a name. */
static char *outer_name(Dwarf_Die *scopes, int count, int depth)
{
	for (int i = 0; i < count; i++) {
		Dwarf_Attribute attribute;
		const char *name;

		if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram)
			continue;
		name = dwarf_attr_integrate(&scopes[i], DW_AT_linkage_name, &attribute)
			       ? dwarf_formstring(&attribute)
			       : dwarf_diename(&scopes[i]);
		if (name && !strcmp(name, CALL) && depth < DEPTH_MAX)
			return name_of(&scopes[i], depth + 1);
		return name ? demangle(name) : NULL;
	}
	return NULL;
}

static char *name_of(Dwarf_Die *die, int depth)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attribute;
	Dwarf_Die function = *die;
	cleanup_free Dwarf_Die *scopes = NULL;
	cleanup_free char *outer = NULL;
	char *text = NULL;
	int count, line = 0, column = 0;

	if (!name || strcmp(name, CALL))
		return NULL;
	/* what was inlined, or made apart from its declaration, refers to that */
	for (int i = 0; i < DEPTH_MAX; i++)
		if (!dwarf_attr(&function, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&function, DW_AT_specification, &attribute))
			break;
		else if (!dwarf_formref_die(&attribute, &function))
			return NULL;
	count = dwarf_getscopes_die(&function, &scopes);
	/* the closure's type has no name of its own */
	if (count < 2 ||
	    (dwarf_tag(&scopes[1]) != DW_TAG_structure_type &&
	     dwarf_tag(&scopes[1]) != DW_TAG_class_type) ||
	    (dwarf_diename(&scopes[1]) && *dwarf_diename(&scopes[1]) != '<'))
		return NULL;
	if (dwarf_decl_line(&scopes[1], &line) || dwarf_decl_column(&scopes[1], &column))
		line = line > 0 ? line : 0;
	outer = outer_name(scopes + 2, count - 2, depth);
	if (asprintf(&text, "%s%s{lambda:%d:%d}", outer ? outer : "", outer ? "::" : "", line,
		     column) < 0)
		return NULL;
	return text;
}

char *closure_name(Dwarf_Die *die)
{
	return name_of(die, 0);
}
