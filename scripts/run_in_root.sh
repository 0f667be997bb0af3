#!/usr/bin/env bash
# Runs a command in a root file system that scripts/debian_root.sh unpacked, with /dev, /proc, /tmp and the named
# folders of this machine under their own names. It needs no root where user namespaces are allowed, changes nothing
# outside, and leaves no process. Usage: scripts/run_in_root.sh ROOT [FOLDER...] -- COMMAND...
# qemu runs the programs of aarch64: it is registered in the command's own namespace (Linux 6.7 or later), unless this
# machine has registered it already.
set -euo pipefail

root=$(realpath "$1")
shift
folders=(/dev /proc /tmp)
while [ "$1" != -- ]; do
    folders+=("$(realpath "$1")")
    shift
done
shift

prepare='
set -euo pipefail
root=$1
shift
registry=/proc/sys/fs/binfmt_misc
if grep -q ^arm64: "$root/.packages" && [ ! -e $registry/qemu-aarch64 ]; then
    qemu=$(command -v qemu-aarch64-static)
    mount -t binfmt_misc binfmt_misc $registry ||
        { echo "the kernel cannot register qemu for a namespace (Linux 6.7); install binfmt-support" >&2; exit 1; }
    # The first 20 bytes of an ELF file: 64 bits, little-endian, a program or a shared object, machine 183. F opens
    # qemu now, because it is not in the new root.
    magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    printf "%s" ":qemu-aarch64:M::$magic:$mask:$qemu:F" > $registry/register
fi
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --rbind "$1" "$root$1"
    shift
done
shift
folder=/
[ ! -d "$root$PWD" ] || folder=$PWD
# This shell stays as the first process of the namespace, which ends all others when the command has ended.
unshare --root="$root" --wd="$folder" "$@" || exit $?
'
exec unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc \
    bash -c "$prepare" "$0" "$root" "${folders[@]}" -- "$@"
