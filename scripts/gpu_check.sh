#!/usr/bin/env bash
# What needs a GPU: is the cuda backend right, is it fast? Run it where a GPU is (docs/cuda.md).
#
#     scripts/gpu_check.sh [--quick] [--build-dir DIR] [--out DIR]
#     scripts/gpu_check.sh --bundle DIR [--build-dir DIR]
#
# --bundle     only copies the stripped program, the shared libraries that it needs, the cases and these scripts to DIR:
#              on a machine without them, `DIR/scripts/gpu_check.sh` does the rest
# --quick      a sample of the operator cases
# --build-dir  where release is built (build/release)
# --out        where reports and tables are written (gpu_check)
#
# In turn: the runtime suite, all operator cases and all of ResNet-50's with every check, compute-sanitizer's memcheck
# and racecheck over a sample, then benchmarks beside PyTorch, if there is one. The last table is the one for
# docs/performance.md. Exit code 0: all is right; 1: something failed, and the rest ran all the same.
set -uo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/release
out=$PWD/gpu_check
bundle=
quick=no
while [[ $# -gt 0 ]]; do
    case $1 in
        --bundle) bundle=${2:?--bundle needs a folder}; shift ;;
        --build-dir) build=${2:?--build-dir needs a folder}; shift ;;
        --out) out=${2:?--out needs a folder}; shift ;;
        --quick) quick=yes ;;
        *) echo "gpu_check.sh: unknown option $1; there are --quick, --build-dir DIR, --out DIR, --bundle DIR" >&2; exit 2 ;;
    esac
    shift
done

# Those of the C library and of the driver belong to the machine.
libraries_of() {
    ldd "$1" | awk '$3 ~ /^\// { print $3 }' |
        grep -Ev '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*|libcuda|libnvidia[^/]*)\.so'
}

if [[ -n $bundle ]]; then
    set -e
    program=$build/bin/diopi
    [[ -x $program ]] || { echo "gpu_check.sh: no $program; build it first: scripts/build.sh release" >&2; exit 2; }
    mkdir -p "$bundle"/{bin,lib,scripts}
    strip -o "$bundle/bin/diopi" "$program"
    libraries_of "$program" | while read -r library; do
        cp -L "$library" "$bundle/lib/"
        strip --strip-unneeded "$bundle/lib/${library##*/}" 2> /dev/null || true
    done
    rm -rf "$bundle/cases"
    cp -r "$root/cases" "$bundle/cases"
    cp "$root/scripts/gpu_check.sh" "$root/scripts/gpu_check.py" "$bundle/scripts/"
    du -sh "$bundle"
    exit 0
fi

program=$build/bin/diopi
if [[ -x $root/bin/diopi && -d $root/lib ]]; then
    program=$root/bin/diopi
    export LD_LIBRARY_PATH=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
[[ -x $program ]] || { echo "gpu_check.sh: no $program; build it first: scripts/build.sh release" >&2; exit 2; }
python=$(command -v python3) || { echo "gpu_check.sh: python3 is needed for the sample and the tables" >&2; exit 2; }
# cuDNN and cuBLASLt may be those of PyTorch's packages.
packaged=$("$python" "$root/scripts/gpu_check.py" libraries)
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${packaged}
mkdir -p "$out" && cd "$out" || exit 2
cases=(--cases-dir "$root/cases")

if ! "$program" test --suite runtime --impl cuda > runtime.txt 2>&1; then
    tail -20 runtime.txt
    if grep -q "cuda cannot run here" runtime.txt; then exit 1; fi
fi
failed=0
# step NAME COMMAND...: runs it, shows how it ended, goes on.
step() {
    local name=$1 status=0 start=$SECONDS
    shift
    "$@" > "$name.txt" 2>&1 || status=$?
    [[ $status -eq 0 ]] || failed=1
    printf '%-26s exit code %-3s %5d s   %s\n' "$name" "$status" $((SECONDS - start)) "$(tail -1 "$name.txt" | cut -c1-100)"
}

tail -1 runtime.txt
if [[ $quick == no ]]; then
    step operators "$program" test --impl cuda --quiet --run operators --csv operators.csv "${cases[@]}"
    step strided "$program" test --impl cuda --quiet --strided --run strided --csv strided.csv "${cases[@]}"
    step resnet50 "$program" test --impl cuda --quiet --model resnet50 --run resnet50 --csv resnet50.csv "${cases[@]}"
else
    step operators "$program" test --impl cuda --quiet --shard 1/20 --run operators --csv operators.csv "${cases[@]}"
fi
# The numbers of one operator case each of those that passed, small ones.
mapfile -t sample < <("$python" "$root/scripts/gpu_check.py" sample operators/journal.jsonl)
if command -v compute-sanitizer > /dev/null && [[ ${#sample[@]} -gt 0 ]]; then
    for tool in memcheck racecheck; do
        step "$tool" compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 77 \
            "$program" test --impl cuda --checks none --quiet --run "$tool" --csv "$tool.csv" "${cases[@]}" \
            --in-order "${sample[@]}"
    done
else
    echo "compute-sanitizer left out: it is not on the PATH, or no case passed"
fi
"$python" "$root/scripts/gpu_check.py" bench "$program" "$root/cases" || failed=1
exit $failed
