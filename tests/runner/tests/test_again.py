"""A failed test is run once more: what passes then is flaky and fails no run."""

import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from runner import again, flaky, libtest, steps
from runner.flaky import Archive
from runner.libtest import Result, Results, Test
from runner.rust import Binary
from runner.steps import Failure, Step

# A test binary: `steady` passes, `broken` fails, `flaky` fails the first time.
BINARY = """\
#!/usr/bin/env python3
import json, os, sys
folder, failed = os.path.dirname(sys.argv[0]), False
for name in sys.argv[1:]:
    if name not in ("steady", "broken", "flaky"):
        continue
    print(json.dumps({"type": "test", "event": "started", "name": name}))
    first = not os.path.exists(folder + "/ran")
    bad = name == "broken" or (name == "flaky" and first)
    failed |= bad
    event = {"type": "test", "event": "failed" if bad else "ok", "name": name, "exec_time": 0.1}
    event["stdout"] = "failed it\\n" if bad else "passed it\\n" if "--show-output" in sys.argv else ""
    print(json.dumps(event))
open(folder + "/ran", "w").close()
sys.exit(101 if failed else 0)
"""


class AgainTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        path = self.folder / "binary"
        path.write_text(BINARY)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.binary = Binary("assay-box", "all", path, self.folder)
        for module, name, value in [
            (steps, "LOGS", self.folder),
            (libtest, "say", lambda text: None),
            (again, "say", lambda text: None),
        ]:
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.step = Step("step", lambda step: None)
        self.archive = Archive(self.folder / "cache")

    def run_tests(self, *names: str) -> Results:
        tests = [Test(self.binary, name, "") for name in names]
        results = Results()
        libtest.run_binary(self.step, self.binary, tests, 2, results, {})
        return results

    def test_a_test_that_passes_alone_is_flaky(self) -> None:
        results = self.run_tests("steady", "flaky")
        self.assertEqual(len(results.of("failed")), 1)

        again.run(self.step, results, self.archive)

        self.assertEqual(results.of("failed"), [])
        self.assertEqual([result.test.name for result in results.of("flaky")], ["flaky"])
        (record,) = self.archive.records()
        self.assertEqual(record.test, "box/all flaky")
        self.assertEqual(Path(record.logs, "failed.log").read_text(), "failed it\n")
        self.assertEqual(Path(record.logs, "passed.log").read_text(), "passed it\n")
        self.assertIn("1 records of 1 tests", self.archive.report())

    def test_a_test_that_fails_twice_fails_the_run(self) -> None:
        results = self.run_tests("steady", "flaky", "broken")
        with self.assertRaisesRegex(Failure, "1 tests failed twice"):
            again.run(self.step, results, self.archive)
        self.assertEqual([result.test.name for result in results.of("failed")], ["broken"])
        self.assertEqual(len(results.of("flaky")), 1)

    def test_a_test_that_did_not_end_counts_as_failed(self) -> None:
        results = self.run_tests("steady", "never")
        (failed,) = results.of("failed")
        self.assertEqual(failed.log, "box/all ended by exit code 0 in never")

    def test_nothing_is_flaky_where_very_much_failed(self) -> None:
        results = Results()
        test = Test(self.binary, "flaky", "")
        results.add(*(Result(test, "failed") for _ in range(flaky.MOST + 1)))
        with self.assertRaisesRegex(Failure, "41 tests failed: with more than 40"):
            again.run(self.step, results, self.archive)
        self.assertEqual(self.archive.records(), [])
