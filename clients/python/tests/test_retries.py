"""Times between attempts, and errors of responses that are no problem details."""

import unittest

import httpx

from assay_risk import ApiError, Retries


class Waits(unittest.TestCase):
    def test_a_request_is_never_repeated_earlier_than_the_server_says(self) -> None:
        retries = Retries()
        for random in (0.0, 0.5, 1.0):
            wait = retries.wait(1, 3.0, random)
            assert wait is not None
            self.assertGreaterEqual(wait, 3.0)
            self.assertLessEqual(wait, 3.5)

    def test_waits_without_a_time_double_up_to_a_bound(self) -> None:
        retries = Retries(attempts=10, longest_wait=2.0, first_wait=0.5)
        waits = [retries.wait(attempt, None, 1.0) for attempt in range(1, 6)]
        self.assertEqual(waits, [0.5, 1.0, 2.0, 2.0, 2.0])
        self.assertEqual(retries.wait(3, None, 0.0), 0.0)

    def test_the_last_attempt_and_a_far_time_end_the_retries(self) -> None:
        self.assertIsNone(Retries(attempts=2).wait(2, 1.0, 0.5))
        self.assertIsNone(Retries(longest_wait=30.0).wait(1, 3600.0, 0.5))


class Errors(unittest.TestCase):
    def test_the_response_of_a_proxy_is_an_error_too(self) -> None:
        request = httpx.Request("GET", "http://assay.test/api/v1/account")
        for content in (b"<html>", b"[]"):
            response = httpx.Response(502, headers={"Content-Type": "application/json"}, content=content, request=request)
            error = ApiError(response)
            self.assertEqual((error.status, error.code), (502, "no_problem_details"))

    def test_an_error_says_status_code_and_detail(self) -> None:
        problem = {"code": "invalid_address", "title": "t", "detail": "no address", "request_id": "r-1"}
        request = httpx.Request("GET", "http://assay.test/")
        error = ApiError(httpx.Response(422, json=problem, headers={"Retry-After": "soon"}, request=request))
        self.assertEqual(str(error), "422 invalid_address: no address (request r-1)")
        self.assertIsNone(error.retry_after)


if __name__ == "__main__":
    unittest.main()
