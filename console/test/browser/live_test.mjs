// SPDX-License-Identifier: Apache-2.0
//
// The page with the real process: `dray console` on a `dray up --demo`.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, cell, drawn, end, goal, until } from './browser.mjs';
import { Console, dray, placed, stopAll, Up } from './live.mjs';

const kResource = '/apis/resource.k8s.io/v1';
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

const claims = async () => (await up.api('GET', `${kResource}/namespaces/default/resourceclaims`)).items;
const claimOf = async (pod) => (await claims()).find((claim) => claim.metadata.ownerReferences?.some((owner) => owner.name === pod) || claim.metadata.name.startsWith(pod));
const results = (claim) => claim.status?.allocation?.devices.results ?? [];
const keyOf = (result) => `${result.driver}/${result.pool}/${result.device}`;
const ask = (path, body) => desk.ask(path, body);

// 503: the first lists have not come in yet. The page asks again; the browser writes it down.
const look = (url, more = {}) => browser.open(url, { ...more, allow: [/503/, ...(more.allow ?? [])] });

test('the printed address shows five nodes within moments, and no fault', async () => {
  const began = Date.now();
  const page = await look(desk.printed);
  await drawn(page);
  goal('first picture', Date.now() - began, 2000);
  assert.equal(new URL(page.url()).hash, '');
  assert.equal(await page.locator('[role=row]').count(), 5);
  await page.locator('.live.ok').waitFor();
  await end(page);
});

test('devices and their states are those of slices and claims', async () => {
  const page = await look(desk.url());
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  const slices = (await up.api('GET', `${kResource}/resourceslices`)).items;
  const published = slices.flatMap((slice) => (slice.spec.devices ?? []).map((device) => `${slice.spec.driver}/${slice.spec.pool.name}/${device.name}`)).sort();
  const seen = await page.evaluate(() => {
    const { fleet } = document.querySelector('canvas').painter;
    return Array.from({ length: fleet.size }, (_, id) => id).filter((id) => fleet.state[id] !== 255).map((id) => [fleet.key(id), fleet.state[id], fleet.fill[id]]);
  });
  assert.deepEqual(seen.map(([key]) => key).sort(), published);
  const held = new Map();
  for (const claim of await claims()) for (const result of results(claim)) held.set(keyOf(result), (held.get(keyOf(result)) ?? 0) + 1);
  for (const [key, state] of seen) {
    if (held.has(key)) assert.ok(state === 1 || state === 2, `${key} is ${state}`);
    else assert.ok(![1, 2, 5, 6].includes(state), `${key} is ${state}`);
  }
  const state = new Map(seen.map(([key, s]) => [key, s]));
  for (const name of ['vgpu-0', 'vgpu-1']) assert.equal(state.get(`mig.example.com/partitioned-000000/${name}`), 4, `${name} is blocked, not free`);
  const shared = seen.find(([, s, fill]) => s === 2 && fill === 80);
  assert.ok(shared && shared[0].includes('/nic-'), 'two shares of 40G of 100G');
  const at = await cell(page, shared[0]);
  await page.mouse.click(at.x, at.y);
  await page.locator('.inspector').getByText('kep-5075-share-0').first().waitFor();
  await page.locator('.inspector').getByText('kep-5075-share-1').first().waitFor();
  // NUMA nodes with two GPUs each.
  const frames = await page.evaluate(() => {
    const { layout, groups, fleet } = document.querySelector('canvas').painter;
    const place = groups.places.findIndex((p) => p.node === fleet.findNode('gpu-000000'));
    const template = layout.template[layout.slot[place]];
    return template.frames.filter((frame) => frame.kind === 'numa').map((frame) => [frame.label, Array.from(layout.devices[place]).filter((id, i) => fleet.deviceName(id).startsWith('gpu-') && template.x[i] > frame.x && template.x[i] < frame.x + frame.w && template.y[i] > frame.y && template.y[i] < frame.y + frame.h).length]);
  });
  assert.deepEqual(frames, [['NUMA 0', 2], ['NUMA 1', 2]]);
  await end(page);
});

