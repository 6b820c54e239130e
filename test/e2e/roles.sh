#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Who may do what: the admin, a viewer, a driver, a node, and nobody. Certificates for drivers and nodes are made with openssl
# from the authority in the data folder, as docs/operations.md shows.
. "$(dirname "$0")/up.sh"
command -v openssl >/dev/null || { echo "SKIPPED: openssl is not installed"; exit 0; }
# identity NAME USER GROUP: $folder/data/NAME.kubeconfig
identity() {
  pki="$folder/data/pki"
  openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key" 2>/dev/null
  openssl req -new -key "$pki/$1.key" -subj "/O=$3/CN=$2" -out "$pki/$1.csr"
  printf 'extendedKeyUsage=clientAuth\n' >"$pki/$1.ext"
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 30 -extfile "$pki/$1.ext" \
    -out "$pki/$1.crt" 2>/dev/null
  kubectl config view --raw --minify >"$folder/data/$1.kubeconfig"
  kubectl --kubeconfig "$folder/data/$1.kubeconfig" config unset users >/dev/null
  kubectl --kubeconfig "$folder/data/$1.kubeconfig" config set-credentials me --embed-certs \
    --client-certificate="$pki/$1.crt" --client-key="$pki/$1.key" >/dev/null
  kubectl --kubeconfig "$folder/data/$1.kubeconfig" config set-context --current --user=me >/dev/null
}
as() {
  who=$1
  shift
  kubectl --kubeconfig "$folder/data/$who.kubeconfig" "$@"
}
report() { # DRIVER DEVICE POOL
  echo "{\"status\":{\"devices\":[{\"driver\":\"$1\",\"device\":\"$2\",\"pool\":\"$3\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",
    \"reason\":\"Fine\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],\"networkData\":{\"interfaceName\":\"net1\"}}]}}"
}

start --demo
runs kep-5075-share-0 kep-6080-same-numa

# Who am I, and what may I?
says 'Username *kubernetes-admin' kubectl auth whoami
says '^yes' kubectl auth can-i delete nodes
says '\*\.\*' kubectl auth can-i --list
says 'Username *dray-viewer' as viewer auth whoami
says '^yes' as viewer auth can-i list pods
refuses '^no' as viewer auth can-i delete pods

# In somebody else's name one is somebody else.
says 'Username *eve' kubectl --as=eve auth whoami
says 'Groups *\[dev system:authenticated\]' kubectl --as=eve --as-group=dev auth whoami
refuses '^no' kubectl --as=eve auth can-i create pods
refuses 'User "eve" cannot create resource "namespaces"' kubectl --as=eve --as-group=nobody create namespace as-eve
refuses 'not found' kubectl get namespace as-eve
says '^yes' kubectl --as=eve --as-group=dray:viewers auth can-i list pods
refuses 'User "dray-viewer" cannot impersonate resource "users" in API group "" at the cluster scope' \
  as viewer --as=kubernetes-admin --as-group=system:masters delete pod too-big

# The viewer sees everything and changes nothing, in words that kubectl users know.
says kep-5004 as viewer get pods
says Scheduled as viewer events
refuses '(Forbidden): pods "too-big" is forbidden: User "dray-viewer" cannot delete resource "pods" in API group "" in the namespace "default"' \
  as viewer delete pod too-big
refuses 'cannot create resource "namespaces" in API group "" at the cluster scope' as viewer create namespace x
refuses 'cannot patch resource "deployments/scale" in API group "apps"' as viewer scale deployment/inference --replicas=0

# Nobody sees nothing but health; a wrong token or certificate is nobody or less.
code() { curl -sk -o "$folder/body" -w '%{http_code}' "$@"; }
if command -v curl >/dev/null; then
  [ "$(code "$server/healthz")" = 200 ] || fail "health of anonymous"
  [ "$(code "$server/api/v1/pods")" = 403 ] || fail "pods for anonymous"
  grep -q 'User \\"system:anonymous\\" cannot list resource \\"pods\\"' "$folder/body" || fail "$(cat "$folder/body")"
  [ "$(code -H 'Authorization: Bearer wrong' "$server/api/v1/pods")" = 401 ] || fail "a wrong token"
fi

# A driver publishes slices of its own name and reports on its own devices (KEP-4817).
identity nic dray:driver:nic.example.com dray:drivers
claim=$(kubectl get pod kep-5075-share-0 -o jsonpath='{.status.resourceClaimStatuses[0].resourceClaimName}')
share=$(kubectl get resourceclaim "$claim" -o jsonpath='{.status.allocation.devices.results[0].shareID}')
node=$(kubectl get pod kep-5075-share-0 -o jsonpath='{.spec.nodeName}')
report nic.example.com nic-0 "$node" | sed "s/\"driver\"/\"shareID\":\"$share\",\"driver\"/" >"$folder/report"
says patched as nic patch resourceclaim "$claim" --subresource=status --type=merge --patch-file "$folder/report"
field net1 '{.status.devices[0].networkData.interfaceName}' resourceclaim "$claim"
other=$(kubectl get pod kep-6080-same-numa -o jsonpath='{.status.resourceClaimStatuses[0].resourceClaimName}')
gpu=$(kubectl get resourceclaim "$other" -o jsonpath='{.status.allocation.devices.results[0].device}')
report gpu.example.com "$gpu" "$node" >"$folder/report"
refuses 'User "dray:driver:nic.example.com" cannot arbitrary-node:patch resource "resourceclaims/driver"' as nic patch resourceclaim "$other" --subresource=status --type=merge --patch-file "$folder/report"
refuses 'requires resource="resourceclaims/binding"' as nic patch resourceclaim "$claim" --subresource=status --type=merge -p '{"status":{"allocation":null}}'
refuses '(Forbidden)' as nic delete resourceclaim "$claim"
says patched as nic patch resourceslice "$node-nic.example.com-0" --type=merge -p '{"metadata":{"labels":{"a":"b"}}}'
refuses 'may only write slices whose spec.driver is its own name' as nic patch resourceslice "$node-gpu.example.com-0" --type=merge \
  -p '{"metadata":{"labels":{"a":"b"}}}'

