"""Flaky tests: a test that failed beside others and passed alone.

Each is recorded in the cache with both of its logs, outside of what `cargo clean` deletes.
"""

import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

# Number of failed tests above which nothing is flaky: then something that they share is broken.
MOST = 40


@dataclass(frozen=True)
class Record:
    """A flaky test of a past run."""

    # In UTC, as in RFC 3339.
    date: str
    commit: str
    test: str
    # The folder with its logs: `failed.log` and `passed.log`.
    logs: str

    def line(self) -> str:
        return f"{self.date}  {self.commit}  {self.test}\n    {self.logs}/failed.log\n    {self.logs}/passed.log"


class Archive:
    """The flaky tests of all runs with one cache."""

    def __init__(self, cache: Path):
        self._folder = cache / "flaky"
        self._index = self._folder / "tests.jsonl"

    def add(self, test: str, commit: str, failed: str, passed: str) -> Record:
        """Keeps the logs of a test and records it."""
        date = datetime.now(timezone.utc)
        logs = self._folder / f"{date:%Y%m%dT%H%M%S.%f}-{slug(test)}"
        logs.mkdir(parents=True)
        (logs / "failed.log").write_text(failed)
        (logs / "passed.log").write_text(passed)
        record = Record(f"{date:%Y-%m-%dT%H:%M:%SZ}", commit, test, str(logs))
        with self._index.open("a") as index:
            index.write(json.dumps(asdict(record)) + "\n")
        return record

    def records(self) -> list[Record]:
        """All records, the oldest first."""
        if not self._index.is_file():
            return []
        return [Record(**json.loads(line)) for line in self._index.read_text().splitlines()]

    def report(self) -> str:
        """The records as text, the newest last, and a line with their counts."""
        records = self.records()
        tests = len({record.test for record in records})
        lines = [record.line() for record in records]
        return "\n".join([*lines, f"tests/run --flaky: {len(records)} records of {tests} tests in {self._folder}"])


def slug(test: str) -> str:
    """A file name for a test."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", test).strip("-")[-120:]
