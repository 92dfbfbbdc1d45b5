// SPDX-License-Identifier: GPL-2.0-or-later
/* Every kind of line that dwell writes. */
#include "guest/outcome.h"
#include "matrix/fields.h"
#include "results/ab_runs.h"
#include "view/blocked.h"
#include "view/compare.h"
#include "view/compare_threads.h"
#include "view/doctor.h"
#include "view/load.h"
#include "view/profile.h"
#include "view/recorded.h"
#include "view/serve.h"
#include "view/sweep.h"
#include "view/verify.h"
#include "view/view.h"

const struct schema *const result_schemas[] = {
	&interval_schema,
	&child_schema,
	&stall_schema,
	&stuck_now_schema,
	&blocked_schema,
	&worker_schema,
	&load_schema,
	&guest_schema,
	&matrix_schema,
	&compare_load_schema,
	&ab_runs_schema,
	&sweep_schema,
	&compare_blocked_schema,
	&compare_threads_schema,
	&doctor_schema,
	&verify_schema,
	&recorded_schema,
	&profile_schema,
	&serve_status_schema,
	&serve_period_schema,
	NULL,
};
