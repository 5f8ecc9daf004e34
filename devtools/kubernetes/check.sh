#!/usr/bin/env bash
# Installs the chart into a real Kubernetes API server, in a namespace of the strictest Pod Security
# Standard, with its defaults and with everything else; then lets that server judge the pods.
#
# etcd, kube-apiserver and kubectl are built by Go into .work/kubernetes if they are not there (a
# quarter of an hour on two cores). There is no node: nothing runs, all is checked, admission included.
set -euo pipefail
cd "$(dirname "$0")/../.."
helm=$(realpath "${HELM:-.work/tools/helm}")
tools=$PWD/.work/kubernetes
kubernetes=1.34.2
etcd=3.6.4
port=26443

build() {
    local sources=$tools/src modules
    mkdir -p "$sources"
    cd "$sources"
    export GOFLAGS=-buildvcs=false
    modules=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" |
        sed -n 's/^\t"GoMod": "\(.*\)",\?$/\1/p')
    {
        printf 'module local/tools\ngo 1.24.0\n'
        printf 'require k8s.io/kubernetes v%s\n' "$kubernetes"
        printf 'require go.etcd.io/etcd/server/v3 v%s\n' "$etcd"
        # Kubernetes replaces these by folders of its own; they are published as well.
        sed -n 's/^\t\(k8s.io\/[a-z-]*\) => .*/\1/p' "$modules" | sort -u | grep -vx k8s.io/kubernetes |
            sed "s|.*|replace & => & v0.${kubernetes#1.}|"
    } >go.mod
    printf 'package tools\nimport (\n_ "%s"\n_ "%s"\n_ "%s"\n)\n' k8s.io/kubernetes/cmd/kube-apiserver/app \
        k8s.io/kubectl/pkg/cmd go.etcd.io/etcd/server/v3/etcdmain >tools.go
    go mod tidy -e
    go build -mod=mod -o "$tools/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
    go build -mod=mod -o "$tools/kubectl" k8s.io/kubernetes/cmd/kubectl
    go build -mod=mod -o "$tools/etcd" go.etcd.io/etcd/server/v3
    cd - >/dev/null
}

[ -x "$tools/etcd" ] || build

run=$(mktemp -d)
processes=()
stop() {
    kill "${processes[@]}" 2>/dev/null || true
    wait
    rm -rf "$run"
}
trap stop EXIT

openssl genrsa -out "$run/accounts.key" 2048 2>/dev/null
token=$(openssl rand -hex 16)
echo "$token,admin,admin,system:masters" >"$run/tokens.csv"
"$tools/etcd" --data-dir "$run/etcd" --listen-client-urls http://127.0.0.1:23790 \
    --advertise-client-urls http://127.0.0.1:23790 --listen-peer-urls http://127.0.0.1:23800 \
    >"$run/etcd.log" 2>&1 &
processes+=($!)
"$tools/kube-apiserver" --etcd-servers http://127.0.0.1:23790 --secure-port "$port" \
    --bind-address 127.0.0.1 --cert-dir "$run/certificates" --service-cluster-ip-range 10.96.0.0/16 \
    --service-account-key-file "$run/accounts.key" --service-account-signing-key-file "$run/accounts.key" \
    --service-account-issuer https://kubernetes.default.svc --token-auth-file "$run/tokens.csv" \
    --authorization-mode RBAC --disable-admission-plugins ServiceAccount >"$run/api.log" 2>&1 &
processes+=($!)
cat >"$run/config" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "https://127.0.0.1:$port", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: $token}}]
contexts: [{name: here, context: {cluster: here, user: admin, namespace: hive}}]
current-context: here
YAML
export KUBECONFIG=$run/config PATH=$tools:$PATH
for ((tries = 0; ; tries++)); do
    kubectl get --raw /readyz >/dev/null 2>&1 && break
    kill -0 "${processes[@]}" 2>/dev/null && [ "$tries" -lt 120 ] ||
        { tail -n 5 "$run/etcd.log" "$run/api.log" >&2; exit 1; }
    sleep 0.5
done

kubectl create namespace hive
kubectl label namespace hive pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null

# judge NAME: the pods that the deployment would make, which no controller makes here.
judge() {
    kubectl get deployment "$1" -o jsonpath='{.spec.template.spec}' |
        sed 's/.*/{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod"},"spec":&}/' |
        kubectl apply --dry-run=server -f -
}

kubectl apply --server-side --validate=strict -f docker/kubernetes/pruning.yaml
judge pruning
kubectl delete -f docker/kubernetes/pruning.yaml
"$helm" install chart docker/helm --namespace hive >/dev/null
judge chart
"$helm" upgrade chart docker/helm --namespace hive --values docker/helm/ci/object-store-values.yaml >/dev/null
judge chart
"$helm" uninstall chart --namespace hive
