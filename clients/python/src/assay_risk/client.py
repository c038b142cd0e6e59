"""Calls of the API."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from datetime import date, datetime
from itertools import islice
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from .errors import ApiError, ScreenInterrupted, retry_after
from .idempotency import quoted
from .retries import NOT_STARTED, RETRIED, Retries
from .types import (
    AccountResponse,
    AddressesResponse,
    AssessmentScope,
    Catalogue,
    ChainsResponse,
    CheckRequest,
    CheckResponse,
    ChecksResponse,
    EntitiesResponse,
    ListedCheck,
    ScreenRequest,
    ScreenResponse,
    SourcesResponse,
    TransferDirection,
    UsageResponse,
    Verdict,
)

# Rows of one request of `screen`. Their answers fit into the buffers of a connection, so that they can be read after
# all rows were sent.
_BATCH = 200
# Checks of one page of a search: as many as the API allows.
_PAGE = 100


class Assay:
    """Client of one installation of Assay, safe to use from several threads.

    Requests that may succeed later are repeated (`retries`). Repeated checks have the same idempotency key, so that
    they are charged once.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retries: Retries = Retries(),
        timeout: float = 30.0,
        http: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Makes a client of the API at `url` with an API key.

        `timeout` bounds, in seconds, the time without any byte of a response. `http` replaces the HTTP client, for
        proxies or certificates of your own.
        """
        self._url = url.rstrip("/")
        self._headers = {"X-API-Key": key}
        self._retries = retries
        self._http = http or httpx.Client(timeout=timeout)
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def check_address(
        self,
        blockchain: str,
        address: str,
        *,
        reference: str | None = None,
        direction: TransferDirection | None = None,
        max_age: int | None = None,
        idempotency_key: str | None = None,
    ) -> CheckResponse:
        """Assesses the risk of an address.

        `max_age` asks for an answer that is not older, in seconds. Raises `ApiError` if the address is not assessed.
        """
        body = {"blockchain": blockchain, "address": address, "reference": reference, "direction": direction}
        return cast(CheckResponse, self._check("/api/v1/check/address", body, max_age, idempotency_key))

    def check_addresses(
        self, checks: Sequence[CheckRequest], *, max_age: int | None = None, idempotency_key: str | None = None
    ) -> AddressesResponse:
        """Assesses the risk of 1 to 100 addresses.

        The results are in the order of the checks: an answer with a `verdict`, or a problem with a `code`.
        """
        body = {"checks": list(checks)}
        return cast(AddressesResponse, self._check("/api/v1/check/addresses", body, max_age, idempotency_key))

    def check_transfer(
        self,
        blockchain: str,
        transaction: str,
        direction: TransferDirection,
        *,
        output: int | None = None,
        address: str | None = None,
        log_index: int | None = None,
        trace_index: str | None = None,
        reference: str | None = None,
        max_age: int | None = None,
        idempotency_key: str | None = None,
    ) -> CheckResponse:
        """Assesses the risk of one transfer: outputs of a transaction, or a transfer on an account chain."""
        body = {
            "blockchain": blockchain,
            "transaction": transaction,
            "direction": direction,
            "output": output,
            "address": address,
            "log_index": log_index,
            "trace_index": trace_index,
            "reference": reference,
        }
        return cast(CheckResponse, self._check("/api/v1/check/transfer", body, max_age, idempotency_key))

    def check_withdrawal(
        self,
        blockchain: str,
        to: str,
        asset: str,
        amount: str,
        *,
        sender: str | None = None,
        reference: str | None = None,
        max_age: int | None = None,
        idempotency_key: str | None = None,
    ) -> CheckResponse:
        """Assesses a withdrawal that is not sent yet.

        `asset` is `native`, the address of a token's contract or a ticker; `amount` is in base units, as text.
        """
        body = {
            "blockchain": blockchain,
            "direction": "withdrawal",
            "to": to,
            "from": sender,
            "asset": asset,
            "amount": amount,
            "reference": reference,
        }
        return cast(CheckResponse, self._check("/api/v1/check/transfer", body, max_age, idempotency_key))

    def show_check(self, check_id: str) -> CheckResponse:
        """Returns the answer of an earlier check."""
        return cast(CheckResponse, self._get(f"/api/v1/checks/{quote(check_id, safe='')}"))

    def find_checks(
        self,
        *,
        blockchain: str | None = None,
        address: str | None = None,
        reference: str | None = None,
        verdict: Verdict | None = None,
        rule: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
    ) -> Iterator[ListedCheck]:
        """Yields earlier checks that meet all conditions, the newest first. Pages are requested as checks are taken.

        `rule` is the code of a reason or a minimum score rule. `since` is inclusive; times need a zone.
        """
        conditions = {
            "blockchain": blockchain,
            "address": address,
            "reference": reference,
            "verdict": verdict,
            "rule": rule,
            "from": None if since is None else _time(since),
            "to": None if before is None else _time(before),
            "limit": str(_PAGE),
        }
        query = {name: value for name, value in conditions.items() if value is not None}
        while True:
            page = cast(ChecksResponse, self._get("/api/v1/checks", query))
            yield from page["checks"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return
            query["cursor"] = cursor

    def screen(
        self, rows: Iterable[ScreenRequest], *, scope: AssessmentScope = "lists_and_labels"
    ) -> Generator[ScreenResponse, None, None]:
        """Screens any number of rows and yields their answers in order, while they arrive.

        Rows are read as answers are taken, some hundred at a time. A row that cannot be answered has an `error`.
        Raises `ScreenInterrupted` if the connection ends within an answer. Rows that may have been charged are not sent
        again.
        """
        rows, before = iter(rows), 0
        while batch := list(islice(rows, _BATCH)):
            answered = 0
            for answer in self._screen(batch, scope):
                answered += 1
                # The number of the row among all rows.
                answer["row"] = before + answered
                yield answer
            if answered < len(batch):
                raise ScreenInterrupted(before + answered)
            before += answered

    def find_entities(self, name: str, *, limit: int = 20) -> EntitiesResponse:
        """Finds listed parties by name."""
        return cast(EntitiesResponse, self._get("/api/v1/entities", {"name": name, "limit": str(limit)}))

    def usage(self, first: date | None = None, last: date | None = None) -> UsageResponse:
        """Returns the tenant's usage by day, between two days."""
        days = {"from": first, "to": last}
        query = {name: day.isoformat() for name, day in days.items() if day}
        return cast(UsageResponse, self._get("/api/v1/usage", query))

    def account(self) -> AccountResponse:
        """Returns the tenant's plan, limits, policy and keys."""
        return cast(AccountResponse, self._get("/api/v1/account"))

    def sources(self) -> SourcesResponse:
        """Returns the sources of answers, and how fresh they are."""
        return cast(SourcesResponse, self._get("/api/v1/sources"))

    def chains(self) -> ChainsResponse:
        """Returns the blockchains, and what is known of each."""
        return cast(ChainsResponse, self._get("/api/v1/chains"))

    def signals(self) -> Catalogue:
        """Returns everything that answers can name."""
        return cast(Catalogue, self._get("/api/v1/signals"))

    def _check(self, path: str, body: Mapping[str, Any], max_age: int | None, idempotency_key: str | None) -> Any:
        headers = {"Idempotency-Key": quoted(idempotency_key or str(uuid.uuid4()))}
        if max_age is not None:
            headers["Cache-Control"] = f"max-age={max_age}"
        given = {name: value for name, value in body.items() if value is not None}
        return self._read("POST", path, headers=headers, json=given)

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        return self._read("GET", path, params=query)

    def _read(self, method: str, path: str, **request: Any) -> Any:
        """Sends a request until its response was read. One that was lost is requested again."""
        response = self._send(method, path, stream=False, **request)
        return response.json()

    def _screen(self, batch: list[ScreenRequest], scope: AssessmentScope) -> Iterator[ScreenResponse]:
        content = "".join(json.dumps(row) + "\n" for row in batch)
        headers = {"Content-Type": "application/x-ndjson"}
        query = {"scope": scope}
        # Other failures leave open whether rows were answered and charged.
        response = self._send(
            "POST",
            "/api/v1/screen",
            stream=True,
            statuses=NOT_STARTED,
            failures=(httpx.ConnectError, httpx.ConnectTimeout),
            headers=headers,
            content=content,
            params=query,
        )
        with closing(response):
            try:
                for line in response.iter_lines():
                    if line:
                        yield cast(ScreenResponse, json.loads(line))
            except httpx.TransportError:
                # The rows that are missing say so.
                return

    def _send(
        self,
        method: str,
        path: str,
        *,
        stream: bool,
        statuses: Set[int] = RETRIED,
        failures: tuple[type[httpx.TransportError], ...] = (httpx.TransportError,),
        headers: Mapping[str, str] | None = None,
        **request: Any,
    ) -> httpx.Response:
        """Sends a request until it succeeds: again after these statuses and failures of the connection.

        The body of a response that succeeded is read, or left to be streamed.
        """
        attempt = 0
        all_headers = {**self._headers, **(headers or {})}
        while True:
            attempt += 1
            prepared = self._http.build_request(method, self._url + path, headers=all_headers, **request)
            try:
                response = self._http.send(prepared, stream=stream)
                if response.status_code == 200:
                    return response
                response.read()
            except failures:
                wait = self._retries.wait(attempt, None, random.random())
                if wait is None:
                    raise
            else:
                is_retried = response.status_code in statuses
                after = retry_after(response)
                wait = self._retries.wait(attempt, after, random.random()) if is_retried else None
                if wait is None:
                    raise ApiError(response)
            self._sleep(wait)


def _time(time: datetime) -> str:
    if time.tzinfo is None:
        raise ValueError(f"the time {time} has no zone")
    return time.isoformat()
