#!/usr/bin/env bash
# The checks that need a GPU: is the cuda backend correct, is it fast? Run it on a machine with a GPU (docs/cuda.md).
#
#     scripts/gpu_check.sh [OPTIONS]                             all parts, or some; --help lists them
#     scripts/gpu_check.sh --bundle FILE [--build-dir DIR]       FILE: a folder, or NAME.tar.xz, NAME.tar.zst
#
# --bundle collects the stripped program, the shared libraries that it needs, the exported ones, the cases and these
# scripts: on a machine that has none of them, `tar xf FILE -C DIR` and `DIR/scripts/gpu_check.sh` run the checks.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)

# The machine has the libraries of the C library and of the driver.
libraries_of() {
    ldd "$1" | awk '$3 ~ /^\// { print $3 }' |
        grep -Ev '/(libc|libm|libmvec|libdl|libpthread|librt|libresolv|ld-linux[^/]*|libcuda|libnvidia[^/]*)\.so'
}

# gather BUILD FOLDER
gather() {
    local build=$1 folder=$2 library
    local program=$build/bin/diopi
    [[ -x $program ]] || { echo "gpu_check.sh: no $program; build it first: DIOPI_CUDA=ON scripts/build.sh release" >&2; exit 2; }
    [[ -f $build/lib/cuda/libdiopi_impl.so ]] ||
        echo "gpu_check.sh: warning: $build has no cuda backend; build it: DIOPI_CUDA=ON scripts/build.sh release" >&2
    mkdir -p "$folder"/{bin,lib/cuda,scripts,tests,libdiopi}
    strip -o "$folder/bin/diopi" "$program"
    libraries_of "$program" | while read -r library; do
        cp -L "$library" "$folder/lib/"
        strip --strip-unneeded "$folder/lib/${library##*/}" 2> /dev/null || true
    done
    for library in libdiopi_impl.so cuda/libdiopi_impl.so; do
        [[ ! -f $build/lib/$library ]] || strip --strip-unneeded -o "$folder/lib/$library" "$build/lib/$library"
    done
    rm -rf "$folder"/{cases,tests/gpu,libdiopi/include}
    cp -r "$root/cases" "$folder/cases"
    cp -r "$root/tests/gpu" "$folder/tests/gpu"
    cp -r "$root/libdiopi/include" "$folder/libdiopi/include"
    mkdir -p "$folder/libdiopi/schema"
    cp "$root"/libdiopi/schema/*.inc "$folder/libdiopi/schema/"
    cp "$root"/scripts/{gpu_check.sh,gpu_check.py,gpu_bench.py,schema_rows.py} "$folder/scripts/"
}

# pack FOLDER FILE
pack() {
    local compress='xz -6 -T0'
    [[ $2 != *.zst ]] || compress='zstd -12 -T0 -q'
    tar -C "$1" -cf - . | $compress > "$2"
}

bundle=
build=$root/build/release
rest=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --bundle) bundle=${2:?--bundle needs a folder or a file}; shift ;;
        --build-dir) build=${2:?--build-dir needs a folder}; shift ;;
        *) rest+=("$1") ;;
    esac
    shift
done

if [[ -z $bundle ]]; then
    command -v python3 > /dev/null || { echo "gpu_check.sh: python3 is needed; install it" >&2; exit 2; }
    exec python3 -B "$root/scripts/gpu_check.py" --root "$root" --build-dir "$build" "${rest[@]}"
fi
if [[ ${#rest[@]} -gt 0 ]]; then
    echo "gpu_check.sh: ${rest[0]} cannot be used with --bundle; give only --build-dir" >&2
    exit 2
fi
case $bundle in
    *.tar.xz | *.tar.zst)
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        gather "$build" "$folder"
        pack "$folder" "$bundle" ;;
    *.tar* | *.zip) echo "gpu_check.sh: $bundle: it can be a folder, NAME.tar.xz or NAME.tar.zst" >&2; exit 2 ;;
    *) gather "$build" "$bundle" ;;
esac
du -sh --apparent-size "$bundle"