test('what kubectl changes shows at once, without asking: a taint, a pod that goes, a slice that goes', async () => {
  const page = await look(desk.url());
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  let fleets = 0;
  page.on('request', (request) => { if (new URL(request.url()).pathname.endsWith('/fleet')) ++fleets; });
  const within = async (what, look, act) => {
    const began = Date.now();
    await act();
    await until(look, what);
    goal(what, Date.now() - began, 1000);
    assert.equal(fleets, 0, 'the stream tells it: nobody asks for the fleet');
  };
  const held = results(await claimOf('kep-5963-mig'))[0];
  const rule = { apiVersion: 'resource.k8s.io/v1beta2', kind: 'DeviceTaintRule', metadata: { name: 'maintenance' }, spec: { deviceSelector: { driver: held.driver, pool: held.pool, device: held.device }, taint: { key: 'maintenance', value: 'tonight', effect: 'NoSchedule' } } };
  const rules = await up.api('GET', '/apis/resource.k8s.io').then((group) => group.versions.map((version) => version.version));
  const version = ['v1', 'v1beta2', 'v1alpha3'].find((name) => rules.includes(name) && name !== 'v1') ?? 'v1beta2';
  rule.apiVersion = `resource.k8s.io/${version}`;
  await within('taint', async () => (await cell(page, keyOf(held))).marks === 1, () => up.api('POST', `/apis/resource.k8s.io/${version}/devicetaintrules`, rule));
  await within('no taint', async () => (await cell(page, keyOf(held))).marks === 0, () => up.api('DELETE', `/apis/resource.k8s.io/${version}/devicetaintrules/maintenance`));
  // A pod of the Deployment: its claim goes, and another one comes.
  const pod = (await up.api('GET', '/api/v1/namespaces/default/pods')).items.find((one) => one.metadata.name.startsWith('inference-'));
  const inference = () => page.evaluate(() => document.querySelector('[role=grid]').innerText.match(/inference-\w+-\w+/g) ?? []);
  await until(async () => (await inference()).includes(pod.metadata.name), 'its name is in the grid');
  await up.api('DELETE', `/api/v1/namespaces/default/pods/${pod.metadata.name}`);
  await until(async () => { const names = await inference(); return !names.includes(pod.metadata.name) && new Set(names).size === 2; }, 'another pod holds a device');
  // A slice in use goes: gone, and still somebody's.
  const slice = (await up.api('GET', `${kResource}/resourceslices`)).items.find((one) => one.spec.driver === held.driver && one.spec.pool.name === held.pool && one.spec.devices?.some((device) => device.name === held.device));
  await within('gone', async () => (await cell(page, keyOf(held))).state === 5, () => up.api('DELETE', `${kResource}/resourceslices/${slice.metadata.name}`));
  await page.locator('[role=gridcell]', { hasText: /mig-\d, gone.* by pod default\/kep-5963-mig/ }).waitFor({ state: 'attached' });
  const { metadata, ...rest } = slice;
  await up.api('POST', `${kResource}/resourceslices`, { ...rest, metadata: { name: metadata.name, ownerReferences: metadata.ownerReferences } });
  await until(async () => (await cell(page, keyOf(held))).state === 1, 'there again');
  await end(page);
});

test('a claim: what it asked for, what it got and why, its life until it is released', async () => {
  const claim = await claimOf('kep-6080-same-numa');
  const page = await look(desk.url(`/console/claims/default/${claim.metadata.name}`));
  await page.locator('.timeline').waitFor();
  const text = await page.locator('main').innerText();
  for (const words of ['gpu.example.com', 'nic.example.com', 'shared-numa', 'device.attributes["gpu.example.com"].numa', ...results(claim).map((result) => result.device)]) assert.ok(text.includes(words), `${words} is not in ${text}`);
  const steps = await page.locator('.timeline li').evaluateAll((items) => items.map((item) => item.innerText.replace(/\s+/g, ' ')));
  assert.match(steps[0], /created \d\d:\d\d/);
  assert.match(steps[1], /allocated/);
  assert.match(steps[2], /reserved .*kep-6080-same-numa/);
  assert.match(steps[3], /prepared (unknown|\d\d:\d\d)/);
  assert.match(steps[4], /released not yet/);
  await up.api('DELETE', '/api/v1/namespaces/default/pods/kep-6080-same-numa');
  await page.locator('h1 .state-tag', { hasText: 'released' }).waitFor();
  page.faults = page.faults.filter((fault) => !/404/.test(fault));
  await end(page);
});

