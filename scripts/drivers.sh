#!/usr/bin/env bash
# Installs what the tests need beyond npm packages, on Debian and Ubuntu: an OpenCL loader with two platforms (PoCL and
# Oclgrind), PyOpenCL, a Vulkan driver that Dawn accepts, a Chromium, a Prometheus, and PostgreSQL. Changes nothing that is
# already in place.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
backports_file=/etc/apt/sources.list.d/effect-gpu-pool-backports.list
minimum_mesa=23

say() { printf 'drivers: %s\n' "$*"; }
fail() {
  printf 'drivers: %s\n' "$*" >&2
  exit 1
}

what_to_install() {
  cat >&2 <<'TEXT'
drivers: this script knows Debian and Ubuntu only. Install by other means:
  OpenCL     an ICD loader (libOpenCL.so.1) and PoCL, https://portablecl.org
  Oclgrind   https://github.com/jrprice/Oclgrind (the OpenCL simulator)
  PyOpenCL   python3 -m pip install pyopencl (only for the comparison with it)
  WebGPU     a Vulkan driver; without a GPU, Mesa's lavapipe 23 or newer. macOS needs none (Metal)
  Chromium   any recent Chromium or Chrome, or: npx playwright-core install chromium
  Prometheus https://prometheus.io/download, its folder in EFFECT_GPU_POOL_PROMETHEUS (only for examples/observed)
  PostgreSQL https://postgresql.org, the folder of its programs in EFFECT_GPU_POOL_POSTGRES (only for tests of packages/fleet)
Then run `npm run backends` to see what is visible. The host backend needs nothing: `npm run demo` works now.
TEXT
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    fail "needs root or sudo to run: $*"
  fi
}

# What apt and the packages' own scripts print is shown only when they fail.
apt_get() {
  local output
  output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@" 2>&1) && return
  printf '%s\n' "$output" >&2
  fail "apt-get $1 failed"
}

update_once() {
  [ -n "${updated:-}" ] && return
  say "reading the package lists (apt-get update)"
  apt_get update
  updated=yes
}

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
version_of() { dpkg-query -W -f='${Version}' "$1"; }
candidate_of() { LC_ALL=C apt-cache policy "$1" | sed -n 's/^ *Candidate: //p' | grep -v '(none)'; }
major_of() { sed -E 's/^[0-9]+://; s/[^0-9].*//' <<<"$1"; }

changed=""
missing=()
lacks() {
  say "$1: NOT installed: $2"
  missing+=("$1")
}

install_package() {
  local package=$1
  shift
  changed=yes
  say "$package: installing"
  apt_get install --yes --no-install-recommends "$@" "$package"
  say "$package: installed $(version_of "$package")"
}

ensure_package() {
  if installed "$1"; then
    say "$1: already there, $(version_of "$1")"
    return
  fi
  update_once
  if candidate_of "$1" >/dev/null; then
    install_package "$1"
  elif [ "$ID" = ubuntu ]; then
    lacks "$1" "no such package in the configured sources; enable universe: sudo add-apt-repository universe"
  else
    lacks "$1" "no such package in the configured sources of $PRETTY_NAME"
  fi
}

# Another vendor's loader (a GPU driver's, say) does as well, and the distribution's would conflict with it.
ensure_opencl_loader() {
  if ! installed ocl-icd-libopencl1 && PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q 'libOpenCL\.so\.1 '; then
    say "ocl-icd-libopencl1: another OpenCL loader is already there"
    return
  fi
  ensure_package ocl-icd-libopencl1
}

# The machine's own mirror, from the entry that serves the release itself: "URI file-of-that-entry".
release_source() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CODENAME) $(COMPONENT) $(SOURCESENTRY)' 'Created-By: Packages' |
    awk -v release="$VERSION_CODENAME" \
      '($2 == release || $3 == release) && $4 == "main" { sub(/:[0-9]+$/, "", $5); print $1, $5; exit }'
}

# A mirror with a key of its own names it in its entry: the same key signs its other suites.
signing_key() { grep -oiE 'signed-by[:=][[:space:]]*/[^][:space:]]+' "$1" | head -n 1 | sed -E 's/^[^/]*//'; }

backports_configured() {
  apt-get indextargets --format '$(RELEASE)' 'Created-By: Packages' | grep -qx "$1"
}

add_backports() {
  local suite=$1 uri entry key options=""
  read -r uri entry < <(release_source) || true
  [ -n "${uri:-}" ] || fail "apt has no source for $VERSION_CODENAME main, so the mirror for $suite is unknown: add one"
  key=$(signing_key "$entry" || true)
  [ -n "$key" ] && options="[signed-by=$key] "
  changed=yes
  say "adding $suite from $uri, in $backports_file"
  as_root sh -c 'printf "%s\n" "$1" >"$2" && chmod 644 "$2"' sh "deb $options$uri $suite main" "$backports_file"
  updated=""
  update_once
}

