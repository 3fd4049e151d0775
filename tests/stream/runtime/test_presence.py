"""What a live stream shows beside its rows must not tell how many records came, where the promise hides it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np

from sfumato.release import Card
from sfumato.stream import Published, RankWindows, build, publish
from sfumato.stream.intake import Intake
from sfumato.stream.runtime.hooks import Hooks, Pace
from sfumato.stream.runtime.job import Job
from sfumato.stream.screens.base import NumberScreen


def live_card(folder: Path, records: int) -> tuple[Card, int]:
    """Return the card of a piped stream in which records come one by one, and how many checkpoints it wrote."""
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    setup = build("rank", ["hours"], bounds=(0, 100), every="1d", from_=time.strftime("%Y-%m-01", time.gmtime()))
    kept: list[Intake] = []
    sent, done = threading.Event(), threading.Event()

    def feed() -> None:
        with (folder / "pipe").open("w") as pipe:
            pipe.write("hours\n")
            for _ in range(3):
                pipe.write("5\n" if records else "")
                pipe.flush()
                time.sleep(0.15)
            sent.set()
            done.wait(20)

    writer = threading.Thread(target=feed)
    writer.start()
    looks = iter(range(1000))
    hooks = Hooks(keep=kept.append, stop=lambda: sent.is_set() and next(looks) >= 3)
    job = Job(
        folder / "pipe",
        folder / "out.csv",
        setup.publisher,
        setup.screen,
        folder / "kept",
        pace=Pace(1, 0.01),
        clock=setup.clock,
        max_failed=1,
    )
    try:
        outcome = job.run(hooks)
    finally:
        done.set()
        writer.join()
    assert outcome.progress.records == 3 * bool(records)
    return outcome.card, len(kept)


def test_the_card_of_hidden_records_does_not_count_checkpoints(tmp_path: Path) -> None:
    (some, more), (none, fewer) = (live_card(tmp_path / str(records), records) for records in (3, 0))
    assert more > fewer > 0  # a checkpoint is written because a record came
    assert (some.checkpoint, none.checkpoint) == (None, None)


def test_the_card_of_public_records_has_the_head_of_its_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n1\n2\n")
    setup = build("rank", ["hours"], bounds=(0, 100), delay=2, block=2)
    card = publish(tmp_path / "in.csv", tmp_path / "out.csv", setup, checkpoint=tmp_path / "kept").card
    assert card.checkpoint is not None


def test_rows_of_a_window_by_the_clock_wait_for_no_checkpoint_of_records(tmp_path: Path) -> None:
    class Clock:
        """A window is over at the second look."""

        def __init__(self) -> None:
            self.publisher, self.looks = RankWindows((0, 100), window=4, block=2), 0

        due = True

        def __call__(self) -> Published:
            self.looks += 1
            return self.publisher.push_many(np.full(4 * (self.looks == 2), 50.0))

    (tmp_path / "in.csv").write_text("hours\n5\n5\n")
    clock, lengths, looks = Clock(), list[int](), iter(range(6))
    screen = NumberScreen({"hours": (0.0, 100.0)})
    kept: list[Intake] = []
    hooks = Hooks(
        listen=lambda _: lengths.append(len(kept)),
        keep=kept.append,
        stop=lambda: next(looks) == 3,
    )
    Job(
        tmp_path / "in.csv",
        tmp_path / "out.csv",
        clock.publisher,
        screen,
        tmp_path / "kept",
        follow=True,
        pace=Pace(1 << 18, 1000.0),
        clock=clock,
        max_failed=1,
    ).run(hooks)
    assert lengths[:3] == [0, 0, 1]
