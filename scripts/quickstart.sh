#!/usr/bin/env bash
# Makes the first report on a fresh Debian 12: installs missing packages, builds, and runs the main job on the cpu
# backend.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release diopi
diopi=build/release/bin/diopi

run() {
    printf '\n$ %s\n' "${*/#$diopi/diopi}"
    "$@"
}

run $diopi gen --fname add
run $diopi test --fname add --filter-dtype float64
run $diopi test --model resnet50
run $diopi profile conv2d
run $diopi report

printf '\nThe report is %s/error_report.csv, the program %s/%s\n' "$PWD" "$PWD" "$diopi"
