"""The page of a report: its frame, its markup, its plain words."""
