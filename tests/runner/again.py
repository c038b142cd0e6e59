"""Runs each failed test once more, alone, after all others."""

from . import flaky, revision
from .libtest import Result, Results, run_binary
from .steps import Failure, Step, say


def run(step: Step, results: Results, archive: flaky.Archive) -> None:
    """Runs the failed tests again: one that passes is flaky from now on. Raises Failure for the others."""
    failed = results.of("failed")
    if len(failed) > flaky.MOST:
        raise Failure(f"{len(failed)} tests failed: with more than {flaky.MOST} none is run again")
    commit = revision.commit() if failed else ""
    for first in failed:
        second = _alone(step, first)
        if second.outcome != "passed":
            continue
        record = archive.add(first.test.title, commit, first.log, second.log)
        results.replace(first, Result(first.test, "flaky", second.seconds, log=first.log))
        say(f"-- FLAKY: failed, and passed alone:\n{record.line()}")
    if left := len(results.of("failed")):
        raise Failure(f"{left} tests failed twice")


def _alone(step: Step, first: Result) -> Result:
    """The result of one test that runs alone, as it ran before."""
    alone = Results()
    try:
        run_binary(step, first.test.binary, [first.test], 1, alone, first.environment)
    except Failure:  # its process ended with an error after the test
        return Result(first.test, "failed")
    return (alone.of("passed") or alone.of("failed"))[0]
