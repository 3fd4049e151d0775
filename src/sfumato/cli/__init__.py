"""The command line: parse, call, print; every command answers with the exit codes of the contract."""

from sfumato.cli.main import main

__all__ = ["main"]
