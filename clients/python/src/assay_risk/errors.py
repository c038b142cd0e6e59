"""Errors of the client."""

from __future__ import annotations

from typing import cast

import httpx

from .types import FieldError, ProblemDetails


class AssayError(Exception):
    """Base of all errors of this client. Errors of the connection are those of httpx."""


class ApiError(AssayError):
    """A response with another status than 200, with its problem details (RFC 9457)."""

    def __init__(self, response: httpx.Response) -> None:
        problem = _problem(response)
        self.status: int = response.status_code
        self.code: str = problem["code"]
        """Problem code, such as `invalid_address`. New codes may be added."""
        self.title: str = problem["title"]
        self.detail: str = problem["detail"]
        self.request_id: str = problem["request_id"]
        """Request id, which identifies the request in the server's logs."""
        self.errors: list[FieldError] = problem.get("errors", [])
        self.violated_policies: list[str] = problem.get("violated-policies", [])
        """Names of the limits that refused the request."""
        self.retry_after: float | None = retry_after(response)
        """Seconds after which the request may succeed, if the server says so."""
        super().__init__(f"{self.status} {self.code}: {self.detail} (request {self.request_id})")


class ScreenInterrupted(AssayError):
    """The end of an answer before the answers to all rows. `answered` counts those that arrived."""

    def __init__(self, answered: int) -> None:
        self.answered = answered
        super().__init__(f"the answer ended after {answered} rows: screen the others again")


def retry_after(response: httpx.Response) -> float | None:
    """Returns the seconds of `Retry-After`, if the response has them."""
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _problem(response: httpx.Response) -> ProblemDetails:
    """Returns the problem of a response. A proxy's response has none: its text takes the place of the detail."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if isinstance(body, dict) and "code" in body:
        return cast(ProblemDetails, body)
    return {
        "type": "about:blank",
        "title": response.reason_phrase,
        "status": response.status_code,
        "detail": response.text[:500],
        "instance": response.url.path,
        "code": "no_problem_details",
        "request_id": response.headers.get("X-Request-Id", ""),
    }
