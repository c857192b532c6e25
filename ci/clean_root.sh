#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean_root.sh ROOT COMMAND…: runs a command as root on a bare Debian 12 in a folder, like a container but without Docker. If
# ROOT does not exist, debootstrap makes it. This checkout's HEAD is cloned to ROOT/weir, and the command runs there:
#   ci/clean_root.sh /tmp/root ci/demo.sh
#   ci/clean_root.sh /tmp/root ci/packages_install_test.sh /packages
# SUITE selects another release of Debian or Ubuntu (noble). UBUNTU_KEYS is the file with Ubuntu's keys, from ubuntu-keyring.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,8s/^# //p' "$0"; exit 2; }
source=$(realpath "$(dirname "$0")/..")
root=$1
shift
suite=${SUITE-bookworm}
if [ ! -e "$root/bin/sh" ]; then
  command -v debootstrap >/dev/null || { echo "clean_root: debootstrap is not here: install it" >&2; exit 1; }
  case $suite in
    jammy | noble | oracular | plucky | questing)
      mirror=${MIRROR-http://archive.ubuntu.com/ubuntu}
      keys=${UBUNTU_KEYS-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
      if [ ! -r "$keys" ]; then
        echo "clean_root: Ubuntu's keys are not in $keys: install ubuntu-keyring. Debian 12 does not have it; there, unpack" \
          "the one in $mirror/pool/main/u/ubuntu-keyring with dpkg -x, and name its ubuntu-archive-keyring.gpg by UBUNTU_KEYS" >&2
        exit 1
      fi
      # Debian's debootstrap may have no script for the release. All Ubuntu releases share one.
      debootstrap --variant=minbase --keyring="$keys" \
        "$suite" "$root" "$mirror" /usr/share/debootstrap/scripts/gutsy
      printf 'deb %s %s main universe\n' "$mirror" "$suite" "$mirror" "$suite-updates" >"$root/etc/apt/sources.list"
      ;;
    *) debootstrap --variant=minbase "$suite" "$root" "${MIRROR-http://deb.debian.org/debian}" ;;
  esac
fi
mount_points=(proc dev sys)
cleanup() {
  for point in "${mount_points[@]}"; do
    if mountpoint -q "$root/$point"; then umount -l "$root/$point"; fi
  done
}
trap cleanup EXIT
for point in "${mount_points[@]}"; do mount --rbind "/$point" "$root/$point" && mount --make-rslave "$root/$point"; done
cp /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "$root/weir"
git clone -q "$source" "$root/weir"
env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  chroot "$root" sh -c 'cd /weir && exec "$@"' sh "$@"
