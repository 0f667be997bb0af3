#!/usr/bin/env python3
"""Records one training iteration of a PyTorch module, with forward pass, backward pass and optimiser, as a capture.

docs/capture.md describes the files, docs/capture_torch.md the mapping of the calls. Works with PyTorch 1.13 and 2.
"""
import argparse
import importlib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from capture import BadInput, mapping  # noqa: E402

MODELS = ["resnet18", "resnet50", "llama", "bert", "vit"]
DEFAULT_OPTIMIZERS = {"llama": "adamw", "bert": "adamw", "vit": "adamw"}
DTYPES = ["float32", "float64", "float16", "bfloat16"]
EXAMPLES = """examples:
  scripts/capture_torch.py resnet18                          # resnet18.json: shapes, and recipes for the values
  scripts/capture_torch.py resnet18 --values --image 32      # also resnet18.h5
  scripts/capture_torch.py llama --layers 1 --exclude '.*backward.*' --first 100
  scripts/capture_torch.py --module mine.models:make --optimizer adam --output mine.json

A factory is called without arguments and returns (module, inputs) or (module, inputs, loss): inputs is a tensor, or the
module's arguments as a tuple or a dict; loss takes the module's output and gives a 0-dim tensor.

exit codes: 0 written, 2 bad usage or input, 3 the model could not be run or recorded, 130 interrupted
"""


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def expression(text):
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", nargs="?", choices=MODELS, metavar="MODEL", help="one of " + ", ".join(MODELS))
    add("--module", metavar="PACKAGE.MODULE:FACTORY", help="your own model, imported like a Python module")
    add("--output", metavar="FILE.json", help="default: MODEL.json, or FACTORY.json")
    add("--values", action="store_true", help="keep all values, in FILE.h5")
    add("--include", metavar="REGEX", nargs="+", type=expression, default=[],
        help="record only overloads such as add.Tensor that one of these matches fully")
    add("--exclude", metavar="REGEX", nargs="+", type=expression, default=[],
        help="leave these out; the tensors that they wrote become data")
    add("--first", metavar="N", type=positive, help="stop recording after N calls")
    add("--optimizer", choices=["sgd", "adam", "adamw", "none"],
        help="default: sgd with momentum; adamw for llama, bert and vit")
    add("--warm-up", metavar="N", type=int, default=1,
        help="iterations before the recorded one (default 1: optimisers have their state)")
    add("--batch", metavar="N", type=positive, help="samples in the batch (default 2)")
    add("--image", metavar="N", type=positive, help="side of the images of resnet18 (64), resnet50 (224) and vit (96)")
    add("--seq", metavar="N", type=positive, help="tokens of llama (128) and bert (64)")
    add("--layers", metavar="N", type=positive, help="blocks of llama (4), layers of bert (4), blocks of each stage of vit (2)")
    add("--dtype", choices=DTYPES, default="float32", help="dtype of parameters and floating inputs")
    add("--seed", metavar="N", type=int, default=0, help="seed of weights, data and random operators")
    add("--print-mapping", action="store_true", help="print the table of docs/capture_torch.md and exit")
    options = parser.parse_args(arguments)
    check(parser, options)
    return options


def check(parser, options):
    if options.print_mapping:
        return
    if (options.model is None) == (options.module is None):
        parser.error("name one model (" + ", ".join(MODELS) + ") or give your own with --module")
    if options.module and not re.fullmatch(r"[\w.]+:\w+", options.module):
        parser.error(f"--module {options.module}: write it as package.module:factory")
    if options.warm_up < 0:
        parser.error("--warm-up: a number from 0")
    texts, images = ["llama", "bert"], ["resnet18", "resnet50", "vit"]
    for name, models in (("batch", MODELS), ("image", images), ("seq", texts), ("layers", texts + ["vit"])):
        if getattr(options, name) is not None and options.model not in models:
            parser.error(f"--{name} is for {', '.join(models)} only")
    options.optimizer = options.optimizer or DEFAULT_OPTIMIZERS.get(options.model, "sgd")
    options.name = options.model or options.module.rpartition(":")[2]
    options.output = pathlib.Path(options.output or f"{options.name}.json")
    if options.output.suffix != ".json":
        parser.error(f"--output {options.output}: the name must end with .json")
    if not options.output.parent.is_dir():
        parser.error(f"--output {options.output}: there is no folder {options.output.parent}")


