"""SafePub: what it promises, what it refuses, and that no row can make it stop."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import BudgetExceeded, InputError, ParameterError, SchemaError
from sfumato.promise import Cost, group
from sfumato.random import SeededSource
from sfumato.tabular import Charge, SafePub
from sfumato.tabular.private.safepub.delta import exact_delta, largest_beta, least_k

AGE = sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69))
SEX = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
ILL = sf.Attribute("ill", sf.Role.SENSITIVE, sf.Kind.CATEGORY, categories=("flu", "gout", "cold"))
SCHEMA = sf.Schema({"age": AGE, "sex": SEX, "ill": ILL})
CATEGORIES = {"sex": ("F", "M"), "ill": ("flu", "gout", "cold")}


def people(rows: int, seed: int = 1) -> sf.Table:
    draw = np.random.default_rng(seed)
    words = {name: draw.choice(values, rows) for name, values in CATEGORIES.items()}
    return sf.Table(pl.DataFrame({"age": draw.integers(20, 70, rows), **words}))


def test_a_class_is_told_by_every_column_the_sensitive_one_too() -> None:
    release = SafePub(epsilon=1, scheme={"sex": 0, "ill": 0}).anonymize(people(3000), SCHEMA, [sf.KAnonymity(10)])
    sizes = release.table.frame.group_by("age", "sex", "ill").len()["len"].to_list()
    assert len(sizes) == 6
    assert min(sizes) >= 10
    assert release.card.released.models[0].measured == min(sizes)
    assert set(release.table.column("age").to_list()) == {"*"}


def test_classes_below_k_vanish_and_the_rest_is_a_sample() -> None:
    table = sf.Table(pl.DataFrame({"sex": ["F"] * 4000 + ["M"] * 12}))
    schema = sf.Schema({"sex": SEX})
    release = SafePub(epsilon=1, scheme={"sex": 0}).anonymize(table, schema, [sf.KAnonymity(10)])
    assert set(release.table.column("sex").to_list()) == {"F"}
    rate = release.card.guarantee.parameters["beta"]
    assert abs(release.table.rows - 4000 * rate) < 6 * (4000 * rate) ** 0.5


def test_k_or_the_rate_is_worked_out_and_delta_is_never_above_what_was_asked() -> None:
    by_k = SafePub(epsilon=1, scheme={}).plan([sf.KAnonymity(10)])
    by_rate = SafePub(epsilon=1, beta=0.1, scheme={}).plan()
    asked = Decimal("1e-6")
    assert by_k.beta == largest_beta(10, Fraction(1), asked)
    assert exact_delta(10, by_k.beta + Fraction(1, 10_000), Fraction(1)) > asked
    assert by_rate.k == least_k(Fraction(1, 10), Fraction(1), asked)
    assert exact_delta(by_rate.k - 1, Fraction(1, 10), Fraction(1)) > asked
    assert max(by_k.delta, by_rate.delta) <= asked
    picked = SafePub(epsilon=1).plan([sf.KAnonymity(10)])
    assert picked.sampling + picked.picking == 1
    assert picked.picking == Fraction(1, 10)


@pytest.mark.parametrize(
    "chosen, models, said",
    [
        (SafePub(epsilon=1), [], "needs k or the sampling rate"),
        (SafePub(epsilon=1, beta=0.3), [sf.KAnonymity(5)], "give k of at least"),
        (SafePub(epsilon=0.1, beta=0.5), [], "at most 0.0860 can"),
        (SafePub(epsilon=0.1, delta=1e-9), [sf.KAnonymity(2)], "give a larger k"),
        (SafePub(epsilon=1), [sf.LDiversity(2, "ill")], "not distinct l-diversity"),
        (SafePub(epsilon=1, scheme={"aeg": 1}), [sf.KAnonymity(10)], "did you mean 'age'"),
        (SafePub(epsilon=1, scheme={"sex": 9}), [sf.KAnonymity(10)], "it has levels 0 to 1"),
    ],
)
def test_what_cannot_be_promised_is_refused(chosen: SafePub, models: list[sf.models.Model], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        chosen.anonymize(people(50), SCHEMA, models)


@pytest.mark.parametrize(
    "schema, said",
    [
        (sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["ill"]), "has no public domain"),
        (sf.Schema({"age": AGE, "sex": SEX}, other="keep"), "would be released unchanged"),
        (sf.Schema({"age": AGE, "sex": SEX}, person="ill", other="drop"), "gather each person's rows into one"),
    ],
)
def test_only_public_domains_and_one_row_each(schema: sf.Schema, said: str) -> None:
    for chosen, models in ((SafePub(epsilon=1), [sf.KAnonymity(10)]), (sf.PrivateMondrian(epsilon=1), [])):
        with pytest.raises(SchemaError, match=said):
            chosen.anonymize(people(50), schema, models)


def test_continuous_numbers_need_a_hierarchy() -> None:
    weight = sf.Attribute("weight", sf.Role.QUASI, sf.Kind.NUMBER, bounds=(0, 200))
    table = sf.Table(pl.DataFrame({"weight": [70.5]}))
    with pytest.raises(SchemaError, match="numbers without end"):
        SafePub(epsilon=1).anonymize(table, sf.Schema({"weight": weight}), [sf.KAnonymity(10)])


def test_no_row_can_make_it_stop() -> None:
    odd = pl.DataFrame({"age": ["x", "", None, "1000", "30"], "sex": ["Q", None, "", "F", "M"], "ill": ["?"] * 5})
    for table in (sf.Table(odd), sf.Table(odd.head(0))):
        release = SafePub(epsilon=1).anonymize(table, SCHEMA, [sf.KAnonymity(10)])
        assert release.table.names == ("age", "sex", "ill")
        assert release.card.released.rows == release.table.rows == 0


def test_values_outside_the_domain_are_shown_as_missing() -> None:
    table = sf.Table(pl.DataFrame({"sex": ["Q"] * 5000}))
    release = SafePub(epsilon=1, scheme={"sex": 0}).anonymize(table, sf.Schema({"sex": SEX}), [sf.KAnonymity(10)])
    assert set(release.table.column("sex").to_list()) == {None}


def test_the_card_says_what_is_promised_and_nothing_of_the_rows() -> None:
    table = people(4000)
    release = SafePub(epsilon=1).anonymize(table, SCHEMA, [sf.KAnonymity(10)], rng=SeededSource(3))
    card = release.card
    assert card.guarantee.parameters.keys() == {"k", "epsilon", "delta", "beta"}
    assert card.guarantee.neighbours == "presence: one unit is there or not"
    assert any("(10, 0)-crowd-blending" in line and "zero-knowledge" in line for line in card.assumptions)
    assert any("seed" in warning for warning in card.warnings)
    assert "4000" not in card.to_json()
    again = SafePub(epsilon=1).anonymize(table, SCHEMA, [sf.KAnonymity(10)], rng=SeededSource(3))
    assert again.table.frame.equals(release.table.frame)
    assert not SafePub(epsilon=1).anonymize(table, SCHEMA, [sf.KAnonymity(10)]).card.warnings


def test_a_ledger_pays_first_and_shows_the_same_table_again(tmp_path: Path) -> None:
    table = people(4000)
    session = sf.Session.create(tmp_path / "l", table.frame, SCHEMA, sf.Budget(epsilon=1, delta=1e-5))
    charge = Charge(tmp_path / "l")
    first = SafePub(epsilon=0.6).anonymize(table, SCHEMA, [sf.KAnonymity(10)], charge=charge)
    again = SafePub(epsilon=0.6).anonymize(table, SCHEMA, [sf.KAnonymity(10)], charge=charge)
    assert first.table.frame.equals(again.table.frame)
    assert str(session.ledger.spent.epsilon) == "0.6"
    assert float(session.ledger.spent.delta) == first.card.guarantee.parameters["delta"]
    with pytest.raises(BudgetExceeded):
        sf.PrivateMondrian(epsilon=0.5).anonymize(table, SCHEMA, charge=charge)
    with pytest.raises(InputError, match="not those that ledger"):
        sf.PrivateMondrian(epsilon=0.1).anonymize(people(10), SCHEMA, charge=charge)


def test_a_crash_while_drawing_has_already_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(100)
    sf.Session.create(tmp_path / "l", table.frame, SCHEMA, sf.Budget(epsilon=1))

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.tabular.private.mondrian.grow", crash)
    with pytest.raises(KeyboardInterrupt):
        sf.PrivateMondrian(epsilon=0.25).anonymize(table, SCHEMA, charge=Charge(tmp_path / "l"))
    assert str(Ledger.open(tmp_path / "l").spent.epsilon) == "0.25"


@pytest.mark.parametrize(
    "chosen, said",
    [
        (SafePub(epsilon=0.5, scheme={"aeg": 1}), "did you mean 'age'"),
        (SafePub(epsilon=0.5, scheme={"sex": 9}), "it has levels 0 to 1"),
        (SafePub(epsilon=0.5, beta=0.4), "cannot keep epsilon"),
        (SafePub(epsilon=1e-5), "allows no sampling rate of a ten-thousandth"),
    ],
)
def test_what_is_refused_costs_nothing(tmp_path: Path, chosen: SafePub, said: str) -> None:
    table = people(20)
    sf.Session.create(tmp_path / "l", table.frame, SCHEMA, sf.Budget(epsilon=1, delta=1e-5))
    models = [] if chosen.beta else [sf.KAnonymity(10)]
    with pytest.raises(ParameterError, match=said):
        chosen.anonymize(table, SCHEMA, models, charge=Charge(tmp_path / "l"))
    assert Ledger.open(tmp_path / "l").spent == Cost()


def test_a_domain_without_levels_costs_nothing(tmp_path: Path) -> None:
    weight = sf.Attribute("weight", sf.Role.QUASI, sf.Kind.NUMBER, bounds=(0, 200))
    table, schema = sf.Table(pl.DataFrame({"weight": [70.5]})), sf.Schema({"weight": weight})
    sf.Session.create(tmp_path / "l", table.frame, schema, sf.Budget(epsilon=1, delta=1e-5))
    with pytest.raises(SchemaError, match="numbers without end"):
        SafePub(epsilon=1).anonymize(table, schema, [sf.KAnonymity(10)], charge=Charge(tmp_path / "l"))
    assert Ledger.open(tmp_path / "l").spent == Cost()


@pytest.mark.parametrize("delta, k", [(1e-60, 700), (1e-55, 700), (3e-7, 2000)])
def test_the_delta_that_is_stated_is_one_that_a_ledger_counts(delta: float, k: int) -> None:
    plan = SafePub(epsilon=1, delta=delta, scheme={}).plan([sf.KAnonymity(k)])
    assert exact_delta(k, plan.beta, Fraction(1)) <= plan.delta <= Decimal(repr(delta))
    assert Cost(1, plan.delta).delta == plan.delta


@pytest.mark.parametrize(
    "protect, neighbours, epsilon, factor",
    [("rows", "presence", "0.3", 1), ("rows:2", "presence", "0.6", 2), ("rows", "value", "0.6", 2)],
)
def test_a_ledger_for_another_unit_pays_what_a_group_costs(
    tmp_path: Path, protect: str, neighbours: str, epsilon: str, factor: int
) -> None:
    table = people(20)
    budget = sf.Budget(epsilon=2, delta=0.1)
    session = sf.Session.create(tmp_path / "l", table.frame, SCHEMA, budget, protect=protect, neighbours=neighbours)
    chosen = SafePub(epsilon=0.3)
    chosen.anonymize(table, SCHEMA, [sf.KAnonymity(10)], charge=Charge(tmp_path / "l"), audit=False)
    assert session.ledger.spent.epsilon == Decimal(epsilon)
    own = chosen.plan([sf.KAnonymity(10)]).promise.cost
    assert session.ledger.spent == group(own, factor)
    assert (session.ledger.spent.delta > own.delta) == (factor > 1)


def test_a_ledger_for_persons_cannot_be_charged_for_rows(tmp_path: Path) -> None:
    table = people(20)
    sf.Session.create(tmp_path / "l", table.frame, SCHEMA, sf.Budget(epsilon=1), protect="person:sex:1:1")
    with pytest.raises(ParameterError, match=r"the release protects the presence of one row and the ledger .* \(sex\)"):
        sf.PrivateMondrian(epsilon=0.1).anonymize(table, SCHEMA, charge=Charge(tmp_path / "l"))
    assert Ledger.open(tmp_path / "l").spent == Cost()


def test_boxes_are_paid_in_rho_and_a_delta_is_not(tmp_path: Path) -> None:
    table, budget = people(20), sf.Budget(epsilon=1, delta=1e-6, accountant=sf.dp.Accountant.ZCDP)
    sf.Session.create(tmp_path / "l", table.frame, SCHEMA, budget)
    sf.PrivateMondrian(epsilon=0.1).anonymize(table, SCHEMA, charge=Charge(tmp_path / "l"), audit=False)
    assert Ledger.open(tmp_path / "l").spent.rho == Decimal("0.005")
    with pytest.raises(ParameterError, match="it needs a ledger of pure accounting"):
        SafePub(epsilon=0.5).anonymize(table, SCHEMA, [sf.KAnonymity(10)], charge=Charge(tmp_path / "l"))


def test_a_file_must_hold_the_table_that_is_charged_for(tmp_path: Path) -> None:
    people(20).frame.write_csv(tmp_path / "people.csv")
    sf.Session.create(tmp_path / "l", tmp_path / "people.csv", SCHEMA, sf.Budget(epsilon=1))
    charge = Charge(tmp_path / "l", tmp_path / "people.csv")
    with pytest.raises(InputError, match="does not hold the table"):
        sf.PrivateMondrian(epsilon=0.1).anonymize(people(21), SCHEMA, charge=charge)
    release = sf.PrivateMondrian(epsilon=0.1).anonymize(sf.read(tmp_path / "people.csv"), SCHEMA, charge=charge)
    assert release.card.ledger == Ledger.open(tmp_path / "l").head.text


def test_a_scheme_of_too_many_levels_is_drawn_from_a_public_seed() -> None:
    from sfumato.tabular.private.safepub.scheme import MOST_SCHEMES, _public_choice

    assert len(_public_choice(MOST_SCHEMES * 3)) == MOST_SCHEMES - 1
    assert np.array_equal(_public_choice(1 << 30), _public_choice(1 << 30))
