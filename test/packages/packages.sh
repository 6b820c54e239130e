#!/usr/bin/env bash
# Packages, a tarball and an image of a build, used where nothing else of it is: in clean roots of two Debians, and in a container.
# usage: packages.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d /tmp/dray-packages-XXXXXX)
finish() {
  for root in "$work"/root-*; do
    [[ -d $root ]] || continue
    umount -q "$root/proc" "$root/dev" 2>/dev/null || true
  done
  rm -rf --one-file-system "$work"
}
trap finish EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

echo "== what is made"
for what in deb tarball image; do "$source/tools/make-packages" $what "$build" "$work/out" >/dev/null; done
(cd "$work/out" && sha256sum --check --quiet SHA256SUMS && ls)
deb=$(ls "$work"/out/dray_*.deb) tarball=$(ls "$work"/out/*.tar.gz) image=$(ls "$work"/out/*-image.tar)

echo "== what the binary needs of a machine"
mkdir "$work/tree" && tar -C "$work/tree" --strip-components=1 -xf "$tarball"
needed=$(readelf -d "$work/tree/bin/dray" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
echo "$needed"
for library in $needed; do
  case $library in
    libc.so.6 | libm.so.6 | libstdc++.so.6 | libgcc_s.so.1 | libssl.so.3 | libcrypto.so.3 | libz.so.1 | ld-linux-*) ;;
    libsimdjson.so.*) [[ -e $work/tree/lib/dray/$library ]] || fail "$library is not in the tarball" ;;
    *) fail "the binary needs $library, which other distributions have in other versions" ;;
  esac
done
newest=$(objdump -T "$work/tree/bin/dray" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
[[ $(printf '%s\n' GLIBC_2.36 "$newest" | sort -V | tail -1) == GLIBC_2.36 ]] || fail "it needs $newest; 2.36 is promised"
nm "$work/tree/bin/dray" 2>/dev/null | grep -q . && fail "the binary has symbols; they belong into a package of their own"
"$work/tree/bin/dray" version
dpkg-deb -f "$deb" Package Version Depends
dpkg-deb -c "$deb" | awk '{print $6}' >"$work/files"
for file in ./usr/bin/dray ./usr/share/man/man1/dray-plan.1.gz ./usr/share/bash-completion/completions/dray ./usr/lib/systemd/system/dray-node.service \
  ./usr/share/doc/dray/copyright ./usr/share/doc/dray/third-party/libabsl-dev; do
  grep -qx "$file" "$work/files" || fail "$file is not in the package"
done

echo "== the image, read only, as nobody"
if command -v runc >/dev/null && [[ $(id -u) -eq 0 ]]; then
  mkdir "$work/bundle" && "$build/dray" image import "$image" --images "$work/images" >/dev/null
  layout=$(dirname "$(find "$work/images" -name index.json | head -1)")
  mkdir "$work/bundle/rootfs"
  find "$layout/blobs" -type f | while read -r blob; do tar -C "$work/bundle/rootfs" -xf "$blob" 2>/dev/null || true; done
  (cd "$work/bundle" && runc spec)
  python3 - "$work/bundle/config.json" <<'PY'
import json, sys
path = sys.argv[1]
c = json.load(open(path))
c["process"].update(terminal=False, args=["/usr/bin/dray", "version"], user={"uid": 65532, "gid": 65532}, noNewPrivileges=True)
c["process"].pop("rlimits", None)
c["root"]["readonly"] = True
json.dump(c, open(path, "w"))
PY
  (cd "$work/bundle" && runc --root "$work/runc" run "dray-packages-$$" </dev/null) | grep -q '^dray ' || fail "the image's binary does not run"
else
  echo "skipped: there is no runc, or this is not root"
fi

# A machine with nothing but apt, and the packages.
try() {
  local suite=$1 root=$work/root-$1 log=$work/$1.log
  if ! timeout 300 mmdebstrap --mode=root --variant=minbase "$suite" "$root" >"$log" 2>&1; then
    echo "SKIPPED: no clean $suite: $(tail -1 "$log")"
    return
  fi
  mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev"
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  cp "$work"/out/*.deb "$root/tmp/"
  cp -r "$source/examples" "$root/tmp/examples"
  chroot "$root" sh -ec '
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends /tmp/dray_*.deb /tmp/kubectl-dray_*.deb >/tmp/install.log 2>&1 || { cat /tmp/install.log; exit 1; }
    dray version
    kubectl-dray version | grep -q Kubernetes
    kubectl_complete-dray pl | grep -q "^plan"
    dray validate -f /tmp/examples/kep-5075-consumable-capacity >/dev/null
    dray up --data /tmp/data --listen 127.0.0.1:0 --nodes 2 >/tmp/up.log 2>&1 &
    up=$!
    for i in $(seq 100); do
      [ -e /tmp/data/admin.kubeconfig ] && dray plan --kubeconfig /tmp/data/admin.kubeconfig >/tmp/plan.log 2>&1 && planned=yes && break
      sleep 0.1
    done
    [ "$planned" ] || { cat /tmp/up.log /tmp/plan.log; exit 1; }
    kill $up
    wait $up || true
    apt-get remove -y -qq dray >/dev/null 2>&1
    ! [ -e /usr/bin/dray ]
    ! [ -d /usr/lib/dray ]
  ' || fail "$suite: see above"
  echo "$suite: installed, used, removed"
}
if [[ $(id -u) -ne 0 ]] || ! command -v mmdebstrap >/dev/null; then
  echo "SKIPPED: clean roots need root and mmdebstrap"
  exit 0
fi
echo "== Debian 12"
try bookworm
echo "== Debian 13"
try trixie
