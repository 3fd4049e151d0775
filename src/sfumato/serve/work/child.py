"""What happens inside a worker: limits first, then one job, then one outcome; nothing is printed.

Limits are the system's own (setrlimit of POSIX.1-2008). A worker that passes them dies, and says nothing.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sfumato.client.wire import AnswerReply, AskBody, PlanBody, PlanReply
from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.serve.work import jobs

if TYPE_CHECKING:
    from sfumato.dp.questions.query import Query
    from sfumato.dp.session import Session

COURTEOUS = 10
PAGES = Path("/proc/self/statm")
BROKEN = "the question could not be answered; its steward is told"
Tell = Callable[[jobs.Word], None]


def work_off(connection: socket.socket) -> None:
    """Do the one job that comes over a connection, and send its outcome."""
    order = jobs.receive_frame(connection, jobs.Order)
    if order is None:
        return
    if not isinstance(order.job, jobs.Ask):
        os.nice(COURTEOUS)  # what is free must not make what has a deadline late
    limit(order.memory, order.seconds)

    def tell(word: jobs.Word) -> None:
        jobs.send_frame(connection, word)

    tell(outcome(order.job, tell, order.hidden))


def limit(memory: int, seconds: int) -> None:
    """Bound what this process may use from now on: memory beyond what it has, and time; its memory is never dumped."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_DATA, _data_bytes() + memory)
    _lower(resource.RLIMIT_CPU, seconds * (os.cpu_count() or 1))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def _lower(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (bound, bound))


def _data_bytes() -> int:
    """Return how much memory of its own this process has mapped; 0 where the system does not tell."""
    try:
        return int(PAGES.read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def outcome(job: jobs.Job, tell: Tell, hidden: str) -> jobs.Done | jobs.Refused:
    """Return what came of a job; what it was that broke is told to nobody, since it may hold a cell."""
    try:
        return jobs.Done(msgspec.Raw(msgspec.json.encode(_reply(job, tell))))
    except BudgetExceeded as error:
        return jobs.Refused("budget", str(error))
    except SfumatoError as error:
        return jobs.Refused("frozen" if _is_frozen(job) else "input", str(error).replace(hidden, "…"))
    except BaseException:  # noqa: BLE001  # whatever it is, it must not be shown
        return jobs.Refused("broken", BROKEN)


def _is_frozen(job: jobs.Job) -> bool:
    from sfumato.dp.ledger.ledger import Ledger

    try:
        return isinstance(job, jobs.Ask) and Ledger.open(job.ledger).frozen is not None
    except SfumatoError:
        return False


def _reply(job: jobs.Job, tell: Tell) -> Any:
    from sfumato.dp.session import Session

    if isinstance(job, jobs.Register):
        return _register(job)
    session = Session.open(job.ledger)
    if isinstance(job, jobs.MakePlan):
        return _plan(session, job.body, job.analyst)
    asked, priced = question(session, job.body), _priced(job.body)
    options: dict[str, Any] = {**priced, "analyst": job.analyst, "post": tuple(job.body.post), "rows": job.body.rows}
    if isinstance(job, jobs.Rehearse):
        return AnswerReply.of(session.rehearse(asked, **options))
    _prepare(session, asked, {**priced, "analyst": job.analyst})
    tell(jobs.Begun(session.ledger.terms.deadline))
    return AnswerReply.of(session.ask(asked, **options))


def _prepare(session: Session, asked: Query, options: dict[str, Any]) -> None:
    """Load and compile all that the question needs: what is slow or broken there is so before the clock starts."""
    from sfumato.dp.rows.duckdb import load_engine

    load_engine()
    try:
        session.plan(asked, **options)
    except SfumatoError:
        return  # `ask` says it again, in its own order


def question(session: Session, body: AskBody | PlanBody) -> Query:
    """Return the question of a body, which is SQL or a form."""
    from sfumato.dp.questions.form import read_form
    from sfumato.errors import InputError

    if (body.sql is None) == (body.query is None):
        raise InputError("the body has no question, or two; give one of sql and query")
    return session.question(body.sql) if body.sql is not None else read_form(body.query)  # type: ignore[arg-type]


def _priced(body: AskBody | PlanBody) -> dict[str, Any]:
    return {"epsilon": body.epsilon, "rho": body.rho, "delta": body.delta}


def _plan(session: Session, body: PlanBody, analyst: str) -> PlanReply:
    asked = question(session, body)
    made = session.plan(asked, body.error, body.confidence, body.rows, analyst=analyst, **_priced(body))
    return PlanReply.of(made)


def _register(job: jobs.Register) -> dict[str, list[str]]:
    from sfumato.dp.ledger.terms import Terms
    from sfumato.dp.session import Session
    from sfumato.promise.cost import Accountant, Budget
    from sfumato.schema import Schema

    said = job.declared
    budget = Budget(said.epsilon, said.delta, Accountant(said.accountant), keys=said.delta_keys)
    terms = Terms(said.deadline, population=said.population, other_people=said.other_people)
    session = Session.create(
        job.ledger,
        job.rows,
        Schema.from_text(said.schema),
        budget,
        protect=said.protect,
        neighbours=said.neighbours,
        analysts=dict(said.shares),
        terms=terms,
    )
    report = session.parse_report
    return {"notes": [*session.rows.guesses, *(report.lines() if report is not None else [])]}
