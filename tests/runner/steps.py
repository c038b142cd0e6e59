"""Runs steps concurrently, each with its own log."""

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator, Sequence

from .workspace import ROOT, target_folder

TARGET = target_folder()
# The scripts that a run starts look where it built.
os.environ["CARGO_TARGET_DIR"] = str(TARGET)
LOGS = TARGET / "run"
# Number of log lines that are printed when a step fails.
LAST_LINES = 60
# Free bytes of the disk below which tests fail for want of space: nodes of chains refuse to start with less.
LEAST_FREE = 2 << 30

_processes: set[int] = set()
_lock = threading.Lock()
_stopped = threading.Event()
_interrupted = threading.Event()


class Failure(Exception):
    """The failure of a step. The message gives the reason, the log the details."""


@dataclass
class StepPart:
    """A part of a step's work with its times."""

    name: str
    seconds: float
    cpu_seconds: float


@dataclass
class Step:
    """A unit of work that runs after some steps and concurrently with all others."""

    name: str
    work: Callable[["Step"], None]
    # Steps that must pass first.
    after: Sequence[str] = ()
    # Steps that must end first, passed or not.
    follows: Sequence[str] = ()
    # A failure of this step stops the run.
    is_vital: bool = False
    state: str = "waiting"
    seconds: float = 0.0
    # CPU time of its processes, with the children that they waited for.
    cpu_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    # The parts that were measured, in the order of the work.
    parts: list[StepPart] = field(default_factory=list)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measures the part of the work within."""
        begun, cpu_before = time.monotonic(), self.cpu_seconds
        try:
            yield
        finally:
            self.parts.append(StepPart(name, time.monotonic() - begun, self.cpu_seconds - cpu_before))

    @property
    def log(self) -> Path:
        return LOGS / (self.name.replace(" ", "-").replace(",", "") + ".log")

    def run(self, *command: object, **options: object) -> None:
        """Runs a command and writes its output to the log. Raises Failure if it fails."""
        self.finish(self.start(*command, **options), command)

    def output(self, *command: object, **options: object) -> str:
        """Runs a command and returns its standard output."""
        process = self.start(*command, stdout=subprocess.PIPE, **options)
        assert process.stdout is not None
        text = process.stdout.read()
        self.finish(process, command)
        return text

    def start(self, *command: object, **options: object) -> subprocess.Popen:
        """Starts a command in its own process group."""
        if _stopped.is_set():
            raise Failure("stopped")
        with self.log.open("a") as log:
            defaults = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "text": True}
            arguments = [str(argument) for argument in command]
            process = subprocess.Popen(arguments, start_new_session=True, **{**defaults, **options})
        with _lock:
            _processes.add(process.pid)
        return process

    def finish(self, process: subprocess.Popen, command: Sequence[object]) -> None:
        """Waits for a command. Raises Failure if it fails."""
        _, status, usage = os.wait4(process.pid, 0)
        if process.stdout:
            process.stdout.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        with _lock:
            _processes.discard(process.pid)
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            name = " ".join(str(argument) for argument in command[:3])
            raise Failure(f"`{name} ...` ended with {process.returncode}")


def run_all(steps: Sequence[Step]) -> bool:
    """Runs each step as soon as its predecessors allow. Returns true if all passed."""
    if not _interrupted.is_set():
        # A vital step stops its own run alone.
        _stopped.clear()
    LOGS.mkdir(parents=True, exist_ok=True)
    done = {step.name: threading.Event() for step in steps}
    by_name = {step.name: step for step in steps}

    def run(step: Step) -> None:
        try:
            for name in [*step.after, *step.follows]:
                done[name].wait()
            if _stopped.is_set() or any(by_name[name].state != "passed" for name in step.after):
                step.state = "not run"
                return
            _run_one(step)
            if step.state == "failed" and step.is_vital:
                stop()
        finally:
            done[step.name].set()

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(step.state == "passed" for step in steps)


def _run_one(step: Step) -> None:
    step.log.write_text("")
    begun = time.monotonic()
    try:
        step.work(step)
        step.state = "passed"
    except Failure as failure:
        step.state = "stopped" if _stopped.is_set() else "failed"
        reason = str(failure)
    except Exception as error:  # a bug of the runner, or a full file system
        step.state, reason = "failed", repr(error)
    step.seconds = time.monotonic() - begun
    note_free_space(step, shutil.disk_usage(TARGET).free)
    if step.state == "failed":
        lines = step.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        say("\n".join([f"== {step.name}: FAILED: {reason}", *lines]))
    elif step.state == "passed" and step.seconds >= 0.5:
        say(f"== {step.name}: {step.seconds:.0f} s ({step.cpu_seconds:.0f} s of CPU time)")


def note_free_space(step: Step, free: int) -> None:
    """Notes that the disk was nearly full after a step."""
    if free < LEAST_FREE:
        step.notes.append(
            f"{free / (1 << 30):.1f} GiB of disk were free after the step `{step.name}`: with less than"
            f" {LEAST_FREE >> 30} GiB, tests fail for want of space"
        )


def is_stopped() -> bool:
    """True once the run was interrupted or a vital step failed."""
    return _stopped.is_set()


def is_interrupted() -> bool:
    """True once somebody asked the runner to end."""
    return _interrupted.is_set()


def interrupt() -> None:
    """Stops this run and prevents others."""
    _interrupted.set()
    stop()


def stop() -> None:
    """Terminates all running commands and prevents new ones."""
    _stopped.set()
    with _lock:
        for process in _processes:
            try:
                os.killpg(process, signal.SIGTERM)
            except ProcessLookupError:
                pass


def say(text: str) -> None:
    """Prints a text without interleaving it with the texts of other steps."""
    with _lock:
        print(text, flush=True)
