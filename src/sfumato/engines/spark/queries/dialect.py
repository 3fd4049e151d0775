"""The words of Spark SQL in its ANSI mode, where casts, sums, `floor` and list places raise unless they are guarded.

Nothing here imports Spark; what it runs on is `sfumato.engines.spark.queries.rows` (Armbrust et al. 2015, "Spark SQL").
Guards are CASEs, which Spark tries in order; it may evaluate both sides of an AND (Haeberlen, Pierce & Narayan 2011,
section 4, on why no row may make an answer fail).
"""

from __future__ import annotations

from sfumato.dp.rows.dialect import Dialect

# DuckDB's spelling of a double from Java's: 1.0E7 is 10000000, 1.5E-9 is 1.5e-09. Java before 19 may add a digit.
_PLAIN = r"regexp_replace(CAST(try_cast({text} AS DECIMAL(38, 21)) AS STRING), r'\.?0+$', '')"
_EXPONENT = (
    r"format_string('%se%+03d', regexp_replace(substring_index({text}, 'E', 1), r'\.0$', ''), "
    "try_cast(substring_index({text}, 'E', -1) AS INT))"
)
SPARK = Dialect(
    name="spark",
    match=r"rlike({x}, r'^(?:{pattern})\z')",
    integer="try_cast({x} AS BIGINT)",
    number="(try_cast({x} AS DOUBLE) + 0e0)",  # -0 becomes 0, which is spelled alike when it is hashed
    day="try_cast({x} AS DATE)",
    whole="try_cast({x} AS BIGINT)",
    text="CAST({x} AS STRING)",
    wide="CAST({x} AS DECIMAL(38, 0))",
    digest="sha2({x}, 256)",
    length="octet_length({x})",
    holder=":{}",
    text_type="STRING",
    lists=False,
    double="DOUBLE",
    floor="CASE WHEN abs({x}) < 9e15 THEN CAST(floor({x}) AS DOUBLE) ELSE {x} END",  # beyond it doubles are whole
    days="CAST(unix_date({x}) AS BIGINT)",
    finite="{x} IS NOT NULL",
    whole_real="CASE WHEN abs({x}) < 9.2e18 THEN CASE WHEN {x} = floor({x}) THEN {whole} END END",
    real_text=(
        f"CASE WHEN {{x}} IS NULL THEN NULL WHEN instr({{text}}, 'E') = 0 THEN regexp_replace({{text}}, r'\\.0+$', '') "
        f"WHEN abs(try_cast({{text}} AS DOUBLE)) BETWEEN 1e-4 AND 9999999999999998e0 THEN {_PLAIN} ELSE {_EXPONENT} END"
    ),
    total="SUM(CAST({x} AS DECIMAL(38, 0)))",
    item="get(array({list}), CAST({place} AS INT))",
    materialized=False,
)
