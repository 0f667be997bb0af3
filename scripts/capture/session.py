"""One training iteration of a workload, recorded."""
import torch

from . import BadInput
from .recorder import Recorder

OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01),
}


def default_loss(output):
    """The output itself when it is a number, else the mean of its first floating tensor."""
    while isinstance(output, (list, tuple)) and output:
        output = output[0]
    if isinstance(output, dict) and output:
        output = next(iter(output.values()))
    if not isinstance(output, torch.Tensor) or not output.is_floating_point():
        raise BadInput("the module's output has no floating tensor to make a loss of; let the factory return "
                       "(module, inputs, loss)")
    return output if output.dim() == 0 else output.mean()


class Session:
    """Runs iterations of a workload; `record` records the last one."""

    def __init__(self, workload, optimizer):
        self.workload = workload
        self.parameters = [p for p in workload.module.parameters() if p.requires_grad]
        if not self.parameters:
            raise BadInput("the module has no parameter that requires a gradient, so there is no training iteration; "
                           "give one that has")
        self.optimizer = OPTIMIZERS[optimizer](self.parameters) if optimizer != "none" else None

    def forward(self):
        inputs = self.workload.inputs
        output = self.workload.module(**inputs) if isinstance(inputs, dict) else self.workload.module(*inputs)
        return (self.workload.loss or default_loss)(output)

    def clear_gradients(self):
        for parameter in self.parameters:
            parameter.grad = None

    def warm_up(self, iterations):
        """Optimisers make their state in the first iteration: later ones are typical of training."""
        for _ in range(iterations):
            self.clear_gradients()
            self.forward().backward()
            if self.optimizer is not None:
                self.optimizer.step()
        self.clear_gradients()

    def record(self, selection, values=None):
        """The recording, {view: label} and {view of a gradient: view of its parameter}."""
        recorder = Recorder(selection, values)
        with recorder.following(self.workload.module), recorder:
            loss = self.forward()
            recorder.finish_forward(loss)
            recorder.phase = "backward"
            gradient = torch.ones_like(loss)
            recorder.links.running = True
            loss.backward(gradient)
        gradients = self.gradients(recorder)
        if self.optimizer is not None:
            self.own_states(recorder)
            recorder.phase = "optimizer"
            with recorder:
                self.optimizer.step()
        return recorder, self.labels(recorder), gradients

    def named(self):
        yield from self.workload.module.named_parameters()
        yield from self.workload.module.named_buffers()

    def labels(self, recorder):
        return {recorder.memory.view_of(tensor): name for name, tensor in self.named()}

    def gradients(self, recorder):
        """Parameters and their gradients belong to their module."""
        memory, found = recorder.memory, {}
        for name, parameter in self.workload.module.named_parameters():
            layer, view = name.rpartition(".")[0], memory.view_of(parameter)
            memory.storage(view).owner = layer
            if parameter.grad is not None:
                gradient = memory.view_of(parameter.grad)
                memory.storage(gradient).owner = layer
                found[gradient] = view
        return found

    def own_states(self, recorder):
        """The optimiser's tensors for them belong there, too."""
        for parameter, state in self.optimizer.state.items():
            owner = recorder.memory.storage(recorder.memory.view_of(parameter)).owner
            for tensor in state.values():
                if isinstance(tensor, torch.Tensor):
                    recorder.memory.storage(recorder.memory.view_of(tensor)).owner = owner
