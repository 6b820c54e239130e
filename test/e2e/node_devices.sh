#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Devices in containers that really run: `dray up --with-node`, `dray driver`, runc, kubectl.
. "$(dirname "$0")/with_node.sh"

echo 'hello from the host' >"$folder/hello"
cat >"$folder/devices.yaml" <<X
driver: gpu.example.com
pools:
- sharedCounters:
  - name: card
    counters: {slices: {value: "100"}}
  devices:
  - name: gpu-0
    attributes: {type: {string: gpu}, board: {string: board-0-slot-3}, roots: {strings: [r0, r1]}}
    cdi: &gpu
      env: ['GPU=\${device}', 'GPU_CLAIM=\${claim.namespace}/\${claim.name}']
      deviceNodes: [{path: /dev/gpu, hostPath: /dev/null}]
      mounts: [{hostPath: $folder/hello, containerPath: /etc/hello, options: [bind, ro]}]
  - name: gpu-1
    attributes: {type: {string: gpu}, board: {string: board-1-slot-4}, roots: {strings: [r2]}}
    cdi: *gpu
  - name: nic-0
    attributes: {type: {string: nic}, place: {string: board-7}, roots: {strings: [r9]}}
    cdi: {env: ['NIC=\${device}']}
  - name: nic-1
    attributes: {type: {string: nic}, place: {string: board-1}, roots: {strings: [r2, r3]}}
    cdi: {env: ['NIC=\${device}']}
  - name: link
    attributes: {type: {string: link}}
    allowMultipleAllocations: true
    capacity: {bandwidth: {value: 10Gi, requestPolicy: {default: 1Gi, validRange: {min: 1Gi, step: 1Gi}}}}
    cdi: {env: ['LINK_\${request}=\${share} \${capacity.bandwidth}']}
  - name: mig
    attributes: {type: {string: mig}}
    consumesCounters: [{counterSet: card, counters: {slices: {value: "10"}}, compatibilityGroups: [mig]}]
  - name: vgpu
    attributes: {type: {string: vgpu}}
    consumesCounters: [{counterSet: card, counters: {slices: {value: "10"}}, compatibilityGroups: [vgpu]}]
X
{
  for type in gpu nic link mig vgpu; do
    cat <<X
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: $type}
spec:
  selectors:
  - cel: {expression: "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].type == '$type'"}
$([ "$type" != gpu ] || echo '  extendedResourceName: example.com/gpu')
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: $type}
spec: {spec: {devices: {requests: [{name: $type, exactly: {deviceClassName: $type}}]}}}
X
  done
} >"$folder/classes.yaml"

# pod NAME CLAIM COMMAND [LINES]: a container with everything of a claim that is there.
pod() {
  cat <<X
---
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: c, $2}]
  containers:
  - name: main
    image: busybox
    command: [/bin/sh, -c, '$3']
    resources: {claims: [{name: c}]}
X
}
show='echo GPU=$GPU CLAIM=$GPU_CLAIM NIC=$NIC; while read -r line; do echo $line; done </etc/hello; [ -c /dev/gpu ] && echo device'

start --with-node
build_image
apply "$folder/classes.yaml"
eventually real-0 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/real-0 --timeout=60s
start_driver real-0 "$node_root"
eventually gpu.example.com kubectl get resourceslices

# A pod from a template prints its device: a variable, a file and a device file.
pod prints 'resourceClaimTemplateName: gpu' "$show" >"$folder/prints.yaml"
apply "$folder/prints.yaml"
phase Succeeded prints
says 'GPU=gpu-[01] CLAIM=default/prints-c-' kubectl logs prints
says 'hello from the host' kubectl logs prints
says '^device$' kubectl logs prints
says '^device$' kubectl logs --tail=1 prints
claim=$(kubectl get pod prints -o jsonpath='{.status.resourceClaimStatuses[0].resourceClaimName}')
says "CLAIM=default/$claim" kubectl logs prints
# Over: unprepared, and the claim is gone or free.
eventually '^ok$' control prepared
[ "$(control prepared)" = ok ] || fail "still prepared: $(control prepared)"
[ -z "$(ls "$node_root/cdi")" ] || fail "CDI files are left: $(ls "$node_root/cdi")"

