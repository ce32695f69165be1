#!/usr/bin/env bash
# Starts three nodes on this machine, with the scheme's simulator beside them and a funded account,
# and prints what to paste. Ctrl-C ends all four.
#
#   up.sh [FOLDER]    everything is kept in FOLDER (./pixd-cluster); pixd must be on the PATH here
set -euo pipefail
dir=$(realpath -m "${1:-pixd-cluster}")
pay=$(realpath "$(dirname "$0")/pay.sh")
mkdir -p "$dir"
[ -f "$dir/secrets" ] || (
	umask 077
	printf 'export PIXD_SCHEME_SECRET=%s\nexport PIXD_ADMIN_TOKEN=%s\n' "$(openssl rand -hex 32)" "$(openssl rand -hex 16)" >"$dir/secrets"
)
cat >"$dir/env" <<T
. $dir/secrets
export PATH=$(dirname "$(realpath "$(command -v pixd)")"):\$PATH
T
. "$dir/env"

trap 'trap - EXIT; kill $(jobs -p) 2>/dev/null; wait' EXIT
trap 'exit 0' INT TERM

pixd sim --data-dir "$dir/sim" --engine http://127.0.0.1:8111,http://127.0.0.1:8121,http://127.0.0.1:8131 2>"$dir/sim.log" &
node() { # node NAME FIRST-PORT: merchants, operators, other nodes, and etcd on the port after that
	cat >"$dir/$1.sh" <<T
. $dir/env
echo \$\$ >$dir/$1.pid
exec pixd serve --node $1 --data-dir $dir/$1 --listen 127.0.0.1:$2 --admin-listen 127.0.0.1:$(($2 + 1)) \\
	--cluster-listen 127.0.0.1:$(($2 + 2)) --cluster-peers a=http://127.0.0.1:8112,b=http://127.0.0.1:8122,c=http://127.0.0.1:8132 \\
	--scheme http://127.0.0.1:8090 --min-free-disk 0 2>>$dir/$1.log
T
	bash "$dir/$1.sh" &
}
node a 8110
node b 8120
node c 8130

for port in 8111 8121 8131; do
	until curl -sf "http://127.0.0.1:$port/readyz" >/dev/null; do
		[ "$(jobs -pr | wc -l)" = 4 ] || { tail -n 3 "$dir"/*.log >&2; exit 1; }
		sleep 0.1
	done
done

admin=http://127.0.0.1:8111
if [ ! -f "$dir/account" ]; then
	account=$(pixd account create --admin $admin --name 'Loja Aurora' --document 12345678000195 --json | sed -n 's/.*"account_id": *"\([^"]*\)".*/\1/p' | head -n 1)
	curl -sf "$admin/admin/accounts/$account/credits" -H "Authorization: Bearer $PIXD_ADMIN_TOKEN" -H 'Content-Type: application/json' \
		-d '{"amount":1000000000,"type":"ted","description":"demo funds","reference":"demo"}' >/dev/null
	(
		umask 077
		pixd key create --admin $admin --account "$account" --permission '*' --ip 127.0.0.1 --json >"$dir/key"
		echo "$account" >"$dir/account"
	)
fi

cat <<T

Three nodes share account $(cat "$dir/account"), which has 100,000.00 BRL. Paste these into another terminal.

# Who is the owner, and do the others follow?
. $dir/env; pixd cluster status --admin $admin

# Pay out 300 times through all three nodes; after 2 s the owner is killed. Each payout is there once.
. $dir/env; (sleep 2; kill -9 \$(cat $dir/\$(pixd cluster status --admin $admin --json | sed -n 's/.*"owner": *"\([^"]*\)".*/\1/p' | head -n 1).pid)) & $pay $dir 300

# Start the lost node again (NAME is a, b or c): it follows.
bash $dir/NAME.sh &

T
wait -n || true
echo "a process has ended: $dir/*.log say why; the others go on" >&2
wait || true
