"""What a run on Spark knows of its input beside the records: by which it is known again, and whether it has changed.

A replayable input must be the same one when a run goes on (Carbone et al. 2015, on replayable sources): what is kept of
it in the checkpoint is compared before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.stream.runtime.checkpoint import Checkpoint


class StreamInput:
    """An input of which nothing is known but a fingerprint; a folder or a topic knows more.

    >>> StreamInput("7 files").mark_at_end(Path("kept"))
    '7 files'
    """

    def __init__(self, mark: str = "") -> None:
        self.mark = mark

    @property
    def question(self) -> Mapping[str, Any]:
        """What of it must be the same for a checkpoint to be gone on with."""
        return {}

    def mark_at_end(self, checkpoint: Path) -> str:
        """Return the mark by which a stream that is over finds out later whether more has come."""
        del checkpoint
        return self.mark

    def refuse_changed(self, kept: Checkpoint, folder: Path) -> None:
        """Refuse to go on where the input is another one, or has grown after the end."""
        if kept.ended and kept.mark != self.mark:
            raise grown(folder, "folder")

    def refuse_replaced(self) -> None:
        """Refuse to publish more where the input was replaced while it was read."""
        return


def grown(folder: Path, what: str) -> InputError:
    """Return the refusal of an input that has more records than the stream that is over.

    >>> str(grown(Path("kept"), "topic"))[:62]
    "the input has changed since the stream of checkpoint 'kept' en"
    """
    return InputError(
        f"the input has changed since the stream of checkpoint '{folder}' ended; give the rest another checkpoint, and "
        f"follow a growing {what}"
    )
