// SPDX-License-Identifier: Apache-2.0
//
// The page with the real process, and a cluster that changes a lot: cures as they are told, many pods, important pods, nodes that come
// and are not ready, strange values, somebody who may not read claims.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, cell, drawn, end, goal, until } from './browser.mjs';
import { Console, placed, stopAll, Up } from './live.mjs';

const kResource = '/apis/resource.k8s.io/v1';
const kPods = '/api/v1/namespaces/default/pods';
let browser;
let up;
let desk;
before(async () => {
  browser = await Browser.start();
  up = await Up.start();
  desk = await Console.start(up.kubeconfig);
  await placed(up);
});
after(async () => {
  await browser.stop();
  await stopAll();
  await up.end();
});

const look = (url, more = {}) => browser.open(url, { ...more, allow: [/503/, ...(more.allow ?? [])] });
const marks = (page, name) => page.evaluate((which) => { const { marks, fleet } = document.querySelector('canvas').painter; return [...marks[which]].map((id) => fleet.key(id)); }, name);

async function kubectl(cluster, args, input = '') {
  const child = spawn('kubectl', args, { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
  let text = '';
  let errors = '';
  child.stdout.on('data', (bytes) => (text += bytes));
  child.stderr.on('data', (bytes) => (errors += bytes));
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  assert.equal(code, 0, `kubectl ${args.join(' ')}: ${text}${errors}`);
  return text;
}

// As many more nodes like that one, with its devices.
async function addNodes(cluster, { like, count }) {
  const node = await cluster.api('GET', `/api/v1/nodes/${like}`);
  const slices = (await cluster.api('GET', `${kResource}/resourceslices`)).items.filter((slice) => slice.spec.nodeName === like);
  for (let i = 0; i < count; ++i) {
    const name = `${like}-more-${i}`;
    await cluster.api('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { ...node.metadata.labels, 'kubernetes.io/hostname': name } }, spec: {} });
    const { capacity, allocatable } = node.status;
    await cluster.api('PATCH', `/api/v1/nodes/${name}/status`, { status: { capacity, allocatable, conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: new Date().toISOString(), lastTransitionTime: new Date().toISOString() }] } }, 'application/merge-patch+json');
    for (const [k, slice] of slices.entries()) await cluster.api('POST', `${kResource}/resourceslices`, { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name: `${name}-${k}` }, spec: { ...slice.spec, nodeName: name, pool: { ...slice.spec.pool, name } } });
  }
}

const kPaths = { pod: '/api/v1/namespaces/NS/pods', claim: `${kResource}/namespaces/NS/resourceclaims` };
const leave = async (cluster, key) => {
  const [kind, namespace, name] = key.split('/');
  const path = `${kPaths[kind].replace('NS', namespace)}/${name}`;
  await cluster.api('DELETE', path);
  await until(() => cluster.api('GET', path).then(() => false, (error) => error.code === 404), `${key} is gone`);
};

