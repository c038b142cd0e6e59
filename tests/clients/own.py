"""Calls a server by our client in Python: own.py URL KEY KEY_OF_ONE_AN_HOUR KEY_OF_ONE_A_SECOND.

Prints what the answers say as JSON.
"""

import json
import sys
import time
from collections.abc import Iterator
from datetime import datetime

from assay_risk import ApiError, Assay
from assay_risk.types import CheckRequest, ScreenRequest

LISTED = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn"
MIXER = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7"
ROWS: list[ScreenRequest] = [
    {"blockchain": "btc", "address": LISTED},
    {"blockchain": "eth", "address": MIXER},
    {"blockchain": "btc", "address": "nonsense"},
]
CHECKS: list[CheckRequest] = [{"blockchain": "btc", "address": LISTED}, {"blockchain": "btc", "address": "nonsense"}]


def found(assay: Assay, check_id: str) -> bool:
    """True if a check is found, once it is stored, by all conditions, and not before its time."""
    while not any(check["check_id"] == check_id for check in assay.find_checks(reference="order-1", verdict="block")):
        time.sleep(1)
    [first] = [check for check in assay.find_checks() if check["check_id"] == check_id]
    checked_at = datetime.fromisoformat(first["checked_at"])
    before = assay.find_checks(blockchain="btc", address=LISTED, rule="listed", before=checked_at)
    return check_id not in [check["check_id"] for check in before]


def main(url: str, key: str, hourly_key: str, quick_key: str) -> dict[str, object]:
    with Assay(url, key) as assay, Assay(url, hourly_key) as hourly, Assay(url, quick_key) as quick:
        check = assay.check_address("btc", LISTED, direction="deposit", reference="order-1")
        again = assay.show_check(check["check_id"])
        assert again == check
        order = [assay.check_address("btc", LISTED, idempotency_key="order-1")["check_id"] for _ in range(2)]
        both = assay.check_addresses(CHECKS)["results"]
        withdrawal = assay.check_withdrawal("btc", LISTED, "native", "100000")
        try:
            assay.check_address("btc", "nonsense")
        except ApiError as error:
            refused = error
        hourly.check_address("btc", LISTED)
        try:
            hourly.check_address("btc", LISTED)
        except ApiError as error:
            exceeded = error
        # Each but the first waits until the limit has room.
        retried = [quick.check_address("btc", LISTED)["address"] for _ in range(3)]

        taken = 0

        def many() -> Iterator[ScreenRequest]:
            nonlocal taken
            for taken in range(1, 1001):
                yield {"blockchain": "btc", "address": LISTED, "reference": f"customer-{taken}"}

        answers = assay.screen(many())
        first = [next(answers) for _ in range(450)]
        told = [row["row"] for row in first] == list(range(1, 451))
        told = told and all(row.get("reference") == f"customer-{row['row']}" for row in first)
        answers.close()
        return {
            "check": [check["verdict"], check["risk_level"], check["risk_score"], check["sanctions"][0]["status"]],
            "screen": [row.get("verdict") or row.get("error") for row in assay.screen(ROWS)],
            "error": [refused.status, refused.code],
            "limit": [exceeded.status, exceeded.code, (exceeded.retry_after or 0) > 0],
            "search": [entity["name"] for entity in assay.find_entities("Ilja Greymarsh", limit=1)["entities"]],
            "retried": retried == [LISTED] * 3,
            "streamed": [told, taken < 1000],
            "account": assay.account()["tenant"]["name"],
            "others": [bool(assay.sources()["sources"]), bool(assay.chains()["chains"]), bool(assay.signals()["rules"])],
            "repeated": order[0] == order[1] != check["check_id"],
            "withdrawal": withdrawal["verdict"],
            "many": [result.get("verdict") or result.get("code") for result in both],
            "found": found(assay, check["check_id"]),
            "usage": assay.usage()["total"] > 0,
        }


print(json.dumps(main(*sys.argv[1:])))
