"""The report of a run: slowest tests, steps, notes, failures, and a last line with all counts."""

from collections import Counter
from typing import Callable, Sequence

from .libtest import Result, Results
from .steps import Step

SLOWEST = 20
# Seconds below which a part of a step has no line.
SHORTEST_PART = 1.0


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
    lines += groups(ran)
    lines.append("-- steps, with the test binaries of each")
    for step in sorted(steps, key=lambda step: -step.seconds):
        state = "" if step.state == "passed" else f"  {step.state.upper()}"
        lines.append(_times(step.seconds, step.cpu_seconds, f"{step.name}{state}"))
        parts = [part for part in step.parts if part.seconds >= SHORTEST_PART]
        for part in sorted(parts, key=lambda part: -part.seconds):
            lines.append(_times(part.seconds, part.cpu_seconds, f"  {part.name}"))
    cpu_seconds = sum(step.cpu_seconds for step in steps)
    lines.append(_times(seconds, cpu_seconds, "all"))
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


def groups(results: Sequence[Result]) -> list[str]:
    """The groups of tests that took longest together: a group is a module of a test binary."""
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for result in results:
        group = f"{result.test.binary.title} {result.test.name.partition('::')[0]}"
        seconds[group] += result.seconds
        tests[group] += 1
    longest = sorted(seconds, key=lambda group: -seconds[group])[:SLOWEST]
    lines = [f"{seconds[group]:8.1f} s  {tests[group]:5} tests  {group}" for group in longest]
    return ["-- groups of tests that took longest, by the sums of their tests' times", *lines] if lines else []


def _times(seconds: float, cpu_seconds: float, name: str) -> str:
    return f"{seconds:8.1f} s  {cpu_seconds:7.1f} s of CPU time  {name}"
