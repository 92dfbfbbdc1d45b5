# SPDX-License-Identifier: GPL-2.0-or-later
# Read by guest-kernel and stock-kernels: where kernels are kept, and how one gets there whole or not at all.
# src/guest/kernel.c looks there too.

me=$(basename "$0")
scripts=$(cd "$(dirname "$0")" && pwd)
child=

say() {
	echo "$me: $*" >&2
}

die() {
	say "$*"
	exit 1
}

# relative ones are to be ignored, says the standard
case ${XDG_CACHE_HOME:-} in
/*) kernels=$XDG_CACHE_HOME/dwell/kernels ;;
*) kernels=${HOME:?neither XDG_CACHE_HOME nor HOME is set}/.cache/dwell/kernels ;;
esac

stop() {
	if [ -n "$child" ]; then
		kill "$child" 2> /dev/null || true
		wait "$child" || true
	fi
	exit 1
}

# One of us at a time, in a directory ($work) that goes when we do. What killed ones have left goes now.
begin_work() {
	mkdir -p "$kernels" || die "cannot make $kernels"
	exec 9> "$kernels/.$me.lock"
	if ! flock -n 9; then
		say "another one is at work: waiting"
		flock 9
	fi
	# not if a program of theirs still writes there: then the next of us
	rm -rf "$kernels/.$me.work".* || true
	work=$(mktemp -d "$kernels/.$me.work.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap stop INT TERM HUP
}

# In the background, for a shell that waits for a program hears no signals. False: it failed; all it said is in the log.
try() {
	"$@" >> "$work/log" 2>&1 9>&- &
	child=$!
	status=0
	wait "$child" || status=$?
	child=
	return $status
}

run() {
	try "$@" || {
		tail -30 "$work/log" >&2
		die "failed: $*"
	}
}

# download PACKAGE-REGEX ARCH SUITE: into $work/deb, and sets $deb
download() {
	mkdir -p "$work/deb"
	deb=$("$scripts/download-debian-package" "$1" "$2" "$3" "$work/deb" 9>&-) || exit 1
}
