#!/usr/bin/env bash
# Builds `dayone` as one file that needs nothing of the system it runs on, for a container image without a system.
#
#   build-static.sh ARCHITECTURE DESTINATION      ARCHITECTURE: amd64 or arm64; CARGO_PROFILE: release if not said;
#                                                 DAYONE_COMMIT: git's, if not given
#
# It is linked statically against glibc, which is what the tests run with. Its resolver reads /etc/hosts and asks name
# servers by itself; other sources of names (NSS) are not there. For another architecture than this machine's, rustc's
# target and a cross compiler are needed (Debian: rustup target add, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross).
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# = 2 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
profile="${CARGO_PROFILE:-release}"
case "$1" in
  amd64) target=x86_64-unknown-linux-gnu compiler=x86_64-linux-gnu-gcc ;;
  arm64) target=aarch64-unknown-linux-gnu compiler=aarch64-linux-gnu-gcc ;;
  *) echo "build-static.sh: no architecture that is known: $1 (amd64, arm64)" >&2; exit 2 ;;
esac

# With --target, flags are for dayone alone and not for what runs while it is built.
variable="${target//-/_}"
export "CARGO_TARGET_${variable^^}_RUSTFLAGS=-C target-feature=+crt-static"
export "CARGO_TARGET_${variable^^}_LINKER=$compiler" "CC_$variable=$compiler"
export LZMA_API_STATIC=1
# The metric dayone_build_info has it. A container build has no repository.
export DAYONE_COMMIT="${DAYONE_COMMIT:-$(git rev-parse --short=12 HEAD 2>/dev/null || true)}"
cargo build --locked -p dayone --target "$target" --profile "$profile"

directory="$profile"
[ "$profile" = dev ] && directory=debug
install -D -m 0755 "${CARGO_TARGET_DIR:-target}/$target/$directory/dayone" "$2"
