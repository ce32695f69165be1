"""A client of the external PIX payments API, in the standard library alone.

Written to be read, and to be ported. Four things are worth knowing:

* Signing. Every POST carries `hmac`: HMAC-SHA512 of the body under the client
  secret, in lower-case hexadecimal. The keys of the body are in alphabetical
  order, and the bytes that are signed are the bytes that are sent: canonical().
* Money. Requests name centavos (1.00 BRL = 100), answers name base units
  (1.00 BRL = 10000). Both are integers; no float comes near them.
* Repeats. A GET may be sent again; a POST that moves money only under an
  Idempotency-Key. Everything else about repeats is in Client._send().
* Key case. With camel_case=True the wire carries camelCase in both directions.
  What the methods take and give stays the same.
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import http.client
import json
import re
import time
import urllib.parse
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Callable, Dict, Literal, Mapping, Optional, Tuple, Union

JSON = Dict[str, Any]

# A transaction in one of these states changes no more. A payout that is
# accepted, queued, pending_approval, pending or processing still may.
FINAL = frozenset({"settled", "completed", "rejected", "failed"})


# --- money ----------------------------------------------------------------


def centavos(brl: Union[str, int, Decimal]) -> int:
    """What a request names for an amount of BRL: centavos("25.00") == 2500."""
    if isinstance(brl, float):
        raise TypeError("a float cannot hold money; write it as text: '25.00'")
    exact = Decimal(brl) * 100
    if exact != int(exact):
        raise ValueError(f"{brl} BRL is not a whole number of centavos")
    return int(exact)


def base_units(amount_in_centavos: int) -> int:
    """What an answer names for centavos of a request: base_units(2500) == 250000."""
    return amount_in_centavos * 100


def brl(amount_in_base_units: int) -> Decimal:
    """BRL of an answer's base units: brl(250000) == Decimal("25.00")."""
    exact = Decimal(amount_in_base_units).scaleb(-4)
    return exact.quantize(Decimal("0.01")) if amount_in_base_units % 100 == 0 else exact


# --- signing --------------------------------------------------------------


def canonical(body: Mapping[str, Any]) -> bytes:
    """The body as it is signed and sent: keys in order at every depth, no white
    space, UTF-8 as it is. (Python orders keys by code point, as UTF-8's bytes
    do. In a language whose strings are UTF-16, keep your keys to ASCII.)"""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def sign(client_secret: str, body: bytes) -> str:
    """The value of the `hmac` header for a body."""
    return hmac.new(client_secret.encode("utf-8"), body, hashlib.sha512).hexdigest()


# --- key case -------------------------------------------------------------


def _camel(key: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), key)


def _snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda m: "_" + m[0].lower(), key)


def _rekey(value: Any, key: Callable[[str], str]) -> Any:
    """The value with every key in it, at every depth, put through key()."""
    if isinstance(value, dict):
        made = {key(k): _rekey(v, key) for k, v in value.items()}
        if len(made) != len(value):
            raise ValueError(f"two keys become one in another case: {sorted(value)}")
        return made
    if isinstance(value, list):
        return [_rekey(v, key) for v in value]
    return value


# --- what goes wrong ------------------------------------------------------


class PixdError(Exception):
    """Anything that this client raises about a request."""


class ConnectionLost(PixdError):
    """No answer came. Where `sent` is true the request may have been carried out:
    look the payment up (by its external_id, say) before you pay again."""

    def __init__(self, sent: bool, cause: Exception) -> None:
        super().__init__(f"no answer ({'it may have been carried out' if sent else 'nothing was sent'}): {cause!r}")
        self.sent = sent


