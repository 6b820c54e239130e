# SPDX-License-Identifier: Apache-2.0
#
# What the tests that drive `dray up` with kubectl have in common; they source it. A server of their own on a free port, its
# data in a folder that ends with the test, and ways to say what is expected.
set -eu
command -v kubectl >/dev/null || { echo "SKIPPED: kubectl is not installed"; exit 0; }
: "${DRAY_BINARY:?the binary to be tested}" "${DRAY_SOURCE:?the folder of the sources}"
examples="$DRAY_SOURCE/examples"
folder=$(mktemp -d)
pid=
etcd_pid=
etcd_scheme=http
etcd_tls=
store=
export HOME="$folder" KUBECONFIG="$folder/data/admin.kubeconfig"

finish() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  [ -z "$etcd_pid" ] || kill -9 "$etcd_pid" 2>/dev/null || true
  # Tokens and secrets of pods whose agent has ended are in file systems of their own.
  grep -F " $folder/" /proc/self/mounts | cut -d' ' -f2 | sort -r | while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT

# How long something may take: for machines that have other things to do.
patience=90

# free_port: one of loopback that nobody has at this moment, and that no connection is given before it is used.
free_port() {
  python3 - <<'PYTHON'
import random, socket
while True:
    port = random.randrange(12000, 32000)
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        break
PYTHON
}

# start_etcd FLAGS...: one of the test's own; its address is $etcd_address. With TLS where $etcd_scheme says https and $etcd_tls what
# etcdctl needs for it.
start_etcd() {
  etcd=${DRAY_ETCD:-$DRAY_SOURCE/build/etcd/etcd}
  [ -x "$etcd" ] || { echo "SKIPPED: there is no etcd here: tools/fetch-etcd build/etcd brings one"; exit 0; }
  etcd_address=127.0.0.1:$(free_port)
  peers=http://127.0.0.1:$(free_port)
  "$etcd" --data-dir "$folder/etcd" --listen-client-urls "$etcd_scheme://$etcd_address" --advertise-client-urls "$etcd_scheme://$etcd_address" \
    --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" --unsafe-no-fsync \
    --max-txn-ops 1100 --log-level error "$@" >"$folder/etcd.log" 2>&1 &
  etcd_pid=$!
  give_up=$(($(date +%s) + patience))
  while [ "$(date +%s)" -lt "$give_up" ]; do
    # shellcheck disable=SC2086
    "${etcd}ctl" --endpoints "$etcd_scheme://$etcd_address" $etcd_tls get none >/dev/null 2>&1 && return
    sleep 0.1
  done
  fail "etcd is not ready after $patience s: $(cat "$folder/etcd.log")"
}

fail() {
  echo "FAILED: $1"
  cat "$folder/out" "$folder/err" 2>/dev/null || true
  if [ -n "$pid" ]; then
    kubectl get pods,resourceclaims -A -o wide || true
    kubectl get events -A || true
  fi
  exit 1
}

# start FLAGS...: comes back when it is ready.
start() {
  # The same test with its objects in etcd: a second registration in CMakeLists.txt.
  if [ "${DRAY_E2E_STORE:-}" = etcd ] && [ -z "$etcd_pid" ]; then
    start_etcd
    store="--store etcd://$etcd_address"
  fi
  # What the one before it has said must not be taken for its own.
  : >"$folder/out"
  # shellcheck disable=SC2086
  "$DRAY_BINARY" up --data "$folder/data" --listen 127.0.0.1:0 $store "$@" >"$folder/out" 2>"$folder/err" &
  pid=$!
  give_up=$(($(date +%s) + patience))
  while [ "$(date +%s)" -lt "$give_up" ]; do
    if grep -q '^ready' "$folder/out"; then
      server=$(sed -n 's/^apiserver *//p' "$folder/out")
      return
    fi
    kill -0 "$pid" 2>/dev/null || { pid=; fail "it did not start"; }
    sleep 0.1
  done
  fail "it is not ready after $patience s"
}

stop() {
  kill -TERM "$pid"
  code=0
  wait "$pid" || code=$?
  pid=
  [ "$code" = 0 ] || fail "exit code $code after SIGTERM"
}

# says TEXT COMMAND...: the command succeeds and prints the text (a basic regular expression).
says() {
  text=$1
  shift
  "$@" >"$folder/said" 2>&1 || fail "$*: $(cat "$folder/said")"
  grep -q -- "$text" "$folder/said" || fail "$* does not say \"$text\": $(cat "$folder/said")"
}

# silent_about TEXT COMMAND...: the command succeeds and does not print the text.
silent_about() {
  text=$1
  shift
  "$@" >"$folder/said" 2>&1 || fail "$*: $(cat "$folder/said")"
  ! grep -q -- "$text" "$folder/said" || fail "$* says \"$text\": $(cat "$folder/said")"
}

# refuses TEXT COMMAND...: the command fails and says so.
refuses() {
  text=$1
  shift
  ! "$@" >"$folder/said" 2>&1 || fail "$* succeeds: $(cat "$folder/said")"
  grep -q -- "$text" "$folder/said" || fail "$* does not refuse with \"$text\": $(cat "$folder/said")"
}

# eventually TEXT COMMAND...: now or soon.
eventually() {
  text=$1
  shift
  give_up=$(($(date +%s) + patience))
  while [ "$(date +%s)" -lt "$give_up" ]; do
    if "$@" >"$folder/said" 2>&1 && grep -q -- "$text" "$folder/said"; then return; fi
    sleep 0.2
  done
  fail "$* never says \"$text\": $(cat "$folder/said")"
}

# apply FILES...
apply() {
  for file in "$@"; do
    kubectl apply -f "$file" >"$folder/said" 2>&1 || fail "apply $file: $(cat "$folder/said")"
  done
}

# field WANTED PATH WHAT...: a field is exactly that, now or soon.
field() {
  wanted=$1 path=$2
  shift 2
  give_up=$(($(date +%s) + patience))
  while [ "$(date +%s)" -lt "$give_up" ]; do
    found=$(kubectl get "$@" -o "jsonpath=$path" 2>&1) || true
    [ "$found" != "$wanted" ] || return 0
    sleep 0.2
  done
  fail "$path of $* is \"$found\", not \"$wanted\""
}

# another POD NAME: a pod like that one.
another() {
  kubectl get pod "$1" -o yaml | sed "s/^  name: $1$/  name: $2/; /^  nodeName:/d; /^  resourceVersion:/d; /^  uid:/d" |
    kubectl create -f - >"$folder/said" 2>&1 || fail "another $1: $(cat "$folder/said")"
}

# runs PODS...
runs() {
  for pod in "$@"; do
    says 'condition met' kubectl wait --for=condition=Ready "pod/$pod" --timeout="${patience}s"
  done
}

# waits POD REASON: it has no node, and an event says why.
waits() {
  eventually "$2" kubectl events --for "pod/$1" --types=Warning
  field '' '{.spec.nodeName}' pod "$1"
}

# devices WANTED CLAIM: the names of its devices, in order.
devices() {
  field "$1" '{.status.allocation.devices.results[*].device}' resourceclaim "$2"
}
