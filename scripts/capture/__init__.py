"""Records a training iteration of a PyTorch module as a capture (docs/capture.md)."""


class BadInput(Exception):
    """An error that the user can fix; the message says how."""
