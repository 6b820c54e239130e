#!/usr/bin/env bash
# Symbols are in a package of their own and nowhere else, and debuggers find them by the id of the binary.  usage: symbols.sh SOURCE
set -euo pipefail
source=$1
command -v cpack >/dev/null && command -v dpkg-deb >/dev/null || { echo "SKIPPED: cpack or dpkg-deb is not installed"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
cmake -S "$source/test/packages/symbols" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DPROJECT_CMAKE="$source/cmake" >"$work/log" 2>&1 &&
  cmake --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$source/tools/make-packages" deb "$work/build" "$work/out" >/dev/null
"$source/tools/make-packages" tarball "$work/build" "$work/out" >/dev/null

[[ -e $(echo "$work"/out/dray_*.deb) ]] || fail "there is no package"
symbols=$(echo "$work"/out/dray-dbgsym_*.ddeb)
[[ -e $symbols ]] || fail "there is no package with symbols: $(ls "$work/out")"
grep -q ddeb "$work/out/SHA256SUMS" || fail "it has no checksum"
dpkg-deb -x "$work"/out/dray_*.deb "$work/deb"
mkdir "$work/tar" && tar -C "$work/tar" --strip-components=1 -xf "$work"/out/*.tar.gz
for binary in "$work/deb/usr/bin/dray" "$work/tar/bin/dray"; do
  "$binary" | grep -q dray || fail "$binary does not run"
  ! nm "$binary" 2>/dev/null | grep -q . || fail "$binary has symbols"
done
id=$(readelf -n "$work/deb/usr/bin/dray" | sed -n 's/.*Build ID: //p')
dpkg-deb -x "$symbols" "$work/symbols"
debug=$work/symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
[[ -e $debug ]] || fail "no symbols for the binary $id: $(dpkg-deb -c "$symbols")"
nm "$debug" | grep -q ' main$' || fail "$debug does not know main"
echo "ok: $id"