# A node writes its own slices and pods' status, not those of others.
identity kubelet "system:node:$node" system:nodes
says patched as kubelet patch resourceslice "$node-gpu.example.com-0" --type=merge -p '{"metadata":{"labels":{"a":"b"}}}'
refuses 'no relationship found between node' as kubelet patch resourceslice partitioned-000000-mig.example.com-0 \
  --type=merge -p '{"metadata":{"labels":{"a":"b"}}}'
refuses '(Forbidden)' as kubelet delete deviceclass gpu.example.com

refuses 'cannot read all nodes, only its own Node object' as kubelet get nodes
says "$node" as kubelet get node "$node"

# Roles are objects: read, made, given, and never more than one has.
says 'aggregate-to-view' kubectl get clusterrole system:aggregate-to-view -o yaml
says 'resourceclaims' kubectl describe clusterrole view
says 'ClusterRole/dray:viewer' kubectl get clusterrolebindings
kubectl create role pod-reader --verb=get,list,watch --resource=pods
kubectl create rolebinding eve-reads --role=pod-reader --user=eve
says '^yes' kubectl --as=eve auth can-i list pods
refuses '^no' kubectl --as=eve auth can-i list pods -n kube-system
says kep-5004 kubectl --as=eve get pods
says 'pods *\[\] *\[\] *\[get list watch\]' kubectl --as=eve auth can-i --list
kubectl create rolebinding eve-admin --clusterrole=admin --user=eve
refuses 'is attempting to grant RBAC permissions not currently held' kubectl --as=eve create role nodes --verb=get --resource=nodes
refuses 'is attempting to grant RBAC permissions not currently held' kubectl --as=eve create rolebinding boss --clusterrole=cluster-admin --user=eve
kubectl --as=eve create rolebinding bob-views --clusterrole=view --user=bob
says '^yes' kubectl --as=bob auth can-i list deployments
kubectl create clusterrole gadgets --verb=get --resource=pods --dry-run=client -o yaml >"$folder/gadgets.yaml"
sed -i 's/^- apiGroups:/- apiGroups: [x.io]\n  resources: [gadgets]\n  verbs: [get]\n- apiGroups:/' "$folder/gadgets.yaml"
kubectl apply -f "$folder/gadgets.yaml"
kubectl label clusterrole gadgets rbac.authorization.k8s.io/aggregate-to-view=true
eventually 'gadgets' kubectl describe clusterrole view
kubectl delete rolebinding eve-reads eve-admin bob-views
refuses '^no' kubectl --as=eve auth can-i list pods

# A service account has tokens, with the rights that it is given and no others, until it ends.
eventually 'ca.crt: |' kubectl get configmap kube-root-ca.crt -o yaml
eventually default kubectl get serviceaccount default -n kube-system
kubectl create serviceaccount robot
token=$(kubectl create token robot --duration=10m)
kubectl config view --raw --minify >"$folder/data/robot.kubeconfig"
kubectl --kubeconfig "$folder/data/robot.kubeconfig" config unset users >/dev/null
kubectl --kubeconfig "$folder/data/robot.kubeconfig" config set-credentials me --token="$token" >/dev/null
kubectl --kubeconfig "$folder/data/robot.kubeconfig" config set-context --current --user=me >/dev/null
says 'system:serviceaccount:default:robot' as robot auth whoami
refuses 'User "system:serviceaccount:default:robot" cannot list resource "pods"' as robot get pods
kubectl create rolebinding robot-views --clusterrole=view --serviceaccount=default:robot
says kep-5004 as robot get pods
refuses '(Forbidden)' as robot delete pod too-big
refuses 'cannot create resource "serviceaccounts/token"' as robot create token default
says 'ES256' as robot get --raw /.well-known/openid-configuration
says '"kty":"EC"' as robot get --raw /openid/v1/jwks
refuses 'may not specify a duration less than 10 minutes' kubectl create token robot --duration=1m
says '"authenticated":true' kubectl create --raw /apis/authentication.k8s.io/v1/tokenreviews -f - <<REVIEW
{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":"$token"}}
REVIEW
kubectl delete serviceaccount robot
refuses 'You must be logged in' as robot get pods

# A certificate of another authority is refused.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /O=system:masters/CN=admin -keyout "$folder/bad.key" \
  -out "$folder/bad.crt" -days 2 2>/dev/null
if command -v curl >/dev/null; then
  got=$(code --cert "$folder/bad.crt" --key "$folder/bad.key" "$server/api/v1/pods") || true
  [ "$got" = 401 ] || [ "$got" = 000 ] || fail "a foreign certificate gets $got"
fi
stop
