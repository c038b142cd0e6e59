"""A tree with changes is a state of its own."""

import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from runner import revision


class RevisionTest(unittest.TestCase):
    def test_changes_and_new_files_make_other_states(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(revision, "ROOT", Path(folder)):
            git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.example"]
            file = Path(folder, "file")
            file.write_text("one")
            for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
                subprocess.run([*git, *command], check=True)
            clean = revision.state()
            self.assertNotIn("-", clean)
            self.assertFalse(revision.commit().endswith("+"))
            file.write_text("two")
            changed = revision.state()
            Path(folder, "new").write_text("three")
            states = {clean, changed, revision.state()}
            self.assertEqual(len(states), 3)
            self.assertTrue(all(state.startswith(clean) for state in states))
            self.assertTrue(revision.commit().endswith("+"))
