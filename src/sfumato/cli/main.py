"""The entry point: turns errors into one sentence and an exit code, and never shows a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from sfumato.cli.progress import INTERRUPTED
from sfumato.core.compiling import COMPILING
from sfumato.errors import SfumatoError
from sfumato.version import __version__

BAD_USAGE = 2
FIRST_USE = "sfumato: compiling for the first use on this machine; later commands start at once\n"
GROUPS = {
    "hierarchy": "Propose which wider label may stand for a value.",
    "audit": "Attack what was published.",
    "budget": "Create, show and verify the privacy budget of a data set.",
    "local": "Perturb values on devices that trust nobody, and estimate counts and means.",
}
COMMANDS = {  # what a person types: where it lies, and its first sentence; a command is loaded when it is used
    "anonymize": (
        "anonymize:anonymize",
        "Write an anonymous table, its public card and, if asked, the steward's report.",
    ),
    "check": (
        "check:check",
        "Measure a table: classes, k, l, t, uniques and risks; exit code 1 if a requirement is broken.",
    ),
    "schema": (
        "propose:schema",
        "Propose a schema file: roles, types and bounds, with comments; bounds are marked as inferred.",
    ),
    "republish": (
        "series:republish",
        "Publish a table again so that no attack on the series of its releases finds anybody.",
    ),
    "statement": (
        "statement:statement",
        "Say in plain words what a card says: what was published, promised, changed and attacked, with lines to sign.",
    ),
    "stream": (
        "stream:stream",
        "Publish the records of a feed as they come, in anonymous groups, with the card that says what is promised.",
    ),
    "hierarchy suggest": (
        "propose:suggest",
        "Propose a hierarchy for a column as a TOML file to read, change and use with --hierarchy.",
    ),
    "audit series": (
        "series:series",
        "Attack a series of releases by difference and intersection, from the published files alone.",
    ),
    "audit epsilon": (
        "audit_epsilon:epsilon",
        "Measure a lower bound of a mechanism's ε by trials on neighbouring inputs; exit code 1 if refuted.",
    ),
    "audit composition": (
        "audit_composition:composition",
        "Attack noisy answers on an anonymised table: drop one row, anonymise again, ask for what vanished.",
    ),
    "audit stream": (
        "audit_stream:stream",
        "Attack a stream publisher: guess its records, compare equal values, watch sizes and times, weigh the values.",
    ),
    "audit twice": (
        "audit_twice:twice",
        "Run a command twice on neighbouring rows, forced to the same random outcomes; exit code 1 if refuted.",
    ),
    "audit linkage": (
        "audit_linkage:linkage",
        "Link a release with an identified list: who is tied to few rows, and what do the rows tell?",
    ),
    "audit local": (
        "audit_local:local",
        "Attack files of local reports: the header's ε, the perturbing step, and a guess at every value.",
    ),
    "audit time": (
        "audit_time:time",
        "Look for a question whose time tells whether somebody's rows are there; exit code 1 if one is found.",
    ),
    "audit release": (
        "audit_release:release",
        "Attack a release from its card alone: the file, its measures, its models, its noise, its columns.",
    ),
    "budget create": (
        "budget:create",
        "Make a privacy budget for a data set in a new ledger file; an existing file is never replaced.",
    ),
    "budget show": ("budget:show", "Show what was spent, by whom and on which questions, and what is left."),
    "budget verify": (
        "budget:verify",
        "Check that a ledger was not rolled back, cut or edited; kept cards show what it held when they left.",
    ),
    "budget thaw": (
        "budget:thaw",
        "Unfreeze a ledger that was frozen because an answer overran its deadline.",
    ),
    "budget new-version": ("budget:new_version", "Declare that the rows have changed; what was spent stays spent."),
    "query": ("query:query", "Ask a question in SQL; the answer has noise, and its price is debited first."),
    "plan": (
        "plan:plan",
        "Say which ε keeps the error below a bound; nothing is spent. Exit code 1 if the budget left is too small.",
    ),
    "local perturb": (
        "local:perturb",
        "Write a report for every row, drawn as the row's own device would draw it, and a card.",
    ),
    "local estimate": (
        "local:estimate",
        "Write the estimated count of every value with its variance and 95 % interval, and a card.",
    ),
    "local mean": (
        "local:mean",
        "Estimate the mean of a column from one report of every row, drawn as its own device would draw it.",
    ),
    "experiment": (
        "experiment:experiment",
        "Repeat the tables and figures of a paper: tidy rows, pictures, and a page with its numbers beside ours.",
    ),
}


def build(arguments: Sequence[str] = ()) -> App:
    """Return the command line; no command is loaded but the one that the arguments begin with.

    A command that is only listed shows its first sentence; the one that is asked for shows all that it says of itself.
    """
    made = App(
        name="sfumato",
        help="Publish data about people so that no person can be traced.",
        version=__version__,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
    )
    groups = {name: App(name=name, help=words, help_format="plaintext") for name, words in GROUPS.items()}
    for group in groups.values():
        made.command(group)
    for typed, (place, words) in COMMANDS.items():
        family, _, name = typed.rpartition(" ")
        home = groups[family] if family else made
        asked = typed in {" ".join(arguments[:count]) for count in (1, 2)}
        home.command(f"sfumato.cli.{place}", name=name, help=None if asked else words)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code: 0 done, 1 refused, 2 bad input or usage, 130 interrupted.

    >>> main(["check", "no-such-file.csv", "--quasi", "age"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    shown = sys.stderr  # not what stands there later: a command that is attacked must print alike when it runs again

    def announce() -> None:
        if not os.environ.get("SFUMATO_QUIET"):
            shown.write(FIRST_USE)
            shown.flush()

    with COMPILING.told(announce):
        code = run(sys.argv[1:] if arguments is None else arguments)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of one command, having printed what went wrong in one sentence if anything did."""
    for shown in (sys.stdout, sys.stderr):
        if isinstance(shown, io.TextIOWrapper):  # a terminal without Greek letters shows them escaped
            shown.reconfigure(errors="backslashreplace")
    try:
        code = build(arguments)(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
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
