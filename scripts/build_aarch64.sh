#!/usr/bin/env bash
# Builds for aarch64 on an x86-64 machine, into build/aarch64, and runs the unit tests, PyTorch's golden data among
# them, and cases of ten operators under qemu. Each case must have the same verdict as on this machine.
# Usage: scripts/build_aarch64.sh [UNIT TESTS...]     names or tags as for unit_tests; default: nearly all
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh aarch64 installed unit_tests
scripts/build.sh release diopi
run() { scripts/run_in_root.sh build/aarch64_root . -- "$@"; }

# Catch runs hidden tests, too, where names are only left out. qemu 7.2 has no PR_SET_CHILD_SUBREAPER, so that the
# children of a dead worker live on, and its fork beside OpenMP threads that end has been seen to wait forever; it
# ignores limits of memory. The other tests need a processor's speed; the check of leaks repeats only calls that take
# less than a millisecond.
left_out=(
    '~[.]'
    '~a pool leaves no processes and no descriptors'
    '~workers of a process that has OpenMP threads have threads of their own'
    '~what a process inherits does not count for its limit'
    '~the time is limited' '~the probe is short and takes some time'
    '~roofs are measured through the backend*'
    '~a fault around a call is found by the check for it'
    '~a leak of a small call is found even if the machine delays the call'
)
[ $# -gt 0 ] || set -- "${left_out[@]}"
run build/aarch64/bin/unit_tests "$@"

# An eighth of the cases of ten operators, standard and hard ones.
for operator in add expm1 gelu sum argmax mm batch_norm cross_entropy embedding adam; do
    for preset in release aarch64; do
        test=(build/$preset/bin/diopi test --fname $operator --shard 8/8 --quiet --run build/verdicts/$preset/$operator
              --csv build/verdicts/$preset/$operator.csv)
        if [ $preset = aarch64 ]; then run "${test[@]}"; else "${test[@]}"; fi > /dev/null || [ $? -eq 1 ]
    done
done
tests/same_verdicts.py build/verdicts/release build/verdicts/aarch64
