// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/loop_names.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/wait_names.h"

/* In C and C++: the names, without parameters. */
static const char *const natives[] = {
	/* libuv, libevent, libev, GLib, systemd's, Qt */
	"uv_run",
	"event_base_loop",
	"ev_run",
	"ev_loop",
	"g_main_context_iterate",
	"g_main_context_iterate_unlocked",
	"g_main_context_dispatch",
	"g_main_loop_run",
	"sd_event_loop",
	"sd_event_run",
	"QEventLoop::exec",
	"QCoreApplication::exec",
	"QThread::exec",
	/* Asio */
	"boost::asio::detail::scheduler::run",
	"boost::asio::detail::scheduler::run_one",
	"boost::asio::io_context::run",
	"asio::detail::scheduler::run",
	"asio::detail::scheduler::run_one",
	"asio::io_context::run",
	/* Redis, nginx, HAProxy, QEMU, libwebsockets, Samba, Mosquitto, uWebSockets, libhv,
	   OpenWrt, wpa_supplicant, Wayland, PipeWire, Folly, Seastar, Chromium, CZMQ */
	"aeMain",
	"aeProcessEvents",
	"ngx_process_events_and_timers",
	"run_poll_loop",
	"main_loop_wait",
	"lws_service",
	"tevent_common_loop_wait",
	"mosquitto_main_loop",
	"us_loop_run",
	"hloop_run",
	"uloop_run",
	"eloop_run",
	"wl_display_run",
	"pw_main_loop_run",
	"folly::EventBase::loop",
	"folly::EventBase::loopForever",
	"seastar::reactor::run",
	"base::MessagePumpEpoll::Run",
	"base::MessagePumpLibevent::Run",
	"base::MessagePumpGlib::Run",
	"zloop_start",
};

/* OCaml's Lwt: `camlLwt_main__run_495`. */
static const char lwt[] = "camlLwt_main__run_";

/* In Python: the file, and the function. */
static const struct {
	const char *file, *function;
} pythons[] = {
	{"/asyncio/base_events.py", "run_forever"},
	{"/asyncio/base_events.py", "_run_once"},
	{"/asyncio/runners.py", "run"},
	{"/socketserver.py", "serve_forever"},
	{"/asyncore.py", "loop"},
	{"/tornado/ioloop.py", "start"},
	{"/twisted/internet/base.py", "mainLoop"},
	{"/trio/_core/_run.py", "unrolled_run"},
	{"/eventlet/hubs/hub.py", "run"},
	{"/curio/kernel.py", "run"},
};

/* Names have their class before them, from 3.11 on. */
static bool is_method(const char *function, const char *name)
{
	const char *at = text_ending(function, name);

	return at && (at == function || at[-1] == '.');
}

/* `uv_run`, `uv_run.part.0`, `Reactor::run(int) const`, and not `uv_run_once`. */
static bool is_called(const char *function, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(function, name, length) && !isalnum((unsigned char)function[length]) &&
	       function[length] != '_' && function[length] != ':';
}

bool loop_is_in(const struct symbol_frame *frame)
{
	if (!frame->named)
		return false;
	for (size_t i = 0; frame->file && i < ARRAY_SIZE(pythons); i++)
		if (text_ending(frame->file, pythons[i].file) &&
		    is_method(frame->function, pythons[i].function))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(natives); i++)
		if (is_called(frame->function, natives[i]))
			return true;
	return !strncmp(frame->function, lwt, strlen(lwt));
}

bool loop_is_of_pool(const struct symbol_frame *frame)
{
	return frame->named && strstr(frame->function, "asio::thread_pool::thread_function");
}

bool loop_waits_by(const struct symbol_frame *frame)
{
	static const char *const libraries[] = {"libuv.so",    "libevent",   "libev.so",
						"libglib-2.0", "libQt5Core", "libQt6Core"};
	/* in headers, and then the program's own; a template's name has its type before it */
	static const char *const parts[] = {
		"asio::detail::", "folly::EventBase::", "seastar::reactor::"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(frame->function, parts[i]))
			return true;
	return file_begins_with_any(frame->module, libraries, ARRAY_SIZE(libraries));
}
