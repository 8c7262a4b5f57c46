"""The one exception for what a person can mend: it carries a sentence, never a stack trace."""


class StromError(Exception):
    """Says in one sentence what is wrong and what to do; the command line prints it and exits with `exit_code`."""

    def __init__(self, sentence: str, exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