ensure_mesa() {
  local package=mesa-vulkan-drivers candidate suite="$VERSION_CODENAME-backports"
  if installed $package && [ "$(major_of "$(version_of $package)")" -ge $minimum_mesa ]; then
    say "$package: already there, $(version_of $package)"
    return
  fi
  update_once
  candidate=$(candidate_of $package || true)
  if [ -n "$candidate" ] && [ "$(major_of "$candidate")" -ge $minimum_mesa ]; then
    install_package $package
    return
  fi
  if [ "$ID" != debian ]; then
    lacks $package "Dawn needs Mesa $minimum_mesa or newer, $PRETTY_NAME has ${candidate:-none}"
    return
  fi
  say "$package: $PRETTY_NAME has ${candidate:-none}, Dawn needs $minimum_mesa or newer"
  backports_configured "$suite" || add_backports "$suite"
  install_package $package --target-release "$suite"
  [ "$(major_of "$(version_of $package)")" -ge $minimum_mesa ] || lacks $package "$suite has only $(version_of $package)"
}

browser() {
  local name
  for name in chromium google-chrome google-chrome-stable chromium-browser; do
    if "$name" --version 2>/dev/null; then return; fi
  done
  return 1
}

# Ubuntu's chromium package installs a snap, which a test can neither start in a container nor hand its own profile
# folder; Playwright's build of Chromium has neither limit.
ensure_chromium() {
  local found
  if found=$(browser); then
    say "chromium: already there, $found"
  elif [ "$ID" != ubuntu ]; then
    ensure_package chromium
  elif [ -x "$node" ] && [ -f "$root/node_modules/playwright-core/cli.js" ]; then
    if "$node" "$root/scripts/backends.ts" chromium >/dev/null; then
      say "chromium: already there, Playwright's build"
      return
    fi
    changed=yes
    say "chromium: Ubuntu's is a snap, which tests cannot drive reliably; installing Playwright's build instead"
    "$node" "$root/node_modules/playwright-core/cli.js" install --with-deps chromium ||
      lacks chromium "Playwright's download failed; install google-chrome, or set EFFECT_GPU_POOL_CHROMIUM to a browser"
  else
    lacks chromium "Ubuntu's is a snap, which tests cannot drive reliably; run npm ci first, then this again"
  fi
}

# Installing the package would start a service. The tests need its two programs alone, so it is only unpacked.
ensure_prometheus() {
  local folder=$root/node_modules/.cache/effect-gpu-pool/prometheus programs
  programs=${EFFECT_GPU_POOL_PROMETHEUS:-$(dirname "$(command -v promtool || echo "$folder/usr/bin/promtool")")}
  if [ -x "$programs/prometheus" ] && [ -x "$programs/promtool" ]; then
    say "prometheus: already there, $programs"
    return
  fi
  update_once
  changed=yes
  say "prometheus: unpacking into $folder"
  mkdir -p "$folder"
  (cd "$folder" && apt-get -q download prometheus >download.log 2>&1 && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb) ||
    lacks prometheus "$(tail -n 1 "$folder/download.log")"
}

# Its package would make a database and start a service. The tests start servers of their own.
ensure_postgresql() {
  local settings=/etc/postgresql-common/createcluster.d
  if [ -n "${EFFECT_GPU_POOL_POSTGRES:-}" ] || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    say "postgresql: already there, ${EFFECT_GPU_POOL_POSTGRES:-$(compgen -G '/usr/lib/postgresql/*/bin' | tail -n 1)}"
    return
  fi
  as_root mkdir -p "$settings"
  echo 'create_main_cluster = false' | as_root tee "$settings/effect-gpu-pool.conf" >/dev/null
  ensure_package postgresql
}

[ -r /etc/os-release ] && command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || what_to_install
# shellcheck disable=SC1091
. /etc/os-release
case "$ID ${ID_LIKE:-}" in
  ubuntu* | debian*) ;;
  *ubuntu*) ID=ubuntu ;;
  *debian*) ID=debian ;;
  *) what_to_install ;;
esac
[ -n "${VERSION_CODENAME:-}" ] || fail "$PRETTY_NAME names no release (VERSION_CODENAME), so its packages are unknown"

node=$root/node_modules/.bin/node
[ -x "$node" ] || node=$(command -v node || true)

ensure_opencl_loader
ensure_package pocl-opencl-icd
ensure_package oclgrind
ensure_package python3-pyopencl
ensure_package libvulkan1
ensure_mesa
ensure_chromium
ensure_prometheus
ensure_postgresql

[ -n "$changed" ] || [ ${#missing[@]} -gt 0 ] || say "changed nothing: everything was there already"
[ -d "$root/node_modules/koffi" ] || fail "packages are in place; run npm ci to look at the backends"
say "what a program sees now:"
"$node" "$root/scripts/backends.ts"
[ ${#missing[@]} -eq 0 ] || fail "still missing: ${missing[*]}"
