"""Masking methods: cells are changed, moved or left out, and nothing is proven of what an attacker learns."""