# One that runs: exec sees the device, logs follow, health and the names of its devices are in the status.
pod runs 'resourceClaimTemplateName: gpu' "$show; i=0; while :; do i=\$((i+1)); echo line \$i; /bin/busybox sleep 0.2; done" \
  >"$folder/runs.yaml"
apply "$folder/runs.yaml"
runs runs
device=$(kubectl logs runs | sed -n 's/^GPU=\(gpu-[01]\) .*/\1/p')
[ -n "$device" ] || fail "no device: $(kubectl logs runs)"
says "^$device\$" kubectl exec runs -- /bin/sh -c 'echo $GPU'
says 'crw' kubectl exec runs -- /bin/busybox ls -l /dev/gpu
refuses 'code 3' kubectl exec runs -- /bin/sh -c 'exit 3'
kubectl logs -f --tail=1 runs >"$folder/followed" 2>&1 &
follower=$!
three_lines() { [ "$(grep -c '^line ' "$folder/followed")" -ge 3 ] && echo followed; }
eventually followed three_lines
kill "$follower"
field Healthy '{.status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health}' pod runs
says '^ok$' control "health real-0/$device Unhealthy fan is loud"
field Unhealthy '{.status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health}' pod runs
field 'fan is loud' '{.status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message}' pod runs
says deleted kubectl delete pod runs --timeout=30s

# What the driver tells of its devices is a file in the container, for each request that the container uses and no other.
cat >"$folder/told.yaml" <<'X'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: both}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}, {name: nic, exactly: {deviceClassName: nic}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: told}
spec:
  restartPolicy: Never
  resourceClaims: [{name: c, resourceClaimTemplateName: both}]
  containers:
  - name: all
    image: busybox
    command: [/bin/sh, -c, 'cd /var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/c && /bin/busybox ls . && /bin/busybox cat */*']
    resources: {claims: [{name: c}]}
  - name: some
    image: busybox
    command: [/bin/sh, -c, 'cd /var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/c && /bin/busybox ls .']
    resources: {claims: [{name: c, request: nic}]}
X
apply "$folder/told.yaml"
phase Succeeded told
says '^gpu$' kubectl logs told -c all
says '"kind":"DeviceMetadata"' kubectl logs told -c all
says '"name":"nic-[01]"' kubectl logs told -c all
says '^nic$' kubectl logs told -c some
if kubectl logs told -c some | grep -q '^gpu$'; then fail "a container is told of a request that it does not use"; fi
says deleted kubectl delete pod told --timeout=30s

# Restarts: the device is the same, the driver is not asked again, and the output of before can be read.
cat >"$folder/again.yaml" <<'X'
apiVersion: v1
kind: Pod
metadata: {name: again}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: c, resourceClaimTemplateName: gpu}]
  volumes: [{name: memory, emptyDir: {}}]
  containers:
  - name: main
    image: busybox
    command: [/bin/sh, -c, 'if [ -e /memory/once ]; then echo second $GPU; exec /bin/busybox sleep 600; fi; echo >/memory/once; echo first $GPU; exit 7']
    volumeMounts: [{name: memory, mountPath: /memory}]
    resources: {claims: [{name: c}]}
X
before=$(control calls | grep -c ' prepare ')
apply "$folder/again.yaml"
field 1 '{.status.containerStatuses[0].restartCount}' pod again
eventually '^second gpu-' kubectl logs again
says '^first gpu-' kubectl logs --previous again
field 7 '{.status.containerStatuses[0].lastState.terminated.exitCode}' pod again
[ "$(control calls | grep -c ' prepare ')" = $((before + 1)) ] || fail "prepared more than once: $(control calls)"
says deleted kubectl delete pod again --timeout=30s

# KEP-5075: two shares of one device in one claim, each with its ID and its amount.
cat >"$folder/shares.yaml" <<'X'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shares}
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: link, capacity: {requests: {bandwidth: 1Gi}}}}
    - {name: b, exactly: {deviceClassName: link, capacity: {requests: {bandwidth: 2Gi}}}}
X
apply "$folder/shares.yaml"
pod shares 'resourceClaimName: shares' 'echo a=$LINK_a b=$LINK_b; exec /bin/busybox sleep 600' >"$folder/shares-pod.yaml"
apply "$folder/shares-pod.yaml"
runs shares
devices 'link link' shares
a=$(kubectl get resourceclaim shares -o jsonpath='{.status.allocation.devices.results[0].shareID}')
b=$(kubectl get resourceclaim shares -o jsonpath='{.status.allocation.devices.results[1].shareID}')
[ -n "$a" ] && [ "$a" != "$b" ] || fail "share ids \"$a\" and \"$b\""
says "^a=$a 1Gi b=$b 2Gi\$" kubectl logs shares
says deleted kubectl delete pod shares --timeout=30s

