#!/usr/bin/env bash
# Tries the packages as an operator meets them, in a small Debian with systemd as its first
# process: installed, started, killed, upgraded over a running engine, removed, purged and
# installed again, with the data looked at after each step; then the same without systemd, and
# the .rpm. Needs root, debootstrap and systemd-nspawn.
#
# The Debian stays in ROOT for the next time; what happens in it is forgotten. KEEP=1 tries the
# packages again that were built before.
set -euo pipefail
cd "$(dirname "$0")/.."
ROOT=${ROOT:-${TMPDIR:-/tmp}/pixd-debian}
PACKAGES=$PWD/bin/tried
ARCH=$(go env GOHOSTARCH)

[ -e "$ROOT/usr/lib/systemd/systemd" ] ||
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl,rpm,man-db bookworm "$ROOT"

for version in 1.0.0 1.1.0; do
	[ "${KEEP:-}" ] && [ -d "$PACKAGES/$version" ] ||
		make -s release VERSION=$version ARCHITECTURES="$ARCH" PROFILE=off OUT="$PACKAGES/$version" >/dev/null
done

in_debian() { # what it is called with runs in the Debian, without systemd
	systemd-nspawn -q -D "$ROOT" --volatile=overlay --private-network --register=no --keep-unit --as-pid2 \
		--bind-ro="$PACKAGES:/packages" --bind-ro="$PWD/.package:/try" "$@"
}

systemd-nspawn -q -D "$ROOT" --volatile=overlay --private-network --register=no --keep-unit --boot \
	--bind-ro="$PACKAGES:/packages" --bind-ro="$PWD/.package:/try" </dev/null >"$PACKAGES/boot.log" 2>&1 &
machine=$!
trap 'kill $machine 2>/dev/null; wait' EXIT
for _ in $(seq 100); do
	leader=$(pgrep -P $machine || true)
	[ -z "$leader" ] || ! nsenter -t "$leader" -a systemctl is-active -q multi-user.target 2>/dev/null || break
	sleep 0.3
done
nsenter -t "$leader" -a /bin/bash /try/try-systemd.sh
in_debian /bin/bash /try/try-bare.sh
echo "the packages work"
