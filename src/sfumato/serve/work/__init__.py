"""Workers: one process for each question, with limits on memory and time, which ends with its answer."""
