"""The steps of every kind of run refer to steps of the same run that come before them."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from runner import parts, run, selection
from runner.run import Run
from runner.steps import Step
from runner.tools import Tools


class RunTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # Whether this machine can do what tests need is found out by starting programs.
        for patch in (mock.patch.dict("os.environ", ASSAY_CACHE=folder.name), mock.patch.object(run, "Needs")):
            patch.start()
            self.addCleanup(patch.stop)
        self.run_ = Run(Tools())
        self.assertEqual(self.run_.tools.cache, Path(folder.name))

    def expect_order(self, kind: str, steps: list[Step]) -> None:
        names = [step.name for step in steps]
        self.assertEqual(len(set(names)), len(names), kind)
        before: set[str] = set()
        left = list(steps)
        while left:
            ready = [step for step in left if {*step.after, *step.follows} <= before]
            self.assertTrue(ready, f"{kind}: nothing can start of {[step.name for step in left]}")
            before.update(step.name for step in ready)
            left = [step for step in left if step not in ready]

    def test_every_step_can_start(self) -> None:
        self.expect_order("quick", self.run_.quick())
        self.expect_order("everything", self.run_.everything())
        for part in parts.PARTS:
            takes = selection.by(lambda title, message: parts.part_of(title, message) == part.name, is_full=True)
            self.expect_order(part.name, self.run_.part(part, takes))

    def test_a_unit_test_is_built_and_run_and_nothing_else(self) -> None:
        steps = self.run_.selected(selection.by_words(["engine trace::"], is_full=False))
        expected = ["packages", "build", "unit tests", run.AGAIN]
        self.assertEqual([step.name for step in steps], expected)

    def test_a_lane_waits_for_the_tools_of_its_tests_alone(self) -> None:
        after = {step.name: step.after for step in self.run_.everything()}
        self.assertEqual(after["unit tests"], ["build"])
        self.assertEqual(after["tests of stores"], ["build"])
        self.assertEqual(after["tests of several servers"], ["build"])
        self.assertEqual(after["tests of the operator"], ["build", "kubernetes"])
        self.assertEqual(after["tests of programs"], ["build", "kubernetes"])

    def test_the_chart_is_tested_by_both_versions_of_helm(self) -> None:
        (part,) = parts.find(["chart"])
        takes = selection.by(lambda title, message: parts.part_of(title, message) == "chart", is_full=True)
        names = [step.name for step in self.run_.part(part, takes)]
        self.assertEqual(names[-3:], ["Helm 3", "chart by Helm 3", run.AGAIN])
        self.assertIn("linters", names)
