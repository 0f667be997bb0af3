#!/usr/bin/env bash
# Installs the missing packages of those that diopi needs (Debian 12, root or sudo). Prints nothing when none is
# missing.
# --tests adds the packages for the tests and benchmarks, --torch PyTorch with its headers, --fuzz those for
# scripts/fuzz.sh, --package those for scripts/package.sh, --aarch64 those for scripts/build_aarch64.sh.
# --list-libraries installs nothing, and prints the packages with the headers and libraries that the build and its tests
# use: a build for another machine takes them from that machine's packages.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config)   # for the build
libraries=(
    libfmt-dev libcli11-dev nlohmann-json3-dev libhdf5-dev libdnnl-dev libhwy-dev librandom123-dev
    libelf-dev                                # to read a vendor's library without loading it
    ocl-icd-opencl-dev                        # the CMake package of libdnnl-dev looks for it; examples/opencl
    libopenblas0-pthread                      # the reference's float64 matrix products; found at run time
)
for argument in "$@"; do
    case $argument in
        --tests)
            packages+=(
                catch2 libbenchmark-dev
                chromium                          # opens the page of diopi report --html
                libimgui-dev libglfw3-dev libgl-dev libpng-dev     # the window of diopi report --gui
                xvfb xdotool libgl1-mesa-dri fonts-dejavu-core     # its screen, keyboard, OpenGL and letters in tests
                opencl-headers pocl-opencl-icd    # for examples/opencl: OpenCL on the processor
                python3 python3-h5py              # also for scripts that read baselines
            ) ;;
        --torch) packages+=(libtorch-dev python3-torch) ;;
        --fuzz) packages+=(clang libclang-rt-dev) ;;
        --package) packages+=(patchelf xz-utils) ;;
        --aarch64) packages+=(g++-aarch64-linux-gnu qemu-user-static) ;;
        --list-libraries)
            echo "${libraries[*]} catch2"
            exit ;;
    esac
done
packages+=("${libraries[@]}")

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install as root: apt-get install ${missing[*]}" >&2; exit 1; }
    root=(sudo)
fi
echo "installing: ${missing[*]}"
"${root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
