// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/wait_names.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/config.h"

/*
 * Parts of function names, mangled (Rust and C++ write identifiers literally; a number before one
 * is its length in the mangling, and keeps `park` from matching `spark`). The first match counts.
 */
static const struct {
	const char *part;
	enum site_verdict verdict;
} names[] = {
	/* Rust's standard library, parking_lot, Abseil, tcmalloc: taking a contended lock */
	{"lock_contended", SITE_LOCK},
	{"read_contended", SITE_LOCK},
	{"write_contended", SITE_LOCK},
	{"lock_slow", SITE_LOCK},
	{"lock_shared_slow", SITE_LOCK},
	{"lock_exclusive_slow", SITE_LOCK},
	{"lock_upgradable_slow", SITE_LOCK},
	{"LockSlow", SITE_LOCK},
	{"SpinLockDelay", SITE_LOCK},
	{"4once5futex", SITE_LOCK},
	/* glibc, musl */
	{"lll_lock_wait", SITE_LOCK},
	{"pthread_mutex_", SITE_LOCK},
	{"pthread_rwlock_", SITE_LOCK},
	{"pthread_once", SITE_LOCK},
	{"cxa_guard_acquire", SITE_LOCK},
	{"pthread_cond_", SITE_CONDITION},
	{"pthread_join", SITE_CONDITION},
	{"pthread_timedjoin", SITE_CONDITION},
	{"pthread_clockjoin", SITE_CONDITION},
	{"pthread_barrier_wait", SITE_CONDITION},
	{"sem_wait", SITE_SEMAPHORE},
	{"sem_timedwait", SITE_SEMAPHORE},
	{"sem_clockwait", SITE_SEMAPHORE},
	/* PostgreSQL's LWLocks; locks of rows and tables, and of pages others look at: by events */
	{"PGSemaphoreLock", SITE_LOCK},
	{"ProcSleep", SITE_LOCK},
	{"ProcWaitForSignal", SITE_LOCK},
	{"WaitLatch", SITE_CALLER},
	{"WaitEventSetWait", SITE_CALLER},
	{"epoll_", SITE_CALLER},
	/* MySQL's and MariaDB's locks on tables and rows, by condition variables; and latches */
	{"8MDL_wait10timed_wait", SITE_LOCK},
	{"9lock_waitP", SITE_LOCK},
	{"lock_wait_suspend_thread", SITE_LOCK},
	{"sync_array_wait_event", SITE_LOCK},
	{"14srw_mutex_impl", SITE_LOCK},
	{"14ssux_lock_impl", SITE_LOCK},
	{"thr_multi_lock", SITE_LOCK},
	{"8os_event", SITE_CALLER},
	{"os_event_wait", SITE_CALLER},
	{"inline_mysql_cond_", SITE_CALLER},
	{"native_cond_", SITE_CALLER},
	{"my_cond_", SITE_CALLER},
	/* CPython's interpreter lock */
	{"take_gil", SITE_LOCK},
	{"drop_gil", SITE_LOCK},
	/* HotSpot: `synchronized`, and again after Object.wait(), up to 23 and since; its own locks
	   up to 13; a collection of garbage, or what else stops all threads, also for who has asked
	   for it, up to 14 and since */
	{"13ObjectMonitor5enter", SITE_LOCK},
	{"13ObjectMonitor6EnterI", SITE_LOCK},
	{"13ObjectMonitor8ReenterI", SITE_LOCK},
	{"14enter_internalEP10JavaThread", SITE_LOCK},
	{"16reenter_internalEP10JavaThread", SITE_LOCK},
	{"7Monitor5ILock", SITE_LOCK},
	{"LinuxWaitBarrier", SITE_LOCK},
	{"8VMThread7execute", SITE_LOCK},
	{"8VMThread19wait_until_executed", SITE_LOCK},
	{"10JavaThread5sleep", SITE_SLEEP},
	{"10JavaThread11sleep_nanos", SITE_SLEEP},
	{"_ZN2os5sleepEP6Thread", SITE_SLEEP},
	{"13PlatformEvent", SITE_CALLER},
	{"15PlatformMonitor", SITE_CALLER},
	{"7Monitor5IWait", SITE_CALLER},
	{"7Monitor4wait", SITE_CALLER},
	{"7Monitor28wait_without_safepoint_check", SITE_CALLER},
	/* GLib's; Qt's mutexes, which its functions have as arguments, too */
	{"g_cond_", SITE_CONDITION},
	{"g_mutex_lock", SITE_LOCK},
	{"g_bit_lock", SITE_LOCK},
	{"g_pointer_bit_lock", SITE_LOCK},
	{"_ZN11QBasicMutex", SITE_LOCK},
	{"_ZN6QMutex", SITE_LOCK},
	{"_ZN15QRecursiveMutex", SITE_LOCK},
	{"_ZN10QSemaphore", SITE_CONDITION},
	/* OpenMP's of GCC, and oneTBB's: threads that wait for each other, and for work */
	{"GOMP_critical", SITE_LOCK},
	{"GOMP_atomic", SITE_LOCK},
	{"omp_set_lock", SITE_LOCK},
	{"omp_set_nest_lock", SITE_LOCK},
	{"_ZN3tbb6detail2r115wait_on_address", SITE_LOCK},
	{"gomp_", SITE_SEMAPHORE},
	{"GOMP_", SITE_SEMAPHORE},
	/* d0 and d1 are headers: they are in users' functions, as what these take */
	{"_ZN3tbb6detail2r1", SITE_SEMAPHORE},
	{"_ZNK3tbb6detail2r1", SITE_SEMAPHORE},
	/* Erlang's threads, which wait for each other and for work */
	{"ethr_event_", SITE_CONDITION},
	/* the Go runtime */
	{"runtime.lock", SITE_LOCK},
	{"runtime.notesleep", SITE_CONDITION},
	{"runtime.notetsleep", SITE_CONDITION},
	/* parking_lot's locks and condition variables both wait here */
	{"parking_lot_core", SITE_CALLER},
	{"ThreadParker", SITE_CALLER},
	/* Rust's and others' condition variables and parked threads; libstdc++'s futures, atomics
	 */
	{"condvar", SITE_CONDITION},
	{"Condvar", SITE_CONDITION},
	{"CondVar", SITE_CONDITION},
	{"Parker", SITE_CONDITION},
	{"thread_parking", SITE_CONDITION},
	{"6thread4park", SITE_CONDITION},
	{"functions4park", SITE_CONDITION},
	{"park_timeout", SITE_CONDITION},
	{"__atomic_futex_unsigned", SITE_CONDITION},
	{"__platform_wait", SITE_CONDITION},
	{"__atomic_wait", SITE_CONDITION},
	/* where each thread begins: it says as little as no name */
	{"__libc_start_", SITE_UNNAMED},
	{"start_thread", SITE_UNNAMED},
	{"clone3", SITE_UNNAMED},
	{"__clone", SITE_UNNAMED},
	/* wrappers */
	{"futex", SITE_CALLER},
	{"Futex", SITE_CALLER},
	{"PerThreadSem", SITE_CALLER},
	{"syscall", SITE_CALLER},
	{"sccp", SITE_CALLER}, /* musl: any call that can be cancelled */
	{"timedwait", SITE_CALLER},
};

