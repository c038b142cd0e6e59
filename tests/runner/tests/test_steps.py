"""What a step notes when it ends."""

import unittest

from runner.steps import LEAST_FREE, Step, note_free_space


class StepTest(unittest.TestCase):
    def test_a_nearly_full_disk_is_noted_with_the_step(self) -> None:
        step = Step("unit tests", lambda _: None)
        note_free_space(step, LEAST_FREE)
        self.assertEqual(step.notes, [])
        note_free_space(step, 514 << 20)
        [note] = step.notes
        self.assertIn("0.5 GiB of disk were free after the step `unit tests`", note)


if __name__ == "__main__":
    unittest.main()
