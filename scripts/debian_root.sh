#!/usr/bin/env bash
# Unpacks packages of Debian 12, with all that they depend on, into a folder. It installs nothing on this machine and
# needs no root. Usage: scripts/debian_root.sh ARCHITECTURE FOLDER PACKAGE...
# Architectures have Debian's names (amd64, arm64). The package `bare` stands for those of a minimal system. A folder
# that was made from the same list stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

architecture=$1
root=$2
shift 2
list=$architecture:$*
[ "$(cat "$root/.packages" 2>/dev/null)" = "$list" ] && exit 0

packages=()
for package in "$@"; do
    if [ "$package" != bare ]; then
        packages+=("$package")
        continue
    fi
    # What `debootstrap --variant=minbase` installs.
    packages+=('?essential' '?priority(required)' apt usr-is-merged)
done

# apt gets its own state, so that it sees an empty machine of this architecture, and the mirrors of this machine.
state=$PWD/build/apt_$architecture
mkdir -p "$state/lists/partial" "$state/archives/partial"
: > "$state/status"
key=/usr/share/keyrings/debian-archive-keyring.gpg
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' | sort -u |
    sed -nE "s|^([^ ]+ bookworm[^ ]* main)$|deb [signed-by=$key] \1|p" > "$state/sources.list"
options=(
    -qq
    -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o APT::Install-Recommends=false
    -o APT::Sandbox::User= -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state"
    -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
)
echo "unpacking into $root: ${packages[*]}"
apt-get "${options[@]}" update
apt-get "${options[@]}" clean
apt-get "${options[@]}" install -y --download-only "${packages[@]}"

rm -rf "$root"
for folder in bin lib lib64 sbin; do
    mkdir -p "$root/usr/$folder"
    ln -s "usr/$folder" "$root/$folder"
done
# dpkg's lists of files tell `dpkg-query --search` to which package a file belongs.
database=$root/var/lib/dpkg
mkdir -p "$database/info"
for package in "$state"/archives/*.deb; do
    name=$(dpkg-deb --field "$package" Package)
    dpkg-deb --fsys-tarfile "$package" | tar -xv --keep-directory-symlink --no-same-owner -C "$root" |
        sed 's|^\.||; s|/$||; s|^$|/.|' > "$database/info/$name.list"
    printf '%s: %s\n' Package "$name" Status 'install ok unpacked' Version "$(dpkg-deb --field "$package" Version)" \
        Architecture "$architecture" Maintainer - Description - >> "$database/status"
    echo >> "$database/status"
done
apt-get "${options[@]}" clean
# Links that the packages' installation scripts make.
for link in openblas-pthread/libopenblas.so.0:libopenblas.so.0 pkgconfig/hdf5-serial.pc:pkgconfig/hdf5.pc; do
    for target in "$root"/usr/lib/*-linux-gnu/"${link%:*}"; do
        [ ! -e "$target" ] || ln -sr "$target" "${target%/"${link%:*}"}/${link#*:}"
    done
done
# A linker follows absolute links out of the folder.
find "$root" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
    ln -sfr "$root$target" "$link"
done
echo "$list" > "$root/.packages"