# KEP-5004: example.com/gpu: 1 by DRA here, by a device plugin on a node that has one.
cat >"$folder/plugin-node.yaml" <<'X'
apiVersion: v1
kind: Node
metadata: {name: plugin-0, labels: {kubernetes.io/hostname: plugin-0}}
X
apply "$folder/plugin-node.yaml"
eventually plugin-0 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/plugin-0 --timeout=20s
kubectl patch node plugin-0 --subresource=status --type=merge \
  -p '{"status":{"capacity":{"example.com/gpu":"2"},"allocatable":{"example.com/gpu":"2"}}}' >/dev/null
for node in real-0 plugin-0; do
  cat >"$folder/extended.yaml" <<X
apiVersion: v1
kind: Pod
metadata: {name: extended-$node}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: $node}
  containers:
  - name: main
    image: busybox
    command: [/bin/sh, -c, 'echo GPU=\$GPU; exec /bin/busybox sleep 600']
    resources: {limits: {example.com/gpu: 1}}
X
  apply "$folder/extended.yaml"
  runs "extended-$node"
done
says '^GPU=gpu-[01]$' kubectl logs extended-real-0
field '' '{.status.extendedResourceClaimStatus}' pod extended-plugin-0
says deleted kubectl delete pod extended-real-0 extended-plugin-0 --timeout=30s
says deleted kubectl delete node plugin-0 --timeout=20s

# Lists and derived attributes (KEP-5491, KEP-6080) pick the pair that belongs together.
cat >"$folder/pairs.yaml" <<'X'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: by-list}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu}}
    - {name: nic, exactly: {deviceClassName: nic}}
    constraints: [{matchAttribute: gpu.example.com/roots, requests: [gpu, nic]}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: by-expression}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        derivedAttributes: [{name: near, expression: "device.attributes['gpu.example.com'].board.split('-slot')[0]"}]
    - name: nic
      exactly:
        deviceClassName: nic
        derivedAttributes: [{name: near, expression: "device.attributes['gpu.example.com'].place"}]
    constraints: [{matchAttribute: near, requests: [gpu, nic]}]
X
apply "$folder/pairs.yaml"
for how in by-list by-expression; do
  pod "$how" "resourceClaimName: $how" "$show" >"$folder/pair.yaml"
  apply "$folder/pair.yaml"
  phase Succeeded "$how"
  says 'GPU=gpu-1 .* NIC=nic-1' kubectl logs "$how"
  says deleted kubectl delete pod "$how" --timeout=30s
done

# KEP-5963: partitions of two groups exclude each other.
for type in mig vgpu; do
  pod "$type" "resourceClaimTemplateName: $type" 'echo started; exec /bin/busybox sleep 600' >"$folder/part.yaml"
  apply "$folder/part.yaml"
  [ "$type" = vgpu ] || runs mig
done
waits vgpu 'cannot be mixed with what is in use on card'
says deleted kubectl delete pod mig --timeout=30s
runs vgpu
eventually '^started$' kubectl logs vgpu
# Kubernetes's test driver says what a container was given; a device without edits of its own does, too.
says '=true$' kubectl exec vgpu -- /bin/busybox env
says deleted kubectl delete pod vgpu --timeout=30s

# The driver fails, then does not; a pod that cannot start says why.
says '^ok$' control 'fail prepare 2'
pod unlucky 'resourceClaimTemplateName: gpu' "$show" >"$folder/unlucky.yaml"
apply "$folder/unlucky.yaml"
eventually FailedPrepareDynamicResources kubectl events --for pod/unlucky --types=Warning
phase Succeeded unlucky

# Nothing is left.
kubectl delete pods --all --timeout=30s >/dev/null
eventually '^ok$' control prepared
[ "$(control prepared)" = ok ] || fail "still prepared: $(control prepared)"
[ -z "$(ls "$node_root/cdi")" ] || fail "CDI files are left: $(ls "$node_root/cdi")"
kill -TERM "$driver"
wait "$driver" || fail "the driver ended with code $?"
driver=
stop
