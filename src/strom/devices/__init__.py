"""What a meter says: one dialect a file, and the simulated meters and adapters that say it."""
