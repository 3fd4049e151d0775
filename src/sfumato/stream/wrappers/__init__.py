"""Publishers around a publisher: persons with several records, windows that end by the clock."""
