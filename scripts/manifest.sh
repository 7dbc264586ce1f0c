#!/usr/bin/env bash
# Writes deploy/release as one YAML file for `kubectl apply`.
#
#   manifest.sh DESTINATION [IMAGE]      IMAGE: such as registry.example.com/dayone:0.2.0; deploy/components/container's
#                                        own if not given
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
command -v kustomize >/dev/null ||
  { echo "manifest.sh: kustomize is missing; run scripts/setup-peers.sh" >&2; exit 1; }

# kustomize takes no absolute paths, and `kustomize edit` would change the tree.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp -r deploy "$work/deploy"
if [ -n "${2:-}" ]; then
  (cd "$work/deploy/release" && kustomize edit set image "dayone=$2")
fi
mkdir -p "$(dirname "$1")"
kustomize build "$work/deploy/release" >"$work/manifest.yaml"
mv "$work/manifest.yaml" "$1"
