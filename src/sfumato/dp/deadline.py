"""Answers leave at a public time: so many seconds after they were asked, whatever the rows made of the work.

Haeberlen, Pierce & Narayan (2011, "Differential privacy under fire", section 4) show that the time of a question tells
of the rows and make it constant; here too, and what cannot be kept (work that is not done in time) is the one bit that
time can tell, and stops all further questions.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

from sfumato.errors import InputError, ParameterError

SETTLING = 0.05  # seconds before the deadline at which the answer is stored, at most a quarter of the deadline
SPIN = 0.0005  # the last seconds are not slept but counted: a sleeper wakes when the system likes
Work = TypeVar("Work")
Result = TypeVar("Result")
STOPPED: ContextVar[threading.Event | None] = ContextVar("stopped", default=None)
GIVEN_UP: list[threading.Thread] = []  # work that nobody waits for any more


def check_deadline(seconds: float) -> float:
    """Return the deadline, or refuse what is no number of seconds.

    >>> check_deadline(0.25)
    0.25
    >>> check_deadline(-1)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the deadline is -1; give seconds from 0
    """
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ParameterError(f"the deadline is {seconds}; give seconds from 0")
    return seconds


def refuse_too_short(seconds: float, took: float) -> None:
    """Refuse a deadline that a plain count of the rows does not keep here, before the ledger is made.

    >>> refuse_too_short(1, 0.2)
    >>> refuse_too_short(1, 2.5)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: a plain count of these rows took 2.5 s here and the deadline is 1 s, so that the \
first question would freeze the ledger; declare a longer one, say 10 s (--deadline 10)
    """
    if 0 < seconds < took:
        enough = math.ceil(4 * took)
        raise ParameterError(
            f"a plain count of these rows took {took:.1f} s here and the deadline is {seconds:g} s, so that the first "
            f"question would freeze the ledger; declare a longer one, say {enough} s (--deadline {enough})"
        )


def meet_deadline(
    seconds: float, work: Callable[[], Work], finish: Callable[[Work], Result], freeze: Callable[[str], None]
) -> Result:
    """Return finish(work()), or raise what `work` raised, `seconds` after this call and neither earlier nor later.

    `finish` begins at a public time too, shortly before, so that what it stores can be seen by others only then. Work
    that is not done by then is given up: `freeze` is told why, and the refusal leaves at the deadline as well. With 0
    seconds everything leaves when it is ready.

    >>> begun = time.monotonic()
    >>> meet_deadline(0.05, lambda: 6, lambda six: six * 7, print), time.monotonic() - begun >= 0.05
    (42, True)
    """
    begun = time.monotonic()
    if not seconds:
        return finish(work())
    settle, leave = begun + seconds - min(SETTLING, seconds / 4), begun + seconds
    task = _Task(work)
    try:
        stopped = _wait(task, settle)
        if not task.done.is_set():
            task.give_up()
            freeze(f"a question was not answered within the deadline of {seconds:g} s")
            raise InputError(
                f"the question took longer than the deadline of {seconds:g} s, so the ledger is frozen; the steward "
                "may lift that with `sfumato budget thaw`, and should declare a longer deadline"
            )
        found = finish(task.result())
        if stopped:
            raise KeyboardInterrupt
        return found
    finally:
        sleep_until(leave)


def _wait(task: _Task[Work], settle: float) -> bool:
    """Wait until a moment; return whether somebody pressed Ctrl-C meanwhile.

    What is paid for then is finished and stored at its time, and what is not paid for will not be. Whoever presses
    Ctrl-C once more waits for nothing.
    """
    try:
        task.done.wait(settle - time.monotonic())
        sleep_until(settle)
    except KeyboardInterrupt:
        task.stop.set()
        try:
            task.done.wait(settle - time.monotonic())
            sleep_until(settle)
        except KeyboardInterrupt:
            task.give_up()
            raise
        return True
    return False


def refuse_stopped() -> None:
    """Raise `KeyboardInterrupt` in work that somebody has stopped, before anything is paid.

    >>> refuse_stopped()
    """
    stop = STOPPED.get()
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


def work_goes_on() -> bool:
    """Return whether a thread still works for a question that was given up.

    >>> work_goes_on()
    False
    """
    return any(thread.is_alive() for thread in GIVEN_UP)


def sleep_until(moment: float) -> None:
    """Return when the monotonic clock shows a moment."""
    time.sleep(max(0.0, moment - time.monotonic() - SPIN))
    while time.monotonic() < moment:
        pass


class _Task(Generic[Work]):
    """Work in a thread of its own, which is left to itself when nobody waits for it any more."""

    def __init__(self, work: Callable[[], Work]) -> None:
        self.done, self.stop = threading.Event(), threading.Event()
        self._work = work
        self._values: list[Work] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)
        self._thread.start()

    def give_up(self) -> None:
        """Leave the work to itself; Python ends after it, for an engine aborts when Python is gone before it."""
        GIVEN_UP.append(self._thread)
        atexit.register(self._thread.join)

    def _run(self) -> None:
        STOPPED.set(self.stop)
        try:
            self._values.append(self._work())
        except BaseException as error:  # noqa: BLE001  # whatever it is, it leaves at the deadline
            self._error = error
        self.done.set()

    def result(self) -> Work:
        if self._error is not None:
            raise self._error
        return self._values[0]
