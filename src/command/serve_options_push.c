// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of `dwell serve --push`. */
#include "command/serve_options_parts.h"

#include <errno.h>

#include "base/build_options.h"
#include "base/duration.h"

#define PUSH_S		  15
#define QUEUE_BYTES	  (64 << 20)
#define QUEUE_BYTES_LEAST (64 << 10)
#define PROFILE_S	  10
#define PROFILE_S_MOST	  50

int serve_take_push(void *data, const char *value, struct error *error)
{
	struct serve_options *options = data;

	if (!build_option_enabled(BUILD_PUSH))
		return build_option_missing(BUILD_PUSH, error);
	return push_options_add(&options->server.push, value, error);
}

/* The engine that was named before; NULL: a mistake. */
static struct push_engine *last_push(struct serve_options *options, const char *option,
				     struct error *error)
{
	struct push_options *push = &options->server.push;

	if (push->count)
		return &push->engines[push->count - 1];
	error_set(error, EINVAL, "%s is for the --push before it", option);
	return NULL;
}

int serve_take_push_token(void *data, const char *value, struct error *error)
{
	struct push_engine *engine = last_push(data, "--push-token-file", error);

	if (!engine)
		return -EINVAL;
	engine->token_file = value;
	return 0;
}

int serve_take_push_ca(void *data, const char *value, struct error *error)
{
	struct push_engine *engine = last_push(data, "--push-ca", error);

	if (!engine)
		return -EINVAL;
	engine->ca_file = value;
	return 0;
}

int serve_push_end(struct serve_options *options, struct error *error)
{
	struct push_options *push = &options->server.push;
	uint64_t interval_ns = options->watch.interval_ns;

	if (!push->count && (push->every_ns || push->queue_bytes || push->profile_ns))
		return error_set(error, EINVAL,
				 "--push-every, --push-queue and --push-profile are for --push");
	if (push->every_ns && push->every_ns < interval_ns)
		return error_set(error, EINVAL, "--push-every: not less than an interval (-i)");
	if (push->queue_bytes && push->queue_bytes < QUEUE_BYTES_LEAST)
		return error_set(error, EINVAL, "--push-queue: 64K at least");
	if (push->profile_ns > PROFILE_S_MOST * NS_PER_S)
		return error_set(error, EINVAL, "--push-profile: 50s at most");
	if (!push->every_ns)
		push->every_ns = PUSH_S * NS_PER_S;
	if (!push->queue_bytes)
		push->queue_bytes = QUEUE_BYTES;
	if (!push->profile_ns)
		push->profile_ns = PROFILE_S * NS_PER_S;
	return 0;
}
