#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `dray up` without a scheduler, `kubectl dray` as kubectl's plugin, and `dray scheduler` over HTTP.
set -eu
command -v kubectl >/dev/null || { echo "SKIPPED: kubectl is not installed"; exit 0; }
folder=$(mktemp -d)
up=
scheduler=
finish() {
  for process in $scheduler $up; do kill -9 "$process" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "FAILED: $1"
  cat "$folder"/*.out "$folder"/*.err 2>/dev/null || true
  kubectl get pods,resourceclaims -A -o wide || true
  exit 1
}
# await FILE TEXT
await() {
  for _ in $(seq 300); do
    if grep -q -- "$2" "$1"; then return; fi
    sleep 0.1
  done
  fail "no \"$2\" in $1 after 30 s"
}
# says TEXT CODE COMMAND...
says() {
  text=$1
  want=$2
  shift 2
  code=0
  "$@" >"$folder/said" 2>&1 || code=$?
  [ "$code" = "$want" ] || fail "$*: exit code $code: $(cat "$folder/said")"
  grep -q -- "$text" "$folder/said" || fail "$* does not say \"$text\": $(cat "$folder/said")"
}
export HOME="$folder" KUBECONFIG="$folder/data/admin.kubeconfig" PATH="$folder/bin:$PATH"
mkdir "$folder/bin"
ln -s "$DRAY_BINARY" "$folder/bin/kubectl-dray"

"$DRAY_BINARY" up --data "$folder/data" --listen 127.0.0.1:0 --nodes 2 --without scheduler \
  >"$folder/up.out" 2>"$folder/up.err" &
up=$!
await "$folder/up.out" '^ready'
says 'scheduler *not here' 0 cat "$folder/up.out"

cat >"$folder/pods.yaml" <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: four}
spec:
  spec:
    devices:
      requests: [{name: gpus, exactly: {deviceClassName: gpu.example.com, count: 4}}]
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: train}
spec:
  replicas: 3
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: gpus}]}}]
      resourceClaims: [{name: gpus, resourceClaimTemplateName: four}]
YAML
# Before: what would happen. Two nodes of four devices each have room for two of the three.
says 'kubectl-dray' 0 kubectl plugin list
says '1 unschedulable' 1 kubectl dray plan -f "$folder/pods.yaml"
says 'created' 0 kubectl apply -f "$folder/pods.yaml"
for _ in $(seq 300); do
  if [ "$(kubectl get resourceclaims -o name | wc -l)" = 3 ]; then break; fi
  sleep 0.1
done
says 'Pending' 0 kubectl get pods

# Alone, the cluster says the same; nothing has been written.
says 'unschedulable' 1 kubectl dray plan

# The scheduler, as the user that is allowed no more than it needs.
# Below the ports that connections get.
port=$((20000 + $$ % 12000))
"$DRAY_BINARY" scheduler --kubeconfig "$folder/data/scheduler.kubeconfig" --bind-address 127.0.0.1 --secure-port "$port" \
  >"$folder/scheduler.out" 2>"$folder/scheduler.err" &
scheduler=$!
await "$folder/scheduler.out" 'scheduler *scheduling'
for _ in $(seq 300); do
  if [ "$(kubectl get pods --no-headers | grep -c Running)" = 2 ]; then break; fi
  sleep 0.1
done
says '^2$' 0 sh -c 'kubectl get pods --no-headers | grep -c Running'
waiting=$(kubectl get pods --no-headers | awk '/Pending/ {print $1}')
says FailedScheduling 0 kubectl events --for "pod/$waiting"
says 'gpus' 1 kubectl dray explain "pod/$waiting"
# Its lease is its own, so that a kube-scheduler beside it goes on.
says 'lease *kube-system/default-scheduler' 0 cat "$folder/scheduler.out"
says "$(uname -n)" 0 kubectl get lease -n kube-system default-scheduler -o 'jsonpath={.spec.holderIdentity}'
says 'NotFound' 1 kubectl get lease -n kube-system kube-scheduler
if command -v curl >/dev/null; then
  says '^ok$' 0 curl -sSk "https://127.0.0.1:$port/livez"
  says 'readyz check passed' 0 curl -sSk "https://127.0.0.1:$port/readyz?verbose"
fi

kill -TERM "$scheduler"
code=0
wait "$scheduler" || code=$?
scheduler=
[ "$code" = 0 ] || fail "the scheduler's exit code is $code"
# Given back.
says '^""$' 0 kubectl get lease -n kube-system default-scheduler -o 'jsonpath="{.spec.holderIdentity}"'
kill -TERM "$up"
code=0
wait "$up" || code=$?
up=
[ "$code" = 0 ] || fail "exit code $code after SIGTERM"
echo PASSED
