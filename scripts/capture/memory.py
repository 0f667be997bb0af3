"""The storages and tensors of a recording, and the part of each storage that has been written so far."""
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import BadInput
from .mapping import View
from .recipes import recipe_of


def dtype_name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def elements_of_storage(tensor):
    """The whole storage of a tensor as a dense tensor of its dtype."""
    count = storage_of(tensor).nbytes() // tensor.element_size()
    return torch.as_strided(tensor.detach(), (count,), (1,), 0)


def numpy_of(tensor):
    """bfloat16, which numpy lacks, comes as float32: the same numbers."""
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def dense_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@dataclass
class Storage:
    """A block of memory, from its allocation to its release: the next one at the same address is another block."""
    nbytes: int
    alive: Any = None  # a weak reference, which keeps the address from being used again
    known: bool = False  # whether every byte was written by a call, or is in the recipe
    written: Any = None  # a mask of the written bytes, if only some were
    fill: Any = None
    owner: str = ""  # the module whose parameter, gradient or optimiser state it holds
    id: str = ""

    def grow(self, nbytes):
        """resize_ may make it larger; the new part has not been written."""
        if nbytes <= self.nbytes:
            return
        written = self.written
        if written is None:
            written = np.full(self.nbytes, self.known)
        self.written = np.concatenate([written, np.zeros(nbytes - self.nbytes, bool)])
        self.nbytes, self.known = nbytes, False


@dataclass
class Memory:
    storages: list = field(default_factory=list)
    by_address: dict = field(default_factory=dict)
    named_storages: list = field(default_factory=list)  # the storages that calls use, in the order of their ids
    tensors: dict = field(default_factory=dict)  # View: id

    def number_of(self, tensor):
        """Position of a tensor's storage."""
        if tensor.layout != torch.strided:
            raise BadInput(f"a {tensor.layout} tensor of shape {tuple(tensor.shape)}: captures hold dense tensors "
                           "only; turn sparse gradients off (nn.Embedding(sparse=False))")
        storage = storage_of(tensor)
        number = self.by_address.get(storage._cdata)
        if number is None:
            number = self.by_address[storage._cdata] = len(self.storages)
            self.storages.append(Storage(storage.nbytes(), StorageWeakRef(storage)))
        self.storages[number].grow(storage.nbytes())
        return number

    def view_of(self, tensor):
        return View(self.number_of(tensor), dtype_name(tensor), tuple(tensor.shape), tuple(tensor.stride()),
                    tensor.storage_offset())

    def storage(self, view):
        return self.storages[view.storage]

    def temporary(self, view, itemsize):
        """A dense tensor like `view` in a storage of its own, which PyTorch does not have."""
        count = int(np.prod(view.shape, dtype=np.int64))
        self.storages.append(Storage(count * itemsize))
        return View(len(self.storages) - 1, view.dtype, view.shape, dense_strides(view.shape), 0)

    def forget(self, tensor):
        """No call of the capture changed its storage: from now on it is another storage, with this content."""
        number = self.number_of(tensor)
        old = self.storages[number]
        self.by_address[storage_of(tensor)._cdata] = len(self.storages)
        self.storages.append(Storage(old.nbytes, old.alive, owner=old.owner))

    def read(self, view, elements):
        """Notes that a call reads a view. elements(): the storage's content before. True when it becomes the fill."""
        storage = self.storage(view)
        if storage.known or storage.nbytes == 0 or 0 in view.shape:
            return False
        content = elements()
        itemsize = content.element_size()
        missing = np.ones(storage.nbytes, bool) if storage.written is None else ~storage.written
        if storage.written is not None and not bytes_of(missing, view, itemsize).any():
            return False
        storage.known, storage.written = True, None
        values = numpy_of(content)
        storage.fill = recipe_of(values[missing[:len(values) * itemsize:itemsize]], view.dtype)
        return True

    def write(self, view, itemsize):
        """Notes that a call has written a view."""
        storage = self.storage(view)
        if storage.known or 0 in view.shape:
            return
        if storage.written is None:
            storage.written = np.zeros(storage.nbytes, bool)
        bytes_of(storage.written, view, itemsize)[...] = True
        if storage.written.all():
            storage.known, storage.written = True, None

    def id_of(self, view):
        """The tensor's id in the capture. Ids count up in the order in which calls use them."""
        storage = self.storage(view)
        if not storage.id:
            storage.id = f"s{len(self.named_storages)}"
            self.named_storages.append(storage)
        return self.tensors.setdefault(view, f"t{len(self.tensors)}")


def bytes_of(mask, view, itemsize):
    """The part of a mask over a storage's bytes that a view covers."""
    start = mask[view.offset * itemsize:]
    return np.lib.stride_tricks.as_strided(start, (*view.shape, itemsize), (*[s * itemsize for s in view.strides], 1))
