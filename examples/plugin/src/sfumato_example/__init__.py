"""One class of each kind that sfumato can be extended by; `docs/extending.md` walks through them."""
