"""Functions of dates, times and instants."""
