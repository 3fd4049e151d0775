"""Source 002 done again: central and local privacy on bicycle rides, its three experiments, and better local answers.

Pedro (2022), "Privacidade diferencial para proteger dados sobre utilização de bicicletas compartilhadas", Universidade
Estadual de Londrina. `python -m sfumato.experiments.bikes DATA OUT` writes tidy rows, the table beside the source's and
the figures. Noise comes from seeds: these are measurements, not releases.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.experiments.bike_answers import ANSWERS, hourly
from sfumato.experiments.bike_data import HOURS, Rides, read_rides
from sfumato.local.arrays import Reals
from sfumato.local.choosing import choose
from sfumato.local.unary import SymmetricUnary
from sfumato.progress import listening, tell
from sfumato.random import SeededSource, discrete_laplace
from sfumato.staging import Staging

FILES = {
    "New York": "citibike_nyc_sample_2013_2014.csv.gz",
    "Jersey City": "citibike_jersey_city_201509_201607.csv.gz",
}
EPSILONS = {0.008: 0.501, 2.251: 0.755, 13.814: 0.999}  # each with the p of symmetric unary encoding
MIDDLE = 2.251
BUSIEST = 24
SOURCE_RIDES = {1: 41_000, 2: 100_000}  # in the source's experiments
SOURCE_MAE = {
    (0.008, "central, Laplace, rounded and clamped"): 63.74701,
    (0.008, "local, women report, symmetric unary, clamped"): 11259.62888,
    (2.251, "central, Laplace, rounded and clamped"): 0.35796,
    (2.251, "local, women report, symmetric unary, clamped"): 37.10306,
    (13.814, "central, Laplace, rounded and clamped"): 0.00119,
    (13.814, "local, women report, symmetric unary, clamped"): 2.29459,
}


@dataclass(frozen=True)
class Grid:
    """What is varied: the ε, the answers and the seeds.

    >>> len(Grid().answers), Grid().epsilons
    (10, (0.008, 2.251, 13.814))
    """

    epsilons: tuple[float, ...] = tuple(EPSILONS)
    answers: tuple[str, ...] = tuple(ANSWERS)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)


def absolute_errors(rides: Sequence[Rides], grid: Grid) -> pl.DataFrame:
    """Return experiment 1 as rows: the mean absolute error of each answer, over all declared cells and non-empty ones.

    >>> women = np.array([True, True])
    >>> toy = Rides("toy", ("A", "B", "C", "D"), np.eye(4, 2), np.array([0, 1]), np.array([8, 9]), women)
    >>> absolute_errors([toy], Grid((2.251,), ("all zeros",), (1,)))["mae", "mae_nonempty"].row(0)
    (0.020833333333333332, 1.0)
    """
    points = [(data, epsilon, name) for data in rides for epsilon in grid.epsilons for name in grid.answers]
    rows = []
    for done, (data, epsilon, name) in enumerate(points):
        tell(done / len(points), f"{data.name}, ε={epsilon:g}")
        true = data.women()
        for seed in grid.seeds:
            error = np.abs(ANSWERS[name](data, epsilon, SeededSource(seed)) - true)
            rows.append((data.name, epsilon, name, seed, float(error.mean()), float(error[true > 0].mean())))
    names = ["data", "epsilon", "answer", "seed", "mae", "mae_nonempty"]
    return pl.DataFrame(rows, schema=names, orient="row")


def hourly_errors(rides: Rides, grid: Grid) -> pl.DataFrame:
    """Return experiment 2 as rows: the adjusted percentage error of the rides per hour of day."""
    hours = tuple(range(HOURS))
    true = rides.everybody().sum(axis=0)
    rows = []
    for epsilon in grid.epsilons:
        paper, best = SymmetricUnary(hours, epsilon), choose(hours, epsilon, rides.number)
        for seed in grid.seeds:
            source = SeededSource(seed)
            noise = discrete_laplace(HOURS, 1 / Fraction(str(epsilon)), source)
            answers = {
                "central": np.maximum(true + noise, 0.0),
                "local, symmetric unary, clamped": hourly(rides, paper, source, consistent="rounded"),
                "local, lowest variance, Norm-Sub": hourly(rides, best, source, consistent=True),
            }
            for name, counts in answers.items():
                errors = adjusted_error(true, counts)
                rows += [(epsilon, name, seed, hour, float(errors[hour])) for hour in hours]
    return pl.DataFrame(rows, schema=["epsilon", "answer", "seed", "hour", "error"], orient="row")


def station_errors(rides: Sequence[Rides], seed: int) -> pl.DataFrame:
    """Return experiment 3 as rows: the same error for every hour of the busiest stations, central, at ε = 2.251."""
    return pl.concat([_busiest(data, seed) for data in rides])


def _busiest(rides: Rides, seed: int) -> pl.DataFrame:
    true = rides.everybody()
    noise = discrete_laplace(true.size, 1 / Fraction(str(MIDDLE)), SeededSource(seed)).reshape(true.shape)
    errors = adjusted_error(true, np.maximum(true + noise, 0.0))
    busiest = np.argsort(-true.sum(axis=1), kind="stable")[:BUSIEST]
    rows = [
        (rides.name, rank, rides.stations[station], hour, float(true[station, hour]), float(errors[station, hour]))
        for rank, station in enumerate(busiest, start=1)
        for hour in range(HOURS)
    ]
    return pl.DataFrame(rows, schema=["data", "rank", "station", "hour", "rides", "error"], orient="row")


def adjusted_error(true: Reals, answer: Reals) -> Reals:
    """Return 100·|y − ŷ| / ((|y| + |ŷ|)/2) per cent for each count: 0 to 200, and 0 where both are 0.

    >>> adjusted_error(np.array([0.0, 0.0, 100.0]), np.array([0.0, 3.0, 50.0])).round(1).tolist()
    [0.0, 200.0, 66.7]
    """
    middle = (np.abs(true) + np.abs(answer)) / 2
    return 100 * np.divide(np.abs(true - answer), middle, out=np.zeros(true.shape), where=middle > 0)


def summary(errors: pl.DataFrame) -> str:
    """Return experiment 1 as a Markdown table: means over the seeds, with the source's numbers beside them.

    >>> rows = pl.DataFrame({"data": ["toy"], "epsilon": [2.251], "answer": ["all zeros"], "seed": [1],
    ...                      "mae": [0.2], "mae_nonempty": [0.4]})
    >>> summary(rows).splitlines()[-1]
    '| 2.251 | all zeros | 0.2 (0.4) |  |'
    """
    names = errors.get_column("data").unique(maintain_order=True).to_list()
    lines = [f"| ε | answer | {' | '.join(names)} | source 002 |", f"|---|---|{'---|' * len(names)}---|"]
    means = errors.group_by("epsilon", "answer", "data", maintain_order=True).agg(pl.col("mae", "mae_nonempty").mean())
    for epsilon, answer in dict.fromkeys(means.select("epsilon", "answer").iter_rows()):
        own = means.filter(pl.col("epsilon") == epsilon, pl.col("answer") == answer)
        found = {
            data: f"{mae:.3g} ({some:.3g})" for data, mae, some in own.select("data", "mae", "mae_nonempty").rows()
        }
        theirs = SOURCE_MAE.get((epsilon, answer))
        cells = [found.get(name, "") for name in names] + ["" if theirs is None else f"{theirs:.3g}"]
        lines.append(f"| {epsilon:g} | {answer} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def run(folder: str | Path, out: str | Path, grid: Grid | None = None) -> pl.DataFrame:
    """Write the rows, the table and the figures of all three experiments to a folder; return experiment 1's rows."""
    from sfumato.experiments.bike_figures import draw_errors, draw_hours, draw_stations

    declared, target = grid or Grid(), Path(out)
    rides = [read_rides(Path(folder) / file, name) for name, file in FILES.items()]
    target.mkdir(parents=True, exist_ok=True)
    with Staging() as staging:
        errors = absolute_errors([*rides, rides[1].first(SOURCE_RIDES[1])], declared)
        busy = rides[1].first(SOURCE_RIDES[2])
        hours = hourly_errors(busy, declared)
        stations = station_errors(rides, declared.seeds[0])
        for number, rows in enumerate((errors, hours, stations), start=1):
            rows.write_csv(staging.place(target / f"bikes-{number}.csv"), float_precision=6)
        staging.place(target / "bikes-1.md").write_text(summary(errors), encoding="utf-8")
        draw_errors(errors, staging.place(target / "bikes-1.png"))
        draw_hours(hours, busy.name, staging.place(target / "bikes-2.png"))
        draw_stations(stations, staging.place(target / "bikes-3.png"))
    return errors


def main(arguments: Sequence[str]) -> int:
    """Run the experiments from the command line; return the exit code."""
    try:
        if len(arguments) != 2:
            raise InputError("give the folder with the trip data and the folder to write to")
        with listening(_show if sys.stderr.isatty() else _ignore):
            errors = run(arguments[0], arguments[1])
        sys.stdout.write(summary(errors))
    except SfumatoError as error:
        sys.stderr.write(f"sfumato: {error}\n")
        return error.exit_code
    return 0


def _show(share: float, note: str) -> None:
    sys.stderr.write(f"\r{100 * share:3.0f} %  {note:<40}")


def _ignore(share: float, note: str) -> None:
    del share, note


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
