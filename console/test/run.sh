#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh rebuild|unit|browser FILE [ARGUMENT...]: the tests of the page. What package-lock.json names is installed beside the binary, once;
# where that cannot be done, or where there is no chromium, the tests are skipped, and say so.
set -eu
: "${DRAY_BINARY:?the binary to be tested}"
here=$(cd "$(dirname "$0")" && pwd)
console=$(dirname "$here")
place=$(dirname "$DRAY_BINARY")/console-test
mode=$1
shift
skip() {
  echo "SKIPPED: $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
mkdir -p "$place"

# install FROM NAME: the packages that FROM's lock file names, in $place/NAME/node_modules; once for all tests that run at a time.
install() {
  mkdir -p "$place/$2"
  (
    flock 9
    if ! cmp -s "$1/package-lock.json" "$place/$2/installed"; then
      rm -rf "$place/$2/node_modules" "$place/$2/installed"
      cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" "$place/$2"
      (cd "$place/$2" && timeout 240 npm ci --no-progress --ignore-scripts) >"$place/$2/npm.log" 2>&1 || exit 7
      cp "$1/package-lock.json" "$place/$2/installed"
    fi
  ) 9>"$place/$2/lock" || skip "npm ci failed: $(tail -n 3 "$place/$2/npm.log")"
}

# A copy of its own for each test, with those packages.
copy=$place/$mode${1:+-$1}
rm -rf "$copy"
mkdir -p "$copy/test"
cp -R "$console/src" "$console/dist" "$console/package.json" "$console/package-lock.json" "$console/build.mjs" "$console/tsconfig.json" "$copy"
cp -R "$here/mock" "$here/unit" "$here/browser" "$copy/test"
cd "$copy"
case $mode in
  rebuild)
    install "$console" build
    ln -s "$place/build/node_modules" node_modules
    node node_modules/typescript/bin/tsc --noEmit
    node build.mjs --out again
    diff -rq dist again || {
      echo "console/dist is not what console/src gives: run make console, and commit what it wrote"
      exit 1
    }
    echo "$(cat again/* | wc -c) bytes in $(ls again | wc -l) files are what the sources give"
    ;;
  unit)
    install "$console" build
    ln -s "$place/build/node_modules" node_modules
    # What the modules ask of a page before they are used.
    node_modules/.bin/esbuild test/unit/entry.ts --bundle --format=esm --outfile=unit.mjs --log-level=warning --main-fields=module,main \
      --banner:js='globalThis.addEventListener ??= () => {};'
    UNIT=$copy/unit.mjs DRAY_CONSOLE_DIST=$copy/dist SOURCES=$(find "$copy/src" -type f) node --test test/unit/*_test.mjs
    ;;
  browser)
    case $1 in live | cluster) "$DRAY_BINARY" console --help >/dev/null 2>&1 || skip "this dray has no console" ;; esac
    [ "$1" != cluster ] || command -v kubectl >/dev/null || skip "kubectl is not installed"
    [ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || skip "chromium is not installed"
    install "$here" browser
    ln -s "$place/browser/node_modules" test/node_modules
    DRAY_CONSOLE_DIST=$copy/dist DRAY_SOURCE=$(dirname "$console") node --test --test-concurrency=1 "test/browser/$1_test.mjs"
    ;;
  *)
    echo "run.sh rebuild|unit|browser FILE" >&2
    exit 2
    ;;
esac
