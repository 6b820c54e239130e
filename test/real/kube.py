# SPDX-License-Identifier: Apache-2.0
"""A client of an API server with nothing but Python, and the objects that load is made of."""

import base64
import http.client
import json
import os
import queue
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

RESOURCE = "/apis/resource.k8s.io/v1"


class Access:
    """What a kubeconfig says of its current context; kubectl reads it."""

    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig
        view = json.loads(
            subprocess.run(
                ["kubectl", "--kubeconfig", kubeconfig, "config", "view", "--raw", "--minify", "--flatten", "-o", "json"],
                check=True, capture_output=True).stdout)
        cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
        address = urllib.parse.urlparse(cluster["server"])
        self.host, self.port = address.hostname, address.port or 443
        self.token = user.get("token")
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        # A scheduler's port has a certificate of its own making.
        self.any_tls = ssl._create_unverified_context()
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile("w") as pair:
                for part in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(user[part]).decode() + "\n")
                pair.flush()
                self.tls.load_cert_chain(pair.name)
                self.any_tls.load_cert_chain(pair.name)


class Refused(Exception):
    """The server said no."""


class Client:
    """One connection. Not for two threads."""

    def __init__(self, access):
        self.access = access
        self.connection = None

    def ask(self, method, path, body=None, content="application/json"):
        headers = {"Content-Type": content, "Accept": "application/json"}
        if self.access.token:
            headers["Authorization"] = "Bearer " + self.access.token
        last = time.time() + 90
        while True:
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(
                        self.access.host, self.access.port, context=self.access.tls, timeout=60)
                self.connection.request(method, path, None if body is None else json.dumps(body), headers)
                response = self.connection.getresponse()
                text = response.read()
                if response.status in (429, 503) and time.time() < last:
                    time.sleep(0.5)
                    continue
                return response.status, json.loads(text)
            except (OSError, http.client.HTTPException, ValueError):
                # The server may be on its way down or up.
                self.connection = None
                if time.time() > last:
                    raise
                time.sleep(0.3)

    def get(self, path):
        status, answer = self.ask("GET", path)
        if status == 404:
            return None
        if status >= 300:
            raise Refused(f"GET {path}: {answer}")
        return answer

    def items(self, path):
        return self.get(path)["items"]

    def make(self, path, body):
        status, answer = self.ask("POST", path, body)
        # A create whose answer was lost is there when it is sent again.
        if status >= 300 and status != 409:
            raise Refused(f"POST {path}: {answer}")
        return answer

    def delete(self, path):
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        status, answer = self.ask("DELETE", path, options)
        if status >= 300 and status != 404:
            raise Refused(f"DELETE {path}: {answer}")


def in_parallel(access, work, items, threads=4):
    """work(client, item) for each of the items."""
    left = queue.Queue()
    failures = []
    for item in items:
        left.put(item)

    def run():
        client = Client(access)
        while not failures:
            try:
                item = left.get_nowait()
            except queue.Empty:
                return
            try:
                work(client, item)
            except Exception as failure:  # told by whoever waits for the threads
                failures.append(failure)

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def node(name, more=None):
    room = {"cpu": "64", "memory": "256Gi", "pods": "110", **(more or {})}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def slice_of(node_name, driver, count):
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name}-{driver}"},
        "spec": {
            "driver": driver, "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"device-{i}"} for i in range(count)],
        },
    }


def device_class(driver, extended=None):
    spec = {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}
    if extended:
        spec["extendedResourceName"] = extended
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": driver}, "spec": spec}


def claim_spec(driver):
    return {"devices": {"requests": [{"name": "it", "exactly": {"deviceClassName": driver}}]}}


def pod(name, scheduler, claim=None, template=None, limits=None):
    container = {"name": "main", "image": "busybox", "resources": {}}
    spec = {"schedulerName": scheduler, "containers": [container]}
    if claim or template:
        container["resources"]["claims"] = [{"name": "it"}]
        source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        spec["resourceClaims"] = [{"name": "it", **source}]
    if limits:
        container["resources"]["limits"] = limits
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def processor_seconds(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process):
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) // 1024
    return 0
