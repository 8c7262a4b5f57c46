"""The rules of the energy business as tables and pure functions: standard library only, no I/O, no clock."""
