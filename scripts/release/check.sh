#!/usr/bin/env bash
# Checks a release: its checksums, that no path of this machine is in a program, packages (lintian, rpmlint, installed in clean
# roots), programs (run, those of another processor under emulation), the image's file system (run in a chroot), and the
# documents. It needs what `setup-peers.sh release` installs, and root for roots of its own.
#
#   check.sh [DIRECTORY]      default: dist
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/source.sh

out="$(realpath "${1:-dist}")" cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "check: $*" >&2; exit 1; }
expected="dayone $VERSION"

(cd "$out" && sha256sum --check --quiet SHA256SUMS)

# run ROOT ARCHITECTURE COMMAND...: in ROOT alone; another processor is emulated
run() {
  local root="$1" architecture="$2"
  shift 2
  if [ "$architecture" = "$(dpkg --print-architecture)" ]; then
    chroot "$root" "$@"
  else
    install -D "/usr/bin/qemu-aarch64-static" "$root/.emulator"
    chroot "$root" /.emulator "$@"
    rm "$root/.emulator"
  fi
}

version_of() {
  local said
  said="$(run "$@" --version)"
  [ "$(head -n 1 <<<"$said")" = "$expected" ] || fail "$2 says: $said"
  grep -q "^commit: ${DAYONE_COMMIT:-unknown}" <<<"$said" || fail "$2 says: $said"
}

for architecture in amd64 arm64; do
  archive="$out/dayone-$VERSION-linux-$architecture.tar.gz"
  [ -e "$archive" ] || continue
  root="$work/$architecture-archive"
  mkdir "$root"
  tar -x -f "$archive" -C "$root" --strip-components 1
  program="$root/usr/local/bin/dayone"
  version_of "$root" "$architecture" /usr/local/bin/dayone
  # A static program has no interpreter.
  readelf --program-headers "$program" | grep -q INTERP && fail "$architecture is not static"
  for path in "$PWD" "${CARGO_HOME:-$HOME/.cargo}" "${CARGO_TARGET_DIR:-$PWD/target}" "$cache"; do
    ! grep -qF "$path/" "$program" || fail "$architecture has $path: $(strings "$program" | grep -F "$path/" | head -n 3)"
  done

  package="$(ls "$out"/dayone_"$VERSION"*_"$architecture".deb)"
  lintian --fail-on error,warning --allow-root "$package" || fail "lintian finds mistakes in $package"
  root="$work/$architecture-deb"
  mkdir -p "$root"/var/lib/dpkg/{info,updates} "$root/bin"
  touch "$root/var/lib/dpkg/status"
  cp /bin/busybox "$root/bin/sh"
  dpkg --root="$root" --log=/dev/null --force-architecture --install "$package" >/dev/null
  version_of "$root" "$architecture" /usr/bin/dayone

  package="$(ls "$out"/dayone-"$VERSION"*."$([ "$architecture" = amd64 ] && echo x86_64 || echo aarch64)".rpm)"
  rpmlint --config packaging/rpmlint.toml --strict "$package" || fail "rpmlint finds mistakes in $package"
  root="$work/$architecture-rpm"
  mkdir -p "$root/bin"
  cp /bin/busybox "$root/bin/sh"
  rpm --root "$root" --ignorearch --nodeps --install "$package"
  rpm --root "$root" --nodeps --verify dayone || fail "rpm does not find what it has installed"
  version_of "$root" "$architecture" /usr/bin/dayone

  # The image, as a client of registries reads it.
  skopeo copy --quiet --override-arch "$architecture" "oci-archive:$out/dayone-$VERSION.oci.tar" "dir:$work/$architecture-image"
  root="$work/$architecture-rootfs"
  mkdir "$root"
  tar -x -z -f "$work/$architecture-image/$(jq -r '.layers[0].digest' "$work/$architecture-image/manifest.json" | cut -d : -f 2)" -C "$root"
  version_of "$root" "$architecture" /dayone
  run "$root" "$architecture" /dayone explain ip-not-enabled >/dev/null

  "$cache/spdx-tools-0.8.5/bin/pyspdxtools" --infile "$out/dayone-$VERSION-linux-$architecture.spdx.json"
done
echo "check: the release in $out is sound"
