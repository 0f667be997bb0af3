"""Installs the build into a temporary folder, checks its files, and builds and runs a project that uses it."""

import subprocess
import sys
import tempfile
from pathlib import Path

WANTED = [
    "bin/diopi", "include/diopi/diopirt.h", "include/diopi/functions.h", "include/diopi/functions.inc",
    "include/diopi/functions_ext.h", "include/diopi/functions_mmcv.h", "include/diopi/functions_lmdeploy.h",
    "include/diopi/functions_sparse.h", "include/diopi/device_functions.h", "share/diopi/cases/schema.json",
    "share/diopi/cases/device_config_schema.json", "share/diopi/cases/ops/elementwise.json",
    "share/diopi/cases/models/resnet50.json",
]


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    build, project = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "prefix"
        run("cmake", "--install", build, "--prefix", str(prefix))
        missing = [name for name in WANTED if not (prefix / name).exists()]
        if missing:
            sys.exit(f"not installed: {', '.join(missing)}")
        # The installed program finds the installed cases.
        models = run(str(prefix / "bin/diopi"), "gen", "--list-models").split()
        if len(models) != 43:
            sys.exit(f"the installed program lists {len(models)} models instead of 43")
        run("cmake", "-S", project, "-B", f"{folder}/consumer", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", f"{folder}/consumer")
        if run(f"{folder}/consumer/host").strip() != "runtime 1.0.0":
            sys.exit("the host did not reach the installed runtime")
    print("installed, found and used")


if __name__ == "__main__":
    main()
