"""The curator with a bundled sample, a steward and two analysts, so that a newcomer asks a question in a minute.

The rows are made up (`sfumato.table.samples.patients`).
"""

from __future__ import annotations

from sfumato.client.wire import Amount
from sfumato.core.files import write_durably
from sfumato.serve import acts
from sfumato.serve.accounts import Role, find_account, open_account
from sfumato.serve.api.types import DataSetBody
from sfumato.serve.data_sets import register
from sfumato.serve.home import Home
from sfumato.serve.settings import Settings
from sfumato.serve.tokens import issue_token, scopes_of
from sfumato.serve.work.crew import Crew

ANALYSTS = ("ana", "bo")
DAYS = 7
NAME = "patients"
QUESTION = "SELECT sex, COUNT(*) FROM patients GROUP BY sex"
SCHEMA = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]
[columns.sex]
role = "quasi"
categories = ["F", "M"]
[columns.zip]
role = "quasi"
[columns.schooling]
role = "quasi"
type = "ordinal"
categories = ["primary", "lower secondary", "upper secondary", "bachelor", "master", "doctorate"]
[columns.admission]
role = "quasi"
type = "date"
bounds = ["2025-01-01", "2025-12-31"]
[columns.disease]
role = "sensitive"
categories = ["asthma", "bronchitis", "cancer", "diabetes", "flu", "gastritis", "heart disease", "hypertension"]
[columns.cost]
role = "sensitive"
type = "number"
bounds = [0, 20000]
"""


def furnish(home: Home, settings: Settings) -> dict[str, str]:
    """Put the sample and its people into a home and return the analysts' tokens; an earlier demo gets new ones."""
    for name in ANALYSTS:
        with home.database.reading() as book:
            known = find_account(book, name) is not None
        if not known:
            open_account(home.database, name, Role.ANALYST, acts.HOME)
    if not home.ledger_of(NAME).exists():
        _register(home, settings)
    scopes = scopes_of(Role.ANALYST)
    return {name: issue_token(home.database, name, scopes, DAYS, acts.HOME).text for name in ANALYSTS}


def _register(home: Home, settings: Settings) -> None:
    from sfumato.table.samples import patients

    place = home.files / f"{NAME}.csv"
    place.unlink(missing_ok=True)
    write_durably(place, patients().write_csv().encode())
    crew = Crew(home.path, workers=settings.workers, memory=settings.memory)
    shares: dict[str, Amount] = dict.fromkeys(ANALYSTS, "2")
    words = "the made-up patients of the demo"
    declared = DataSetBody(
        name=NAME, file=place.name, schema=SCHEMA, epsilon="3", population=words, other_people=True, shares=shares
    )
    try:
        register(home, crew, declared, acts.HOME)
    finally:
        crew.close()


def lines_of(address: str, tokens: dict[str, str]) -> list[str]:
    """Return what a newcomer may type.

    >>> lines_of("http://127.0.0.1:8460", {"ana": "sfumato_token"})[0]
    'token of ana: sfumato_token'
    """
    first = next(iter(tokens.values()))
    told = [f"token of {name}: {token}" for name, token in tokens.items()]
    ask = f'SFUMATO_TOKEN={first} sfumato query {address}/{NAME} "{QUESTION}" --epsilon 0.1'
    return [*told, f"ask in another terminal: {ask}"]
