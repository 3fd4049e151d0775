"""Each source's tables and figures, done again: a declared grid, tidy rows, figures, from data that are not shipped."""