test('three clicks to why a pod waits; a cure that is said to be sufficient is', async () => {
  const page = await look(desk.url());
  await drawn(page);
  await page.locator('.badge', { hasText: '2' }).click();
  const big = page.locator('.cause-head', { hasText: /16|larger|gpu/ }).first();
  await big.waitFor();
  assert.equal(await page.locator('.cause').count(), 2);
  await page.goto(`http://127.0.0.1:${desk.port}/console/pending?pod=default%2Ftoo-big`);
  await page.locator('.outcome', { hasText: 'too-big' }).waitFor();
  const outcome = await page.locator('.outcome', { hasText: 'too-big' }).innerText();
  assert.match(outcome, /\b16\b/);
  assert.match(outcome, /gpu\.example\.com/);
  await page.goto(`http://127.0.0.1:${desk.port}/console/pending?pod=default%2Fkep-5963-vgpu`);
  const cure = page.locator('.cure', { hasText: 'kep-5963-mig' }).first();
  await cure.waitFor();
  assert.match(await cure.innerText(), /✓ sufficient/);
  // As it says.
  await up.api('DELETE', '/api/v1/namespaces/default/pods/kep-5963-mig');
  await until(async () => (await up.api('GET', '/api/v1/namespaces/default/pods/kep-5963-vgpu')).spec.nodeName, 'kep-5963-vgpu has a node');
  await page.locator('.badge', { hasText: '1' }).waitFor();
  await end(page);
});

test('what if agrees with dray plan, and nothing is written', async () => {
  const manifest = `apiVersion: v1
kind: Pod
metadata: {name: one-more, namespace: default}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: example.com/x:1
    resources: {claims: [{name: gpu}]}
`;
  const file = join(up.folder, 'one-more.yaml');
  writeFileSync(file, manifest);
  const versions = async () => Promise.all(['/api/v1/pods', `${kResource}/resourceclaims`, `${kResource}/resourceslices`, '/apis/apps/v1/deployments', '/api/v1/namespaces'].map(async (path) => (await up.api('GET', path)).items.map((item) => `${item.metadata.name}@${item.metadata.resourceVersion}`).sort()));
  const before = await versions();
  const page = await look(desk.url('/console/whatif'), { allow: [/422/] });
  await drawn(page);
  await page.fill('textarea', manifest);
  await page.locator('.outcomes', { hasText: 'default/one-more' }).waitFor();
  const planned = (await dray('plan', '--kubeconfig', up.kubeconfig, '-A', '-f', file, '-o', 'json')).json().outcomes.find((pod) => pod.name === 'one-more');
  const row = (await page.locator('.outcomes tr', { hasText: 'default/one-more' }).innerText()).replace(/\s+/g, ' ');
  assert.match(row, new RegExp(`${planned.state}.*${planned.node}.*${planned.claims[0].devices[0].device}`));
  const marks = () => page.evaluate(() => { const { marks, fleet } = document.querySelector('canvas').painter; return [...marks.planned].map((id) => fleet.key(id)); });
  await until(async () => (await marks()).length > 0, 'a cell is dashed');
  assert.deepEqual(await marks(), planned.claims[0].devices.map(keyOf));
  // The same by the API, field by field.
  const answer = await ask('plan', { manifests: manifest });
  const outcome = answer.outcomes.find((one) => one.name === 'one-more');
  for (const field of ['kind', 'namespace', 'name', 'state', 'node']) assert.equal(outcome[field], planned[field], field);
  assert.deepEqual(outcome.claims.map((claim) => claim.devices.map(({ request, driver, pool, device }) => ({ request, driver, pool, device }))), planned.claims.map((claim) => claim.devices.map(({ request, driver, pool, device }) => ({ request, driver, pool, device }))));
  await page.fill('textarea', 'apiVersion: v1\nkind: [Pod\n');
  await page.locator('.box.error').waitFor();
  assert.match(await page.locator('.box.error').innerText(), /line \d+, column \d+/);
  await page.getByRole('button', { name: 'start over' }).click();
  await page.getByRole('slider', { name: /inference/ }).fill('4');
  await page.locator('.slider.moved', { hasText: '2 → 4' }).waitFor();
  await until(() => page.evaluate(() => document.querySelector('canvas').painter.marks.planned.size === 2), 'two more cells are dashed');
  assert.deepEqual(await versions(), before);
  await end(page);
});