// What a cure says, done with kubectl. A claim that was made from a template cannot be changed: the pod is created again and names a claim
// of its own.
async function carryOut(cluster, pod, plan) {
  const file = join(cluster.folder, 'cure.yaml');
  writeFileSync(file, plan.manifests ?? '');
  const objects = plan.manifests ? JSON.parse(await kubectl(cluster, ['create', '--dry-run=client', '-o', 'json', '-f', file])) : { items: [] };
  const items = objects.kind === 'List' || objects.items ? objects.items : [objects];
  const made = items.filter((item) => item.kind === 'ResourceClaim' && item.metadata.annotations?.['resource.kubernetes.io/pod-claim-name']);
  for (const gone of plan.delete ?? []) if (!made.some((claim) => gone === `claim/${claim.metadata.namespace}/${claim.metadata.name}`)) await leave(cluster, gone);
  if (made.length > 0) {
    const { metadata, spec } = await cluster.api('GET', `${kPods}/${pod}`);
    await leave(cluster, `pod/default/${pod}`);
    for (const [i, claim] of made.entries()) {
      await kubectl(cluster, ['create', '-f', '-'], JSON.stringify({ ...claim, metadata: { name: `by-hand-${i}`, namespace: 'default' } }));
      spec.resourceClaims = spec.resourceClaims.map((one) => (one.name === claim.metadata.annotations['resource.kubernetes.io/pod-claim-name'] ? { name: one.name, resourceClaimName: `by-hand-${i}` } : one));
    }
    await kubectl(cluster, ['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: pod, namespace: 'default', labels: metadata.labels }, spec }));
  }
  for (const item of items.filter((one) => !made.includes(one))) await kubectl(cluster, ['create', '-f', '-'], JSON.stringify(item));
  for (const nodes of plan.nodes ?? []) await addNodes(cluster, nodes);
}

test('three clicks: the badge, the cause, the sentence', async () => {
  const page = await look(desk.url());
  await drawn(page);
  await page.locator('.badge', { hasText: '2' }).click();
  await page.locator('.cause').nth(1).waitFor();
  assert.equal(await page.locator('.cause').count(), 2);
  await page.locator('.cause-head', { hasText: 'more devices of class gpu.example.com are needed on one node than any node has' }).click();
  const answer = await page.locator('.outcome', { hasText: 'too-big' }).locator('.answer').innerText();
  assert.match(answer, /\b16\b.*\b4\b/);
  assert.match(answer, /gpu\.example\.com/);
  // What is not enough says how far it gets.
  const cures = await page.locator('.cure').evaluateAll((all) => all.map((cure) => cure.innerText.replace(/\s+/g, ' ')));
  for (const verdict of ['✓ sufficient', '✗ not sufficient']) assert.ok(cures.some((cure) => cure.startsWith(verdict)), cures.join('\n'));
  for (const cure of cures.filter((text) => text.startsWith('✗'))) assert.match(cure, /short of \d+/, cure);
  await end(page);
});

test('every cure that is marked sufficient gives the pod a node when it is carried out', async () => {
  const sufficient = (outcome) => outcome.cures.filter((cure) => cure.verified === 'sufficient');
  const tried = [];
  const { outcomes } = await desk.ask('explain', { pending: true });
  for (const { name, cures } of outcomes) {
    for (const cure of cures.filter((one) => one.verified === 'insufficient')) assert.match(cure.shortBy ?? cure.still ?? '', /\d/, cure.text);
    // Each in a cluster of its own, which explains it anew: names differ.
    for (let i = 0; ; ++i) {
      const own = await Up.start();
      try {
        await placed(own);
        const page = await Console.start(own.kubeconfig);
        const { outcomes: [outcome] } = await until(async () => { const answer = await page.ask('explain', { target: `pod/default/${name}` }); return answer.outcomes && answer; }, `${name} is explained`);
        await page.stop();
        const found = sufficient(outcome);
        assert.ok(found.length > 0, `${name} has a cure`);
        if (i >= found.length) break;
        await carryOut(own, name, found[i].plan);
        await until(async () => (await own.api('GET', `${kPods}/${name}`)).spec.nodeName, `${name} has a node after: ${found[i].text}`);
        tried.push(found[i].kind);
      } finally {
        await own.end();
      }
    }
  }
  console.log(`carried out: ${tried.join(', ')}`);
  for (const kind of ['wait_for', 'change_request', 'extend_node', 'add_node']) assert.ok(tried.includes(kind), `${kind} is not among ${tried.join()}`);
});

test('a device that is given back is free, and held again when it is taken, each at once', async () => {
  const page = await look(desk.url());
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  const inference = async () => (await up.api('GET', `${kResource}/namespaces/default/resourceclaims`)).items.filter((claim) => claim.metadata.name.startsWith('inference-') && claim.status?.allocation);
  const before = await inference();
  assert.equal(before.length, 2);
  const held = () => page.evaluate((keys) => { const { fleet } = document.querySelector('canvas').painter; return keys.filter((key) => fleet.state[fleet.find(key)] === 1); }, [...new Set([...before.map(keyOf), ...Array.from({ length: 4 }, (_, i) => [0, 1].map((n) => `gpu.example.com/gpu-00000${n}/gpu-${i}`)).flat()])]);
  const all = await held();
  const scale = async (replicas, devices) => {
    await up.api('PATCH', '/apis/apps/v1/namespaces/default/deployments/inference/scale', { spec: { replicas } }, 'application/merge-patch+json');
    await until(async () => (await inference()).length === replicas, `${replicas} claims are allocated`);
    // From here on the API server tells everybody.
    const began = Date.now();
    await until(async () => (await held()).length === devices, `${devices} devices are held`);
    goal(`${replicas} replicas: shown after the API server knew`, Date.now() - began, 1000);
  };
  await scale(1, all.length - 1);
  await scale(2, all.length);
  for (const claim of await inference()) assert.ok((await cell(page, keyOf(claim))).colors['#0347c4'] > 0.5);
  await end(page);
});
const keyOf = (claim) => claim.status.allocation.devices.results.map(({ driver, pool, device }) => `${driver}/${pool}/${device}`)[0];

test('a slider is answered; an important pod strikes victims; a node more leaves too-big where it is', async () => {
  const page = await look(desk.url('/console/whatif'), { allow: [/422/] });
  await drawn(page);
  const slider = page.getByRole('slider', { name: /inference/ });
  await slider.waitFor();
  let best = Infinity;
  for (const replicas of [3, 4, 3, 4]) {
    const began = Date.now();
    await slider.fill(String(replicas));
    await until(async () => (await marks(page, 'planned')).length === replicas - 2, `${replicas - 2} more cells are dashed`);
    best = Math.min(best, Date.now() - began);
  }
  goal('planned after the slider moved', best, 300);
  await page.getByRole('button', { name: 'start over' }).click();
  // Without preemption by device, cpu is what somebody has to give back.
  await page.fill('textarea', `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: v1
kind: Pod
metadata: {name: urgent, namespace: default}
spec:
  priorityClassName: urgent
  nodeSelector: {topology.kubernetes.io/zone: zone-1}
  containers: [{name: c, image: i, resources: {requests: {cpu: "63"}}}]
`);
  await page.locator('.state-tag.o-Preempted').first().waitFor();
  const victims = await marks(page, 'victims');
  assert.ok(victims.length >= 1 && victims.every((key) => key.startsWith('gpu.example.com/gpu-000001/')), victims.join());
  const rows = (await page.locator('.outcomes').innerText()).replace(/\s+/g, ' ');
  assert.match(rows, /default\/inference-\S+ Preempted .* for pod default\/urgent/);
  assert.match(rows, /default\/urgent Placed/);
  await page.getByRole('button', { name: 'start over' }).click();
  const node = page.getByRole('slider', { name: /4 × gpu\.example\.com/ });
  await node.fill(String(Number(await node.inputValue()) + 1));
  await page.locator('.ghosts').waitFor();
  assert.match(await page.locator('.plan-head').innerText(), /[12] (still )?pending/);
  const plan = await desk.ask('plan', { nodes: [{ like: 'gpu-000001', count: 1 }], explain: true });
  assert.equal(plan.outcomes.filter((outcome) => outcome.name === 'too-big' && outcome.state !== 'Refused').length, 0, 'too-big stays pending');
  await end(page);
});

test('a node that is not ready marks its devices; ready, it does not', async () => {
  const page = await look(desk.url());
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  await addNodes(up, { like: 'gpu-000001', count: 1 });
  const key = 'gpu.example.com/gpu-000001-more-0/gpu-0';
  const there = () => page.evaluate((wanted) => document.querySelector('canvas').painter.fleet.find(wanted) >= 0, key);
  await until(there, 'its devices are there');
  await until(async () => (await cell(page, key).catch(() => ({}))).marks === 0, 'they are drawn, and in order'); // laid out a moment later
  // The simulated nodes say that they are ready whenever they are asked to run something: said again until it is seen.
  const ready = (status, seen) => until(async () => {
    await up.api('PATCH', '/api/v1/nodes/gpu-000001-more-0/status', { status: { conditions: [{ type: 'Ready', status, reason: 'Test', lastHeartbeatTime: new Date().toISOString(), lastTransitionTime: new Date().toISOString() }] } }, 'application/merge-patch+json');
    const one = await until(async () => { const now = await cell(page, key); return seen(now) && now; }, `it is ready: ${status}`, 2).catch(() => undefined);
    return one;
  }, `it is shown that the node is ready: ${status}`);
  await ready('False', (one) => one.marks === 2 && one.colors['#b33210'] > 0.02);
  await ready('True', (one) => one.marks === 0);
  await end(page);
});

test('two hundred equal pods are one cause', async () => {
  await up.api('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'many' } });
  await up.api('POST', '/apis/apps/v1/namespaces/many/deployments', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'equal' }, spec: { replicas: 200, selector: { matchLabels: { app: 'equal' } }, template: { metadata: { labels: { app: 'equal' } }, spec: { nodeSelector: { disk: 'none' }, containers: [{ name: 'c', image: 'i' }] } } } });
  const page = await look(desk.url());
  await page.locator('.badge', { hasText: /20[12]/ }).click();
  await page.locator('.cause', { hasText: '200 pods' }).waitFor();
  assert.equal(await page.locator('.cause', { hasText: /nodeSelector|labels|selector/i }).count(), 1);
  await end(page);
  await up.api('DELETE', '/apis/apps/v1/namespaces/many/deployments/equal');
});

test('what a driver publishes is text: values, taints, opaque names', async () => {
  const bad = '<img src=x onerror="window.owned=1">';
  await up.api('POST', `${kResource}/resourceslices`, { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name: 'strange' }, spec: { driver: 'strange.example.com', nodeName: 'plain-000000', pool: { name: 'plain-000000', generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'a', attributes: { model: { string: bad }, other: { string: '\u202egnp.exe\u0000'.replace('\u0000', '') } }, taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] }] } });
  const page = await look(desk.url('/console/fleet?sel=strange.example.com%2Fplain-000000%2Fa'));
  await page.locator('.inspector').getByText(bad).waitFor();
  assert.match(await page.locator('.inspector').innerText(), /⟨U\+202E⟩gnp/);
  for (const view of ['fleet?view=list', `fleet?q=${encodeURIComponent(`model=${bad}`)}`, `classes?cel=${encodeURIComponent('device.attributes["strange.example.com"].model == 1')}`]) {
    await page.goto(`http://127.0.0.1:${desk.port}/console/${view}`);
    await page.locator('main').waitFor();
    await page.locator('.live.ok').waitFor();
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.equal(await page.locator('main img, [onerror]').count(), 0);
  }
  await up.api('DELETE', `${kResource}/resourceslices/strange`);
  await end(page);
});

