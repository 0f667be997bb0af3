#!/usr/bin/env bash
# Builds, and packs what runs from any folder of a bare Debian 12: build/diopi-VERSION-linux-ARCHITECTURE.tar.xz. It has
# the program, libdiopi_impl.so, libdiopi.so with headers and CMake files, cases, documents, and all shared libraries
# that these need except those of the C and C++ runtimes, with their licences.
# Usage: scripts/package.sh [--arch x86_64|aarch64] [--folder FOLDER [--build BUILD]]
# --folder makes this folder instead of the archive, from what the folder BUILD has already.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    echo "usage: scripts/package.sh [--arch x86_64|aarch64] [--folder FOLDER [--build BUILD]]" >&2
    exit 2
}

architecture=$(uname -m)
folder=
build=
while [ $# -gt 0 ]; do
    [ -n "${2:-}" ] || usage
    case $1 in
        --arch) architecture=$2 ;;
        --folder) folder=$2 ;;
        --build) build=$2 ;;
        *) usage ;;
    esac
    shift 2
done
# The preset, and where its libraries are from: this machine, or the packages of the other one.
case $architecture in
    "$(uname -m)") preset=release root= ;;
    aarch64) preset=aarch64 root=build/aarch64_root ;;
    *) usage ;;
esac
build=${build:-build/$preset}
libraries=$root/usr/lib/$architecture-linux-gnu

scripts/install_dependencies.sh --package
[ -n "$folder" ] || scripts/build.sh "$preset" installed
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=diopi-$version-linux-$architecture
tree=${folder:-build/package/$name}
rm -rf "$tree"
# The window is a component of its own: it needs the machine's OpenGL.
cmake --install "$build" --prefix "$tree" --strip --component Unspecified > /dev/null
licences=$tree/share/doc/diopi/licences
mkdir -p "$licences"

# dynamic TAG FILE: the values of NEEDED, RUNPATH, ... in an ELF file.
dynamic() { readelf -d "$2" | sed -nE "s/.*\($1\).*\[(.*)\]/\1/p"; }

# Where the built program finds libraries that are not the system's, such as a newer oneDNN.
IFS=: read -r -a own_folders <<< "$(dynamic RUNPATH "$build/bin/diopi")"

# path_of LIBRARY: the file in the build's folders or in the system's.
path_of() {
    local candidate
    for candidate in "${own_folders[@]}" "$libraries" "$libraries/openblas-pthread"; do
        [ ! -e "$candidate/$1" ] || { realpath "$candidate/$1"; return; }
    done
    echo "$1 was not found: it is needed by the archive" >&2
    exit 1
}

# bundle LIBRARY: copies it, and its licence.
bundle() {
    local path package
    path=$(path_of "$1")
    cp "$path" "$tree/lib/$1"
    package=$(dpkg-query ${root:+--admindir="$root/var/lib/dpkg"} -S "*/lib/$architecture-linux-gnu/*${path##*/}" |
        sed -n '1s/:.*//p') || true
    if [ -z "$package" ]; then
        echo "$path is of no Debian package, so that its licence is not known; build with Debian's" >&2
        exit 1
    fi
    cp "$root/usr/share/doc/$package/copyright" "$licences/$package"
}

# Libraries of the standard C and C++ runtimes are everywhere, and must be the newest on the machine.
runtime='^(ld-linux.*|lib(c|m|mvec|dl|pthread|rt|resolv|gcc_s|stdc\+\+)\.so.*)$'
bundle libopenblas.so.0                  # the reference opens it at its first product
mapfile -t waiting < <(find "$tree/bin/diopi" "$tree/lib" -type f '(' -name diopi -o -name '*.so*' ')')
while [ ${#waiting[@]} -gt 0 ]; do
    file=${waiting[0]}
    waiting=("${waiting[@]:1}")
    for library in $(dynamic NEEDED "$file"); do
        [[ $library =~ $runtime || -e $tree/lib/$library ]] && continue
        bundle "$library"
        waiting+=("$tree/lib/$library")
    done
done
# Each file finds the libraries beside it, wherever the folder is.
find "$tree/bin" "$tree/lib" -type f '(' -name diopi -o -name '*.so*' ')' | while read -r file; do
    patchelf --set-rpath "\$ORIGIN/$(realpath --relative-to "${file%/*}" "$tree/lib")" "$file"
done

[ -z "$folder" ] || exit 0
# The dates and the order of the files are those of the commit, so that an unchanged tree gives the same archive.
archive=build/$name.tar.xz
date=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar -C build/package --sort=name --owner=0 --group=0 --numeric-owner "--mtime=@$date" -c "$name" |
    xz -6 -T0 > "$archive.part"
mv "$archive.part" "$archive"
rm -rf build/package
echo "$archive: $(du -h "$archive" | cut -f1)"
