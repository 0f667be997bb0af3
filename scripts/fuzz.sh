#!/usr/bin/env bash
# Builds the fuzz targets (fuzz/targets.hpp) with clang and runs them one after the other: fuzz.sh [SECONDS
# [TARGET...]]. The default is 600 seconds each, and all targets. A finding ends the script with exit code 1 and is kept
# in build/fuzz/findings/TARGET; new inputs that reach more code are kept in build/fuzz/corpus/TARGET for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
case $seconds in '' | *[!0-9]*) echo "usage: scripts/fuzz.sh [SECONDS [TARGET...]]" >&2; exit 2 ;; esac
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for folder in fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
for target in "${targets[@]}"; do
    [ -d "fuzz/corpus/$target" ] || { echo "no fuzz target '$target'; there are: $(ls fuzz/corpus | xargs)" >&2; exit 2; }
done

scripts/install_dependencies.sh --fuzz
[ -f build/fuzz/build.ninja ] || cmake --preset fuzz
cmake --build build/fuzz

# We cannot free the memory that the HDF5 library leaks when it refuses a file.
export LSAN_OPTIONS=suppressions=$PWD/fuzz/leaks.txt:print_suppressions=0
found=()
for target in "${targets[@]}"; do
    corpus=build/fuzz/corpus/$target findings=build/fuzz/findings/$target
    mkdir -p "$corpus" "$findings"
    echo "$target: $seconds s"
    build/fuzz/bin/fuzz --target="$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
        -malloc_limit_mb=1024 -max_len=65536 -print_final_stats=1 -artifact_prefix="$findings/" \
        "$corpus" "fuzz/corpus/$target" > "build/fuzz/$target.log" 2>&1 || found+=("$target")
    grep -aE '(INITED|DONE|ERROR|SUMMARY|runtime error|number_of_executed_units|peak_rss)' "build/fuzz/$target.log" || true
done
[ ${#found[@]} -eq 0 ] && exit 0
echo "findings in ${found[*]}: build/fuzz/findings; repeat one with build/fuzz/bin/fuzz --target=TARGET FILE" >&2
exit 1