test('a kubeconfig without claims: question marks and a banner, nothing free', async () => {
  const account = '/api/v1/namespaces/default/serviceaccounts';
  await up.api('POST', account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'no-claims' } });
  await up.api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'no-claims' }, rules: [{ apiGroups: ['resource.k8s.io'], resources: ['resourceslices', 'deviceclasses', 'devicetaintrules', 'resourceclaimtemplates'], verbs: ['list', 'watch'] }, { apiGroups: [''], resources: ['nodes', 'pods', 'namespaces', 'resourcequotas'], verbs: ['list', 'watch'] }] });
  await up.api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'no-claims' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'no-claims' }, subjects: [{ kind: 'ServiceAccount', name: 'no-claims', namespace: 'default' }] });
  const { status } = await up.api('POST', `${account}/no-claims/token`, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
  const [, authority] = /certificate-authority-data: *(\S+)/.exec(readFileSync(up.kubeconfig, 'utf8'));
  const file = join(up.folder, 'no-claims.kubeconfig');
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'demo', user: 'u' } }], clusters: [{ name: 'demo', cluster: { server: `https://127.0.0.1:${up.port}`, 'certificate-authority-data': authority } }], users: [{ name: 'u', user: { token: status.token } }] }), { mode: 0o600 });
  const own = await Console.start(file);
  const page = await look(own.url(), { allow: [/403/] });
  await drawn(page);
  await page.locator('.warn', { hasText: 'resourceclaims' }).waitFor();
  const text = await page.locator('[role=grid]').innerText();
  assert.match(text, /gpu-0, unknown/);
  assert.doesNotMatch(text, /, free|, held/);
  await end(page);
  await own.stop();
});
