"""Numbers that README and other pages quote: those of committed rows, or of the command that the page names."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.experiments.microaggregation.cases import MERGED, POLISHED, SEARCHED
from sfumato.experiments.microaggregation.comparison import means

ROOT = Path(__file__).parents[2]
STREAMS = {
    "doca": "DOCA",
    "castle": "CASTLE, k = 5 (claims no ε)",
    "laplace": "naive Laplace",
    "rank": "rank windows",
    "adaptive": "adaptive histogram",
    "linked": "linked response",
}


def page(name: str) -> str:
    """Return a page's text in one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def rows(experiment: str, part: str) -> pl.DataFrame:
    return pl.read_csv(ROOT / "docs" / "experiments" / experiment / f"{part}.csv", infer_schema_length=None)


def audited(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """Return the findings of an audit with the seed that pages quote."""
    run(["audit", *arguments, "--seed", "1", "--json"])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_readme_quotes_the_search_on_census() -> None:
    goals, losses = rows("microaggregation", "goals"), means(rows("microaggregation", "losses"))
    searched = goals.filter(dataset="CENSUS", k=3)["loss"].to_list()
    middle = sorted(searched)[len(searched) // 2]
    mdav = losses["CENSUS", 3, "MDAV"]
    assert middle < losses["CENSUS", 3, SEARCHED] < mdav
    quoted = f"our search loses {middle:.2f} % of the information where MDAV loses {mdav:.2f} %"
    assert quoted in page("README.md")
    assert "`sfumato experiment microaggregation --data DIR`" in page("README.md")


def test_the_page_on_microaggregation_quotes_the_ratios_of_mdav_star() -> None:
    losses = means(rows("microaggregation", "losses"))
    sets = {dataset for dataset, _, _ in losses}
    ratios = {
        (name, k): losses[name, k, "MDAV*"] / losses[name, k, "MDAV+"] for name in sorted(sets) for k in (3, 5, 10)
    }
    real = [ratio for (name, _), ratio in ratios.items() if not name.startswith("Sim")]
    quoted = (
        f"we measure {sum(real) / len(real):.3f} on the five real sets and {sum(ratios.values()) / len(ratios):.3f}"
    )
    even = [ratio for (name, _), ratio in ratios.items() if name in {"CENSUS", "TARRAGONA", "Cloud1", "Cloud2"}]
    between = f"CENSUS, TARRAGONA and Cloud lie between {min(even):.2f} and {max(even):.2f}"
    assert quoted in page("docs/algorithms/microaggregation.md")
    assert between in page("docs/algorithms/microaggregation.md")


def test_what_the_page_on_microaggregation_says_of_polishing_is_so() -> None:
    text, losses = page("docs/algorithms/microaggregation.md"), means(rows("microaggregation", "losses"))
    assert "Polishing MDAV's groups loses less than every algorithm above it on every real set and k" in text
    assert "With many rounds it beats MDAV at k = 10 on most sets" in text
    for (name, k, algorithm), loss in losses.items():
        if not name.startswith("Sim") and algorithm != SEARCHED and not algorithm.startswith("polished"):
            assert losses[name, k, POLISHED] < loss, (name, k, algorithm)
    sets = {name for name, _, _ in losses}
    assert sum(losses[name, 10, MERGED] < losses[name, 10, "MDAV"] for name in sets) > len(sets) / 2


def test_local_pages_quote_the_bicycle_experiment() -> None:
    found = rows("bikes", "errors").filter(epsilon=2.251).group_by("rides", "answer").agg(pl.col("mae").mean())
    mean = {(rides, answer): value for rides, answer, value in found.iter_rows()}
    clamped, plain, views = "women report, symmetric unary, clamped", "all report, plain views", "all report, views"
    york, jersey = (
        [mean[city, f"local, {answer}"] for answer in (clamped, plain, views)] for city in ("New York", "Jersey City")
    )
    zeros = {city: mean[city, "all zeros"] for city in ("New York", "Jersey City")}
    guide = page("docs/guides/local.md")
    assert f"falls from {york[0]:.0f} to {york[1]:.2f} at the same ε" in guide
    assert (
        f"and to {york[2]:.2f} with the best set of views we tried on them; all zeros have {zeros['New York']:.2f}"
        in guide
    )
    assert (
        f"from {jersey[0]:.0f} to {jersey[1]:.0f} and {jersey[2]:.0f}, and all zeros have {zeros['Jersey City']:.1f}"
        in guide
    )
    normed = mean["Jersey City", "local, women report, lowest variance, Norm-Sub"]
    assert (
        f"a mean error of {zeros['New York']:.2f} in the New York sample and {zeros['Jersey City']:.1f} in "
        f"Jersey City, where clamped symmetric unary encoding has {jersey[0]:.0f} and Norm-Sub {normed:.0f} "
        "(`sfumato experiment bikes --data DIR`"
    ) in page("docs/algorithms/local-frequencies.md")


@pytest.mark.parametrize(
    "name", ["half-laplace", "same-seed", "float-laplace", "wrong-sensitivity", "exponential-without-two", "laplace"]
)
def test_the_page_on_least_epsilons_quotes_its_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = page("docs/algorithms/audit-epsilon.md")
    assert "`sfumato audit epsilon NAME --claim 1 --trials 200000 --seed 1`" in text
    (finding,) = audited(capsys, "epsilon", name, "--claim", "1", "--trials", "200000")
    quoted = f"`laplace` itself reaches {finding['bound']:.2f}" if name == "laplace" else f"| {finding['bound']:.2f}"
    line = text[text.index(f"`{name}` itself" if name == "laplace" else f"| `{name}` |") :]
    assert quoted in line[:120]


@pytest.mark.long
@pytest.mark.parametrize("name", STREAMS)
def test_the_page_on_streams_quotes_its_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = page("docs/algorithms/audit-streams.md")
    assert "`sfumato audit stream --publisher NAME --seed 1`" in text
    guessed, left = [], "not linked"
    for finding in audited(capsys, "stream", "--publisher", name):
        evidence = finding["evidence"]
        assert isinstance(evidence, dict)
        if "variance" in evidence:
            left = f"{evidence['mean squared error'] / evidence['variance']:.3f}"
        else:
            guessed.append(f"{finding['bound']:.2g}")
    assert f"| {STREAMS[name]} | {left} | {' | '.join(guessed)} |" in text
