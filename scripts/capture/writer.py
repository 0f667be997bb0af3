"""Writes a recording in the form of docs/capture.md."""
import os
import pathlib

import numpy as np
import torch

from .memory import numpy_of
from .text import replace_file, to_text

FORMAT = 1


def bfloat16_type():
    """A 16-bit float with 8 bits of exponent, which numpy lacks."""
    import h5py

    stored = h5py.h5t.IEEE_F16LE.copy()
    stored.set_fields(15, 7, 8, 0, 7)
    stored.set_ebias(127)
    return stored


class Values:
    """The HDF5 file, written during the recording; it gets its name when it is complete."""

    def __init__(self, path):
        import h5py

        self.path = pathlib.Path(path)
        self.part = self.path.with_suffix(".h5.part")
        self.file = h5py.File(self.part, "w")
        self.file.create_group("storages")
        self.file.create_group("calls")

    def put(self, place, tensor):
        if tensor.dtype != torch.bfloat16:
            self.file.create_dataset(place, data=numpy_of(tensor))
            return
        import h5py

        folder, _, name = place.rpartition("/")
        bits = tensor.detach().cpu().contiguous().view(torch.int16).numpy()
        space = h5py.h5s.create_simple(bits.shape) if bits.shape else h5py.h5s.create(h5py.h5s.SCALAR)
        group, stored = self.file.require_group(folder), bfloat16_type()
        dataset = h5py.Dataset(h5py.h5d.create(group.id, name.encode(), stored, space))
        if bits.size:
            dataset.id.write(h5py.h5s.ALL, h5py.h5s.ALL, bits, stored)
        dataset.attrs["dtype"] = np.bytes_("bfloat16")

    def storage(self, name, elements):
        self.put(f"storages/{name}", elements)

    def result(self, call, place, tensor):
        self.put(f"calls/{call}/{place}", tensor)

    def finish(self, name, calls):
        self.file.attrs.update({"diopi_format": 1, "diopi_capture": FORMAT, "name": name, "calls": calls})
        self.file.close()
        os.replace(self.part, self.path)

    def drop(self):
        self.file.close()
        self.part.unlink(missing_ok=True)


def tensor_lines(recorder, labels, gradients):
    """{id: members}. labels: {view: text}; gradients: {view: the parameter's view}."""
    memory, lines = recorder.memory, {}
    for view, name in memory.tensors.items():
        members = {"storage": memory.storage(view).id, "dtype": view.dtype, "shape": list(view.shape),
                   "strides": list(view.strides), "offset": view.offset}
        if view in labels:
            members["label"] = labels[view]
        parameter = gradients.get(view)
        if parameter in memory.tensors:
            members["grad_of"] = memory.tensors[parameter]
        lines[name] = members
    return lines


def storage_lines(recorder):
    lines = {}
    for storage in recorder.memory.named_storages:
        lines[storage.id] = {"nbytes": storage.nbytes, **({"fill": storage.fill} if storage.fill else {})}
    return lines


def write(path, name, model, recorder, labels, gradients, values=None):
    """Writes the JSON file, and completes the HDF5 file when there is one."""
    path = pathlib.Path(path)
    members = {"diopi_capture": FORMAT, "name": name, "model": model,
               "generator": f"capture_torch.py, PyTorch {torch.__version__}"}
    if values is not None:
        values.finish(name, len(recorder.calls))
        members["values"] = values.path.name
    tensors = tensor_lines(recorder, labels, gradients)
    tables = {"storages": storage_lines(recorder), "tensors": tensors, "calls": recorder.calls}
    replace_file(path, to_text(members, tables))
