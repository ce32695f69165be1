#!/usr/bin/env bash
# Pays out through the nodes that up.sh has started, one node after the other. A request without an
# answer is sent again under the same Idempotency-Key, to another node. At the end it counts.
#
#   pay.sh FOLDER COUNT
set -euo pipefail
dir=$1 count=$2 run=$(date +%s)
. "$dir/env"
nodes=(127.0.0.1:8110 127.0.0.1:8120 127.0.0.1:8130)
value() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }
id=$(value client_id <"$dir/key") secret=$(value client_secret <"$dir/key")
auth="Authorization: ApiKey $id:$secret"

sent=0 again=0 longest=0
for ((i = 1; i <= count; i++)); do
	body="{\"amount\":100,\"external_id\":\"$run-$i\",\"pix_key\":\"supplier$i@example.com\"}"
	hmac=$(printf %s "$body" | openssl dgst -sha512 -hmac "$secret" | sed 's/.* //')
	began=$(date +%s%3N)
	for ((try = 0; ; try++)); do
		status=$(curl -s -m 20 -o /dev/null -w '%{http_code}' "http://${nodes[(i + try) % 3]}/api/external/pix/cash-out" \
			-H "$auth" -H 'Content-Type: application/json' -H "hmac: $hmac" -H "Idempotency-Key: $run-$i" -d "$body") || true
		case $status in
		200 | 202) break ;;
		000 | 503 | 409) again=$((again + 1)); sleep 0.1 ;; # no answer, no owner, or under way: the same request again
		*) echo "payout $i: status $status" >&2; exit 1 ;;
		esac
	done
	took=$(($(date +%s%3N) - began))
	[ $took -le $longest ] || longest=$took
	sent=$((sent + 1))
done
sleep 3 # the last ones settle

for admin in http://127.0.0.1:8111 http://127.0.0.1:8121 http://127.0.0.1:8131; do
	curl -sf "$admin/readyz" >/dev/null && break
done
pixd statement --admin $admin --account "$(cat "$dir/account")" --from "$(date -u -d yesterday +%F)" --to "$(date -u -d tomorrow +%F)" --json |
	grep -o "\"external_id\": *\"$run-[0-9]*\"" | sort | uniq -c >"$dir/paid"
echo "$sent payouts were answered, $again requests were sent again, the longest wait was $longest ms"
echo "the statement has $(wc -l <"$dir/paid") of them, $(awk '$1 > 1' "$dir/paid" | wc -l) more than once"
pixd audit --admin $admin
pixd cluster status --admin $admin || true # a node is gone