test('usage is what is held of what there is; a quota has a bar', async () => {
  await up.api('POST', '/api/v1/namespaces/default/resourcequotas', { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'gpus' }, spec: { hard: { 'gpu.example.com.deviceclass.resource.k8s.io/devices': '12' } } });
  const history = await until(async () => {
    const made = await ask('history?range=1h');
    return made.times.length > 0 && made;
  }, 'a sample');
  const row = history.classes.find((one) => one.name === 'gpu.example.com');
  const used = row.used.at(-1);
  assert.equal(row.devices.at(-1), 8);
  assert.ok(Math.abs(row.utilisation.at(-1) - used / 8) < 1e-9);
  const page = await look(desk.url('/console/usage'));
  await page.locator('.uplot').first().waitFor();
  await page.getByRole('img', { name: /of 12 allowed by quota gpus/ }).waitFor();
  await end(page);
});

test('a simulation gives what dray simulate gives', async () => {
  const { scenarios } = await ask('scenarios');
  const name = scenarios.map((one) => one.name).find((one) => one.endsWith('everyday.yaml'));
  if (!name) return; // an installation without examples
  const page = await look(desk.url(`/console/simulate/${encodeURIComponent(name)}`));
  await page.getByLabel('hours').fill('1');
  await page.getByRole('button', { name: '▶ run' }).click();
  await page.locator('.compare').waitFor({ timeout: 120000 });
  const { simulations } = await ask('simulations');
  const run = await ask(`simulations/${simulations[0].id}`);
  const alone = (await dray('simulate', process.env.DRAY_SCENARIO ?? join(process.env.DRAY_SOURCE, 'examples/scenarios/everyday.yaml'), '--duration', '1h', '-o', 'json')).json();
  for (const field of ['pods', 'waiting', 'stillWaiting', 'classes', 'workloads', 'groups', 'samples', 'attempts']) assert.deepEqual(run.result[field], alone[field], field);
  await end(page);
});

