# SPDX-License-Identifier: Apache-2.0
"""One trial: the namespace, nodes and devices of it, the schedulers that run, and what must be true in the end."""

import collections
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

import kube
from kube import RESOURCE, Client, claim_spec, in_parallel

SPACE = "dray-trial"
NAME = "dray-trial"
DRIVER = "trial.example.com"
EXTENDED_DRIVER = "extended.example.com"
EXTENDED = "extended.example.com/device"
TRIAL_EXTENDED = "trial.example.com/device"
PATIENCE = 300


class Late(Exception):
    """Something did not come to pass."""


class Scheduler:
    """A process that schedules, as a context: ended by SIGTERM."""

    def __init__(self, run, kind, name, port, command):
        self.run, self.kind, self.name, self.port, self.command = run, kind, name, port, command
        self.process = None

    def start(self):
        log = open(os.path.join(self.run.folder, f"{self.kind}.log"), "a", encoding="utf-8")
        self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        return self

    def end(self, kill=False):
        if self.process is None:
            return
        if self.process.poll() is not None and self.process.returncode != 0:
            self.run.check(f"{self.kind} ended by itself with {self.process.returncode}: {self.last_words()}", False)
        self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        self.process.wait(30)
        if not kill and self.kind == "dray":
            self.run.check(f"dray ends with 0 and not {self.process.returncode}", self.process.returncode == 0)
        self.process = None

    def last_words(self):
        with open(os.path.join(self.run.folder, f"{self.kind}.log"), encoding="utf-8") as log:
            return log.read()[-500:]

    __enter__ = start

    def __exit__(self, *_):
        self.end()

    def processor(self):
        return kube.processor_seconds(self.process.pid)

    def memory(self):
        return kube.resident_mib(self.process.pid)

    def metrics(self):
        headers = {"Authorization": "Bearer " + self.run.access.token} if self.run.access.token else {}
        last = time.time() + 30
        while True:
            try:
                connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, context=self.run.access.any_tls, timeout=20)
                connection.request("GET", "/metrics", headers=headers)
                response = connection.getresponse()
                text = response.read().decode()
                if response.status == 200:
                    break
            except OSError as failure:
                text = str(failure)
            # It may have been started a moment ago.
            if time.time() > last:
                raise Late(f"{self.kind} does not tell its metrics: {text}")
            time.sleep(0.2)
        lines = (re.match(r"(\w+(?:\{.*\})?) (\S+)$", line) for line in text.splitlines())
        return {line[1]: float(line[2]) for line in lines if line}

    def requests(self):
        """Those that write, whoever they are told to; a lease is renewed once in two seconds."""
        return sum(v for k, v in self.metrics().items()
                   if k.startswith("rest_client_requests_total") and 'method="GET"' not in k)


