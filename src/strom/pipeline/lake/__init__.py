"""The Delta table of all readings: written, looked at, kept in order."""
