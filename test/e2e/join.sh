#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A machine that joins with a bootstrap token: it asks for a certificate as a kubelet does, gets it, and is a node from then on.
. "$(dirname "$0")/up.sh"
command -v openssl >/dev/null || { echo "SKIPPED: openssl is not installed"; exit 0; }

# user NAME FLAGS...: $folder/NAME.kubeconfig
user() {
  name=$1
  shift
  kubectl config view --raw --minify >"$folder/$name.kubeconfig"
  as "$name" config unset users >/dev/null
  as "$name" config set-credentials me "$@" >/dev/null
  as "$name" config set-context --current --user=me >/dev/null
}
as() {
  who=$1
  shift
  kubectl --kubeconfig "$folder/$who.kubeconfig" "$@"
}
# request NAME SUBJECT SIGNER USAGES
request() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/$1.key" -subj "$2" -out "$folder/$1.csr" 2>/dev/null
  cat <<Y
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: $1}
spec: {signerName: $3, expirationSeconds: 86400, usages: [$4], request: $(base64 -w0 "$folder/$1.csr")}
Y
}

start --nodes 1
kubectl -n kube-system create secret generic bootstrap-token-abcdef --type=bootstrap.kubernetes.io/token --from-literal=token-id=abcdef \
  --from-literal=token-secret=0123456789abcdef --from-literal=usage-bootstrap-authentication=true >/dev/null
user machine --token=abcdef.0123456789abcdef
says 'system:bootstrap:abcdef' as machine auth whoami
refuses 'cannot list resource "nodes"' as machine get nodes

# The first certificate of a node, without anybody's help.
request node-a /O=system:nodes/CN=system:node:a kubernetes.io/kube-apiserver-client-kubelet 'digital signature, client auth' >"$folder/a.yaml"
says created as machine create -f "$folder/a.yaml"
eventually 'Approved,Issued' kubectl get csr node-a
says 'system:bootstrap:abcdef' kubectl get csr node-a
kubectl get csr node-a -o 'jsonpath={.status.certificate}' | base64 -d >"$folder/node-a.crt"
user node --client-certificate="$folder/node-a.crt" --client-key="$folder/node-a.key"
says 'system:node:a' as node auth whoami
printf 'apiVersion: v1\nkind: Node\nmetadata: {name: a}\n' >"$folder/node.yaml"
says created as node create -f "$folder/node.yaml"
refuses 'Forbidden' as node delete node a

# What a kubelet follows before it starts a pod.
says '"ServiceList"' as node get --raw '/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone'
says '"PodCertificateRequestList"' as node get --raw '/apis/certificates.k8s.io/v1/podcertificaterequests?fieldSelector=spec.nodeName%3Da'
says '"RuntimeClassList"' as node get --raw /apis/node.k8s.io/v1/runtimeclasses
says '"CSIDriverList"' as node get --raw /apis/storage.k8s.io/v1/csidrivers
says '"PodList"' as node get --raw '/api/v1/pods?fieldSelector=spec.nodeName%3Da'
says '"NodeList"' as node get --raw '/api/v1/nodes?fieldSelector=metadata.name%3Da'

# It gets the next one for itself, and none for others.
request node-a-2 /O=system:nodes/CN=system:node:a kubernetes.io/kube-apiserver-client-kubelet 'digital signature, client auth' >"$folder/a2.yaml"
request node-b /O=system:nodes/CN=system:node:b kubernetes.io/kube-apiserver-client-kubelet 'digital signature, client auth' >"$folder/b.yaml"
says created as node create -f "$folder/a2.yaml"
says created as node create -f "$folder/b.yaml"
eventually 'Approved,Issued' kubectl get csr node-a-2
says Pending kubectl get csr node-b

# People are approved by people; nobody becomes an administrator.
request ann /O=team/CN=ann kubernetes.io/kube-apiserver-client 'client auth' >"$folder/ann.yaml"
says created kubectl create -f "$folder/ann.yaml"
says Pending kubectl get csr ann
says approved kubectl certificate approve ann
eventually 'Approved,Issued' kubectl get csr ann
kubectl get csr ann -o 'jsonpath={.status.certificate}' | base64 -d >"$folder/ann.crt"
user ann --client-certificate="$folder/ann.crt" --client-key="$folder/ann.key"
says 'Groups *\[team system:authenticated\]' as ann auth whoami
request mallory /O=system:masters/CN=mallory kubernetes.io/kube-apiserver-client 'client auth' >"$folder/mallory.yaml"
refuses 'signer with system:masters group is not allowed' kubectl create -f "$folder/mallory.yaml"
stop
