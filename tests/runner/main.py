"""Command line, and the kinds of runs that it asks for."""

import argparse
import os
import signal
import time
from typing import Callable, Sequence

from . import parts, report, revision, selection
from .flaky import Archive
from .libtest import Results
from .parts import Part, Progress
from .run import Run
from .sources import all_contents
from .steps import Step, interrupt, is_interrupted, say
from .tools import Tools

EPILOG = "With ASSAY_FULL=1 in the environment, words also select the tests that otherwise only --full runs."


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: interrupt())
    tools = Tools()
    if options.flaky:
        print(Archive(tools.cache).report())
        return 0
    if options.full:
        return _full(tools, options.words, options.list)
    if options.words:
        return _selected(tools, options.words)
    run = Run(tools)
    passed = run.execute(run.quick() if options.quick else run.everything())
    say(run.report())
    return 0 if passed else 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./tests/run", description="Runs every check and every test, or some.", epilog=EPILOG
    )
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--quick", action="store_true", help="run only format, lints and unit tests")
    full = "run parts of what a release needs: those that are named, or all that have not passed for this commit"
    much.add_argument("--full", action="store_true", help=full)
    much.add_argument("--flaky", action="store_true", help="print the flaky tests of past runs with their logs")
    parser.add_argument("--list", action="store_true", help="with --full: print the parts and their state")
    words = "run only tests whose names contain one of these; with --full: names of parts"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    options = parser.parse_args(arguments)
    if options.list and not options.full:
        parser.error("--list goes with --full")
    if options.words and (options.quick or options.flaky):
        parser.error("--quick and --flaky take no words")
    return options


def _selected(tools: Tools, words: Sequence[str]) -> int:
    """Runs the tests whose titles contain one of the words."""
    titles = [test.title for found in all_contents().values() for test in found.tests]
    if unmatched := selection.unmatched(words, titles):
        for word in unmatched:
            say(f'no test has "{word}" in its name')
            say("\n".join(f"  near: {title}" for title in selection.near(word, titles)) or "  nothing is near it")
        say(f"tests/run: FAILED: {len(unmatched)} of {len(words)} words match none of {len(titles)} tests")
        return 1
    is_full = "ASSAY_FULL" in os.environ
    chosen = selection.by_words(words, is_full)
    run = Run(tools, is_full)
    passed = run.execute(run.selected(chosen))
    say(run.report())
    return 0 if passed else 1


def _full(tools: Tools, names: Sequence[str], is_list: bool) -> int:
    """Runs parts, one after the other, and records each of them."""
    progress = Progress(tools.cache, revision.state())
    if is_list:
        say(f"{progress.table()}\nstate of {revision.commit()}: {len(progress.left())} parts have not passed")
        return 0
    try:
        chosen = parts.find(names) if names else progress.left()
    except ValueError as error:
        say(f"tests/run: {error}")
        return 2
    if not chosen:
        say(f"tests/run: passed: every part of --full passed before for {revision.commit()}")
        return 0
    return _run_parts(tools, progress, chosen)


def _run_parts(tools: Tools, progress: Progress, chosen: Sequence[Part]) -> int:
    results, steps, failed = Results(), [], []
    explain: Callable[[str], str] = str
    begun = time.monotonic()
    for part in chosen:
        if is_interrupted():
            failed.append(part.name)
            steps.append(Step(f"part {part.name}", lambda step: None, state="not run"))
            continue
        say(f"== part {part.name}: {part.title}")
        run = Run(tools, is_full=True)
        passed = run.execute(run.part(part, _tests_of(part)))
        if revision.state() == progress.state:
            progress.record(part, "passed" if passed else "failed", run.seconds, report.counts(run.results))
        else:
            say(f"note: the tree changed while {part.name} ran, which therefore counts for neither state")
        results.add(*run.results.all())
        failed += [] if passed else [part.name]
        for step in run.steps:
            step.name = f"{part.name}: {step.name}"
        steps += run.steps
        explain = run.needs.explain
    say(report.report(results, steps, not failed, time.monotonic() - begun, explain))
    return 1 if failed else 0


def _tests_of(part: Part) -> selection.Selection:
    return selection.by(lambda title, message: parts.part_of(title, message) == part.name, is_full=True)
