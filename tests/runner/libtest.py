"""Runs test binaries with Rust's own test harness (libtest) and collects the results.

libtest prints names, ignore reasons and times as JSON only with unstable options, which RUSTC_BOOTSTRAP
allows. The toolchain is pinned, so the format does not change unnoticed.
"""

import json
import os
import signal
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
# Number of lines of an aborted binary's log that a note repeats.
LAST_WORDS = 5


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

    If the process aborts, the tests that were running fail, a note tells of it, and a new process runs the rest.
    Raises Failure if the process ends with an error though no test failed, or if the run was stopped.
    """
    left = tests
    while left:
        left = _run_process(step, binary, left, threads, results, extra)


def _run_process(
    step: Step, binary: Binary, tests: list[Test], threads: int, results: Results, extra: dict
) -> list[Test]:
    """Runs tests in one process. Returns those that it did not begin because it aborted in others."""
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
    try:
        step.finish(process, [binary.title])
        end = "exit code 0"
    except Failure:
        if is_stopped() or not (failed or by_name):
            raise
        end = _end(process.returncode)
    if not by_name:
        return []
    # The process aborted before these tests ended. Without a running one, it would abort again.
    aborted = [test for name, test in by_name.items() if name in running] or list(by_name.values())
    words = step.log.read_text(errors="replace").strip().splitlines()[-LAST_WORDS:]
    names = ", ".join(test.name for test in aborted[:10])
    note = " | ".join([f"{binary.title} ended by {end} in {names}", *words])
    step.notes.append(note)
    for test in aborted:
        results.add(Result(test, "failed", log=note, environment=extra))
        say(f"-- FAILED: {test.title}: {note}")
    return [test for test in by_name.values() if test not in aborted]


def _end(code: int) -> str:
    """The end of a process in words."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


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
