#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kubectl's verbs that work with several kinds or several requests at once: each works, or says in a sentence why not.
. "$(dirname "$0")/up.sh"
start --nodes 2
cat >"$folder/web.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {runAsUser: 7}
      containers:
      - name: c
        image: example.com/web:1
        securityContext: {readOnlyRootFilesystem: false}
        readinessProbe: {httpGet: {path: /ready, port: 80}}
YAML
apply "$folder/web.yaml"
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s

# Nothing measures what runs: the group is not served, and kubectl says so.
refuses 'Metrics API not available' kubectl top nodes
refuses 'Metrics API not available' kubectl top pods

# debug: a copy of a pod, which kubectl sends in protobuf, and a pod on a node.
pod=$(kubectl get pods -l app=web -o name | head -n 1)
kubectl debug "$pod" --image=busybox --copy-to=looked-at --container=looker --profile=sysadmin -- sleep 1 >"$folder/said" 2>&1 || fail "debug --copy-to: $(cat "$folder/said")"
field 'c looker' '{.spec.containers[*].name}' pod looked-at
field '/ready' '{.spec.containers[0].readinessProbe.httpGet.path}' "$pod"
field '7 false' '{.spec.securityContext.runAsUser} {.spec.containers[0].securityContext.readOnlyRootFilesystem}' pod looked-at
field true '{.spec.containers[1].securityContext.privileged}' pod looked-at
field token '{.spec.volumes[0].projected.sources[0].serviceAccountToken.path}' pod looked-at
says 'Creating debugging pod' kubectl debug node/node-000000 --image=busybox --profile=sysadmin -- sleep 1
debugger=$(kubectl get pods -o name | grep node-debugger) || fail "no pod on the node"
field 'node-000000 true' '{.spec.nodeName} {.spec.containers[0].securityContext.privileged}' "$debugger"

# A dump of everything that a namespace has.
kubectl cluster-info dump --output-directory="$folder/dump" >"$folder/said" 2>&1 || fail "cluster-info dump: $(cat "$folder/said")"
[ -s "$folder/dump/nodes.json" ] || fail "no nodes in the dump"
[ -s "$folder/dump/default/deployments.json" ] || fail "no deployments in the dump"

# apply --prune, by labels and by sets.
mkdir "$folder/prune"
for name in a b; do
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {part-of: tool}}\n' "$name" >"$folder/prune/$name.yaml"
done
says 'configmap/b created' kubectl apply -f "$folder/prune" --prune -l part-of=tool
rm "$folder/prune/b.yaml"
says 'configmap/b pruned' kubectl apply -f "$folder/prune" --prune -l part-of=tool
refuses NotFound kubectl get configmap b
says 'configmap/a' kubectl get configmap a -o name
kubectl create namespace sets >/dev/null
export KUBECTL_APPLYSET=true
says 'configmap/a created' kubectl apply -n sets -f "$folder/prune" --prune --applyset=tool
sed 's/name: a/name: c/' "$folder/prune/a.yaml" >"$folder/prune/c.yaml"
rm "$folder/prune/a.yaml"
says 'configmap/a pruned' kubectl apply -n sets -f "$folder/prune" --prune --applyset=tool
unset KUBECTL_APPLYSET
refuses NotFound kubectl get configmap a -n sets

# kustomize.
mkdir "$folder/kustom"
cp "$folder/web.yaml" "$folder/kustom"
printf 'resources: [web.yaml]\nnamePrefix: k-\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\n' >"$folder/kustom/kustomization.yaml"
says 'deployment.apps/k-web created' kubectl apply -k "$folder/kustom"
says 'deployment.apps/k-web unchanged' kubectl apply -k "$folder/kustom"
says 'deployment.apps "k-web" deleted' kubectl delete -k "$folder/kustom"

# auth reconcile, and every kind described.
printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: default}\nrules: [{apiGroups: [""], resources: [pods], verbs: [get]}]\n' >"$folder/role.yaml"
says 'role.rbac.authorization.k8s.io/r reconciled' kubectl auth reconcile -f "$folder/role.yaml"
says PreemptLowerPriority kubectl describe priorityclass system-node-critical
for kind in $(kubectl api-resources --verbs=list -o name); do
  kubectl describe "$kind" -A >"$folder/said" 2>&1 || fail "describe $kind: $(tail -n 5 "$folder/said")"
done

# What nobody makes pods for says so.
refuses 'makes no pods for ReplicationControllers' sh -c 'printf "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\nspec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n" | kubectl create -f -'
stop
