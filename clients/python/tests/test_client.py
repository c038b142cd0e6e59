"""Requests that the client repeats, and those that it does not; paging; idempotency keys."""

import json
import unittest
from collections.abc import Iterator
from datetime import datetime, timezone

import httpx

from assay_risk import ApiError, Assay, Retries, ScreenInterrupted


class Broken(httpx.SyncByteStream):
    """A body that ends before its end."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.RemoteProtocolError("the connection ended")


class Requests(unittest.TestCase):
    def setUp(self) -> None:
        self.requests: list[httpx.Request] = []

    def client(self, *responses: httpx.Response) -> Assay:
        """A client that gets these responses in turn, and waits for none."""
        left = iter(responses)

        def answer(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            return next(left)

        http = httpx.Client(transport=httpx.MockTransport(answer))
        return Assay("http://assay.test", "key", retries=Retries(), http=http, sleep=lambda _: None)

    def test_rows_that_a_proxy_may_have_passed_on_are_not_sent_again(self) -> None:
        for status in (502, 504):
            self.requests.clear()
            assay = self.client(httpx.Response(status))
            with self.assertRaises(ApiError):
                next(assay.screen([{"blockchain": "btc", "address": "a"}]))
            self.assertEqual(len(self.requests), 1)

    def test_rows_that_were_refused_are_sent_again(self) -> None:
        refused = httpx.Response(429, headers={"Retry-After": "1"})
        assay = self.client(refused, httpx.Response(200, text='{"row": 1, "verdict": "allow"}\n'))
        rows = list(assay.screen([{"blockchain": "btc", "address": "a"}]))
        self.assertEqual([row.get("verdict") for row in rows], ["allow"])

    def test_an_answer_that_breaks_off_is_told_and_its_rows_are_not_sent_again(self) -> None:
        assay = self.client(httpx.Response(200, stream=Broken('{"row": 1}\n')))
        answers = assay.screen([{"blockchain": "btc", "address": "a"}] * 2)
        self.assertEqual(next(answers)["row"], 1)
        with self.assertRaises(ScreenInterrupted) as raised:
            next(answers)
        self.assertEqual((raised.exception.answered, len(self.requests)), (1, 1))

    def test_a_check_whose_answer_was_lost_is_repeated_with_its_key(self) -> None:
        assay = self.client(httpx.Response(200, stream=Broken("{")), httpx.Response(200, json={"verdict": "allow"}))
        self.assertEqual(assay.check_address("btc", "a")["verdict"], "allow")
        keys = {request.headers["Idempotency-Key"] for request in self.requests}
        self.assertEqual((len(self.requests), len(keys)), (2, 1))

    def test_quotes_of_an_idempotency_key_are_escaped(self) -> None:
        assay = self.client(httpx.Response(200, json={}))
        assay.check_address("btc", "a", idempotency_key='a"b\\c')
        self.assertEqual(self.requests[0].headers["Idempotency-Key"], '"a\\"b\\\\c"')

    def test_an_idempotency_key_that_no_header_can_have_is_refused(self) -> None:
        for key in ("a\nb", "ключ"):
            with self.assertRaises(ValueError):
                self.client().check_address("btc", "a", idempotency_key=key)
        self.assertEqual(self.requests, [])

    def test_a_redirect_is_an_error(self) -> None:
        assay = self.client(httpx.Response(307, headers={"Location": "http://elsewhere.test/"}))
        with self.assertRaises(ApiError):
            assay.account()
        self.assertEqual(len(self.requests), 1)

    def test_pages_are_requested_as_checks_are_taken(self) -> None:
        pages = [{"checks": [{"check_id": "1"}], "next_cursor": "c"}, {"checks": [], "next_cursor": None}]
        assay = self.client(*(httpx.Response(200, json=page) for page in pages))
        found = assay.find_checks(verdict="block", since=datetime(2026, 2, 11, tzinfo=timezone.utc))
        self.assertEqual(next(found)["check_id"], "1")
        self.assertEqual(len(self.requests), 1)
        self.assertEqual(list(found), [])
        query = dict(self.requests[1].url.params)
        wanted = {"verdict": "block", "from": "2026-02-11T00:00:00+00:00", "limit": "100", "cursor": "c"}
        self.assertEqual(query, wanted)

    def test_a_time_without_a_zone_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            next(self.client().find_checks(since=datetime(2026, 2, 11)))

    def test_many_checks_are_one_request(self) -> None:
        assay = self.client(httpx.Response(200, json={"results": [{"verdict": "block"}, {"code": "invalid_address"}]}))
        answer = assay.check_addresses([{"blockchain": "btc", "address": "a"}, {"blockchain": "btc", "address": "b"}])
        self.assertEqual([result.get("verdict") for result in answer["results"]], ["block", None])
        self.assertEqual(len(json.loads(self.requests[0].content)["checks"]), 2)


if __name__ == "__main__":
    unittest.main()
