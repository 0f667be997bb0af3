"""Finds the forward operator of a call of the backward pass.

While the forward pass runs, each node of the autograd graph is seen as the grad_fn of a tensor that an operator takes,
and the tensor identifies the operator that made it. PyTorch 2 gives the node that runs; for 1.13, hooks report the
end of each.
"""
import torch

CURRENT_NODE = getattr(torch._C, "_current_autograd_node", None)


class Links:
    def __init__(self):
        self.made_by = {}  # View: number of the operator that made it last
        self.nodes = {}  # node: number of its forward operator
        self.running = False  # whether the backward pass runs
        self.waiting = []  # 1.13: calls since the last node's end
        self.fed = set()  # 1.13: inputs of nodes that have received a gradient
        self.sums, self.sums_of = 0, None  # 1.13: additions of gradients that follow the last node's end

    def made(self, view, number):
        self.made_by[view] = number

    def saw(self, tensor, view):
        node = tensor.grad_fn
        if node is not None and node not in self.nodes and view in self.made_by:
            self.learn(node, self.made_by[view])

    def learn(self, node, number):
        self.nodes[node] = number
        if CURRENT_NODE is None:
            node.register_hook(lambda inputs, _: self.ended(node, inputs))

    def complete(self, loss):
        """Nodes whose tensor no operator took belong to the operator of the preceding node."""
        if loss.grad_fn not in self.nodes:
            self.learn(loss.grad_fn, None)
        seen, stack = {loss.grad_fn}, [loss.grad_fn]
        while stack:
            node = stack.pop()
            for after, _ in node.next_functions:
                if after is None or after in seen:
                    continue
                if after not in self.nodes:
                    self.learn(after, self.nodes[node])
                seen.add(after)
                stack.append(after)

    def ended(self, node, inputs):
        number = self.nodes[node]
        for assign in self.waiting:
            assign(number)
        self.waiting.clear()
        self.sums, self.sums_of = 0, number
        for edge, gradient in zip(node.next_functions, inputs):
            if edge[0] is not None and gradient is not None:
                self.sums += edge in self.fed
                self.fed.add(edge)

    def called(self, assign):
        """A call of the backward pass: `assign` takes the number of its forward operator, now or later."""
        if not self.running:
            assign(None)
        elif CURRENT_NODE is not None:
            assign(self.nodes.get(CURRENT_NODE()))
        elif self.sums > 0:
            self.sums -= 1
            assign(self.sums_of)
        else:
            self.waiting.append(assign)
