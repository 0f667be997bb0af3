"""Makes the folder that scripts/package.sh packs, and checks that it is complete and runs from elsewhere.

Usage: check_archive.py SOURCE BUILD
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
# The C and C++ runtimes, which every Debian has.
RUNTIME = re.compile(r"linux-vdso|.*ld-linux|lib(c|m|mvec|dl|pthread|rt|resolv|gcc_s|stdc\+\+)\.so")
WANTED = ["bin/diopi", "lib/libdiopi.so", "lib/libdiopi_impl.so", "lib/libopenblas.so.0", "include/diopi/diopirt.h",
          "lib/cmake/diopi/diopi-config.cmake", "share/diopi/cases/ops/elementwise.json", "share/doc/diopi/README.md",
          "share/doc/diopi/docs/test.md", "share/doc/diopi/licences/libhdf5-103-1"]


def run(*command: object) -> str:
    # Without variables: the program must find its libraries and its cases by itself.
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd="/", timeout=300,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary) / "a folder"
        run(SOURCE / "scripts/package.sh", "--folder", home, "--build", BUILD)
        if missing := [name for name in WANTED if not (home / name).exists()]:
            sys.exit(f"not in the folder: {', '.join(missing)}")
        for file in [home / "bin/diopi", *home.glob("lib/**/*.so*")]:
            others = [line for line in run("ldd", file).splitlines()
                      if f"=> {home}/" not in line and not RUNTIME.match(line.strip())
                      and line.strip() != "statically linked"]
            if others:
                sys.exit(f"{file} needs libraries that are not in the folder:\n" + "\n".join(others))
        # With one model less in the folder, the program reads these cases and not those of the source tree.
        (home / "share/diopi/cases/models/resnet50.json").unlink()
        models = run(home / "bin/diopi", "gen", "--list-models").split()
        if len(models) != 42:
            sys.exit(f"the program lists {len(models)} models instead of 42: it reads other cases")
        for library in ("cpu", home / "lib/libdiopi_impl.so"):
            run(home / "bin/diopi", "test", "--impl", library, "--fname", "argmax", "--level", "1", "--quiet",
                "--csv", f"{temporary}/report.csv", "--run", f"{temporary}/run")
    print("complete, and runs from elsewhere")


if __name__ == "__main__":
    main()
