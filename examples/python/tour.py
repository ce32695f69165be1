"""A tour of the API: charge, pay, look up, be refused, repeat.

Exit code 0 says that everything was as the contract says. It expects an account
with 20.00 BRL or more and no other traffic, and a scheme that settles a payout
to any e-mail key, as the engine's own simulator does.
"""

from __future__ import annotations

import os
import sys
import uuid
from typing import Callable

from pixd_client import ApiError, Client, Payout, PixdError, base_units, brl, centavos


class Broken(Exception):
    """Something was not as the contract says."""


def must(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def refused(call: Callable[[], Payout], status: int, code: str, shape: str) -> None:
    try:
        payout = call()
    except ApiError as no:
        print(f"  refused: HTTP {no.status}, {no.code}: {no.message}")
        must((no.status, no.code, no.shape) == (status, code, shape), f"want {status} {code}, shape {shape}; have {no}")
    else:
        raise Broken(f"{payout.transaction_id} was not refused")


def tour(client: Client) -> None:
    run = uuid.uuid4().hex[:12]  # the same amount to the same key twice is one payment to the scheme
    key = f"tour-{run}@example.com"

    amount = centavos("25.00")
    charge = client.charge(amount, description="two coffees, já com açúcar ☕", external_id=f"order-{run}")
    print(f"Charge {charge.transaction_id} of {brl(charge.amount)} BRL is {charge.status}. Its QR code:\n  {charge.qr_code}")
    must(charge.status == "active", "a new charge is active")
    must(charge.amount == base_units(amount), "the charge's amount is what was asked")
    must(charge.external_id == f"order-{run}", "external_id comes back")
    must(charge.qr_code_image.startswith("data:image/png;base64,"), "the picture is a data URI of a PNG")

    before = client.balance()
    print(f"Balance {brl(before.balance)} {before.currency}, of which {brl(before.available)} is available.")
    must(before.currency == "BRL", "the currency is BRL")

    amount = centavos("10.00")
    payout = client.pay(amount, key, description="supplier", external_id=f"bill-{run}", idempotency_key=f"pay-{run}")
    print(f"Payout {payout.transaction_id} of {brl(payout.amount)} BRL to {key} is {payout.status}.")
    must(payout.amount == base_units(amount), "the payout's amount is what was asked")
    must(payout.net_amount == payout.amount + (payout.fee_amount or 0), "net_amount is amount + fee_amount")
    must(payout.answer.status == (200 if payout.final else 202), "200 is final, 202 is not")
    must(not payout.answer.replayed, "the first answer is no replay")

    again = client.pay(amount, key, description="supplier", external_id=f"bill-{run}", idempotency_key=f"pay-{run}")
    print(f"The same request under the same Idempotency-Key: {again.transaction_id}, replayed: {again.answer.replayed}.")
    must(again.answer.replayed, "the second answer is a replay")
    must((again.answer.status, again.answer.raw) == (payout.answer.status, payout.answer.raw), "a replay is unchanged")

    end = client.wait(payout.transaction_id)
    print(f"The payout ended: {end.status}.")
    must(end.status in ("settled", "completed"), "the payout settles")

    after = client.balance()
    print(f"Balance {brl(after.balance)} {after.currency}: it was paid once.")
    must(before.balance - after.balance == payout.net_amount, "the money moved once")

    for cpf, want in (("12345678909", True), ("12345678900", False)):
        valid = client.validate_cpf(cpf)
        print(f"CPF {cpf} is {'valid' if valid else 'not valid'}.")
        must(valid == want, f"the check digits of {cpf}")

    print("A payout of nothing:")
    refused(lambda: client.pay(0, key), 400, "bad_request", "4")
    print("A payout to 11 digits that may be a CPF or a phone:")
    refused(lambda: client.pay(amount, "11987654321"), 422, "pix_key_ambiguous", "A")
    print("A payment that does not exist:")
    try:
        client.transaction(f"no-{run}")
        raise Broken("it was found")
    except ApiError as no:
        print(f"  refused: HTTP {no.status}, {no.code}: {no.message}")
        must((no.status, no.code, no.shape) == (404, "not_found", "4"), str(no))
    must(client.balance().balance == after.balance, "what is refused moves no money")


def main() -> int:
    try:
        client_id, secret = os.environ["PIXD_CLIENT_ID"], os.environ["PIXD_CLIENT_SECRET"]
    except KeyError as name:
        print(f"set {name.args[0]}: the README says where to find it", file=sys.stderr)
        return 2
    url = os.environ.get("PIXD_URL", "http://127.0.0.1:8080")
    try:
        tour(Client(url, client_id, secret))
        # The same account, the other header form, the other key case.
        found = Client(url, client_id, secret, scheme="Basic", camel_case=True).balance()
        must(b'"available"' in found.answer.raw, "a balance in camelCase")
        print(f"Under HTTP Basic and camelCase the balance is {brl(found.balance)} {found.currency}, too.")
    except (PixdError, Broken) as wrong:
        print(f"NOT as the contract says: {wrong}", file=sys.stderr)
        return 1
    print("All as the contract says.")
    return 0


if __name__ == "__main__":
    # A terminal or a pipe that cannot show "ç" is no reason to stop.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())
