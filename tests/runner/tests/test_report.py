"""What the report of a run says about times."""

import unittest
from pathlib import Path

from runner.libtest import Result, Results, Test
from runner.report import report
from runner.rust import Binary
from runner.steps import Step, StepPart


class ReportTest(unittest.TestCase):
    def test_times_are_told_by_group_of_tests_by_binary_and_by_step(self) -> None:
        binary = Binary("assay-tests", "all", Path("all"), Path("."))
        results = Results()
        for name, seconds in [("flows::a", 2.0), ("flows::b", 3.5), ("console::c", 1.0)]:
            results.add(Result(Test(binary, name, ""), "passed", seconds))
        build = Step("build", lambda _: None, state="passed", seconds=60.0, cpu_seconds=110.0)
        lane = Step("tests of programs", lambda _: None, state="passed", seconds=9.0, cpu_seconds=8.0)
        lane.parts = [StepPart("graph/quick", 0.4, 0.4), StepPart("tests/all", 8.5, 7.5)]
        text = report(results, [lane, build], True, 70.0, str)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        for line in [
            "5.5 s 2 tests tests/all flows",
            "1.0 s 1 tests tests/all console",
            "60.0 s 110.0 s of CPU time build",
            "9.0 s 8.0 s of CPU time tests of programs",
            "8.5 s 7.5 s of CPU time tests/all",
            "70.0 s 118.0 s of CPU time all",
        ]:
            self.assertIn(line, lines)
        self.assertNotIn("graph/quick", text)


if __name__ == "__main__":
    unittest.main()