class Run:
    """Not for two threads. `failed` says whether anything was not as it should be."""

    def __init__(self, options):
        self.options = options
        self.access = kube.Access(options.kubeconfig)
        self.client = Client(self.access)
        self.folder = tempfile.mkdtemp(prefix="dray-trial-")
        self.space = f"/api/v1/namespaces/{SPACE}"
        self.claims = f"{RESOURCE}/namespaces/{SPACE}/resourceclaims"
        self.failed = False
        self.drivers = []

    def say(self, text):
        print(text, flush=True)

    def check(self, what, holds):
        if not holds:
            self.failed = True
            self.say(f"NOT SO: {what}")

    # What there is.

    def prepare(self):
        self.drivers = []
        self.client.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        self.until("service account", lambda: self.client.get(f"{self.space}/serviceaccounts/default") is not None)
        self.client.make(f"{RESOURCE}/deviceclasses", kube.device_class(DRIVER, TRIAL_EXTENDED))
        self.client.make(f"{RESOURCE}/namespaces/{SPACE}/resourceclaimtemplates", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "trial"},
            "spec": {"spec": claim_spec(DRIVER)}})
        in_parallel(self.access, lambda c, i: c.make("/api/v1/nodes", kube.node(f"trial-{i}")), range(self.options.nodes))
        self.devices(DRIVER)

    def devices(self, driver):
        self.drivers.append(driver)
        in_parallel(self.access, lambda c, i: c.make(
            f"{RESOURCE}/resourceslices", kube.slice_of(f"trial-{i}", driver, self.options.devices)),
            range(self.options.nodes))

    def pods(self, told, claims="named"):
        """Pods (name, scheduler, driver), each with a claim of its own."""
        def make(client, what):
            name, scheduler, driver = what
            if claims == "extended":
                client.make(f"{self.space}/pods", kube.pod(name, scheduler, limits={TRIAL_EXTENDED: "1"}))
            elif claims == "named":
                client.make(self.claims, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                                          "metadata": {"name": name}, "spec": claim_spec(driver)})
                client.make(f"{self.space}/pods", kube.pod(name, scheduler, claim=name))
            else:
                client.make(f"{self.space}/pods", kube.pod(name, scheduler, template="trial"))
        in_parallel(self.access, make, told)

    def begin_load(self, scheduler, count):
        """The same while something else happens: the thread ends when everything is made."""
        told = [(f"p-{i}", scheduler.name, DRIVER) for i in range(count)]
        thread = threading.Thread(target=self.pods, args=(told, self.options.claims))
        thread.start()
        return thread

    def load(self, scheduler, count, wait=True, quiet=False):
        began = time.time()
        before = scheduler.requests() if scheduler.process and wait else 0
        self.pods([(f"p-{i}", scheduler.name, DRIVER) for i in range(count)], self.options.claims)
        made = time.time()
        if wait:
            bound = self.await_bound(count)
            self.settle(1)
            self.say(f"{count} pods made in {made - began:.1f} s, bound in {bound - began:.1f} s, "
                     f"{(scheduler.requests() - before) / count:.2f} writes a pod, "
                     f"{scheduler.processor():.2f} s of processor, {scheduler.memory()} MiB")
        elif not quiet:
            self.say(f"{count} pods made in {made - began:.1f} s")

    # Who decides.

    def config(self, kind, name, profile):
        text = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False}, "profiles": [{"schedulerName": name, **profile}]}
        if kind == "kube-scheduler":
            text["clientConnection"] = {"kubeconfig": self.options.kubeconfig, "qps": 5000, "burst": 5000}
        return self.write(f"{kind}.yaml", json.dumps(text))

    def dray(self, drivers=()):
        profile = {}
        if drivers:
            profile["pluginConfig"] = [{"name": "DynamicResources", "args": {"drivers": list(drivers)}}]
        config = self.config("dray", NAME, profile)
        kubeconfig = self.options.scheduler_kubeconfig or self.options.kubeconfig
        return Scheduler(self, "dray", NAME, 21259, [
            self.options.dray, "scheduler", "--kubeconfig", kubeconfig, "--config", config,
            "--bind-address", "127.0.0.1", "--secure-port", "21259"])

    def kube_scheduler(self):
        if not self.options.kube_scheduler:
            raise Late("--kube-scheduler is not given")
        kubeconfig = self.options.kubeconfig
        return Scheduler(self, "kube-scheduler", "kube-trial", 21260, [
            self.options.kube_scheduler, "--config", self.config("kube-scheduler", "kube-trial", {}),
            "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
            "--bind-address", "127.0.0.1", "--secure-port", "21260", *self.options.kube_scheduler_flags.split()])

    def tool(self, code, *words, given=None):
        done = subprocess.run([self.options.dray, *words], input=given, capture_output=True, text=True, check=False,
                              env={**os.environ, "KUBECONFIG": self.options.kubeconfig})
        self.say(f"$ dray {' '.join(words)}\n{(done.stdout + done.stderr)[:3000]}")
        self.check(f"exit code of dray {words[0]} is {code} and not {done.returncode}", done.returncode == code)
        return done.stdout + done.stderr

    def kubectl(self, *words):
        return subprocess.run(["kubectl", "--kubeconfig", self.options.kubeconfig, *words],
                              check=True, capture_output=True, text=True).stdout

    def shell(self, command):
        if not command:
            raise Late("--restart-server is not given")
        self.say(f"$ {command}")
        subprocess.run(command, shell=True, check=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    # What came of it.

    def until(self, what, holds, patience=PATIENCE, pause=0.2):
        last = time.time() + patience
        while not holds():
            if time.time() > last:
                raise Late(f"never came to pass: {what}")
            time.sleep(pause)
        return time.time()

    def bound(self):
        return sum(1 for p in self.client.items(f"{self.space}/pods") if p["spec"].get("nodeName"))

    def await_bound(self, count):
        return self.until(f"{count} pods on nodes", lambda: self.bound() >= count)

    def await_pods(self, count):
        """No kubelet ends pods here that are to go."""
        def settled():
            pods = self.client.items(f"{self.space}/pods")
            for one in pods:
                if "deletionTimestamp" in one["metadata"]:
                    self.client.delete(f"{self.space}/pods/{one['metadata']['name']}")
            return len(pods) == count
        self.until(f"{count} pods are left", settled)

    def await_claims(self, count):
        self.until(f"{count} claims are left", lambda: len(self.client.items(self.claims)) == count)

    def await_message(self, name):
        def message():
            for condition in self.client.get(f"{self.space}/pods/{name}")["status"].get("conditions", []):
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    return condition.get("message", "")
            return ""
        self.until(f"{name} is told why it waits", message)
        return message()

    def settle(self, seconds=3):
        time.sleep(seconds)

    def all_is_well(self, count, quiet=False):
        """Every pod has its node, and a device of it that nobody else has."""
        given = collections.defaultdict(list)
        of_pod = {}
        for claim in self.client.items(self.claims):
            name, status = claim["metadata"]["name"], claim.get("status", {})
            results = status.get("allocation", {}).get("devices", {}).get("results", [])
            for result in results:
                given[result["driver"], result["pool"], result["device"]].append(name)
            for user in status.get("reservedFor", []):
                of_pod[user["uid"]] = results
        twice = {device: names for device, names in given.items() if len(names) > 1}
        pods = self.client.items(f"{self.space}/pods")
        wrong = [p["metadata"]["name"] for p in pods
                 if [r["pool"] for r in of_pod.get(p["metadata"]["uid"], [])] != [p["spec"].get("nodeName")]]
        if not quiet:
            self.say(f"{len(pods)} pods, {len(given)} devices given, {len(twice)} twice, {len(wrong)} pods without theirs")
        self.check(f"all of {count} pods are there: {len(pods)}", len(pods) == count)
        self.check(f"no device is given twice: {dict(list(twice.items())[:3])}", not twice)
        self.check(f"every pod has a device of its node: {wrong[:5]}", not wrong)

    def clear(self):
        """Pods and claims go, nodes and devices stay."""
        for kind in ("deployments", "replicasets"):
            for made in self.client.items(f"/apis/apps/v1/namespaces/{SPACE}/{kind}"):
                self.client.delete(f"/apis/apps/v1/namespaces/{SPACE}/{kind}/{made['metadata']['name']}")

        def empty():
            left = [f"{self.space}/pods/{p['metadata']['name']}" for p in self.client.items(f"{self.space}/pods")]
            if not left:
                for claim in self.client.items(self.claims):
                    path = f"{self.claims}/{claim['metadata']['name']}"
                    left.append(path)
                    # Whoever gave the device is gone, and perhaps nobody's controllers look after claims.
                    claim["status"] = {}
                    if self.options.claims == "named":
                        self.client.ask("PUT", path + "/status", claim)
                        self.client.ask("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            in_parallel(self.access, lambda c, path: c.delete(path), left)
            return not left
        self.until("everything is gone", empty)

    def remove(self):
        for i in range(self.options.nodes):
            self.client.delete(f"/api/v1/nodes/trial-{i}")
        for made in self.client.items(f"{RESOURCE}/resourceslices"):
            if made["metadata"]["name"].startswith("trial-"):
                self.client.delete(f"{RESOURCE}/resourceslices/{made['metadata']['name']}")
        for name in (DRIVER, EXTENDED_DRIVER, "theirs.example.com"):
            self.client.delete(f"{RESOURCE}/deviceclasses/{name}")
        self.client.delete(self.space)
        self.until("the namespace is gone", lambda: self.client.get(self.space) is None)
