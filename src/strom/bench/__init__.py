"""Benchmarks: what Strom reaches beside a limit that is measured in the same run."""