test('an expression lights the devices that dray cel finds', async () => {
  const expression = 'device.attributes["gpu.example.com"].numa == 0';
  const page = await look(desk.url(`/console/classes?cel=${encodeURIComponent(expression)}`));
  await drawn(page);
  await page.getByRole('button', { name: '4 match' }).waitFor();
  await until(() => page.evaluate(() => document.querySelector('canvas').painter.match), 'cells are lit');
  const lit = await page.evaluate(() => { const { match, fleet } = document.querySelector('canvas').painter; return [...match].flatMap((bit, id) => (bit ? [fleet.key(id)] : [])).sort(); });
  const slices = join(up.folder, 'slices.json');
  writeFileSync(slices, JSON.stringify(await up.api('GET', `${kResource}/resourceslices`).then((list) => ({ ...list, apiVersion: 'v1', kind: 'List', items: list.items.map((item) => ({ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', ...item })) }))));
  const found = (await dray('cel', expression, '-f', slices, '-o', 'json')).json();
  assert.deepEqual(lit, found.devices.filter((device) => device.match).map(keyOf).sort());
  await page.getByRole('textbox').fill('device.attributes["gpu.example.com"].numa = 0');
  await page.locator('.box.error').waitFor();
  assert.match(await page.locator('.box.error').innerText(), /column 43/);
  await end(page);
});

test('strangers are refused: token, host, origin, other sites, paths', async () => {
  const api = '/console/api/v1/fleet';
  const own = `127.0.0.1:${desk.port}`;
  const cases = [
    [{ path: api }, [200]], [{ path: api, token: '' }, [401]], [{ path: api, token: 'wrong' }, [401]],
    [{ path: api, headers: { Host: 'evil.example' } }, [421]], [{ path: api, headers: { Host: `evil.example:${desk.port}` } }, [421]], [{ path: api, headers: { Host: `127.0.0.1:${desk.port + 1}` } }, [421]],
    [{ path: '/x/../console/api/v1/fleet', headers: { Host: 'evil.example' } }, [421, 404, 400]], [{ path: '/console/', headers: { Host: 'evil.example' } }, [421]],
    [{ path: api, headers: { Host: `localhost:${desk.port}` } }, [200]],
    [{ path: api, headers: { Origin: 'http://evil.example' } }, [403]], [{ path: api, headers: { Origin: 'null' } }, [403]], [{ path: api, headers: { Origin: `http://${own}` } }, [200]],
    [{ path: api, headers: { 'Sec-Fetch-Site': 'cross-site' } }, [403]], [{ path: api, headers: { 'Sec-Fetch-Site': 'same-site' } }, [403]], [{ path: api, headers: { 'Sec-Fetch-Site': 'same-origin' } }, [200]],
    [{ path: api, method: 'OPTIONS' }, [405]], [{ path: '/console/api/v1/plan', method: 'POST', body: '{}', headers: { 'Content-Type': 'text/plain' } }, [415]],
    [{ path: '/api/v1/pods' }, [404]], [{ path: '/console/api/v1/../../../api/v1/secrets' }, [404, 400]], [{ path: '/console/api/v1/secrets' }, [404]],
  ];
  for (const [request, codes] of cases) {
    const answer = await desk.raw(request);
    assert.ok(codes.includes(answer.code), `${JSON.stringify(request)}: ${answer.code} ${answer.text.slice(0, 120)}`);
    if (answer.code !== 200) assert.doesNotMatch(answer.text, /gpu-000000/);
    for (const name of Object.keys(answer.headers)) assert.doesNotMatch(name, /^access-control/, 'no CORS, ever');
  }
  const page = await desk.raw({ path: '/console/', token: '' });
  assert.equal(page.code, 200);
  const policy = page.headers['content-security-policy'];
  for (const words of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "base-uri 'none'", "form-action 'none'"]) assert.ok(policy.includes(words), `${words} is not in ${policy}`);
  assert.equal(page.headers['x-content-type-options'], 'nosniff');
  assert.equal(page.headers['referrer-policy'], 'no-referrer');
  assert.match((await desk.raw({ path: api })).headers['cache-control'], /no-store/);
  assert.ok((await desk.raw({ path: '/console/app.js', token: '' })).headers.etag);
});

test('dray up at /console: with a token, as that user', async () => {
  const account = '/api/v1/namespaces/default/serviceaccounts';
  await up.api('POST', account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'looker' } });
  await up.api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'looker' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }, subjects: [{ kind: 'ServiceAccount', name: 'looker', namespace: 'default' }] });
  const { status } = await up.api('POST', `${account}/looker/token`, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
  const page = await look(`https://127.0.0.1:${up.port}/console/`, { ignoreHTTPSErrors: true, allow: [/401/] });
  await page.getByLabel('Token').fill(status.token);
  await page.getByRole('button', { name: 'Open the console' }).click();
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  assert.equal(await page.locator('[role=row]').count(), 5);
  await end(page);
  // Who may see devices, but not claims: held devices are held, by nobody that one is told.
  await up.api('POST', account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'half' } });
  await up.api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'half' }, rules: [{ apiGroups: ['resource.k8s.io'], resources: ['resourceslices', 'deviceclasses', 'devicetaintrules'], verbs: ['get', 'list', 'watch'] }, { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] }] });
  await up.api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'half' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'half' }, subjects: [{ kind: 'ServiceAccount', name: 'half', namespace: 'default' }] });
  const half = (await up.api('POST', `${account}/half/token`, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} })).status.token;
  const seen = await look(`https://127.0.0.1:${up.port}/console/#t=${half}`, { ignoreHTTPSErrors: true, allow: [/403/] });
  await drawn(seen);
  const text = await seen.locator('[role=grid]').innerText();
  assert.match(text, /gpu-0, held/);
  assert.doesNotMatch(text, /kep-5004|inference-|by pod/);
  await end(seen);
});

test('the API server goes and comes back; the console\'s process goes: both are seen, neither needs a reload', async () => {
  const page = await look(desk.url(), { allow: [/ERR_|Failed to load/] });
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  await page.evaluate(() => { window.still = 'here'; });
  const before = await page.evaluate(() => document.querySelector('canvas').painter.groups.groups.map((group) => [group.title, group.devices]));
  let began = Date.now();
  await up.stop('SIGKILL');
  await page.locator('.live.stale').waitFor();
  goal('without the API server: stale', Date.now() - began, 6000);
  await up.run();
  await page.locator('.live.ok').waitFor();
  await until(async () => JSON.stringify(await page.evaluate(() => document.querySelector('canvas').painter.groups.groups.map((group) => [group.title, group.devices]))) === JSON.stringify(before), 'the same picture');
  began = Date.now();
  await desk.stop('SIGKILL');
  await page.locator('.live.stale').waitFor();
  goal('without the process: stale', Date.now() - began, 6000);
  assert.equal(await page.evaluate(() => window.still), 'here');
  assert.equal(await page.locator('[role=row]').count(), 5, 'what was known is still shown');
  await end(page);
});
