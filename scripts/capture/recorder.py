"""Records the calls of PyTorch's dispatcher, below autograd, as calls of a capture."""
import contextlib
import math
import pathlib
import re
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import BadInput, standard, table
from .links import Links
from .mapping import GENERATOR, View, map_call
from .memory import Memory, elements_of_storage, numpy_of
from .recipes import recipe_of, text_of

OWN_FILES = {str(path.resolve()) for path in pathlib.Path(__file__).parent.glob("*.py") if path.name != "models.py"}
# 1.13's record_function makes a tensor to hold its handle.
PROFILER_FILE = torch.autograd.profiler.__file__
TORCH_FILES = str(pathlib.Path(torch.__file__).resolve().parent) + "/"


def overload_of(func):
    """`add.Tensor`, `convolution`; with the library's name when that is not ATen."""
    space, name = func._schema.name.split("::")
    overload = func._schema.overload_name
    return ("" if space == "aten" else space + "::") + name + ("." + overload if overload else "")


def tensors_in(value):
    """The tensors of an argument or a result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def is_written(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def bind(schema, args, kwargs):
    """{ATen's name: value} of a call, defaults included."""
    named = {}
    for i, argument in enumerate(schema.arguments):
        if i < len(args):
            named[argument.name] = args[i]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        else:
            named[argument.name] = argument.default_value
    return named


def source_line():
    """The innermost line that is neither PyTorch's nor the recorder's, as `package/module.py:12`."""
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.endswith(".py") and not path.startswith(TORCH_FILES) and path not in OWN_FILES:
            break
        frame = frame.f_back
    if frame is None:
        return ""
    module = frame.f_globals.get("__name__", "").split(".")
    parts = pathlib.Path(path).parts[-len(module) - path.endswith("__init__.py"):]
    return f"{'/'.join(parts)}:{frame.f_lineno}"


def is_of_profiler(frame):
    """Whether the profiler made this call, directly or by the dispatch mode's own frame."""
    return PROFILER_FILE in (frame.f_code.co_filename, frame.f_back and frame.f_back.f_code.co_filename)


class Selection:
    """Which calls are recorded: full-match regular expressions over overload names, and how many."""

    def __init__(self, include=(), exclude=(), first=None):
        self.include, self.exclude, self.first = include, exclude, first
        self.used = set()

    def takes(self, overload):
        def matches(patterns):
            found = [p for p in patterns if re.fullmatch(p, overload)]
            self.used.update(found)
            return bool(found)

        return (not self.include or matches(self.include)) and not matches(self.exclude)

    def unused(self):
        return [p for p in (*self.include, *self.exclude) if p not in self.used]


class Event:
    """One call of ATen while it runs: its tensors, and what its storages held before."""

    def __init__(self, memory, func, args, kwargs):
        self.memory, self.schema = memory, func._schema
        self.overload = overload_of(func)
        self.arguments = bind(self.schema, args, kwargs)
        self.tensors = {}  # number of a storage: one of its tensors
        self.before = {}  # number of a storage: its content before the call
        self.inputs = self.views(list(self.arguments.values()))
        for view, tensor in self.inputs:
            if not memory.storage(view).known and view.storage not in self.before:
                self.before[view.storage] = elements_of_storage(tensor).clone()

    def views(self, value):
        """[(view, tensor)] of the tensors in a value."""
        pairs = [(self.memory.view_of(tensor), tensor) for tensor in tensors_in(value)]
        for view, tensor in pairs:
            self.tensors.setdefault(view.storage, tensor)
        return pairs

    def finish(self, result):
        results = result if len(self.schema.returns) > 1 else [result]
        self.results = list(results)
        self.outputs = self.views(self.results)

    def written_arguments(self):
        return [v for a in self.schema.arguments if is_written(a) for v, _ in self.views(self.arguments[a.name])]

    def is_call(self):
        """Views, allocations and queries without a tensor result are not recorded."""
        space, name = self.schema.name.split("::")
        if space == "profiler" or name in table.NOT_CALLS:
            return False
        known = {view.storage for view, _ in self.inputs}
        return bool(self.written_arguments()) or any(view.storage not in known for view, _ in self.outputs)

    def seen_as_views(self, value):
        if isinstance(value, torch.Tensor):
            return self.memory.view_of(value)
        if isinstance(value, (list, tuple)):
            return [self.seen_as_views(item) for item in value]
        return value

    def itemsize(self, view):
        return torch.empty(0, dtype=getattr(torch, view.dtype)).element_size()

    def content(self, view):
        """The elements of a view's storage before the call."""
        if view.storage in self.before:
            return self.before[view.storage]
        return elements_of_storage(self.tensors[view.storage])

    def value(self, view):
        """What a view holds now."""
        tensor = self.tensors[view.storage]
        return torch.as_strided(tensor.detach(), view.shape, view.strides, view.offset)


class Recorder(TorchDispatchMode):
    """Records every call while it is entered. The code that runs the iteration sets `phase`."""

    def __init__(self, selection, values=None):
        super().__init__()
        self.selection, self.values = selection, values
        self.memory, self.links = Memory(), Links()
        self.calls, self.unmapped = [], {}
        self.phase = "forward"
        self.forward_calls = 0
        self.origins = {}  # number of a forward operator: (layer, source)
        self.layers, self.drawn = [], 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.is_full() or is_of_profiler(sys._getframe(1)):
            return func(*args, **kwargs)
        event = Event(self.memory, func, args, kwargs)
        number = self.begin_forward(event) if self.phase == "forward" else None
        result = func(*args, **kwargs)
        event.finish(result)
        if number is not None:
            for view in [view for view, _ in event.outputs] + event.written_arguments():
                self.links.made(view, number)
        if event.is_call():
            self.record(event, number)
        return result

    def is_full(self):
        return self.selection.first is not None and len(self.calls) >= self.selection.first

    def finish_forward(self, loss):
        self.links.saw(loss, self.memory.view_of(loss))
        if loss.grad_fn is None:
            raise BadInput("the loss depends on no parameter, so there is no backward pass; let the factory return a "
                           "loss of the module's output")
        self.links.complete(loss)

    def begin_forward(self, event):
        for view, tensor in event.inputs:
            self.links.saw(tensor, view)
        number, self.forward_calls = self.forward_calls, self.forward_calls + 1
        self.origins[number] = (self.layers[-1] if self.layers else "", source_line())
        return number

    def record(self, event, number):
        if not self.selection.takes(event.overload):
            for _, tensor in event.outputs:
                self.memory.forget(tensor)
            for name in [a.name for a in event.schema.arguments if is_written(a)]:
                for tensor in tensors_in(event.arguments[name]):
                    self.memory.forget(tensor)
            return
        calls = self.standard_calls(event)
        if calls is None:
            self.unmapped[event.overload] = self.unmapped.get(event.overload, 0) + 1
            self.append(event, number, *self.open_call(event))
            return
        written = {}  # number of a storage: the last of the calls that writes it
        for i, (function, arguments) in enumerate(calls):
            for _, view in places(function, arguments, "writes"):
                written[view.storage] = i
        for i, (function, arguments) in enumerate(calls):
            call, used = self.mapped_call(event, function, arguments)
            results = [(place, view) for place, view in places(function, arguments, "writes")
                       if written[view.storage] == i]
            self.append(event, number, call, used, results)

    def standard_calls(self, event):
        def temporary(view):
            made = self.memory.temporary(view, event.itemsize(view))
            event.tensors[made.storage] = event.value(view).clone(memory_format=torch.contiguous_format)
            return made

        if ":" in event.overload or any(t.is_conj() or t.is_neg() for _, t in event.inputs):
            return None
        arguments = {name: event.seen_as_views(value) for name, value in event.arguments.items()}
        return map_call(event.overload, arguments, event.seen_as_views(event.results), temporary,
                        lambda view: int(event.value(view)))

    def mapped_call(self, event, function, arguments):
        """The call in the form of the file, and the views that it uses."""
        for _, view in places(function, arguments, "reads"):
            self.read(event, view)
        used = []
        for _, view in places(function, arguments, "writes"):
            self.memory.write(view, event.itemsize(view))
        kinds = {parameter.name: parameter.kind for parameter in standard.functions()[function]}
        encoded = {}
        for name, value in arguments.items():
            used += [v for v in (value if kinds[name] == "tensors" else [value]) or () if isinstance(v, View)]
            encoded[name] = self.encode(kinds[name], value)
        if any(value is GENERATOR for value in arguments.values()):
            self.drawn += sum(math.prod(view.shape) for _, view in places(function, arguments, "writes"))
        return {"function": function, "args": encoded}, used

    def open_call(self, event):
        """A call without a function: the tensors it read, and those it wrote with a recipe for each."""
        only_written = {a.name for a in event.schema.arguments if is_written(a) and a.is_out}
        taken = [value for name, value in event.arguments.items() if name not in only_written]
        reads = unique(view for view, _ in event.views(taken))
        known = {view.storage for view, _ in event.inputs}
        fresh = [view for view, _ in event.outputs if view.storage not in known]
        writes = unique(event.written_arguments() + fresh)
        for view in reads:
            self.read(event, view)
        recipes = {}
        for view in writes:
            self.memory.write(view, event.itemsize(view))
            recipes[self.memory.id_of(view)] = recipe_of(numpy_of(event.value(view)), view.dtype)
        call = {"reads": [self.memory.id_of(view) for view in reads], "writes": recipes}
        return call, reads + writes, [(self.memory.id_of(view), view) for view in writes]

    def read(self, event, view):
        if self.memory.read(view, lambda: event.content(view)) and self.values is not None:
            self.memory.id_of(view)
            self.values.storage(self.memory.storage(view).id, event.content(view))

    def encode(self, kind, value):
        if value is None:
            return None
        if kind == "tensor":
            return self.memory.id_of(value)
        if kind == "tensors":
            return [None if view is None else self.memory.id_of(view) for view in value]
        if kind == "scalar":
            dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
            return {"dtype": dtype, "value": text_of(value if dtype == "float64" else int(value))}
        if kind == "floating":
            return text_of(float(value))
        if kind == "generator":
            return {"seed": torch.initial_seed() % 2**63, "offset": self.drawn}
        return list(value) if kind == "integers" else value

    def append(self, event, number, call, used, results):
        head = {"overload": event.overload, "phase": self.phase}
        layer, source = self.origins.get(number, ("", ""))
        if self.phase == "optimizer":
            layer = self.owner_of(used)
        entry = {**head, **origin(number, layer, source), **call}
        index = len(self.calls)
        self.calls.append(entry)
        if self.phase == "backward":
            self.links.called(lambda forward: self.assign(index, forward))
        if self.values is not None:
            for place, view in results:
                self.values.result(index, place, event.value(view))

    def assign(self, index, number):
        """Gives a call of the backward pass its forward operator."""
        if number is None:
            return
        entry = self.calls[index]
        head = {"overload": entry.pop("overload"), "phase": entry.pop("phase")}
        self.calls[index] = {**head, **origin(number, *self.origins[number]), **entry}

    def owner_of(self, views):
        """The module that the tensors of an optimiser's call belong to; its results then belong there too."""
        storages = [self.memory.storage(view) for view in views]
        owners = {storage.owner for storage in storages if storage.owner}
        if len(owners) != 1:
            return ""
        owner = owners.pop()
        for storage in storages:
            storage.owner = owner
        return owner

    @contextlib.contextmanager
    def following(self, model):
        """Tracks which module runs."""
        handles = []
        for name, module in model.named_modules():
            handles.append(module.register_forward_pre_hook(lambda *_, name=name: self.layers.append(name)))
            handles.append(module.register_forward_hook(lambda *_: self.leave()))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def leave(self):
        self.layers.pop()


def origin(number, layer, source):
    members = {"forward_id": number, "layer": layer, "source": source}
    return {name: value for name, value in members.items() if value not in (None, "")}


def unique(views):
    return list(dict.fromkeys(views))


def places(function, arguments, role):
    """[(place, view)] of the tensors that a call of the standard reads or writes; `tensors.2` in a list."""
    found = []
    for parameter in standard.functions()[function]:
        value = arguments[parameter.name]
        if not getattr(parameter, role) or value is None:
            continue
        if parameter.kind == "tensor":
            found.append((parameter.name, value))
        elif parameter.kind == "tensors":
            found += [(f"{parameter.name}.{i}", view) for i, view in enumerate(value) if view is not None]
    return found
