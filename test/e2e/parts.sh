#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The parts apart: an API server that decides nothing, two schedulers and two controllers over HTTP, of which one each works, and
# goes on when the other is killed.
set -eu
command -v kubectl >/dev/null || { echo "SKIPPED: kubectl is not installed"; exit 0; }
folder=$(mktemp -d)
processes=
finish() {
  for process in $processes; do kill -9 "$process" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "FAILED: $1"
  tail -n 50 "$folder"/*.out "$folder"/*.err 2>/dev/null || true
  kubectl get pods,resourceclaims,leases -A -o wide || true
  exit 1
}
# await FILE TEXT
await() {
  for _ in $(seq 600); do
    if grep -q -- "$2" "$1"; then return; fi
    sleep 0.1
  done
  fail "no \"$2\" in $1 after 60 s"
}
# until_says TEXT COMMAND...
until_says() {
  text=$1
  shift
  for _ in $(seq 600); do
    if "$@" 2>&1 | grep -q -- "$text"; then return; fi
    sleep 0.1
  done
  fail "$* does not say \"$text\" after 60 s: $("$@" 2>&1)"
}
# start NAME FLAGS...: a process of ours; its id is in $started.
start() {
  name=$1
  shift
  "$DRAY_BINARY" "$@" >"$folder/$name.out" 2>"$folder/$name.err" &
  started=$!
  processes="$processes $started"
}
export HOME="$folder" KUBECONFIG="$folder/data/admin.kubeconfig"
running() { kubectl get pods --no-headers 2>/dev/null | grep -c Running; }

start apiserver apiserver --data "$folder/data" --store "sqlite:$folder/objects.db" --listen 127.0.0.1:0 --advertise localhost
apiserver=$started
await "$folder/apiserver.out" '^ready'
grep -q "store *$folder/objects.db" "$folder/apiserver.out" || fail "the store is not told"
grep -q 'server: https://localhost:' "$KUBECONFIG" || fail "kubeconfigs do not say localhost"

for part in scheduler controllers; do
  extra=
  [ $part = scheduler ] || extra="--simulated-nodes --cluster-signing-cert-file $folder/data/pki/ca.crt --cluster-signing-key-file $folder/data/pki/ca.key"
  for n in 1 2; do
    # shellcheck disable=SC2086
    start $part$n $part --kubeconfig "$folder/data/$part.kubeconfig" --secure-port 0 --leader-elect-identity $part$n \
      --leader-elect-lease-duration 10s --leader-elect-renew-deadline 8s --leader-elect-retry-period 500ms $extra
    eval "$part$n=$started"
    [ $n = 2 ] || until_says "$part *[sw]" grep -v waiting "$folder/$part$n.out"
  done
  await "$folder/${part}2.out" "waiting: ${part}1 has the lease"
done

cat >"$folder/cluster.yaml" <<'YAML'
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpus}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: train, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
YAML
kubectl apply -f "$folder/cluster.yaml" >/dev/null || fail "apply"
until_says '^2$' sh -c 'kubectl get pods --no-headers | grep -c Running'

# Those who work are killed; those who waited go on.
eval "kill -9 $scheduler1 $controllers1"
kubectl scale deployment train --replicas 4 >/dev/null || fail "scale"
until_says '^4$' sh -c 'kubectl get pods --no-headers | grep -c Running'
await "$folder/scheduler2.out" 'scheduler *scheduling'
await "$folder/controllers2.out" 'controllers *working'

# The server is killed; all go on when it is back.
kill -9 "$apiserver"
port=$(sed -n 's|.*server: https://localhost:||p' "$KUBECONFIG")
start apiserver2 apiserver --data "$folder/data" --store "sqlite:$folder/objects.db" --listen "127.0.0.1:$port" --advertise localhost
await "$folder/apiserver2.out" '^ready'
kubectl scale deployment train --replicas 1 >/dev/null || fail "scale after the server was killed"
until_says '^1$' sh -c 'kubectl get pods --no-headers | wc -l'
until_says '^1$' sh -c 'kubectl get resourceclaims --no-headers | wc -l'
kubectl delete deployment train >/dev/null
until_says '^0$' sh -c 'kubectl get resourceclaims --no-headers 2>/dev/null | wc -l'

# Ended in order, the lease is given back.
eval "kill -TERM $controllers2"
eval "wait $controllers2" || fail "the controllers' exit code is $?"
until_says '^""$' kubectl get lease -n kube-system dray-controllers -o 'jsonpath="{.spec.holderIdentity}"'
echo PASSED
