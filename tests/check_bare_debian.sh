#!/usr/bin/env bash
# Unpacks the archive of scripts/package.sh in a bare Debian 12, and runs the program there, without any variable of the
# environment. Usage: tests/check_bare_debian.sh x86_64|aarch64
set -euo pipefail
cd "$(dirname "$0")/.."

architecture=$1
root=build/bare_$architecture
case $architecture in x86_64) debian=amd64 ;; aarch64) debian=arm64 ;; esac
scripts/debian_root.sh $debian "$root" bare
home="/opt/a folder"
rm -rf "$root$home"
mkdir -p "$root$home"
tar -xf build/diopi-*-linux-"$architecture".tar.xz -C "$root$home" --strip-components=1

run() {
    echo "\$ $*"
    env -i scripts/run_in_root.sh "$root" -- "$home/bin/diopi" "$@"
}
test=(--quiet --csv /opt/report.csv --run /opt/run)
run --help > /dev/null
run test --fname add --level 1 "${test[@]}"
run test --impl "$home/lib/libdiopi_impl.so" --fname relu --shard 1/8 "${test[@]}"
# The reference opens the BLAS of the archive.
run test --fname mm --level 1 --debug-level 1 "${test[@]}" 2>&1 | grep "libopenblas.so.0 for float64"
