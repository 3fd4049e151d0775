"""The entry point: turns errors into one sentence and an exit code, and never shows a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from cyclopts import App, CycloptsError

from sfumato.cli.leave import begin, interrupted_words, leave
from sfumato.cli.progress import INTERRUPTED
from sfumato.cli.streams import CLOSED, READER_LEFT, drop_unwritten, occupy_streams
from sfumato.cli.terminal import single_line
from sfumato.core.compiling import COMPILING
from sfumato.core.threads import limit_threads
from sfumato.errors import ParameterError, SfumatoError
from sfumato.version import __version__

BAD_USAGE = 2
INTERNAL = (  # a defect of ours: whatever a user may do wrong has a sentence of its own
    "internal error ({kind}: {error}); please report it: run the command again with SFUMATO_TRACEBACK=1 and send what "
    "it prints, the command and `sfumato --version`; look through it first, and send no data"
)
THREADS = "--threads"
EVERYWHERE = "Every command takes --threads N: at most N threads work at once; one a core unless named."
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
NO_PLACE = {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM}
GROUPS = {
    "hierarchy": "Propose, build, show and export which wider label may stand for a value.",
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
    "compare": (
        "compare:compare",
        "Compare candidate releases: algorithms and parameters in one table of loss and risk; nothing is released.",
    ),
    "utility": (
        "utility:utility",
        "Measure what a release keeps of its original: columns, pairs, classifiers and regressions; for the steward.",
    ),
    "risk": (
        "risk:risk",
        "Estimate what a table risks in the population it was sampled from; all of it is the steward's alone.",
    ),
    "estimate": (
        "estimate:estimate",
        "Estimate from a masked release what the original table had: counts (pram), means and covariances (noise).",
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
    "hierarchy build": (
        "hierarchy:build",
        "Build a hierarchy by rule and write it as TOML, or as CSV with a column for each level.",
    ),
    "hierarchy show": (
        "hierarchy:show",
        "Show a hierarchy level by level: how many values each label stands for and, with a table, how many rows.",
    ),
    "hierarchy convert": (
        "hierarchy:convert",
        "Write a hierarchy in another form: nested TOML, or CSV with a column for each level.",
    ),
    "hierarchy export": (
        "hierarchy:export",
        "Say what the labels of a release stand for, for its recipients: from declared hierarchies, never from rows.",
    ),
    "audit series": (
        "series:series",
        "Attack a series of releases: exactly, given the people behind it, else from the published files alone.",
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
    "audit minimality": (
        "audit_minimality:minimality",
        "Attack an algorithm by what it did not cut: what does somebody learn who knows it and the quasi-identifiers?",
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
        "Make a privacy budget for a data set in a new ledger; an existing one is never replaced.",
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
        "Say which ε keeps the error below a bound, or which error a price buys; nothing is spent, no row is seen.",
    ),
    "serve": (
        "serve:serve",
        "Answer analysts over HTTP; rows and ledgers stay in a home folder on this machine.",
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
        help_epilogue=EVERYWHERE,
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

    It is 141, and nothing is said, if whoever read the output left before the end, as `head` does.

    >>> main(["check", "no-such-file.csv", "--quasi", "age"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    if not occupy_streams():
        sys.exit(_say(CLOSED, BAD_USAGE))
    shown = sys.stderr  # not what stands there later: a command that is attacked must print alike when it runs again

    def announce(sentence: str) -> None:
        if not os.environ.get("SFUMATO_QUIET"):
            shown.write(f"sfumato: {sentence}\n")
            shown.flush()

    with COMPILING.told(announce):
        code = run(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        drop_unwritten(stream)
    leave(code)


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of one command, having printed what went wrong in one sentence if anything did."""
    begin()
    for shown in (sys.stdout, sys.stderr):
        if isinstance(shown, io.TextIOWrapper):  # a terminal without Greek letters shows them escaped
            shown.reconfigure(errors="backslashreplace")
    try:
        words = _limited(arguments)
        code = build(words)(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except SfumatoError as error:
        return _say(str(error), error.exit_code)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich leaves in this way
            return READER_LEFT
        raise
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("SFUMATO_TRACEBACK"):
            raise
        return _explain(error)
    return code if isinstance(code, int) else 0


def _limited(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without --threads, which holds from now on, before any library starts threads."""
    words = list(arguments)
    options = words[: words.index("--")] if "--" in words else words
    for place, word in enumerate(options):
        name, equals, value = word.partition("=")
        if name != THREADS:
            continue
        if not equals and place + 1 == len(options):
            raise ParameterError("--threads needs a number; say how many threads may work at once")
        limit_threads(value if equals else options[place + 1], THREADS)
        return _limited(words[:place] + words[place + (1 if equals else 2) :])
    return words


def _explain(error: BaseException) -> int:
    """Say what ended the command when it was not one of our own errors; return its exit code."""
    if isinstance(error, CycloptsError):
        return _say(" ".join(str(error).split()), BAD_USAGE)
    if isinstance(error, KeyboardInterrupt):
        return _say(interrupted_words(), INTERRUPTED)
    if isinstance(error, OSError) and (found := _of_system(error)) is not None:
        return found
    if isinstance(error, MemoryError):
        return _say("the machine ran out of memory; give fewer rows or more memory", BAD_USAGE)
    if isinstance(error, RecursionError):
        return _say("something in the input is nested too deeply to be read; make it flatter", BAD_USAGE)
    return _say(INTERNAL.format(kind=type(error).__name__, error=error), BAD_USAGE)


def _of_system(error: OSError) -> int | None:
    """Say what the system refused: no room, nobody who reads, or a name that no file can have; None for the rest."""
    if error.errno in NO_ROOM or isinstance(error, BrokenPipeError):
        return _unwritten(error)
    if error.errno in NO_PLACE and error.filename:
        return _say(f"{str(error.filename)!r:.200} cannot be used: {error.strerror}; name another file", BAD_USAGE)
    return None


def _unwritten(error: OSError) -> int:
    """Say what cannot be written; nothing if it is what nobody wants to read any more."""
    printed = drop_unwritten(sys.stdout)
    if isinstance(printed or error, BrokenPipeError):
        return READER_LEFT
    what = f"file '{error.filename}'" if error.filename else "standard output" if printed else "an output"
    return _say(f"{what} cannot be written: {error.strerror}", BAD_USAGE)


def _say(sentence: str, code: int) -> int:
    with suppress(OSError):  # where nobody can be told, the exit code tells
        sys.stderr.write(f"sfumato: {single_line(sentence)}\n")  # a name may hold a line break
    drop_unwritten(sys.stderr)
    return code
