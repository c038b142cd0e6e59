"""Unit tests of the runner: `python3 -m unittest discover -s tests/runner/tests -t tests`."""
