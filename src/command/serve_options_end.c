// SPDX-License-Identifier: GPL-2.0-or-later
/* What the options of `dwell serve` are where they were not given, and together. */
#include "command/serve_options_parts.h"

#include <errno.h>

#include "base/duration.h"

#define INTERVAL_S	5
#define SILENT_S	20
#define BEFORE_S	30
#define AFTER_S		10
#define STALL_MS	5
#define PAUSE_S		300
#define KEEP_S		(6 * 3600)
#define MAX_BYTES	(1ULL << 30)
#define MAX_BYTES_LEAST (1 << 20)

int serve_options_end(void *data, struct error *error)
{
	struct serve_options *options = data;

	if (!options->certificate != !options->key)
		return error_set(error, EINVAL, "--tls-cert and --tls-key need each other");
	if (!options->server.store && (options->server.keep_ns || options->server.max_bytes))
		return error_set(error, EINVAL, "--keep and --max-bytes are for --store");
	if (options->server.max_bytes && options->server.max_bytes < MAX_BYTES_LEAST)
		return error_set(error, EINVAL, "--max-bytes: 1M at least");
	if (options->server.stall_threshold_ns && !options->server.stall_count)
		return error_set(error, EINVAL, "--stall-threshold is for --stalls");
	if (!options->server.stall_threshold_ns)
		options->server.stall_threshold_ns = STALL_MS * NS_PER_MS;
	for (size_t i = 0; i < options->server.triggers.count; i++)
		if (options->server.triggers.items[i].kind == TRIGGER_STALL &&
		    !options->server.stall_count)
			return error_set(error, EINVAL, "--trigger stall>...: needs --stalls");
	if (options->server.triggers.count && !options->server.store)
		return error_set(error, EINVAL, "--trigger needs --store");
	if (!options->server.triggers.count &&
	    (options->server.before_ns || options->server.after_ns || options->server.pause_ns))
		return error_set(error, EINVAL,
				 "--trigger-before, --trigger-after and --trigger-pause are for "
				 "--trigger");
	if (!options->server.before_ns)
		options->server.before_ns = BEFORE_S * NS_PER_S;
	if (!options->server.after_ns)
		options->server.after_ns = AFTER_S * NS_PER_S;
	if (!options->server.pause_ns)
		options->server.pause_ns = PAUSE_S * NS_PER_S;
	if (!options->server.keep_ns)
		options->server.keep_ns = KEEP_S * NS_PER_S;
	if (!options->server.max_bytes)
		options->server.max_bytes = MAX_BYTES;
	if (!options->watch.interval_given)
		options->watch.interval_ns = INTERVAL_S * NS_PER_S;
	options->server.web.silent_ns = SILENT_S * NS_PER_S + 2 * options->watch.interval_ns;
	if (serve_push_end(options, error) < 0)
		return -EINVAL;
	return watch_options_end(&options->watch, error);
}
