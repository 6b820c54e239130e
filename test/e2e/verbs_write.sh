#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kubectl's verbs that change objects, one by one, against the whole control plane.
. "$(dirname "$0")/up.sh"
web() { # IMAGE REPLICAS
  cat <<X
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: $2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "example.com/web:$1"}
X
}

start --nodes 2

# create: generated names, dry runs, what is there already, what is wrong.
printf 'apiVersion: v1\nkind: Pod\nmetadata: {generateName: job-}\nspec: {containers: [{name: a, image: x}]}\n' >"$folder/pod.yaml"
says '^pod/job-..... created' kubectl create -f "$folder/pod.yaml"
says '^pod/job-..... created' kubectl create -f "$folder/pod.yaml"
[ "$(kubectl get pods -o name | wc -l)" = 2 ] || fail "two pods with generated names"
says 'created (server dry run)' kubectl create namespace none --dry-run=server
refuses NotFound kubectl get namespace none
says 'namespace/team created' kubectl create namespace team
refuses '(AlreadyExists): namespaces "team" already exists' kubectl create namespace team
refuses 'unknown field "spec.containers\[0\].imagee"' sh -c "sed s/image:/imagee:/ '$folder/pod.yaml' | kubectl create -f -"
refuses 'metadata.name: Invalid value: "Bad_Name"' sh -c "sed 's/generateName: job-/name: Bad_Name/' '$folder/pod.yaml' | kubectl create -f -"

# apply on the client's side; diff.
web 1 2 >"$folder/web.yaml"
says created kubectl apply -f "$folder/web.yaml"
says unchanged kubectl apply -f "$folder/web.yaml"
web 2 2 >"$folder/web.yaml"
refuses '^+ .*example.com/web:2' kubectl diff -f "$folder/web.yaml"
says configured kubectl apply -f "$folder/web.yaml"
silent_about . kubectl diff -f "$folder/web.yaml"
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s

# rollout, scale.
says restarted kubectl rollout restart deployment/web
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s
says '^3 ' kubectl rollout history deployment/web
says 'rolled back' kubectl rollout undo deployment/web --to-revision=1
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s
field example.com/web:1 '{.spec.template.spec.containers[0].image}' deployment web
says scaled kubectl scale deployment/web --replicas=3
says 'condition met' kubectl wait --for=jsonpath='{.status.readyReplicas}'=3 deployment/web --timeout=20s
refuses 'Expected replicas to be 9, was 3' kubectl scale deployment/web --current-replicas=9 --replicas=1
says 'image updated' kubectl set image deployment/web main=example.com/web:4
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s

# apply on the server's side: whose field is it?
says created kubectl create deployment shared --image=x --replicas=2
printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shared}\nspec: {replicas: 1}\n' >"$folder/one.yaml"
refuses 'conflict with "kubectl-create".*: .spec.replicas' kubectl apply --server-side --field-manager=scaler -f "$folder/one.yaml"
says serverside-applied kubectl apply --server-side --field-manager=scaler --force-conflicts -f "$folder/one.yaml"
says '"manager": "scaler"' kubectl get deployment shared -o json --show-managed-fields
field '1 x' '{.spec.replicas} {.spec.template.spec.containers[0].image}' deployment shared
silent_about . kubectl diff --server-side --field-manager=scaler -f "$folder/one.yaml"
says deleted kubectl delete deployment shared

# patch in three ways, edit, replace, label, annotate.
says patched kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","imagePullPolicy":"Never"}]}}}}'
field example.com/web:4Never '{.spec.template.spec.containers[0].image}{.spec.template.spec.containers[0].imagePullPolicy}' deployment web
says patched kubectl patch deployment web --type=merge -p '{"metadata":{"labels":{"tier":"front"}}}'
says patched kubectl patch deployment web --type=json -p '[{"op":"test","path":"/metadata/labels/tier","value":"front"},{"op":"remove","path":"/metadata/labels/tier"}]'
refuses 'Invalid\|invalid' kubectl patch deployment web --type=json -p '[{"op":"remove","path":"/metadata/labels/tier"}]'
field '' '{.metadata.labels.tier}' deployment web
says edited env KUBE_EDITOR='sed -i s/web:4/web:5/' kubectl edit deployment web
field example.com/web:5 '{.spec.template.spec.containers[0].image}' deployment web
says unchanged\\\|cancelled env KUBE_EDITOR=true kubectl edit deployment web
web 6 2 >"$folder/web.yaml"
says replaced kubectl replace -f "$folder/web.yaml"
kubectl get deployment web -o yaml >"$folder/stale.yaml"
says labeled kubectl label deployment web tier=back
says annotated kubectl annotate deployment web note='two words'
refuses 'tier' kubectl label deployment web tier=front
says labeled kubectl label deployment web tier=front --overwrite
refuses '(Conflict)' kubectl replace -f "$folder/stale.yaml"

# delete: orphans, dependents first, by label, with and without grace.
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s
says deleted kubectl delete deployment web --cascade=orphan
says web kubectl get rs -l app=web
says Running kubectl get pods -l app=web
says deleted kubectl delete rs -l app=web --cascade=foreground --timeout=20s
says 'No resources found' kubectl get pods -l app=web
says 'created' kubectl apply -f "$folder/web.yaml"
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s
says deleted kubectl delete deployment web --cascade=foreground --timeout=20s
says 'No resources found' kubectl get rs,pods -l app=web
says 'created' kubectl apply -f "$folder/web.yaml"
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s
says RollingUpdate kubectl get deployment web -o jsonpath='{.spec.strategy.type}'
refuses 'spec.replicas: Invalid value: -1' kubectl patch deployment web -p '{"spec":{"replicas":-1}}'
says deleted kubectl delete deployment web
eventually 'No resources found' kubectl get rs,pods -l app=web
kubectl run quick --image=x >/dev/null
runs quick
says 'force deleted' kubectl delete pod quick --grace-period=0 --force
says 'pod "job' kubectl delete pods --all --timeout=20s
kubectl -n team create -f "$folder/pod.yaml" >/dev/null
says deleted kubectl delete namespace team --timeout=20s
refuses NotFound kubectl get namespace team

# run, jobs, wait.
kubectl run once --image=x --restart=Never >/dev/null
says 'condition met' kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/once --timeout=20s
kubectl create job sum --image=x -- add >/dev/null
says 'condition met' kubectl wait --for=condition=Complete job/sum --timeout=20s
refuses 'timed out' kubectl wait --for=condition=Never pod/once --timeout=1s
stop
