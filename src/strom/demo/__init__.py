"""The whole of Strom with simulated meters, and a count of every reading from the meter to the page."""
