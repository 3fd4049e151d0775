"""The entry point: turns errors into one sentence and an exit code, and never shows a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from sfumato.cli.anonymize import anonymize
from sfumato.cli.audit_composition import composition
from sfumato.cli.audit_epsilon import epsilon
from sfumato.cli.audit_linkage import linkage
from sfumato.cli.audit_local import local
from sfumato.cli.audit_release import release
from sfumato.cli.audit_stream import stream as attacked_stream
from sfumato.cli.check import check
from sfumato.cli.experiment import experiment
from sfumato.cli.local import estimate, mean, perturb
from sfumato.cli.progress import INTERRUPTED
from sfumato.cli.propose import schema, suggest
from sfumato.cli.query import create, new_version, plan, query, show
from sfumato.cli.series import republish, series
from sfumato.cli.stream import stream
from sfumato.errors import SfumatoError
from sfumato.version import __version__

BAD_USAGE = 2

app = App(
    name="sfumato",
    help="Publish data about people so that no person can be traced.",
    version=__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)
app.command(anonymize)
app.command(check)
app.command(schema)
app.command(republish)
app.command(stream)
hierarchies = App(name="hierarchy", help="Propose which wider label may stand for a value.", help_format="plaintext")
hierarchies.command(suggest)
app.command(hierarchies)
audits = App(name="audit", help="Attack what was published.", help_format="plaintext")
audits.command(series)
audits.command(epsilon)
audits.command(composition)
audits.command(attacked_stream)
audits.command(linkage)
audits.command(local)
audits.command(release)
app.command(audits)
budgets = App(name="budget", help="What may be asked about a data set, and what was.", help_format="plaintext")
budgets.command(create)
budgets.command(show)
budgets.command(new_version)
app.command(budgets)
app.command(query)
app.command(plan)
devices = App(name="local", help="Count what devices report that trust nobody.", help_format="plaintext")
devices.command(perturb)
devices.command(estimate)
devices.command(mean)
app.command(devices)
app.command(experiment)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code: 0 done, 1 refused, 2 bad input or usage, 130 interrupted.

    >>> main(["check", "no-such-file.csv", "--quasi", "age"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of one command, having printed what went wrong in one sentence if anything did."""
    for shown in (sys.stdout, sys.stderr):
        if isinstance(shown, io.TextIOWrapper):  # a terminal without Greek letters shows them escaped
            shown.reconfigure(errors="backslashreplace")
    try:
        code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except SfumatoError as error:
        return _say(str(error), error.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("SFUMATO_TRACEBACK"):
            raise
        return _explain(error)
    return code if isinstance(code, int) else 0


def _explain(error: BaseException) -> int:
    """Say what ended the command when it was not one of our own errors; return its exit code."""
    if isinstance(error, CycloptsError):
        return _say(" ".join(str(error).split()), BAD_USAGE)
    if isinstance(error, KeyboardInterrupt):
        return _say("interrupted; nothing was written", INTERRUPTED)
    if isinstance(error, BrokenPipeError):  # the reader left: say nothing, and let nothing be said at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_USAGE
    if isinstance(error, MemoryError):
        return _say("the machine ran out of memory; give fewer rows or more memory", BAD_USAGE)
    return _say(f"internal error ({type(error).__name__}: {error}); set SFUMATO_TRACEBACK=1 and report it", BAD_USAGE)


def _say(sentence: str, code: int) -> int:
    sys.stderr.write(f"sfumato: {' '.join(sentence.splitlines())}\n")  # a name may hold a line break
    return code
