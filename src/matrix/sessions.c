// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "load/machine.h"
#include "version.h"

int matrix_session_begin(struct matrix *matrix)
{
	struct matrix_session session = {.began_ns = clock_realtime_ns(), .dwell = DWELL_VERSION};
	struct topology topology = {.llcs = {NULL, 0, 0}};
	struct machine machine;
	struct error error;

	/* where it cannot be read it is not known */
	if (sha256_file("/proc/self/exe", session.dwell_sha256) < 0)
		*session.dwell_sha256 = '\0';
	if (topology_read(&topology, "/sys", NULL, &error) >= 0) {
		machine_read(&machine, &topology);
		session.cpus = machine.cpus;
		snprintf(session.cpu_model, sizeof(session.cpu_model), "%s", machine.cpu_model);
		snprintf(session.kernel, sizeof(session.kernel), "%s", machine.kernel);
		snprintf(session.architecture, sizeof(session.architecture), "%s",
			 machine.architecture);
	}
	topology_release(&topology);
	matrix->session_ns = session.began_ns;
	return matrix_session_add(matrix, &session);
}

int matrix_session_add(struct matrix *matrix, const struct matrix_session *session)
{
	size_t at = matrix->session_count;

	if (matrix_session_find(matrix, session->began_ns))
		return 0;
	if (array_reserve(&matrix->sessions, &matrix->session_room, at + 1, sizeof(*session)) < 0)
		return -ENOMEM;
	for (; at && matrix->sessions[at - 1].began_ns > session->began_ns; at--)
		matrix->sessions[at] = matrix->sessions[at - 1];
	matrix->sessions[at] = *session;
	matrix->session_count++;
	return 0;
}

const struct matrix_session *matrix_session_find(const struct matrix *matrix, uint64_t began_ns)
{
	for (size_t i = 0; i < matrix->session_count; i++)
		if (matrix->sessions[i].began_ns == began_ns)
			return &matrix->sessions[i];
	return NULL;
}

size_t matrix_session_runs(const struct matrix *matrix, const struct matrix_session *session)
{
	size_t count = 0;

	for (size_t i = 0; i < matrix->cell_count; i++) {
		const struct matrix_cell *cell = &matrix->cells[i];

		count += cell->elapsed_ns &&
			 matrix_session_find(matrix, cell->session_ns) == session;
	}
	return count;
}

bool matrix_sessions_differ(const struct matrix *matrix)
{
	const char *version = NULL;

	for (size_t i = 0; i < matrix->session_count; i++) {
		const struct matrix_session *session = &matrix->sessions[i];

		if (!*session->dwell || !matrix_session_runs(matrix, session))
			continue;
		if (version && strcmp(version, session->dwell) != 0)
			return true;
		version = session->dwell;
	}
	return false;
}
