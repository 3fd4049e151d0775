"""The tables of a ledger, in the words of each kind of database; amounts are text, so that no database rounds them.

Types are those of SQL (ISO/IEC 9075), but for bytes, which databases name as they like.
"""

from __future__ import annotations

TYPES = {
    "sqlite": {"whole": "INTEGER", "bytes": "BLOB", "empty": "x''"},
    "postgresql": {"whole": "BIGINT", "bytes": "BYTEA", "empty": "''"},
}
TABLES = """
CREATE TABLE account (
    id {whole} PRIMARY KEY CHECK (id = 1), accountant TEXT NOT NULL, budget_epsilon TEXT NOT NULL,
    budget_delta TEXT NOT NULL, budget_rho TEXT NOT NULL, closed {whole} NOT NULL, secret {bytes} NOT NULL,
    epsilon TEXT NOT NULL DEFAULT '0', delta TEXT NOT NULL DEFAULT '0', rho TEXT NOT NULL DEFAULT '0',
    terms TEXT NOT NULL DEFAULT '', frozen TEXT, chain_key {bytes} NOT NULL DEFAULT {empty},
    head_number {whole} NOT NULL DEFAULT 0, head {bytes} NOT NULL DEFAULT {empty});
CREATE TABLE version (number {whole} PRIMARY KEY, time TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE analyst (
    name TEXT PRIMARY KEY, share_epsilon TEXT, share_rho TEXT,
    epsilon TEXT NOT NULL DEFAULT '0', delta TEXT NOT NULL DEFAULT '0', rho TEXT NOT NULL DEFAULT '0');
CREATE TABLE entry (
    number {whole} PRIMARY KEY, time TEXT NOT NULL, analyst TEXT NOT NULL, version {whole} NOT NULL,
    hash {bytes} NOT NULL, question TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
    again {whole} NOT NULL, answered {whole} NOT NULL,
    door TEXT NOT NULL DEFAULT 'query', data TEXT, outside {whole} NOT NULL DEFAULT 0);
CREATE INDEX entry_of_question ON entry (hash, version, analyst);
CREATE TABLE answer (
    hash {bytes} NOT NULL, version {whole} NOT NULL, answer {bytes} NOT NULL, PRIMARY KEY (hash, version));
"""
LINKS = """
CREATE TABLE link (
    number {whole} PRIMARY KEY, kind TEXT NOT NULL, happened TEXT NOT NULL, digest {bytes} NOT NULL);
"""


def tables(database: str) -> str:
    """Return the statements that make the tables.

    >>> tables("postgresql").count("CREATE TABLE")
    6
    """
    return (TABLES + LINKS).format(**TYPES[database])


def links(database: str) -> str:
    """Return the statement that makes the table of links alone.

    >>> links("sqlite").strip().partition("(")[0]
    'CREATE TABLE link '
    """
    return LINKS.format(**TYPES[database])
