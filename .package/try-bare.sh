#!/usr/bin/env bash
# What try.sh does in a Debian in which systemd does not run: .deb and .rpm, each installed,
# started as its user, upgraded and removed.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd /

step() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
serve() { # as the unit does
	setpriv --reuid pixd --regid pixd --clear-groups env PIXD_DATA_DIR=/var/lib/pixd PIXD_MIN_FREE_DISK=0 /usr/bin/pixd serve 2>/tmp/serve.log &
	engine=$!
	for _ in $(seq 100); do curl -sf http://127.0.0.1:8081/readyz >/dev/null && return; sleep 0.1; done
	cat /tmp/serve.log >&2
	fail "not ready"
}
end() { kill $engine; wait $engine || fail "it ended with status $?"; }
ip link set lo up 2>/dev/null || true

try() { # NAME, then what installs, upgrades and removes
	step "$1 without systemd"
	$2
	serve
	account=$(pixd account create --name "$1" --document 12345678909 --json | grep -o 'acc_[a-z2-7]*' | head -n 1)
	$3
	end
	serve
	pixd version | head -n 1
	pixd account show "$account" | grep -q "$1" || fail "the account is gone"
	end
	$4
	[ -d /var/lib/pixd/journal ] || fail "the journal is gone"
	[ ! -e /usr/bin/pixd ] || fail "the program is there"
}

try deb "dpkg -i /packages/1.0.0/pixd_1.0.0_"*.deb "dpkg -i /packages/1.1.0/pixd_1.1.0_"*.deb "dpkg -r pixd"
# Debian's rpm knows none of the packages of dpkg: dependencies are not looked at.
try rpm "rpm -i --nodeps /packages/1.0.0/pixd-1.0.0-1."*.rpm "rpm -U --nodeps /packages/1.1.0/pixd-1.1.0-1."*.rpm "rpm -e pixd"
