"""The one exception that a person sees: a sentence that says what was wrong and what to do."""


class UserError(Exception):
    """Something the user can put right. The command line prints it and exits with code 2."""


class ProcessEndedError(UserError):
    """Another process of a training run is gone; the ones that are left end too."""
