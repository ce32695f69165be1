"""A charge, a payout, a page of the statement, a refund, and the webhooks of all of them, with nothing
but Python's standard library (3.9 or later). The exit code is 0 only if everything went as it should.

    python3 tour.py      # the variables that it reads are in ../README.md
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("PIXD_URL", "http://127.0.0.1:8080") + "/api/external"
ADMIN = os.environ.get("PIXD_ADMIN", "http://127.0.0.1:8081")
HOOK = os.environ.get("PIXD_HOOK", "127.0.0.1:9098")
RUN = uuid.uuid4().hex[:12]  # makes the names of this run new ones


def must(holds, what):
    if not holds:
        raise RuntimeError(what)


def send(method, url, body, headers):
    """Returns the answer and its headers."""
    request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer), answer.headers
    except urllib.error.HTTPError as refused:
        raise RuntimeError(f"{url}: {refused.code} {refused.read().decode()}") from None


def sign(secret, body):
    """The header hmac of a body whose keys are in alphabetical order."""
    return hmac.new(secret.encode(), body, hashlib.sha512).hexdigest()


def call(method, path, fields=None, idempotency_key=None):
    secret = os.environ["PIXD_CLIENT_SECRET"]
    headers = {"Authorization": f"ApiKey {os.environ['PIXD_CLIENT_ID']}:{secret}"}
    if method != "POST":
        return send(method, URL + path, None, headers)
    body = json.dumps(fields, sort_keys=True).encode()  # these very bytes are signed and sent
    headers["hmac"] = sign(secret, body)
    if idempotency_key:
        headers["Idempotency-Key"] = idempotency_key
    return send(method, URL + path, body, headers)


def pay_as_customer(qr_code):
    """Pays a charge in the simulator: a sandbox has this, and a merchant's program does not."""
    send("POST", ADMIN + "/sim/payments", json.dumps({"qr_code": qr_code}).encode(), {"Authorization": f"Bearer {os.environ['PIXD_ADMIN_TOKEN']}"})


def verified(secret, headers, body):
    """Tells whether the engine signed a webhook, within the last five minutes."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isascii() or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret[len("whsec_"):])
    signed = f"{event_id}.{timestamp}.".encode() + body
    want = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    signatures = headers.get("webhook-signature", "").encode().split(b" ")  # two after a change of the secret
    return any([hmac.compare_digest(want, s) for s in signatures])


class Receiver(http.server.BaseHTTPRequestHandler):
    secret, events, seen = "", queue.Queue(), set()  # a real receiver keeps the ids it has seen in its database

    def do_POST(self):
        body = self.rfile.read(min(int(self.headers["Content-Length"]), 1 << 20))  # no event is longer
        good = bool(self.secret) and verified(self.secret, self.headers, body)
        if good and self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            self.events.put(json.loads(body))
        self.send_response(204 if good else 400)
        self.end_headers()

    def log_message(self, *_):
        pass


def await_event(kind, transaction_id):
    """Waits for the event of a transaction, and drops others that come before it."""
    while True:
        event = Receiver.events.get(timeout=20)
        if event["type"] == kind and event["data"]["transaction_id"] == transaction_id:
            return event["data"]


def statement():
    """The transaction ids of all movements: the last page has fewer than a whole one."""
    data, page = [None] * 5, 0
    while len(data) >= 5:
        page += 1
        data = call("GET", f"/statement?per_page=5&page={page}")[0]["data"]
        yield from (movement["transaction_id"] for movement in data)


def tour():
    host, port = HOOK.rsplit(":", 1)
    server = http.server.ThreadingHTTPServer((host, int(port)), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hook, _ = call("POST", "/webhooks", {"url": f"http://{HOOK}/", "events": ["pix.charge.paid", "pix.payout.confirmed", "pix.refund.completed"]})
    Receiver.secret = hook["secret"]
    print("subscribed", hook["id"])
    forged = {"webhook-id": "evt_x", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,Zm9yZ2Vk"}
    must(not verified(hook["secret"], forged, b"{}"), "a forged webhook is refused")

    charge, _ = call("POST", "/pix/cash-in", {"amount": 2500, "description": "2 cafés <já> ☕", "external_id": f"order-{RUN}"})
    pay_as_customer(charge["qr_code"])
    paid = await_event("pix.charge.paid", charge["transaction_id"])
    must(paid["status"] == "completed" and paid["amount"] == 250000, "the charge is completed")
    print("charge paid", charge["transaction_id"], paid["amount"])

    order = {"amount": 1000, "pix_key": f"supplier+{RUN}@example.com", "external_id": f"bill-{RUN}"}
    payout, _ = call("POST", "/pix/cash-out", order, f"payout-{RUN}")
    again, headers = call("POST", "/pix/cash-out", order, f"payout-{RUN}")
    must(again == payout and headers["X-Idempotent-Replay"] == "true", "the repeat pays nothing")
    await_event("pix.payout.confirmed", payout["transaction_id"])
    print("payout settled", payout["transaction_id"], payout["amount"])

    moved = list(statement())
    must({charge["transaction_id"], payout["transaction_id"]} <= set(moved), "both are in the statement")
    print("statement read", len(moved), "movements")

    refund, _ = call("POST", "/pix/refund", {"original_transaction_id": charge["transaction_id"], "amount": 500}, f"refund-{RUN}")
    given = await_event("pix.refund.completed", refund["transaction_id"])
    must(given["status"] == "settled" and given["remaining_refundable"] == 200000, "the refund settles")
    print("refund settled", refund["transaction_id"], refund["amount"])
    call("DELETE", "/webhooks/" + hook["id"])


if __name__ == "__main__":
    try:
        tour()
    except KeyError as missing:
        sys.exit(f"not there: {missing} (../README.md says which variables are needed)")
    except (RuntimeError, OSError, queue.Empty) as wrong:
        sys.exit(f"went wrong: {wrong!r}")
