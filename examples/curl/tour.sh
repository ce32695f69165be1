#!/usr/bin/env bash
# A charge, a payout, the pages of the statement, a refund, and the webhooks of all of them, with curl and
# openssl. The exit code is 0 only if everything went as it should. `pixd listen` receives the webhooks and verifies
# them: a shell has no server.
#
#   bash tour.sh       (the variables that it reads are in ../README.md; PIXD is the program, ../../bin/pixd by default)
set -euo pipefail
cd "$(dirname "$0")"

api=${PIXD_URL:-http://127.0.0.1:8080}/api/external
admin=${PIXD_ADMIN:-http://127.0.0.1:8081}
hook_address=${PIXD_HOOK:-127.0.0.1:9098}
pixd=${PIXD:-../../bin/pixd}
: "${PIXD_CLIENT_ID:?../README.md says which variables are needed}" "${PIXD_CLIENT_SECRET:?}" "${PIXD_ADMIN_TOKEN:?}"
run=$(openssl rand -hex 6) # makes the names of this run new ones
work=$(mktemp -d)
touch "$work/events" "$work/listen"
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

fail() {
	echo "went wrong: $*" >&2
	exit 1
}

# member NAME prints a text or number of the JSON on standard input. (With jq: jq -r .NAME)
member() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1
}

# sign prints the header hmac of the body on standard input, whose keys are in alphabetical order.
sign() {
	openssl dgst -sha512 -hmac "$PIXD_CLIENT_SECRET" | sed 's/.* //'
}

# post PATH BODY [IDEMPOTENCY_KEY] prints the answer. Its headers are in $work/headers.
post() {
	local key=()
	[ $# -lt 3 ] || key=(-H "Idempotency-Key: $3")
	curl -sS --fail-with-body --max-time 30 -D "$work/headers" "$api$1" -H "Authorization: ApiKey $PIXD_CLIENT_ID:$PIXD_CLIENT_SECRET" \
		-H 'Content-Type: application/json' -H "hmac: $(printf %s "$2" | sign)" ${key[@]+"${key[@]}"} --data-binary "$2"
}

# get PATH, and remove PATH, print the answer.
get() {
	curl -sS --fail-with-body --max-time 30 "$api$1" -H "Authorization: ApiKey $PIXD_CLIENT_ID:$PIXD_CLIENT_SECRET"
}
remove() {
	curl -sS --fail-with-body --max-time 30 -X DELETE "$api$1" -H "Authorization: ApiKey $PIXD_CLIENT_ID:$PIXD_CLIENT_SECRET"
}

# pay_as_customer QR_CODE pays a charge in the simulator: a sandbox has this, and a merchant's program does not.
pay_as_customer() {
	curl -sS --fail-with-body --max-time 30 "$admin/sim/payments" -H "Authorization: Bearer $PIXD_ADMIN_TOKEN" \
		-H 'Content-Type: application/json' -d "{\"qr_code\":\"$1\"}" >/dev/null
}

# event KIND TRANSACTION prints the verified event of a transaction, and waits for it.
event() {
	for _ in $(seq 200); do
		if grep "\"type\":\"$1\"" "$work/events" | grep "\"transaction_id\":\"$2\"" | grep '"verified":true'; then
			return
		fi
		sleep 0.1
	done
	fail "$1 of $2 was not received, or not verified"
}

hook=$(post /webhooks "{\"events\":[\"pix.charge.paid\",\"pix.payout.confirmed\",\"pix.refund.completed\"],\"url\":\"http://$hook_address/\"}")
id=$(member id <<<"$hook")
PIXD_LISTEN_SECRET=$(member secret <<<"$hook") "$pixd" listen --json --listen "$hook_address" >>"$work/events" 2>>"$work/listen" &
until grep -q 'subscribe to' "$work/listen"; do
	kill -0 $! || fail "$(cat "$work/listen")"
	sleep 0.05
done
echo "subscribed $id"
curl -sS "http://$hook_address/" -H 'webhook-id: evt_x' -H "webhook-timestamp: $(date +%s)" -H 'webhook-signature: v1,Zm9yZ2Vk' -d '{}'
grep -q '"verified":false' "$work/events" || fail "a forged webhook was taken"

charge=$(post /pix/cash-in "{\"amount\":2500,\"description\":\"2 cafés <já> ☕\",\"external_id\":\"order-$run\"}")
charge_id=$(member transaction_id <<<"$charge")
pay_as_customer "$(member qr_code <<<"$charge")"
paid=$(event pix.charge.paid "$charge_id")
[ "$(member amount <<<"$paid")" = 250000 ] || fail "the charge of 25.00 BRL: $paid"
[ "$(get "/transactions/$charge_id" | member status)" = completed ] || fail "the charge is not completed"
echo "charge paid $charge_id $(member amount <<<"$paid")"

order="{\"amount\":1000,\"external_id\":\"bill-$run\",\"pix_key\":\"supplier+$run@example.com\"}"
payout=$(post /pix/cash-out "$order" "payout-$run")
again=$(post /pix/cash-out "$order" "payout-$run")
[ "$again" = "$payout" ] && grep -qi '^X-Idempotent-Replay: true' "$work/headers" || fail "the repeat is another payout: $again"
payout_id=$(member transaction_id <<<"$payout")
event pix.payout.confirmed "$payout_id" >/dev/null
echo "payout settled $payout_id $(member amount <<<"$payout")"

# Each page has 5 movements, the last one fewer.
for ((page = 1, all = 0, count = 5; count >= 5; page++)); do
	get "/statement?per_page=5&page=$page" >"$work/page"
	cat "$work/page" >>"$work/statement"
	count=$(grep -o '"receiving_key":' "$work/page" | wc -l)
	all=$((all + count))
done
grep -q "\"transaction_id\":\"$charge_id\"" "$work/statement" || fail "the charge is not in the statement"
grep -q "\"transaction_id\":\"$payout_id\"" "$work/statement" || fail "the payout is not in the statement"
echo "statement read $all movements"

refund=$(post /pix/refund "{\"amount\":500,\"original_transaction_id\":\"$charge_id\"}" "refund-$run")
refund_id=$(member transaction_id <<<"$refund")
given=$(event pix.refund.completed "$refund_id")
[ "$(member remaining_refundable <<<"$given")" = 200000 ] || fail "the refund of 5.00 BRL: $given"
echo "refund settled $refund_id $(member amount <<<"$refund")"
remove "/webhooks/$id" >/dev/null
