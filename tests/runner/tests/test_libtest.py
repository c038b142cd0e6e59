"""A test binary that aborts fails the tests that were running, and its other tests run all the same."""

import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from runner import libtest, steps
from runner.libtest import Results, Test
from runner.rust import Binary

# A binary of tests that takes names as libtest does. The test `crash` kills its process while `slow` runs.
BINARY = """#!/usr/bin/env python3
import json, os, signal, sys
def tell(event, name):
    print(json.dumps({"type": "test", "event": event, "name": name, "exec_time": 0.1}), flush=True)
names = [name for name in sys.argv[1:] if name in ("crash", "first", "last", "slow")]
for name in names:
    tell("started", name)
    if name == "crash":
        print("the stack overflowed", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    if name != "slow" or "crash" not in names:
        tell("ok", name)
"""


class Abort(unittest.TestCase):
    def test_the_rest_runs_in_a_new_process_and_a_note_names_the_signal(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(steps, "LOGS", Path(folder)):
            path = Path(folder) / "binary"
            path.write_text(BINARY)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            binary = Binary("assay-box", "all", path, Path(folder))
            tests = [Test(binary, name, "") for name in ("first", "slow", "crash", "last")]
            step = steps.Step("tests", lambda _: None)
            results = Results()
            with mock.patch.object(libtest, "say"):
                libtest.run_binary(step, binary, tests, 1, results, {})
        outcomes = {result.test.name: result.outcome for result in results.all()}
        self.assertEqual(outcomes, {"first": "passed", "slow": "failed", "crash": "failed", "last": "passed"})
        [note] = step.notes
        self.assertIn("SIGABRT in slow, crash | the stack overflowed", note)