class ApiError(PixdError):
    """The service said no, or something in between did. After a POST, a status from
    500 up (or shape ?) leaves open whether it was carried out, as ConnectionLost does.

    `shape` tells which of the contract's bodies it was:

    1   {"error": {"status", "message", "hint"?}}       credentials, IP, rate limit
    2   {"error": "forbidden", "message"}               permission
    3   {"worked": false, "detail"}                     signature
    4   {"errors": {code: message or field map}}        business (a cash-out's format B)
    A   {"status": "failed", "errors": [{"code", "message", "params"}]}   a cash-out's format A
    ?   anything else, such as the page of a proxy in between

    `code` is what a program branches on, where the shape has one: "not_found",
    "insufficient_balance". `body` is all of it, with snake_case keys.
    """

    def __init__(self, status: int, body: Any, retry_after: Optional[float] = None) -> None:
        self.status, self.body, self.retry_after = status, body, retry_after
        self.hint = ""
        self.params: JSON = {}
        self.fields: JSON = {}  # shape 4 by field: {"amount": ["must be positive"]}
        self.shape, self.code, self.message = self._read(body)
        super().__init__(f"{status} {self.code or '-'}: {self.message} (shape {self.shape})")

    def _read(self, body: Any) -> Tuple[str, str, str]:
        if not isinstance(body, dict):
            return "?", "", str(body)
        error, errors = body.get("error"), body.get("errors")
        if isinstance(error, dict):
            self.hint = str(error.get("hint", ""))
            return "1", "", str(error.get("message", ""))
        if isinstance(error, str):
            return "2", error, str(body.get("message", ""))
        if isinstance(errors, list) and errors and isinstance(errors[0], dict):
            self.params = errors[0].get("params") or {}
            return "A", str(errors[0].get("code", "")), str(errors[0].get("message", ""))
        if isinstance(errors, dict) and errors:
            code, said = next(iter(errors.items()))
            if isinstance(said, dict):
                self.fields = said
                said = "; ".join(f"{k}: {', '.join(v) if isinstance(v, list) else v}" for k, v in said.items())
            return "4", code, str(said)
        if "detail" in body:
            return "3", "", str(body["detail"])
        return "?", "", json.dumps(body, ensure_ascii=False)


# --- what goes right ------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """A 2xx answer."""

    status: int
    body: JSON  # keys in snake_case, whichever case the wire had
    raw: bytes  # what the wire had
    headers: Mapping[str, str]  # names in lower case

    @property
    def replayed(self) -> bool:
        """The answer of an earlier request under the same Idempotency-Key."""
        return self.headers.get("x-idempotent-replay") == "true"


@dataclass(frozen=True)
class Charge:
    transaction_id: str
    status: str
    amount: int  # base units, as is every amount below
    qr_code: str
    qr_code_image: str
    external_id: Optional[str]
    answer: Answer


@dataclass(frozen=True)
class Payout:
    transaction_id: str
    end_to_end_id: str
    status: str  # accepted, settled, queued or pending_approval
    final: bool
    amount: int
    fee_amount: int
    net_amount: int  # what leaves the account: amount + fee
    external_id: Optional[str]
    answer: Answer


@dataclass(frozen=True)
class Balance:
    balance: int
    available: int
    pending: int
    currency: str
    answer: Answer


@dataclass(frozen=True)
class Transaction:
    transaction_id: str
    status: str
    amount: int
    answer: Answer  # answer.body has the rest, which the contract leaves open

    @property
    def final(self) -> bool:
        return self.status in FINAL


# --- the client -----------------------------------------------------------


