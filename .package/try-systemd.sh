#!/usr/bin/env bash
# What try.sh does in a Debian with systemd, whose state it may change.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd /

step() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; journalctl -u pixd --no-pager -n 20 >&2 || true; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1 is \"$2\", not \"$3\""; }
owned() { stat -c '%U:%G %a' "$1"; }
pid() { systemctl show -p MainPID --value pixd; }
balance() { pixd account show "$account" --json | sed 's/.*"balance":\([0-9]*\).*/\1/' | grep -o '^[0-9]*' || pixd account show "$account" --json; }

step "installed, and neither started nor enabled"
dpkg -i /packages/1.0.0/pixd_1.0.0_*.deb
is "the service" "$(systemctl is-active pixd || true)" inactive
is "the service" "$(systemctl is-enabled pixd || true)" disabled
is "the data folder" "$(owned /var/lib/pixd)" "pixd:pixd 700"
is "the settings" "$(owned /etc/pixd/pixd.env)" "root:pixd 640"
man -w pixd-serve >/dev/null || fail "no manual page"
[ -s /usr/share/bash-completion/completions/pixd ] || fail "no completion"

step "started: systemctl returns when the engine serves"
printf 'PIXD_SIM_SETTLE_DELAY=0\nPIXD_MIN_FREE_DISK=0\n' >>/etc/pixd/pixd.env
systemctl enable -q --now pixd
curl -sf http://127.0.0.1:8081/readyz >/dev/null || fail "not ready"
is "its user" "$(stat -c %U "/proc/$(pid)")" pixd
is "its limit of open files" "$(systemctl show -p LimitNOFILE --value pixd)" 65536
systemd-analyze security pixd --no-pager | tail -n 1

step "worked with: an account with money, a snapshot, metrics of the process"
account=$(pixd account create --name Loja --document 12345678909 --json | grep -o 'acc_[a-z2-7]*' | head -n 1)
curl -sf "http://127.0.0.1:8081/admin/accounts/$account/credits" -H "Authorization: Bearer $(cat /var/lib/pixd/admin.token)" \
	-d '{"type":"ted","amount":10000000,"reference":"first"}' >/dev/null || fail "no credit"
is "the balance" "$(balance)" 10000000
snapshot=$(pixd snapshot create)
[ -s "$snapshot" ] || fail "no snapshot $snapshot"
curl -s http://127.0.0.1:8081/metrics | grep -q '^process_start_time_seconds ' || fail "no metrics of the process"
setpriv --reuid pixd --regid pixd --clear-groups pixd audit | tail -n 1
if setpriv --reuid nobody --regid nogroup --clear-groups pixd account list 2>/tmp/said; then fail "anybody has the token"; fi
cat /tmp/said

step "killed: it is started again"
was=$(pid)
kill -9 "$was"
for _ in $(seq 100); do [ "$(pid)" != 0 ] && [ "$(pid)" != "$was" ] && systemctl is-active -q pixd && break; sleep 0.2; done
is "the balance" "$(balance)" 10000000

step "reloaded by SIGHUP"
was=$(pid)
systemctl reload pixd
is "its process" "$(pid)" "$was"
systemctl is-active -q pixd || fail "it has ended"

step "upgraded while it runs, with its settings and data"
dpkg -i /packages/1.1.0/pixd_1.1.0_*.deb
[ "$(pid)" != "$was" ] || fail "the old engine runs"
curl -sf http://127.0.0.1:8081/version
grep -q '^PIXD_SIM_SETTLE_DELAY=0' /etc/pixd/pixd.env || fail "the settings are lost"
is "the balance" "$(balance)" 10000000
pixd audit | tail -n 1

step "stopped, and upgraded: it stays down"
systemctl stop pixd
is "its end" "$(systemctl show -p ExecMainStatus --value pixd)" 0
dpkg -i /packages/1.1.0/pixd_1.1.0_*.deb >/dev/null
is "the service" "$(systemctl is-active pixd || true)" inactive

step "a setting that is refused: systemctl says so at once"
echo PIXD_ISPB=12 >>/etc/pixd/pixd.env
began=$SECONDS
if systemctl start pixd 2>/dev/null; then fail "it started"; fi
[ $((SECONDS - began)) -lt 5 ] || fail "it took $((SECONDS - began)) s"
journalctl -u pixd --no-pager -n 20 -o cat | grep -m 1 -- --ispb
sed -i /PIXD_ISPB=12/d /etc/pixd/pixd.env
systemctl start pixd
is "the balance" "$(balance)" 10000000

step "removed: stopped, and the data are kept"
dpkg -r pixd
is "the service" "$(systemctl is-active pixd || true)" inactive
[ -d /var/lib/pixd/journal ] || fail "the journal is gone"
grep -q SETTLE_DELAY /etc/pixd/pixd.env || fail "the settings are gone"
dpkg -i /packages/1.1.0/pixd_1.1.0_*.deb >/dev/null
systemctl start pixd
is "the balance" "$(balance)" 10000000

step "purged: the settings go, the data are kept"
dpkg -P pixd
[ ! -e /etc/pixd/pixd.env ] || fail "the settings are there"
[ -d /var/lib/pixd/journal ] || fail "the journal is gone"
dpkg -i /packages/1.1.0/pixd_1.1.0_*.deb >/dev/null
is "the owner of the data" "$(owned /var/lib/pixd)" "pixd:pixd 700"
echo PIXD_MIN_FREE_DISK=0 >>/etc/pixd/pixd.env
systemctl start pixd
is "the balance" "$(balance)" 10000000
