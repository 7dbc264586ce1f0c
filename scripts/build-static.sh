#!/usr/bin/env bash
# Builds `dayone` as one file that needs nothing of the system it runs on, for packages, and for a container image without a
# system.
#
#   build-static.sh ARCHITECTURE DESTINATION      ARCHITECTURE: amd64 or arm64; CARGO_PROFILE: release if not said;
#                                                 DAYONE_COMMIT: git's, if not given
#
# It is linked statically against glibc, which is what the tests run with. Its resolver reads /etc/hosts and asks name
# servers by itself; other sources of names (NSS) are not there. For another architecture than this machine's, rustc's
# target and a cross compiler are needed (Debian: rustup target add, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross). Where
# rustc has no such target, `setup-peers.sh release` unpacks a rustc of Debian's that has it.
#
# The same source gives the same bytes in any directory: no path of this machine is in the program.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/source.sh

[ $# = 2 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
profile="${CARGO_PROFILE:-release}"
case "$1" in
  amd64) target=x86_64-unknown-linux-gnu compiler=x86_64-linux-gnu-gcc ;;
  arm64) target=aarch64-unknown-linux-gnu compiler=aarch64-linux-gnu-gcc ;;
  *) echo "build-static.sh: no architecture that is known: $1 (amd64, arm64)" >&2; exit 2 ;;
esac

target_dir="${CARGO_TARGET_DIR:-$PWD/target}"
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  rustc="${DAYONE_CACHE:-$HOME/.cache/dayone}/rust-$target/bin/rustc"
  [ -x "$rustc" ] || {
    echo "build-static.sh: rustc has no target $target: rustup target add $target, or scripts/setup-peers.sh release" >&2
    exit 1
  }
  # Two compilers in one directory would build everything anew whenever they take turns.
  export RUSTC="$rustc"
  target_dir="$target_dir/$target-cross"
fi
export CARGO_TARGET_DIR="$target_dir"

# What stands for the directories of this machine in panics and debug information.
home="${CARGO_HOME:-$HOME/.cargo}"
registries=("$home"/registry/src/*)
remap="--remap-path-prefix=$target_dir=target --remap-path-prefix=$PWD=dayone --remap-path-prefix=$home=cargo"
map="-ffile-prefix-map=$target_dir=target -ffile-prefix-map=$PWD=dayone -ffile-prefix-map=$home=cargo"
for registry in "${registries[@]}"; do
  remap+=" --remap-path-prefix=$registry=crates" map+=" -ffile-prefix-map=$registry=crates"
done

# With --target, flags are for dayone alone and not for what runs while it is built.
variable="${target//-/_}"
export "CARGO_TARGET_${variable^^}_RUSTFLAGS=-C target-feature=+crt-static $remap"
export "CARGO_TARGET_${variable^^}_LINKER=$compiler" "CC_$variable=$compiler" "CFLAGS_$variable=$map"
export LZMA_API_STATIC=1 CARGO_INCREMENTAL=0
# The metric dayone_build_info has it. A container build has no repository.
export DAYONE_COMMIT="${DAYONE_COMMIT:-$(git rev-parse HEAD 2>/dev/null || true)}"
cargo build --locked -p dayone --target "$target" --profile "$profile"

directory="$profile"
[ "$profile" = dev ] && directory=debug
install -D -m 0755 "$target_dir/$target/$directory/dayone" "$2"
