"""Calls about people: sign in, who am I, accounts, tokens, and the log of what stewards did."""

from __future__ import annotations

from sfumato.serve import acts
from sfumato.serve.accounts import Account, Role, close_account, open_account, page_of_accounts
from sfumato.serve.api import types
from sfumato.serve.problems import Problem
from sfumato.serve.server import Call
from sfumato.serve.tokens import Issued, Scope, Token, issue_token, revoke_token, sign_in, tokens_of


def signed_in(call: Call) -> types.IssuedReply:
    """Exchange the code of a one-time link for a token."""
    issued = sign_in(call.server.home.database, call.body.code)
    if issued is None:
        raise Problem("not-signed-in", "the link is unknown, used or over; make another with `sfumato serve --link`")
    return _issued(issued)


def me(call: Call) -> types.MeReply:
    """Say whose token this is."""
    caller = call.caller
    return types.MeReply(
        caller.name, caller.role.value, [scope.value for scope in caller.scopes], caller.expires or 0.0
    )


def accounts(call: Call) -> types.AccountsPage:
    """List accounts."""
    with call.server.home.database.reading() as book:
        found = page_of_accounts(book, call.window.after, call.window.limit)
    following = found[-1].name if len(found) == call.window.limit else None
    return types.AccountsPage([_account(one) for one in found], following)


def new_account(call: Call) -> types.AccountReply:
    """Open an account."""
    body: types.AccountBody = call.body
    return _account(open_account(call.server.home.database, body.name, Role(body.role), call.caller.name))


def closed_account(call: Call) -> None:
    """Close an account and revoke its tokens."""
    if not close_account(call.server.home.database, call.path["account"], call.caller.name):
        raise Problem("not-found")


def tokens(call: Call) -> types.TokensPage:
    """List the tokens of an account."""
    with call.server.home.database.reading() as book:
        return types.TokensPage([_token(one) for one in tokens_of(book, call.path["account"])])


def new_token(call: Call) -> types.IssuedReply:
    """Issue a token for an account."""
    body: types.TokenBody = call.body
    scopes = list(dict.fromkeys(Scope(scope) for scope in body.scopes))
    name = call.path["account"]
    return _issued(issue_token(call.server.home.database, name, scopes, body.days, call.caller.name))


def own_tokens(call: Call) -> types.TokensPage:
    """List one's own tokens."""
    with call.server.home.database.reading() as book:
        return types.TokensPage([_token(one) for one in tokens_of(book, call.caller.name)])


def revoked_token(call: Call) -> None:
    """Revoke a token: one's own, or anybody's for a steward."""
    caller = call.caller
    own = None if caller.role is Role.STEWARD else caller.name
    if not revoke_token(call.server.home.database, call.path["token"], caller.name, of=own):
        raise Problem("not-found")


def log(call: Call) -> types.ActsPage:
    """List the log of privileged acts."""
    after = number_after(call.window.after)
    with call.server.home.database.reading() as book:
        found, broken = acts.page(book, after, call.window.limit), acts.broken_link(book)
    items = [types.ActReply(act.number, act.time, act.who, act.what, act.about) for act in found]
    return types.ActsPage(items, str(found[-1].number) if len(found) == call.window.limit else None, broken)


def number_after(after: str) -> int:
    """Return the number after which a list goes on."""
    if after and not (after.isascii() and after.isdecimal() and len(after) < 16):
        raise Problem("input", "after is no number; give what `next` said")
    return int(after or 0)


def _account(account: Account) -> types.AccountReply:
    return types.AccountReply(account.name, account.role.value, account.opened, account.closed)


def _token(token: Token) -> types.TokenReply:
    scopes = [scope.value for scope in token.scopes]
    return types.TokenReply(token.id, token.account, scopes, token.made, token.expires, token.revoked)


def _issued(issued: Issued) -> types.IssuedReply:
    token = issued.token
    return types.IssuedReply(
        issued.text, token.id, token.account, [scope.value for scope in token.scopes], token.expires
    )
