"""Calls about data: files, data sets, their ledgers, and everything that an analyst may ask."""

from __future__ import annotations

from itertools import islice

import msgspec

from sfumato.client.wire import Amounts, AnswerReply, BudgetReply, DataSetReply
from sfumato.dp.ledger.ledger import Ledger
from sfumato.serve import acts, answers, data_sets, uploads
from sfumato.serve.api import types
from sfumato.serve.api.people import number_after
from sfumato.serve.problems import Problem
from sfumato.serve.server import Call
from sfumato.serve.work import jobs


def files(call: Call) -> types.FilesPage:
    """List uploaded files that are not registered yet."""
    found = uploads.listed_files(call.server.home)
    return types.FilesPage([types.FileReply(name, size) for name, size in found])


def new_file(call: Call) -> types.FileReply:
    """Upload a file: CSV, CSV packed by gzip, or Parquet."""
    if call.arrival is None:
        raise Problem("bad-request", "the request has no body; send the file as it is")
    name = call.path["file"]
    return types.FileReply(name, uploads.keep_file(call.server.home, name, call.arrival, call.caller.name))


def removed_file(call: Call) -> None:
    """Remove an uploaded file."""
    if not uploads.remove_file(call.server.home, call.path["file"], call.caller.name):
        raise Problem("not-found")


def listed(call: Call) -> types.DataSetsPage:
    """List the data sets that one may see."""
    caller, window = call.caller, call.window
    with call.server.home.database.reading() as book:
        found = data_sets.names_for(book, caller.name, caller.role, window.after, window.limit)
    return types.DataSetsPage(found, found[-1] if len(found) == window.limit else None)


def registered(call: Call) -> types.RegisteredReply:
    """Register an uploaded file as a data set, with its schema, its budget and a share for each analyst."""
    return data_sets.register(call.server.home, call.server.crew, call.body, call.caller.name)


def described(call: Call) -> DataSetReply:
    """Describe a data set: its public schema, whom it protects, and when answers leave."""
    return data_sets.describe(_ledger(call), call.path["data_set"])


def left(call: Call) -> BudgetReply:
    """Say what one may still spend."""
    ledger = _ledger(call)
    budget = ledger.budget
    rest = ledger.left_for(call.caller.name)
    return BudgetReply(str(budget.accountant), Amounts.of(budget.total), Amounts.of(rest))


def ledger_account(call: Call) -> types.LedgerReply:
    """Show the account of a ledger."""
    ledger = _ledger(call)
    budget = ledger.budget
    shares = {name: Amounts.of(ledger.left_for(name)) for name in _analysts(call)}
    total, spent, rest = (Amounts.of(cost) for cost in (budget.total, ledger.spent, ledger.left))
    return types.LedgerReply(str(budget.accountant), total, spent, rest, shares, ledger.frozen, ledger.head.text)


def _analysts(call: Call) -> list[str]:
    sql = "SELECT account FROM access WHERE data_set = ? ORDER BY account"
    with call.server.home.database.reading() as book:
        return [row["account"] for row in book.execute(sql, (call.path["data_set"],))]


def ledger_entries(call: Call) -> types.EntriesPage:
    """List the entries of a ledger."""
    after, most = number_after(call.window.after), call.window.limit
    found = list(islice((entry for entry in _ledger(call).entries() if entry.number > after), most))
    items = [
        types.EntryReply(
            one.number, one.time, one.analyst, one.question, Amounts.of(one.cost), one.answered, one.version
        )
        for one in found
    ]
    return types.EntriesPage(items, str(found[-1].number) if len(found) == most else None)


def thawed(call: Call) -> types.ThawedReply:
    """Lift a frozen data set."""
    reason = _ledger(call).thaw()
    with call.server.home.database.writing() as book:
        acts.record(book, call.caller.name, "lifted a frozen data set", {"data_set": call.path["data_set"]})
    return types.ThawedReply(reason)


def planned(call: Call) -> msgspec.Raw:
    """Plan a question: which price an error needs, or which error a price buys; nothing is spent."""
    return _free(call, jobs.MakePlan(str(_place(call)), call.caller.name, call.body))


def rehearsed(call: Call) -> msgspec.Raw:
    """Answer a question on rows that are made up from the public schema; nothing is spent."""
    return _free(call, jobs.Rehearse(str(_place(call)), call.caller.name, call.body))


def asked(call: Call) -> msgspec.Raw:
    """Answer a question, charged to one's share before any noise is drawn."""
    server, name, caller = call.server, call.path["data_set"], call.caller.name
    place = _place(call)

    def freeze(reason: str) -> None:
        Ledger.open(place).freeze(reason)
        with server.home.database.writing() as book:
            acts.record(book, acts.HOME, "froze a data set", {"data_set": name, "analyst": caller})

    def answer() -> AnswerReply:
        outcome = server.crew.ask(jobs.Ask(str(place), caller, call.body), freeze)
        return msgspec.json.decode(_reply(outcome), type=AnswerReply)

    request = answers.Asked(caller, name, call.body, call.key)
    return msgspec.Raw(answers.answer_once(server.home, request, answer))


def past_answers(call: Call) -> types.AnswersPage:
    """List the answers that one was given, the last first."""
    with call.server.home.database.reading() as book:
        found = answers.page_of_answers(book, call.caller.name, call.window.after, call.window.limit)
    items = [types.PastAnswerReply(*one) for one in found]
    return types.AnswersPage(items, items[-1].id if len(items) == call.window.limit else None)


def past_answer(call: Call) -> msgspec.Raw:
    """Show an answer that one was given before; nothing is spent."""
    with call.server.home.database.reading() as book:
        return msgspec.Raw(answers.past_answer(book, call.caller.name, call.path["answer"]))


def _place(call: Call) -> str:
    caller = call.caller
    return str(data_sets.ledger_for(call.server.home, caller.name, caller.role, call.path["data_set"]))


def _ledger(call: Call) -> Ledger:
    return Ledger.open(_place(call))


def _free(call: Call, job: jobs.MakePlan | jobs.Rehearse) -> msgspec.Raw:
    return msgspec.Raw(_reply(call.server.crew.do(job, call.caller.name)))


def _reply(outcome: jobs.Done | jobs.Refused) -> msgspec.Raw:
    if isinstance(outcome, jobs.Done):
        return outcome.reply
    raise Problem(outcome.kind, None if outcome.kind == "broken" else outcome.sentence)
