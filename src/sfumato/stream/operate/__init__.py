"""What an operator sees of a running stream: its numbers on two pages, and what a steward's report needs."""
