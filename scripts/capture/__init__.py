"""Records a training iteration of a PyTorch module as a capture (docs/capture.md)."""


class BadInput(Exception):
    """What the user can mend; the message says how."""