def load_factory(name):
    """The workload from a factory of the user."""
    from capture.models import Workload

    module_name, _, factory_name = name.partition(":")
    sys.path.insert(0, ".")
    try:
        factory = getattr(importlib.import_module(module_name), factory_name)
    except ImportError as error:
        raise BadInput(f"--module {name}: {error}; run from the folder that holds it, or set PYTHONPATH") from None
    except AttributeError:
        raise BadInput(f"--module {name}: {module_name} has no {factory_name}") from None
    made = factory()
    if not isinstance(made, (list, tuple)) or len(made) not in (2, 3):
        raise BadInput(f"--module {name}: the factory must return (module, inputs) or (module, inputs, loss)")
    inputs = made[1] if isinstance(made[1], (list, tuple, dict)) else (made[1],)
    return Workload(made[0], inputs, made[2] if len(made) == 3 else None, f"{name}")


def load(options, torch):
    from capture import models

    torch.manual_seed(options.seed)
    if options.module:
        return load_factory(options.module)
    try:
        return models.MODELS[options.model](options)
    except ImportError:
        raise BadInput(f"{options.model} is torchvision's: install python3-torchvision, or the torchvision of this "
                       "PyTorch") from None


def convert(workload, dtype):
    def converted(value):
        return value.to(dtype) if hasattr(value, "is_floating_point") and value.is_floating_point() else value

    workload.module.to(dtype)
    if isinstance(workload.inputs, dict):
        workload.inputs = {name: converted(value) for name, value in workload.inputs.items()}
    else:
        workload.inputs = tuple(converted(value) for value in workload.inputs)


def summarize(options, recorder):
    calls = len(recorder.calls)
    without = sum(recorder.unmapped.values())
    share = 100.0 * (calls - without) / calls if calls else 100.0
    files = [options.output] + ([options.output.with_suffix(".h5")] if options.values else [])
    sizes = ", ".join(f"{file} {file.stat().st_size / 1e6:.2f} MB" for file in files)
    print(f"{calls} calls, {share:.1f}% with a function of the standard; {len(recorder.memory.tensors)} tensors, "
          f"{len(recorder.memory.named_storages)} storages; {sizes}")
    for overload, count in sorted(recorder.unmapped.items(), key=lambda item: -item[1]):
        print(f"  without a function: {overload} x {count}")


def record(options, torch):
    from capture import recorder, session, writer

    workload = load(options, torch)
    convert(workload, getattr(torch, options.dtype))
    training = session.Session(workload, options.optimizer)
    training.warm_up(options.warm_up)
    selection = recorder.Selection(options.include, options.exclude, options.first)
    values = writer.Values(options.output.with_suffix(".h5")) if options.values else None
    try:
        recording, labels, gradients = training.record(selection, values)
        model = f"{workload.description}, {options.dtype}, optimizer {options.optimizer}"
        writer.write(options.output, options.name, model, recording, labels, gradients, values)
    except BaseException:
        if values is not None:
            values.drop()
        raise
    for pattern in selection.unused():
        print(f"warning: no call matches {pattern}; names look like add.Tensor, convolution", file=sys.stderr)
    summarize(options, recording)


def fail(code, message):
    print(f"capture_torch.py: {message}", file=sys.stderr)
    return code


def main(arguments):
    options = parse(arguments)
    if options.print_mapping:
        print(mapping.document(), end="")
        return 0
    try:
        import torch
    except ImportError:
        return fail(2, "PyTorch cannot be imported; install python3-torch, or run this with the Python that has it")
    try:
        record(options, torch)
    except BadInput as error:
        return fail(2, error)
    except ImportError as error:
        return fail(2, f"{error}; install it (Debian: python3-h5py for --values)")
    except OSError as error:
        return fail(2, f"{error}; choose another --output, or correct the file that the model reads")
    except KeyboardInterrupt:
        return fail(130, "interrupted, nothing was written")
    except Exception as error:  # the model may raise any exception
        return fail(3, f"the iteration could not be recorded: {type(error).__name__}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
