#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Claims as people use them every day: shared, from templates, with alternatives, for administrators, on tainted devices, and on
# devices that have to be attached first.
. "$(dirname "$0")/up.sh"
daily="$examples/everyday"
gone() { eventually NotFound sh -c "kubectl get $* 2>&1 || true"; }
# condition TYPE STATUS: what the fabric's controller says of the disk.
condition() {
  kubectl patch resourceclaim disk --subresource=status --type=merge -p "{\"status\":{\"devices\":[{\"driver\":\"fabric.example.com\",
    \"pool\":\"fabric\",\"device\":\"disk-0\",\"conditions\":[{\"type\":\"$1\",\"status\":\"$2\",\"reason\":\"Fabric\",\"message\":\"\",
    \"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}]}}" >"$folder/said" 2>&1 || fail "$1: $(cat "$folder/said")"
}

start
apply "$daily/00-cluster.yaml"

# One device for two pods.
apply "$daily/10-shared-claim.yaml"
runs first-of-two second-of-two
eventually 'first-of-two second-of-two\|second-of-two first-of-two' kubectl get resourceclaim shared -o 'jsonpath={.status.reservedFor[*].name}'
[ "$(kubectl get pod first-of-two -o jsonpath='{.spec.nodeName}')" = "$(kubectl get pod second-of-two -o jsonpath='{.spec.nodeName}')" ] || fail "two nodes"
# In use it cannot go: a finalizer keeps it until both pods are gone.
says deleted kubectl delete resourceclaim shared --wait=false
says 'allocated,reserved' kubectl get resourceclaim shared
says deleted kubectl delete pod first-of-two --timeout=20s
says shared kubectl get resourceclaim shared
says deleted kubectl delete pod second-of-two --timeout=20s
gone resourceclaim shared

# A claim each, which ends with its pod.
apply "$daily/20-template.yaml"
says 'condition met' kubectl wait --for=condition=Complete job/crunch --timeout=30s
field 4 '{.status.succeeded}' job crunch
silent_about reserved kubectl get resourceclaims
kubectl delete job crunch >/dev/null
eventually 'No resources found' kubectl get resourceclaims

# The first alternative while it can be had, then the second, then none.
apply "$daily/30-prioritized-list.yaml"
runs wants-large
field accelerator/large '{.items[0].status.allocation.devices.results[0].request}' resourceclaims
field delta '{.spec.nodeName}' pod wants-large
for i in 1 2 3; do another wants-large "wants-large-$i"; done
runs wants-large-1 wants-large-2
waits wants-large-3 'cannot allocate all claims'
field zeta '{.spec.nodeName}' pod wants-large-1

# Administrators see what others use, in namespaces that may.
refuses 'admin access' sh -c "sed 's/namespace: monitoring/namespace: default/' '$daily/40-admin-access.yaml' | kubectl apply -f -"
kubectl delete pod monitor >/dev/null 2>&1 || true
apply "$daily/40-admin-access.yaml"
says 'condition met' kubectl -n monitoring wait --for=condition=Ready pod/monitor --timeout=20s
field 'true true' '{.status.allocation.devices.results[*].adminAccess}' -n monitoring resourceclaim look-at-all
kubectl delete pods --all >/dev/null
kubectl delete namespace monitoring >/dev/null
eventually 'No resources found' kubectl get resourceclaims

# A rule taints every device of the driver: who does not tolerate it has to go, at once or when its time is over.
apply "$daily/50-tolerations.yaml"
runs leaves-at-once leaves-later stays
kubectl apply -f - >/dev/null <<'X'
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: too-hot}
spec:
  deviceSelector: {driver: accelerator.example.com}
  taint: {key: accelerator.example.com/too-hot, effect: NoExecute}
X
gone pod leaves-at-once
gone pod leaves-later
# Told in seconds: the one not at once, however late anybody looks.
evicted() { date +%s -d "$(kubectl get events --field-selector "reason=DeviceTaintManagerEviction,involvedObject.name=$1" -o jsonpath='{.items[0].firstTimestamp}')"; }
later=$(($(evicted leaves-later) - $(evicted leaves-at-once)))
[ "$later" -ge 1 ] || fail "leaves-later was told to go $later s after leaves-at-once"
says Running kubectl get pod stays
eventually 'DeviceTaintManagerEviction' kubectl get events
apply "$daily/20-template.yaml"
eventually 'taint' kubectl get events --field-selector reason=FailedScheduling
says deleted kubectl delete devicetaintrule too-hot
says 'condition met' kubectl wait --for=condition=Complete job/crunch --timeout=30s

# A disk has to be attached before the pod is bound; one that breaks is given back.
apply "$daily/60-binding-conditions.yaml"
eventually disk-0 kubectl get resourceclaim disk -o yaml
sleep 1
field '' '{.spec.nodeName}' pod reads-disk
condition fabric.example.com/attached True
runs reads-disk
kubectl delete pod reads-disk >/dev/null
apply "$daily/60-binding-conditions.yaml"
eventually disk-0 kubectl get resourceclaim disk -o yaml
condition fabric.example.com/broken True
eventually 'device binding failed: claim=disk' kubectl events --for pod/reads-disk
eventually disk-0 kubectl get resourceclaim disk -o 'jsonpath={.status.allocation.devices.results[0].device}'
condition fabric.example.com/attached True
runs reads-disk
stop