/* Not in the middle of a word: neither `clock_slow` nor `unlock_slow` takes a lock. */
static bool has_part(const char *function, const char *part)
{
	for (const char *at = strstr(function, part); at; at = strstr(at + 1, part))
		if (at == function || !islower((unsigned char)*part) ||
		    !islower((unsigned char)at[-1]))
			return true;
	return false;
}

int wait_verdict_of_name(const char *function)
{
	/* a library's inner functions are not in the dynamic symbols that stripping leaves */
	if (!function)
		return SITE_CALLER;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (has_part(function, names[i].part))
			return names[i].verdict;
	return SITE_OPERATION;
}

bool wait_is_for_answer(const char *function)
{
	/* libcurl, gRPC, ZeroMQ, libusb, D-Bus and systemd's, MongoDB's C driver, net-snmp,
	 * OpenLDAP */
	static const char *const names_of_calls[] = {
		"curl_easy_perform",
		"grpc_completion_queue_pluck",
		"zmq_recv",
		"zmq_msg_recv",
		"zmq_send",
		"zmq_msg_send",
		"libusb_control_transfer",
		"libusb_bulk_transfer",
		"libusb_interrupt_transfer",
		"dbus_connection_send_with_reply_and_block",
		"sd_bus_call",
		"mongoc_client_command",
		"mongoc_collection_",
		"mongoc_cursor_next",
		"snmp_synch_response",
		"snmp_sess_synch_response",
		"ldap_result",
	};

	return name_begins_with_any(function, names_of_calls, ARRAY_SIZE(names_of_calls));
}

bool name_begins_with_any(const char *name, const char *const *begins, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

bool file_begins_with_any(const char *path, const char *const *begins, size_t count)
{
	const char *file = strrchr(path, '/');

	return file && name_begins_with_any(file + 1, begins, count);
}

bool wait_is_of_library(const char *path)
{
	static const char *const libraries[] = {"libgomp", "libtbb"};

	return file_begins_with_any(path, libraries, ARRAY_SIZE(libraries));
}

bool wait_is_of_ruby(const char *path)
{
	static const char *const programs[] = {"libruby", "ruby"};

	return file_begins_with_any(path, programs, ARRAY_SIZE(programs));
}

bool wait_is_of_c_library(const char *path)
{
	static const char *const libraries[] = {"libc.so", "libc-2.", "libpthread", "ld-musl-"};

	return file_begins_with_any(path, libraries, ARRAY_SIZE(libraries));
}
