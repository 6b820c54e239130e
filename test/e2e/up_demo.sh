#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `dray up --demo` and the real kubectl: every workload of the demo ends up running, done, or refused with a reason; what is
# deleted makes room; a restart goes on; SIGTERM ends it well.
set -eu
command -v kubectl >/dev/null || { echo "SKIPPED: kubectl is not installed"; exit 0; }
folder=$(mktemp -d)
pid=
finish() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "FAILED: $1"
  cat "$folder/out" "$folder/err" 2>/dev/null || true
  kubectl get pods,resourceclaims -A -o wide || true
  kubectl get events || true
  exit 1
}
export HOME="$folder" KUBECONFIG="$folder/data/admin.kubeconfig"

start() {
  "$DRAY_BINARY" up --data "$folder/data" --listen 127.0.0.1:0 "$@" >"$folder/out" 2>"$folder/err" &
  pid=$!
  for _ in $(seq 300); do
    if grep -q '^ready' "$folder/out"; then return; fi
    kill -0 "$pid" 2>/dev/null || fail "it did not start"
    sleep 0.1
  done
  fail "it is not ready after 30 s"
}
stop() {
  kill -TERM "$pid"
  code=0
  wait "$pid" || code=$?
  pid=
  [ "$code" = 0 ] || fail "exit code $code after SIGTERM"
}
# says TEXT COMMAND...
says() {
  text=$1
  shift
  "$@" >"$folder/said" 2>&1 || fail "$*: $(cat "$folder/said")"
  grep -q -- "$text" "$folder/said" || fail "$* does not say \"$text\": $(cat "$folder/said")"
}

start --demo
says Ready kubectl get nodes
says gpu.example.com kubectl get resourceslices
for pod in kep-5004-extended kep-5075-share-0 kep-5075-share-1 kep-5491-aligned kep-6080-same-numa; do
  says 'condition met' kubectl wait --for=condition=Ready "pod/$pod" --timeout=60s
done
says 'successfully rolled out' kubectl rollout status deployment/inference --timeout=60s
says 'condition met' kubectl wait --for=condition=Complete job/preprocess --timeout=60s
says allocated kubectl get resourceclaims
# One of the two has the card, the other waits for it.
says 'condition met' kubectl wait --for=jsonpath='{.status.phase}'=Running pod/kep-5963-mig --timeout=60s
says FailedScheduling kubectl events --for pod/too-big
says FailedScheduling kubectl describe pod kep-5963-vgpu
says deleted kubectl delete pod kep-5963-mig --timeout=60s
says 'condition met' kubectl wait --for=condition=Ready pod/kep-5963-vgpu --timeout=60s
stop

start
says Running kubectl get pod kep-5963-vgpu
says patched kubectl patch deployment/inference -p '{"spec":{"replicas":1}}'
says 'successfully rolled out' kubectl rollout status deployment/inference --timeout=60s
says deleted kubectl delete deployment/inference --timeout=60s
stop
