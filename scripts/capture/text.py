"""The text of a capture's JSON file. Needs no PyTorch."""
import json
import os


def to_text(members, tables):
    """JSON with a line for each storage, tensor and call."""
    def text(value):
        return json.dumps(value, allow_nan=False)

    parts = [f"  {text(name)}: {text(value)}" for name, value in members.items()]
    for name, entries in tables.items():
        if isinstance(entries, dict):
            lines = [f"    {text(key)}: {text(value)}" for key, value in entries.items()]
            opening, closing = "{", "}"
        else:
            lines, opening, closing = [f"    {text(value)}" for value in entries], "[", "]"
        body = "\n" + ",\n".join(lines) + "\n  " if lines else ""
        parts.append(f"  {text(name)}: {opening}{body}{closing}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def replace_file(path, text):
    """Writes a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
