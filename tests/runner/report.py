"""The report of a run: slowest tests, steps, notes, failures, and a last line with all counts."""

from collections import Counter
from typing import Callable, Sequence

from .libtest import Results
from .steps import Step

SLOWEST = 20


def counts(results: Results) -> str:
    """The numbers of tests by outcome."""
    outcomes = ["passed", "failed", "flaky", "ignored"]
    return ", ".join(f"{len(results.of(outcome))} {outcome}" for outcome in outcomes)


def report(
    results: Results, steps: Sequence[Step], passed: bool, seconds: float, explain: Callable[[str], str]
) -> str:
    """The report as text; `explain` turns the name of an unmet requirement into a reason."""
    ran = [result for outcome in ("passed", "failed", "flaky") for result in results.of(outcome)]
    lines = []
    if slowest := sorted(ran, key=lambda result: -result.seconds)[:SLOWEST]:
        lines.append("-- slowest tests")
        lines += [f"{result.seconds:8.1f} s  {result.test.title}" for result in slowest]
    lines.append("-- steps")
    for step in sorted(steps, key=lambda step: -step.seconds):
        state = "" if step.state == "passed" else f"  {step.state.upper()}"
        lines.append(f"{step.seconds:8.1f} s  {step.cpu_seconds:7.1f} s of CPU time  {step.name}{state}")
    lines += [f"note: {note}" for step in steps for note in step.notes]
    lines += [f"flaky: {result.test.title}" for result in results.of("flaky")]
    lines += [f"FAILED: {result.test.title}" for result in results.of("failed")]
    ignored = results.of("ignored")
    reasons = Counter(", ".join(explain(name) for name in result.reasons) for result in ignored)
    grouped = "; ".join(f"{count} for want of {reason}" for reason, count in reasons.most_common())
    not_passed = [step.name for step in steps if step.state != "passed"]
    how = "passed" if passed else "FAILED at " + ", ".join(dict.fromkeys(not_passed))
    minutes, rest = divmod(round(seconds), 60)
    more = f" ({grouped})" if grouped else ""
    lines.append(f"tests/run: {how} in {minutes} min {rest} s: tests: {counts(results)}{more}")
    return "\n".join(lines)
