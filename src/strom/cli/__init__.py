"""The verbs of the `strom` command, one file a group; the composition root."""
