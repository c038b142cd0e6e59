"""Runs test binaries with Rust's own test harness (libtest) and collects the results.

libtest prints names, ignore reasons and times as JSON only with unstable options, which RUSTC_BOOTSTRAP
allows. The toolchain is pinned, so the format does not change unnoticed.
"""

import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Callable, Iterable

from .needs import Needs
from .rust import Binary
from .steps import Failure, Step, is_stopped, say

UNSTABLE = ["-Z", "unstable-options", "--format", "json"]
# Timeout: a binary in which no test starts or ends for so long is killed.
SILENCE_SECONDS = 1200


@dataclass
class Test:
    binary: Binary
    name: str
    # The reason in its `ignore` attribute; empty without one.
    message: str

    @property
    def title(self) -> str:
        return f"{self.binary.title} {self.name}"


@dataclass
class Result:
    test: Test
    # "passed", "failed", "flaky" or "ignored".
    outcome: str
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()
    # What it printed; empty if it passed beside others.
    log: str = ""
    # Environment variables that it had beside the runner's own.
    environment: dict[str, str] = field(default_factory=dict)


class Results:
    """The results of all tests of a run."""

    def __init__(self) -> None:
        self._all: list[Result] = []
        self._lock = threading.Lock()

    def add(self, *results: Result) -> None:
        with self._lock:
            self._all.extend(results)

    def replace(self, old: Result, new: Result) -> None:
        with self._lock:
            self._all[self._all.index(old)] = new

    def all(self) -> list[Result]:
        with self._lock:
            return list(self._all)

    def of(self, outcome: str) -> list[Result]:
        with self._lock:
            return [result for result in self._all if result.outcome == outcome]


def list_tests(step: Step, binaries: Iterable[Binary]) -> list[Test]:
    """Every test of some binaries."""
    tests = []
    for binary in binaries:
        output = step.output(binary.path, *UNSTABLE, "--list", env=environment(), cwd=binary.folder)
        for event in map(json.loads, output.splitlines()):
            if event["event"] == "discovered":
                tests.append(Test(binary, event["name"], event["ignore_message"] if event["ignore"] else ""))
    return tests


def select(
    tests: Iterable[Test], needs: Needs, takes: Callable[[str, str], bool] | None, results: Results
) -> list[Test]:
    """Selects the tests to run, of those that `takes` takes by title and message. Those whose requirements are not
    met are recorded as ignored, with their reasons."""
    chosen = []
    for test in tests:
        if takes and not takes(test.title, test.message):
            continue
        missing = needs.missing(test.message) if test.message else []
        if missing:
            results.add(Result(test, "ignored", reasons=tuple(missing)))
        else:
            chosen.append(test)
    return chosen


def run_binary(step: Step, binary: Binary, tests: list[Test], threads: int, results: Results, extra: dict) -> None:
    """Runs tests of one binary, `threads` at a time, and adds their results.

    Raises Failure if the process ends with an error though no test failed, or if the run was stopped.
    """
    by_name = {test.name: test for test in tests}
    arguments = [*UNSTABLE, "--report-time", "--include-ignored", "--exact", f"--test-threads={threads}"]
    # One test runs alone if it failed before: then its output is kept though it passes.
    arguments += ["--show-output"] if len(tests) == 1 else []
    process = step.start(
        binary.path,
        *arguments,
        *by_name,
        env=environment(extra),
        cwd=binary.folder,
        stdout=subprocess.PIPE,
    )
    watch = _Watch(process)
    running: set[str] = set()
    failed = 0
    assert process.stdout is not None
    for line in process.stdout:
        watch.reset()
        event = _event(line)
        name = event.get("name")
        if event.get("type") != "test" or name not in by_name:
            continue
        match event["event"]:
            case "started":
                running.add(name)
            case "ok":
                running.discard(name)
                log = event.get("stdout", "")
                results.add(Result(by_name.pop(name), "passed", event["exec_time"], log=log))
            case "failed":
                running.discard(name)
                failed += 1
                test = by_name.pop(name)
                log = event.get("stdout", "") + event.get("message", "")
                results.add(Result(test, "failed", event.get("exec_time", 0.0), log=log, environment=extra))
                say(f"-- FAILED: {test.title}\n{log}")
    watch.cancel()
    # The binary aborted before these tests ended.
    for name, test in by_name.items():
        log = f"{'was running' if name in running else 'was not run'} when {binary.title} ended"
        results.add(Result(test, "failed", log=log, environment=extra))
        say(f"-- FAILED: {test.title}: {log}")
    try:
        step.finish(process, [binary.title])
    except Failure:
        if is_stopped() or not (failed or by_name):
            raise


def environment(extra: dict | None = None) -> dict:
    return {**os.environ, "RUSTC_BOOTSTRAP": "1", **(extra or {})}


def _event(line: str) -> dict:
    # A test may print to standard output directly, past libtest.
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


class _Watch:
    """Kills a process that prints nothing for SILENCE_SECONDS."""

    def __init__(self, process: subprocess.Popen):
        self.process = process
        self.timer = self._start()

    def _start(self) -> threading.Timer:
        timer = threading.Timer(SILENCE_SECONDS, self.process.kill)
        timer.daemon = True
        timer.start()
        return timer

    def reset(self) -> None:
        self.timer.cancel()
        self.timer = self._start()

    def cancel(self) -> None:
        self.timer.cancel()
