"""The stage `watch`: each kind of alert finds its own; all are functions of the set of readings."""
