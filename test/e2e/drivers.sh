#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Drivers under `dray driver test`: the one of `dray driver`, and one in Python that knows the wire tables alone. Both are restarted
# in the middle. Then one that is wrong.
. "$(dirname "$0")/up.sh"

export PYTHONDONTWRITEBYTECODE=1
drivers=
stop_driver() {
  [ -z "$drivers" ] || kill -9 $drivers 2>/dev/null || true
}
trap 'stop_driver; finish' EXIT

# await FILE TEXT
await() {
  for _ in $(seq 300); do
    if grep -q -- "$2" "$1"; then return; fi
    sleep 0.1
  done
  fail "no \"$2\" in $1 after 30 s: $(cat "$1")"
}

start --nodes 1
node=$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')
root=$folder/kubelet
cdi=$folder/cdi

# The driver of a file. Its restart is a script, as in anybody's deployment.
"$DRAY_BINARY" kubeconfig driver/cam.example.com --node "$node" --data "$folder/data" >"$folder/cam.path"
cat >"$folder/devices.yaml" <<'X'
driver: cam.example.com
pools:
- devices:
  - name: front
    attributes: {resolution: {string: 4k}}
    cdi: {env: ["CAMERA=${device}"], deviceNodes: [{path: /dev/null}]}
  - name: rear
  - name: link
    allowMultipleAllocations: true
    cdi: {env: ["SHARE=${share}"]}
X
cat >"$folder/cam.sh" <<X
[ ! -f "$folder/cam.pid" ] || kill -9 \$(cat "$folder/cam.pid")
"$DRAY_BINARY" driver --from "$folder/devices.yaml" --node-name "$node" --root "$root" --cdi-dir "$cdi" --metadata \
  --kubeconfig "$(cat "$folder/cam.path")" --test-controls "$folder/cam.sock" >"$folder/cam.out" 2>"$folder/cam.err" &
echo \$! >"$folder/cam.pid"
X
sh "$folder/cam.sh"
drivers=$(cat "$folder/cam.pid")
await "$folder/cam.out" '^dra '
for _ in $(seq 100); do
  if kubectl get resourceslices | grep -q cam.example.com; then break; fi
  sleep 0.1
done
says cam.example.com kubectl get resourceslices
code=0
"$DRAY_BINARY" driver test "$root/plugins_registry/cam.example.com-reg.sock" --kubeconfig "$KUBECONFIG" --cdi-dir "$cdi" \
  --slow --restart "sh $folder/cam.sh" >"$folder/said" 2>&1 || code=$?
drivers=$(cat "$folder/cam.pid")
[ "$code" = 0 ] || fail "dray driver does not pass its own test: $(cat "$folder/said" "$folder/cam.err")"
grep -q 'pass  restart/remembers' "$folder/said" || fail "$(cat "$folder/said")"
grep -q ' 0 failed, 0 skipped' "$folder/said" || fail "$(cat "$folder/said")"
[ -z "$(ls "$cdi")" ] || fail "CDI files are left: $(ls "$cdi")"

# A change of the file is seen.
sed -i 's/name: rear/name: back/' "$folder/devices.yaml"
for _ in $(seq 100); do
  if kubectl get resourceslices -o yaml | grep -q 'name: back'; then break; fi
  sleep 0.1
done
says 'name: back' kubectl get resourceslices -o yaml
kill -TERM $drivers
drivers=

# The same driver in two processes, and devices that every node reaches, which a third one publishes.
cat >"$folder/two.yaml" <<'X'
driver: two.example.com
pools:
- devices: [{name: own}]
- name: everywhere
  allNodes: true
  devices:
  - {name: link-0, attributes: {kind: {string: link}}}
  - {name: link-1, attributes: {kind: {string: link}}}
X
"$DRAY_BINARY" kubeconfig driver/two.example.com --node "$node" --data "$folder/data" >"$folder/two.path"
"$DRAY_BINARY" kubeconfig driver/two.example.com --data "$folder/data" >"$folder/pools.path"
"$DRAY_BINARY" driver --only registration --name two.example.com --root "$root" >"$folder/two-reg.out" 2>&1 &
registration=$!
"$DRAY_BINARY" driver --only dra --from "$folder/two.yaml" --node-name "$node" --root "$root" --cdi-dir "$cdi" \
  --kubeconfig "$(cat "$folder/two.path")" >"$folder/two.out" 2>&1 &
dra=$!
"$DRAY_BINARY" driver --cluster-pools --from "$folder/two.yaml" --kubeconfig "$(cat "$folder/pools.path")" \
  >"$folder/pools.out" 2>&1 &
pools=$!
drivers="$registration $dra $pools"
eventually '^everywhere$' kubectl get resourceslices -o 'jsonpath={range .items[?(@.spec.driver=="two.example.com")]}{.spec.pool.name}{"\n"}{end}'
eventually "^$node\$" kubectl get resourceslices -o 'jsonpath={range .items[?(@.spec.driver=="two.example.com")]}{.spec.pool.name}{"\n"}{end}'
# The pool of all nodes has no node and no owner.
says '^true  $' kubectl get resourceslices -o 'jsonpath={range .items[?(@.spec.pool.name=="everywhere")]}{.spec.allNodes} {.spec.nodeName} {.metadata.ownerReferences}{"\n"}{end}'
code=0
"$DRAY_BINARY" driver test "$root/plugins_registry/two.example.com-reg.sock" --kubeconfig "$KUBECONFIG" --cdi-dir "$cdi" \
  >"$folder/said" 2>&1 || code=$?
