"""Runs steps beside one another, each with a log of its own."""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Sequence

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
LOGS = TARGET / "run"
# Lines of a log that are printed when its step fails.
LAST_LINES = 60

_processes: set[int] = set()
_lock = threading.Lock()
_stopped = threading.Event()


class Failure(Exception):
    """A step failed; the message says why, the log says more."""


@dataclass
class Step:
    """Something to do, after other steps and beside all others."""

    name: str
    work: Callable[["Step"], None]
    # Steps that must have passed.
    after: Sequence[str] = ()
    # Steps that must have ended, however they did.
    follows: Sequence[str] = ()
    # Without it nothing else is worth finishing.
    is_vital: bool = False
    state: str = "waiting"
    seconds: float = 0.0
    # Of its processes that ended, with those that they waited for.
    cpu_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return LOGS / (self.name.replace(" ", "-").replace(",", "") + ".log")

    def run(self, *command: object, **options: object) -> None:
        """Runs a command to its end; what it prints goes to the log. Raises Failure if it fails."""
        self.finish(self.start(*command, **options), command)

    def output(self, *command: object, **options: object) -> str:
        """Runs a command and returns what it prints to standard output."""
        process = self.start(*command, stdout=subprocess.PIPE, **options)
        assert process.stdout is not None
        text = process.stdout.read()
        self.finish(process, command)
        return text

    def start(self, *command: object, **options: object) -> subprocess.Popen:
        """Starts a command in a group of its own."""
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
        process.returncode = os.waitstatus_to_exitcode(status)
        with _lock:
            _processes.discard(process.pid)
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            name = " ".join(str(argument) for argument in command[:3])
            raise Failure(f"`{name} ...` ended with {process.returncode}")


def run_all(steps: Sequence[Step]) -> bool:
    """Runs steps, each as soon as those before it passed. Returns whether all passed."""
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
    except Exception as error:  # a mistake in the runner, or a file system that is full
        step.state, reason = "failed", repr(error)
    step.seconds = time.monotonic() - begun
    if step.state == "failed":
        lines = step.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        say("\n".join([f"== {step.name}: FAILED: {reason}", *lines]))
    elif step.state == "passed" and step.seconds >= 0.5:
        say(f"== {step.name}: {step.seconds:.0f} s ({step.cpu_seconds:.0f} s of CPU time)")


def stop() -> None:
    """Ends every command that runs; none is started any more."""
    _stopped.set()
    with _lock:
        for process in _processes:
            try:
                os.killpg(process, signal.SIGTERM)
            except ProcessLookupError:
                pass


def say(text: str) -> None:
    """Prints at once, whole, also where several steps print."""
    with _lock:
        print(text, flush=True)