class Client:
    """One set of credentials at one address. Safe to share between threads: each
    request opens a connection of its own. (Where that costs too much, keep a
    pool: nothing but _exchange() knows of connections.)"""

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        *,
        scheme: Literal["ApiKey", "Basic"] = "ApiKey",
        camel_case: bool = False,
        timeout: float = 30.0,
        attempts: int = 4,
        longest_wait: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = urllib.parse.urlsplit(base_url.rstrip("/"))
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise ValueError(f"not an http or https address: {base_url!r}")
        self._secret = client_secret
        credentials = f"{client_id}:{client_secret}"
        if scheme == "Basic":
            credentials = base64.b64encode(credentials.encode("utf-8")).decode("ascii")
        self._headers = {"Authorization": f"{scheme} {credentials}", "Accept": "application/json"}
        self._camel_case = camel_case
        if camel_case:
            self._headers["X-Key-Case"] = "camelCase"
        self._timeout, self._attempts = timeout, attempts
        self._longest_wait, self._sleep = longest_wait, sleep

    # The five operations. Amounts going in are centavos.

    def charge(
        self, amount: int, *, description: Optional[str] = None, external_id: Optional[str] = None, idempotency_key: Optional[str] = None
    ) -> Charge:
        """Makes a charge, and the QR code that a customer pays it with."""
        answer = self.post("/pix/cash-in", _given(amount=amount, description=description, external_id=external_id), idempotency_key)
        b = answer.body
        return Charge(b["transaction_id"], b["status"], b["amount"], b["qr_code"], b["qr_code_image"], b.get("external_id"), answer)

    def pay(
        self,
        amount: int,
        pix_key: str,
        *,
        pix_key_type: Optional[Literal["cpf", "cnpj", "email", "phone", "evp"]] = None,
        description: Optional[str] = None,
        external_id: Optional[str] = None,
        recipient_document: Optional[str] = None,
        end_to_end_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Payout:
        """Sends money to a key. Unless `final`, this is an acceptance: wait() for the
        end. Keep the idempotency_key before you call, and use it again after a crash.

        The same amount to the same key is, to the scheme, the same payment: it may
        be rejected with DUPL, also under another idempotency_key. Where it is meant
        (a rent, each month), give an end_to_end_id of your own."""
        body = _given(
            amount=amount,
            pix_key=pix_key,
            pix_key_type=pix_key_type,
            description=description,
            external_id=external_id,
            recipient_document=recipient_document,
            end_to_end_id=end_to_end_id,
        )
        answer = self.post("/pix/cash-out", body, idempotency_key)
        b = answer.body
        return Payout(
            b["transaction_id"],
            b["end_to_end_id"],
            b["status"],
            b["final"],
            b["amount"],
            b["fee_amount"],
            b["net_amount"],
            b.get("external_id"),
            answer,
        )

    def balance(self) -> Balance:
        """The account's money."""
        answer = self.get("/balance")
        b = answer.body
        return Balance(b["balance"], b["available"], b["pending"], b["currency"], answer)

    def transaction(self, value: str, by: Literal["id", "e2e", "tag", "ref"] = "id") -> Transaction:
        """One transaction: by its id, its end-to-end id, its tag, or by your external_id ("ref")."""
        path = "/transactions/" + ("" if by == "id" else by + "/") + urllib.parse.quote(value, safe="")
        answer = self.get(path)
        b = answer.body
        return Transaction(b["transaction_id"], b["status"], b["amount"], answer)

    def validate_cpf(self, cpf: str) -> bool:
        """Whether a CPF is valid. For an 11-digit key it decides between cpf and phone."""
        return bool(self.post("/cpf/validate", {"cpf": cpf}, safe=True).body["valid"])

    def wait(self, transaction_id: str, *, patience: float = 30.0, every: float = 0.25) -> Transaction:
        """Looks a transaction up until it is final, or patience ends; see its `final`.
        (A service with many payouts subscribes to webhooks instead.)"""
        end = time.monotonic() + patience
        while True:
            found = self.transaction(transaction_id)
            if found.final or time.monotonic() >= end:
                return found
            self._sleep(every)

    # Any operation of the contract. `path` is what follows /api/external.

    def get(self, path: str) -> Answer:
        return self._send("GET", path, None, dict(self._headers), safe=True)

    def post(self, path: str, body: Mapping[str, Any], idempotency_key: Optional[str] = None, *, safe: bool = False) -> Answer:
        """A signed POST. `safe` says that to carry it out twice does no harm."""
        wire = canonical(_rekey(body, _camel) if self._camel_case else body)
        headers = {**self._headers, "Content-Type": "application/json", "hmac": sign(self._secret, wire)}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return self._send("POST", path, wire, headers, safe=safe or bool(idempotency_key))

    # The wire.

    def _send(self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str], safe: bool) -> Answer:
        """Sends, and sends again where that can do no harm: after 429 and 503, after
        the time that Retry-After names, and after a lost connection. A request that
        is not safe is sent again only if nothing of it was sent before."""
        attempt = 0
        while True:
            attempt += 1
            wait = min(0.5 * 2**attempt, self._longest_wait)
            failure: PixdError
            try:
                return self._exchange(method, path, body, headers)
            except ConnectionLost as lost:
                failure, again = lost, safe or not lost.sent
            except ApiError as refused:
                failure, again = refused, safe and refused.status in (429, 503)
                if refused.retry_after is not None:
                    wait = refused.retry_after
            if not again or attempt >= self._attempts or wait > self._longest_wait:
                raise failure
            self._sleep(wait)

    def _exchange(self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str]) -> Answer:
        """One request, one answer. Redirects are not followed: they would carry the
        secret to wherever they point."""
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=self._timeout)
        sent = False
        try:
            connection.connect()
            sent = True
            connection.request(method, self._url.path + "/api/external" + path, body, dict(headers))
            response = connection.getresponse()
            raw = response.read()
        except (OSError, http.client.HTTPException) as cause:
            raise ConnectionLost(sent, cause) from cause
        finally:
            connection.close()
        got = {name.lower(): value for name, value in response.getheaders()}
        try:
            value = _rekey(json.loads(raw), _snake) if self._camel_case else json.loads(raw)
        except ValueError:  # a proxy's page
            value = raw.decode("utf-8", "replace")
        if 200 <= response.status < 300 and isinstance(value, dict):
            return Answer(response.status, value, raw, got)
        raise ApiError(response.status, value, _seconds(got.get("retry-after")))


def _given(**fields: Any) -> JSON:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _seconds(retry_after: Optional[str]) -> Optional[float]:
    """Retry-After is a number of seconds, or a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
