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

    def test_parts_of_a_step_have_times_of_their_own(self) -> None:
        step = Step("unit tests", lambda _: None, cpu_seconds=5.0)
        with self.assertRaises(ValueError), step.part("engine"):
            step.cpu_seconds += 2.0
            raise ValueError
        [part] = step.parts
        self.assertEqual((part.name, part.cpu_seconds), ("engine", 2.0))
        self.assertGreaterEqual(part.seconds, 0.0)


if __name__ == "__main__":
    unittest.main()
