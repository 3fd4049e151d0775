"""A question from its text to exact integers: data that are checked, never code that runs on a row."""
