#!/usr/bin/env bash
# Makes everything of a release: static programs, packages, a container image, and what says what is in them.
#
#   release.sh [DIRECTORY]      default: dist
#
# ARCHITECTURES (default "amd64 arm64") is for which; RELEASE_KEY a private key (PEM, Ed25519) that signs the provenance. Without
# it, nothing is signed. After `cargo fetch` and `setup-peers.sh release`, nothing is fetched. The same commit and the same
# compilers give the same bytes in any directory (make reproducible).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/source.sh

out="${1:-dist}" architectures="${ARCHITECTURES:-amd64 arm64}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export CARGO_NET_OFFLINE=true
umask 022
case "$DAYONE_COMMIT" in
  *-modified) echo "release.sh: files have changed since the commit; this release says $DAYONE_COMMIT" >&2 ;;
esac
rm -rf "$out" && mkdir -p "$out"

target_of() { case "$1" in amd64) echo x86_64-unknown-linux-gnu ;; arm64) echo aarch64-unknown-linux-gnu ;; esac }

# The manual and the completions of a program for another processor come from one that runs here.
native="$(dpkg --print-architecture)"
case " $architectures " in *" $native "*) ;; *) echo "release.sh: ARCHITECTURES needs $native" >&2; exit 2 ;; esac
programs=() compilers=()
for architecture in "$native" $architectures; do
  program="$work/$architecture/dayone"
  [ -e "$program" ] && continue
  echo "release: building for $architecture"
  scripts/build-static.sh "$architecture" "$program"
  programs+=("$architecture=$program")
done

for architecture in $architectures; do
  echo "release: packages for $architecture"
  name="dayone-$VERSION-linux-$architecture" program="$work/$architecture/dayone" target="$(target_of "$architecture")"
  compiler="${DAYONE_CACHE:-$HOME/.cache/dayone}/rust-$target/bin/rustc"
  [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && compiler=rustc
  compilers+=(--compiler "$architecture=$("$compiler" --version)")
  RUSTC="$compiler" scripts/release/sbom.py --binary "$program" --target "$target" --sbom "$out/$name.spdx.json" \
    --licenses "$work/licenses"
  GENERATOR="$work/$native/dayone" LICENSES="$work/licenses" scripts/packages.sh "$architecture" "$program" "$out"
done

echo "release: the container image and the documents"
scripts/release/oci_image.py --output "$out/dayone-$VERSION.oci.tar" "${programs[@]}"
scripts/release/vex.py >"$out/dayone-$VERSION.openvex.json"
scripts/release/provenance.py "$out" --material ca-certificates.crt=/etc/ssl/certs/ca-certificates.crt \
  "${compilers[@]}" ${RELEASE_KEY:+--key "$RELEASE_KEY"} >"$work/provenance"
mv "$work/provenance" "$out/dayone-$VERSION.intoto.json"
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
ls -l "$out"
