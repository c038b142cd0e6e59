"""Calls a server by the client that openapi-python-client makes: generated.py URL KEY LIMITED_KEY.

Prints what the answers say as JSON.
"""

import json
import sys

from assay_client import AuthenticatedClient
from assay_client.api.checks import check_address, screen_addresses
from assay_client.api.data import find_entities
from assay_client.models import (
    CheckRequest,
    CheckResponse,
    EntitiesResponse,
    ProblemDetails,
    ScreenRequest,
    TransferDirection,
)

LISTED = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn"
MIXER = "0x094B38aF1c2b20Ce653843E787754cDaB7846aa7"


def main(url: str, key: str, limited_key: str) -> dict[str, object]:
    client = AuthenticatedClient(base_url=url, token=key)
    request = CheckRequest(blockchain="btc", address=LISTED, direction=TransferDirection.DEPOSIT)
    check = check_address.sync(client=client, body=request)
    assert isinstance(check, CheckResponse)

    rows = [("btc", LISTED), ("eth", MIXER), ("btc", "nonsense")]
    requests = [ScreenRequest(blockchain=chain, address=address) for chain, address in rows]
    screened = screen_addresses.sync(client=client, body=requests)
    assert isinstance(screened, list)

    refused = check_address.sync_detailed(client=client, body=CheckRequest(blockchain="btc", address="nonsense"))
    assert isinstance(refused.parsed, ProblemDetails)

    limited = AuthenticatedClient(base_url=url, token=limited_key)
    check_address.sync(client=limited, body=request)
    exceeded = check_address.sync_detailed(client=limited, body=request)
    assert isinstance(exceeded.parsed, ProblemDetails)

    found = find_entities.sync(client=client, name="Ilja Greymarsh", limit=1)
    assert isinstance(found, EntitiesResponse)
    return {
        "check": [check.verdict, check.risk_level, check.risk_score, check.sanctions[0].status],
        "screen": [str(row.verdict) if row.verdict else row.error for row in screened],
        "error": [refused.status_code, refused.parsed.code],
        "limit": [exceeded.status_code, exceeded.parsed.code, int(exceeded.headers["Retry-After"]) > 0],
        "search": [entity.name for entity in found.entities],
    }


print(json.dumps(main(*sys.argv[1:4])))
