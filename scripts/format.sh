#!/usr/bin/env bash
# Formats our C++ and CUDA files with clang-format 14. --check changes nothing and names the files that differ.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v clang-format >/dev/null || { echo "clang-format is missing: apt-get install clang-format" >&2; exit 2; }
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)
git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format "${mode[@]}"
