#!/usr/bin/env bash
# The same set-up as quickstart.sh with the packages that tests need, then every test. --torch installs Debian's PyTorch,
# builds libdiopi_torch.so and tests it. --full adds the long tests (sanitizers, each header alone, fuzzing for seconds,
# the mutation score, bisection's score, all operator cases, as root a Slurm job array, the build for aarch64 under
# qemu, the packages in a bare Debian).
set -euo pipefail
cd "$(dirname "$0")/.."

full=0
packages=(--tests --package)
for argument in "$@"; do
    case $argument in
        --full) full=1 ;;
        --torch)
            packages+=(--torch)
            export DIOPI_TORCH=ON ;;
        *) echo "usage: scripts/test.sh [--torch] [--full]" >&2; exit 2 ;;
    esac
done

scripts/install_dependencies.sh "${packages[@]}"
scripts/build.sh release
ctest --test-dir build/release --no-tests=error --output-on-failure -j "$(nproc)"

if [ $full -eq 1 ]; then
    scripts/build.sh asan unit_tests diopi
    ctest --test-dir build/asan --output-on-failure -j "$(nproc)" -R '^unit:'
    tests/check_headers.py --alone
    scripts/fuzz.sh 5
    build/release/bin/diopi_mutation
    build/release/bin/diopi_bisect_score
    build/release/bin/diopi test --quiet --run build/full_run --csv build/full_report.csv
    build/release/bin/diopi test --impl sim --sim-config tests/cli/float32_int32_device.json --adaptor float32_int32 \
        --quiet --run build/adapted_run --csv build/adapted_report.csv
    if [ -e build/release/lib/libcuda_on_host.so ]; then
        build/release/bin/diopi test --impl build/release/lib/libcuda_on_host.so --quiet --run build/cuda_on_host_run \
            --csv build/cuda_on_host_report.csv
    fi
    if [ "$(id -u)" -eq 0 ]; then
        scripts/slurm_demo.sh
    else
        echo "scripts/slurm_demo.sh left out: it starts Slurm's daemons and must run as root"
    fi
    if unshare --user --map-root-user --mount true; then
        scripts/build_aarch64.sh
        for architecture in x86_64 aarch64; do
            scripts/package.sh --arch $architecture
            tests/check_bare_debian.sh $architecture
        done
    else
        echo "the packages and aarch64 left out: this user may not make user namespaces; run it as root"
    fi
fi