[ "$code" = 0 ] || fail "a driver in two processes does not pass: $(cat "$folder/said" "$folder/two.out" "$folder/two-reg.out")"
# A device that every node reaches is given away, whoever has published it.
cat >"$folder/link.yaml" <<'X'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: link}
spec: {selectors: [{cel: {expression: "device.driver == 'two.example.com' && device.attributes['two.example.com'].kind == 'link'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: links}
spec:
  devices:
    requests: [{name: links, exactly: {deviceClassName: link, allocationMode: ExactCount, count: 2}}]
---
apiVersion: v1
kind: Pod
metadata: {name: linked}
spec:
  resourceClaims: [{name: c, resourceClaimName: links}]
  containers: [{name: c, image: i, resources: {claims: [{name: c}]}}]
X
says created kubectl apply -f "$folder/link.yaml"
eventually 'link-0 link-1' kubectl get resourceclaim links -o 'jsonpath={.status.allocation.devices.results[*].device}'
says deleted kubectl delete pod linked --force
# Whoever publishes them is gone: they stay, and the next one finds them as they are.
before=$(kubectl get resourceslices -o 'jsonpath={.items[?(@.spec.pool.name=="everywhere")].metadata.resourceVersion}')
kill -9 "$pools"
"$DRAY_BINARY" driver --cluster-pools --from "$folder/two.yaml" --kubeconfig "$(cat "$folder/pools.path")" >"$folder/pools.out" 2>&1 &
pools=$!
drivers="$registration $dra $pools"
sleep 2
[ "$before" = "$(kubectl get resourceslices -o 'jsonpath={.items[?(@.spec.pool.name=="everywhere")].metadata.resourceVersion}')" ] ||
  fail "slices were written for nothing"
kill -TERM $drivers
drivers=

# The driver of src/driver/README.md: 50 lines of C++. It offers no health.
"$DRAY_BINARY" kubeconfig driver/coins.example.com --node "$node" --data "$folder/data" >"$folder/coins.path"
"$DRAY_BIN/coin_driver" "$(cat "$folder/coins.path")" "$node" "$root" "$cdi" >"$folder/coins.out" 2>&1 &
drivers=$!
for _ in $(seq 100); do
  if kubectl get resourceslices | grep -q coins.example.com; then break; fi
  sleep 0.1
done
code=0
"$DRAY_BINARY" driver test "$root/plugins_registry/coins.example.com-reg.sock" --kubeconfig "$KUBECONFIG" --cdi-dir "$cdi" \
  >"$folder/said" 2>&1 || code=$?
[ "$code" = 0 ] || fail "the driver of the README does not pass: $(cat "$folder/said" "$folder/coins.out")"
grep -q ' 0 failed, 4 skipped' "$folder/said" || fail "$(cat "$folder/said")"
kill -TERM $drivers
drivers=

# A driver in another language.
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import grpc, google.protobuf' 2>/dev/null; then python=$candidate; fi
done
if [ -n "$python" ]; then
  "$DRAY_BINARY" kubeconfig driver/py.example.com --data "$folder/data" >"$folder/py.path"
  cat >"$folder/py.sh" <<X
[ ! -f "$folder/py.pid" ] || kill -9 \$(cat "$folder/py.pid")
$python "$DRAY_SOURCE/test/python-driver/driver.py" --name py.example.com --node "$node" --root "$root" --cdi-dir "$cdi" \
  --kubeconfig "$(cat "$folder/py.path")" >"$folder/py.out" 2>"$folder/py.err" &
echo \$! >"$folder/py.pid"
X
  sh "$folder/py.sh"
  drivers=$(cat "$folder/py.pid")
  await "$folder/py.out" serving
  code=0
  "$DRAY_BINARY" driver test "$root/plugins_registry/py.example.com-reg.sock" --kubeconfig "$KUBECONFIG" --cdi-dir "$cdi" \
    --restart "sh $folder/py.sh" >"$folder/said" 2>&1 || code=$?
  drivers=$(cat "$folder/py.pid")
  [ "$code" = 0 ] || fail "the driver in Python does not pass: $(cat "$folder/said" "$folder/py.err")"
  grep -q ' 0 failed, 2 skipped' "$folder/said" || fail "$(cat "$folder/said")"
  kill -TERM $drivers
  drivers=
else
  echo "left out: the driver in Python (python3-grpcio is not installed)"
fi

# Something that is no driver.
code=0
"$DRAY_BINARY" driver test "$folder/nobody.sock" >"$folder/said" 2>&1 || code=$?
[ "$code" = 1 ] || fail "exit code $code for a socket that is not there"
grep -q 'FAIL  registration/info' "$folder/said" || fail "$(cat "$folder/said")"
stop
