"""Tests without a server of the API: fixed vectors, and a stub that answers as told.

python3 -m unittest
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import unittest
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

from pixd_client import ApiError, Client, ConnectionLost, base_units, brl, canonical, centavos, sign

SECRET = "sk_test"

# What is signed, and its hmac under SECRET. The digests were made by openssl:
#   printf '%s' BODY | openssl dgst -sha512 -hmac sk_test
VECTORS: List[Tuple[str, Dict[str, Any], str, str]] = [
    (
        "keys out of order",
        {"pix_key": "a@b.co", "amount": 100, "description": "x"},
        '{"amount":100,"description":"x","pix_key":"a@b.co"}',
        "080e0e0ec5103b5fca166768529f99377e1060f9f3ff00e902d223cc95a59a0454f5808f7ef2e6791dc761fa8e7716ee5c1dcf96bb3e87d55dfaa97ab3728f91",
    ),
    (
        "nested objects, also in lists",
        {"z": {"b": [{"y": None, "x": True}], "a": {}}, "amount": 1},
        '{"amount":1,"z":{"a":{},"b":[{"x":true,"y":null}]}}',
        "d07332529f95f8b64c5675dbdea1fd3d6bca3f7ce92cadac47dd70f812130d67ceef353d69f8659697ee39aa8b273649db66468fdf4e58b0766e183af0704e27",
    ),
    (
        "not ASCII: UTF-8 as it is",
        {"description": "ação ☕ 👩", "amount": 1},
        '{"amount":1,"description":"ação ☕ 👩"}',
        "dcd1629f5112e33b312b0175b4a48b9812520ce506c75a349981016d1ab6e741d76a8b06adbd608ff5ceba6503703a9603bdf1ef076a861bbb00518c49a31609",
    ),
    (
        "escapes: only what JSON must escape; no slash",
        {"description": 'a/b\\c"d\n\t\x01<&>'},
        '{"description":"a/b\\\\c\\"d\\n\\t\\u0001<&>"}',
        "c504d39032a0cd9d676f93d49c0e89108b6710588533bfe35ba9e7c2413377d96c5893c369c1ac7505cfb17f05048f062012eb6b0cc0461091e4ad8f455fe499",
    ),
    (
        "camelCase keys, big numbers",
        {"pixKey": "a@b.co", "amount": 1, "big": 123456789012345678901234567890, "pixKeyType": "email"},
        '{"amount":1,"big":123456789012345678901234567890,"pixKey":"a@b.co","pixKeyType":"email"}',
        "72745076102956b004a18182f1874d9d8a4be14ee231dfcdc2cb6374f5ca4c7177a133c95b1af1285ff20835b425efe1a26f86f3d9413b19f4210a180d42165e",
    ),
    (
        "capitals before small letters, characters above U+FFFF last",
        {"😀": 4, "\uffff": 3, "a": 2, "Z": 1},
        '{"Z":1,"a":2,"\uffff":3,"😀":4}',
        "9667f5b6407603298e3618393e4f67208cf26b9fd6534758d61dc5a3a09c56a2ece7ee2d5196b6b272c2814bc20d562fd77d91ee1199df86d3ef6be84d03f416",
    ),
]


class Signing(unittest.TestCase):
    def test_vectors(self) -> None:
        for name, body, text, digest in VECTORS:
            with self.subTest(name):
                self.assertEqual(canonical(body).decode("utf-8"), text)
                self.assertEqual(sign(SECRET, canonical(body)), digest)

    def test_what_is_not_json_is_not_sent(self) -> None:
        for value in (float("nan"), float("inf"), "\ud800", b"bytes"):
            with self.subTest(repr(value)), self.assertRaises((ValueError, TypeError)):
                canonical({"x": value})


class Money(unittest.TestCase):
    def test_into_requests(self) -> None:
        for text, want in (("25.00", 2500), ("0.01", 1), (7, 700), (Decimal("1.1"), 110), ("99999999999.99", 9999999999999)):
            self.assertEqual(centavos(text), want)
        for wrong in ("0.001", "x", "NaN", "Infinity"):
            with self.subTest(wrong), self.assertRaises((ValueError, ArithmeticError)):
                centavos(wrong)
        with self.assertRaises(TypeError):
            centavos(0.1)  # type: ignore[arg-type]

    def test_out_of_answers(self) -> None:
        self.assertEqual(base_units(2500), 250000)
        self.assertEqual([str(brl(n)) for n in (250000, 0, -100, 10000, 1)], ["25.00", "0.00", "-0.01", "1.00", "0.0001"])


class Stub:
    """A server that gives the answers it was told, in turn, and keeps what it was asked.
    An answer is (status, headers, body), or None: the connection is cut."""

    def __init__(self, *answers: Optional[Tuple[int, Dict[str, str], Any]]) -> None:
        self.asked: List[Tuple[str, str, Dict[str, str], bytes]] = []
        left = list(answers)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                stub.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                told = left.pop(0)
                if told is None:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers, value = told
                raw = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                for name, text in {"Content-Length": str(len(raw)), **headers}.items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "Stub":
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()


PAYOUT = {
    "worked": True,
    "final": False,
    "transaction_id": "PIXOUT1",
    "end_to_end_id": "E1",
    "external_id": None,
    "amount": 10000,
    "fee_amount": 25,
    "net_amount": 10025,
    "status": "accepted",
    "detail": "",
}
QUEUED = {
    "worked": True,
    "final": False,
    "status": "queued",
    "type": "pix",
    "transaction_id": "PIXOUT2",
    "end_to_end_id": "E2",
    "external_id": None,
    "outbound_request_id": "r",
    "amount": 10000,
    "fee_amount": 25,
    "net_amount": 10025,
    "message": "",
    "estimated_retry_seconds": 3,
    "queue_ttl_seconds": 7200,
}
BALANCE = {"worked": True, "balance": 3, "available": 2, "pending": 1, "currency": "BRL"}


class Requests(unittest.TestCase):
    def setUp(self) -> None:
        self.slept: List[float] = []

    def client(self, stub: Stub, **options: Any) -> Client:
        return Client(stub.url + "/", "cli_test", SECRET, sleep=self.slept.append, timeout=5, **options)

    def refusal(self, status: int, body: Any, **options: Any) -> ApiError:
        with Stub((status, {}, body)) as stub, self.assertRaises(ApiError) as caught:
            self.client(stub, **options).charge(1)
        return caught.exception

    def test_credentials(self) -> None:
        for scheme, want in (("ApiKey", "ApiKey cli_test:sk_test"), ("Basic", "Basic Y2xpX3Rlc3Q6c2tfdGVzdA==")):
            with Stub((200, {}, BALANCE)) as stub:
                got = self.client(stub, scheme=scheme).balance()
                self.assertEqual((got.balance, got.available, got.pending, got.currency), (3, 2, 1, "BRL"))
                method, path, headers, body = stub.asked[0]
                self.assertEqual((method, path, body), ("GET", "/api/external/balance", b""))
                self.assertEqual(headers["authorization"], want)
                self.assertNotIn("hmac", headers)
                self.assertNotIn("x-key-case", headers)

    def test_what_is_sent_is_what_is_signed(self) -> None:
        with Stub((202, {"X-Idempotent-Replay": "true"}, PAYOUT)) as stub:
            payout = self.client(stub).pay(100, "a@b.co", description="ação", idempotency_key="k")
            _, path, headers, body = stub.asked[0]
        self.assertEqual(path, "/api/external/pix/cash-out")
        self.assertEqual(body.decode("utf-8"), '{"amount":100,"description":"ação","pix_key":"a@b.co"}')
        self.assertEqual(headers["hmac"], sign(SECRET, body))
        self.assertEqual((headers["content-type"], headers["idempotency-key"]), ("application/json", "k"))
        self.assertEqual((payout.net_amount, payout.final, payout.answer.replayed), (10025, False, True))

    def test_camel_case_on_the_wire_only(self) -> None:
        camel = {"worked": True, "transactionId": "PIXOUT1", "endToEndId": "E1", "final": True, "amount": 1, "feeAmount": 0, "netAmount": 1, "status": "settled"}
        with Stub((200, {}, camel)) as stub:
            payout = self.client(stub, camel_case=True).pay(100, "a@b.co", pix_key_type="email")
            _, _, headers, body = stub.asked[0]
        self.assertEqual(body, b'{"amount":100,"pixKey":"a@b.co","pixKeyType":"email"}')
        self.assertEqual((headers["x-key-case"], headers["hmac"]), ("camelCase", sign(SECRET, body)))
        self.assertEqual((payout.end_to_end_id, payout.net_amount, payout.final), ("E1", 1, True))
        no = self.refusal(400, {"errors": {"badRequest": "no"}}, camel_case=True)
        self.assertEqual((no.shape, no.code, no.message), ("4", "bad_request", "no"))

    def test_two_keys_do_not_become_one(self) -> None:
        with Stub() as stub, self.assertRaises(ValueError):
            self.client(stub, camel_case=True).post("/x", {"a_b": 1, "aB": 2})

    def test_queued_payout(self) -> None:
        with Stub((202, {}, QUEUED)) as stub:
            payout = self.client(stub).pay(100, "a@b.co")
        self.assertEqual((payout.status, payout.final, payout.fee_amount), ("queued", False, 25))

    def test_lookups(self) -> None:
        item = {"transaction_id": "T", "status": "pending", "amount": 1}
        done = {**item, "status": "settled"}
        with Stub((200, {}, item), (200, {}, done), (200, {}, done)) as stub:
            client = self.client(stub)
            self.assertTrue(client.wait("T").final)
            client.transaction("a/b ç", by="ref")
            self.assertEqual([path for _, path, _, _ in stub.asked][1:], ["/api/external/transactions/T", "/api/external/transactions/ref/a%2Fb%20%C3%A7"])
        self.assertEqual(len(self.slept), 1)

    def test_validate_cpf(self) -> None:
        with Stub((200, {}, {"worked": True, "valid": False})) as stub:
            self.assertFalse(self.client(stub).validate_cpf("1"))
            self.assertEqual(stub.asked[0][3], b'{"cpf":"1"}')

    def test_error_shapes(self) -> None:
        rows = [
            (415, {"error": {"status": 415, "message": "m", "hint": "h"}}, "1", "", "m"),
            (403, {"error": "forbidden", "message": "m"}, "2", "forbidden", "m"),
            (401, {"worked": False, "detail": "m"}, "3", "", "m"),
            (404, {"worked": False, "errors": {"not_found": "m"}}, "4", "not_found", "m"),
            (400, {"errors": {"bad_request": {"amount": ["a", "b"]}}}, "4", "bad_request", "amount: a, b"),
            (422, {"status": "failed", "errors": [{"code": "c", "message": "m", "params": {"ceiling": 1}}]}, "A", "c", "m"),
            (502, b"<h1>Bad Gateway</h1>", "?", "", "<h1>Bad Gateway</h1>"),
            (500, b"", "?", "", ""),
            (400, {"errors": []}, "?", "", '{"errors": []}'),
            (302, {"worked": True}, "?", "", '{"worked": true}'),
            (200, b"not JSON", "?", "", "not JSON"),
        ]
        for status, body, shape, code, message in rows:
            with self.subTest(body):
                no = self.refusal(status, body)
                self.assertEqual((no.status, no.shape, no.code, no.message), (status, shape, code, message))
                if isinstance(body, dict):
                    self.assertEqual(no.body, body)
        self.assertEqual(self.refusal(*rows[0][:2]).hint, "h")
        self.assertEqual(self.refusal(*rows[4][:2]).fields, {"amount": ["a", "b"]})
        self.assertEqual(self.refusal(*rows[5][:2]).params, {"ceiling": 1})

    def test_retry_after_is_honoured(self) -> None:
        with Stub((429, {"Retry-After": "7"}, b"edge"), (503, {}, {}), (200, {}, BALANCE)) as stub:
            self.client(stub).balance()
            self.assertEqual((self.slept[0], len(stub.asked)), (7.0, 3))

    def test_no_longer_than_one_would_wait_and_no_more_often(self) -> None:
        with Stub((429, {"Retry-After": "61"}, {})) as stub, self.assertRaises(ApiError) as caught:
            self.client(stub).balance()
        self.assertEqual((caught.exception.retry_after, self.slept), (61.0, []))
        with Stub(*[(503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, {})] * 9) as stub, self.assertRaises(ApiError):
            self.client(stub, attempts=3).balance()
        self.assertEqual((len(stub.asked), self.slept), (3, [0.0, 0.0]))

    def test_a_post_is_repeated_only_under_a_key(self) -> None:
        for first in ((503, {}, {}), (429, {"Retry-After": "1"}, {}), None):
            with self.subTest(first):
                with Stub(first, (202, {}, PAYOUT)) as stub, self.assertRaises((ApiError, ConnectionLost)):
                    self.client(stub).pay(100, "a@b.co")
                self.assertEqual(len(stub.asked), 1)
                with Stub(first, (202, {}, PAYOUT)) as stub:
                    self.client(stub).pay(100, "a@b.co", idempotency_key="k")
                self.assertEqual(len(stub.asked), 2)
                self.assertEqual(stub.asked[0], stub.asked[1])  # bytes, key and signature

    def test_a_refusal_is_not_repeated(self) -> None:
        with Stub((400, {}, {"errors": {"bad_request": "no"}})) as stub, self.assertRaises(ApiError):
            self.client(stub).pay(100, "a@b.co", idempotency_key="k")
        self.assertEqual(len(stub.asked), 1)

    def test_lost_connection_says_whether_it_was_sent(self) -> None:
        with Stub(None) as stub, self.assertRaises(ConnectionLost) as caught:
            self.client(stub).pay(100, "a@b.co")
        self.assertTrue(caught.exception.sent)
        with self.assertRaises(ConnectionLost) as caught:  # the stub is closed: nothing was sent, so it was tried again
            self.client(stub).pay(100, "a@b.co")
        self.assertFalse(caught.exception.sent)
        self.assertEqual(len(self.slept), 3)
        with Stub((200, {"Content-Length": "999"}, PAYOUT)) as stub, self.assertRaises(ConnectionLost):  # half an answer
            self.client(stub).pay(100, "a@b.co")

    def test_addresses(self) -> None:
        for wrong in ("127.0.0.1:8080", "ftp://x", ""):
            with self.subTest(wrong), self.assertRaises(ValueError):
                Client(wrong, "c", "s")


class Tour(unittest.TestCase):
    def test_it_fails_where_it_must(self) -> None:
        here = os.path.dirname(os.path.abspath(__file__))
        bare = {k: v for k, v in os.environ.items() if not k.startswith("PIXD_")}
        with Stub((401, {}, {"error": {"status": 401, "message": "no"}})) as stub:
            for env, want in ((bare, 2), ({**bare, "PIXD_URL": stub.url, "PIXD_CLIENT_ID": "c", "PIXD_CLIENT_SECRET": "s"}, 1)):
                run = subprocess.run([sys.executable, "tour.py"], cwd=here, env=env, capture_output=True, timeout=60)
                self.assertEqual(run.returncode, want, run.stderr)


if __name__ == "__main__":
    unittest.main()
