"""Parts of a full run: every test belongs to one, and what passed is known for the same state only."""

import tempfile
import unittest
from pathlib import Path

from runner import parts
from runner.parts import PARTS, Progress


class PartsTest(unittest.TestCase):
    def test_each_test_has_a_part_that_runs_tests(self) -> None:
        cases = {
            ("engine trace::tests::a", ""): "units",
            ("limiter simulation::a", ""): "limiter",
            ("store/all postgres::a", ""): "stores",
            ("tests/all limits::a", ""): "programs",
            ("tests/all chain_tools::a", ""): "chains",
            ("tests/all chain_scenario::a", "needs Bitcoin Core"): "bitcoin-core",
            ("tests/all evasion::a", "needs more time"): "economies",
            ("tests wallets::tests::a", ""): "economies",
            ("tests/shared limits::a", ""): "servers",
            ("tests/cluster faults::a", "needs Kubernetes"): "cluster",
            ("tests/chart values::a", "needs Helm"): "chart",
            ("tests/node loads::a", "needs Kubernetes node"): "node",
            ("tests/node production::a", "needs Kubernetes node, Bitcoin Core"): "node",
        }
        for (title, message), name in cases.items():
            self.assertEqual(parts.part_of(title, message), name, title)
        self.assertEqual({part.name for part in PARTS if part.has_tests}, set(cases.values()))

    def test_an_unknown_part_is_refused_with_all_names(self) -> None:
        with self.assertRaisesRegex(ValueError, 'no such part: "untis".*units, limiter'):
            parts.find(["node", "untis"])
        self.assertEqual([part.name for part in parts.find(["node", "units"])], ["units", "node"])

    def test_a_part_that_passed_is_left_out_for_the_same_state(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder)
            units, node = parts.find(["units", "node"])
            progress = Progress(cache, "one")
            progress.record(units, "passed", 1200, "3 passed, 0 failed, 0 flaky, 0 ignored")
            progress.record(node, "failed", 60, "0 passed, 1 failed, 0 flaky, 0 ignored")
            again = Progress(cache, "one")
            self.assertEqual([part for part in PARTS if part not in again.left()], [units])
            self.assertIn("passed in 20.0 min, over 15 min, 3 passed", again.table())
            self.assertEqual(Progress(cache, "two").left(), list(PARTS))

    def test_benchmarks_are_parts(self) -> None:
        self.assertEqual({part.benchmark for part in PARTS} - {""}, set(parts.BENCHMARKS))
