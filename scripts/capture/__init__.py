"""Records a training iteration of a PyTorch module as a capture (docs/capture.md)."""
