// SPDX-License-Identifier: Apache-2.0
//
// dray up through @kubernetes/client-node: informers, watches, patches, apply, and a story from claim to running pod.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as k8s from '@kubernetes/client-node';
import { Server, until } from './server.mjs';

const GROUP = { group: 'resource.k8s.io', version: 'v1' };
const namespace = 'default';
let server;
let core;
let objects;

const pod = (name, spec = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: name } },
  spec: { containers: [{ name: 'main', image: 'example.com/x:1' }], ...spec },
});
const withType = (strategy) => k8s.setHeaderOptions('Content-Type', strategy);
const codeOf = (promise) => promise.then(() => 200, (error) => error.code);

function connect() {
  core = server.config.makeApiClient(k8s.CoreV1Api);
  objects = k8s.KubernetesObjectApi.makeApiClient(server.config);
}

before(async () => {
  server = await Server.start('--nodes', '2');
  connect();
});
after(async () => {
  await server.end();
  // A watch that the library keeps trying to open must not keep the tests from ending.
  setTimeout(() => process.exit(), 1000).unref();
});

test('objects are created, read, listed in pages and deleted', async () => {
  for (let i = 0; i < 5; ++i) await core.createNamespacedPod({ namespace, body: pod(`page-${i}`) });
  const names = [];
  let _continue;
  do {
    const page = await core.listNamespacedPod({ namespace, limit: 2, _continue });
    assert.ok(page.items.length <= 2);
    names.push(...page.items.map((item) => item.metadata.name));
    _continue = page.metadata._continue;
  } while (_continue);
  assert.deepEqual(names, ['page-0', 'page-1', 'page-2', 'page-3', 'page-4']);
  assert.equal((await core.readNamespacedPod({ name: 'page-0', namespace })).spec.containers[0].name, 'main');
  await core.deleteCollectionNamespacedPod({ namespace, labelSelector: 'app in (page-0,page-1,page-2,page-3,page-4)' });
  await until(async () => (await core.listNamespacedPod({ namespace })).items.length === 0, 'all pods gone');
});

test('errors are statuses with code and reason', async () => {
  await assert.rejects(core.readNamespacedPod({ name: 'none', namespace }), (error) => {
    assert.equal(error.code, 404);
    assert.equal(JSON.parse(error.body).reason, 'NotFound');
    return true;
  });
  const body = pod('twice');
  await core.createNamespacedPod({ namespace, body });
  assert.equal(await codeOf(core.createNamespacedPod({ namespace, body })), 409);
  const stale = await core.readNamespacedPod({ name: 'twice', namespace });
  await core.patchNamespacedPod(
    { name: 'twice', namespace, body: { metadata: { labels: { a: 'b' } } } },
    withType(k8s.PatchStrategy.MergePatch),
  );
  stale.metadata.labels.c = 'd';
  assert.equal(await codeOf(core.replaceNamespacedPod({ name: 'twice', namespace, body: stale })), 409);
});

test('an informer sees what happens, and goes on after a restart of the server', async () => {
  const seen = [];
  const list = () => core.listNamespacedPod({ namespace });
  const informer = k8s.makeInformer(server.config, `/api/v1/namespaces/${namespace}/pods`, list);
  for (const verb of ['add', 'update', 'delete']) informer.on(verb, (object) => seen.push(`${verb} ${object.metadata.name}`));
  // What client-go does by itself is up to the caller here: start again when the watch breaks.
  let over = false;
  informer.on('error', () => over || setTimeout(() => informer.start().catch(() => {}), 100));
  await informer.start();
  await core.createNamespacedPod({ namespace, body: pod('before') });
  await until(() => seen.includes('add before') && seen.includes('update before'), 'add and update of a pod that runs');

  assert.equal(await server.stop(), 0);
  await server.run();
  connect();
  await core.createNamespacedPod({ namespace, body: pod('after') });
  await until(() => seen.includes('add after'), 'a pod made after the restart');
  assert.ok(informer.get('before', namespace), 'what was there before is still there');
  await core.deleteNamespacedPod({ name: 'before', namespace });
  await until(() => seen.includes('delete before'), 'a deletion');
  assert.equal(informer.get('before', namespace), undefined);
  over = true;
  await informer.stop();
});

test('patches of every type', async () => {
  const name = 'patched';
  await core.createNamespacedPod({ namespace, body: pod(name) });
  const patch = (strategy, body) => core.patchNamespacedPod({ name, namespace, body }, withType(strategy));
  await patch(k8s.PatchStrategy.JsonPatch, [{ op: 'add', path: '/metadata/labels/json', value: '1' }]);
  await patch(k8s.PatchStrategy.MergePatch, { metadata: { labels: { merge: '2', app: null } } });
  const after = await patch(k8s.PatchStrategy.StrategicMergePatch, {
    metadata: { labels: { strategic: '3' } },
    spec: { containers: [{ name: 'main', image: 'example.com/x:2' }] },
  });
  assert.deepEqual(after.metadata.labels, { json: '1', merge: '2', strategic: '3' });
  // Merged by name: one container still, with its new image.
  assert.deepEqual(after.spec.containers.map((container) => container.image), ['example.com/x:2']);
  const failing = patch(k8s.PatchStrategy.JsonPatch, [{ op: 'test', path: '/metadata/labels/json', value: 'other' }]);
  assert.equal(await codeOf(failing), 422);
});

test('server-side apply says whose field it is', async () => {
  const labelled = (team) => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    metadata: { name: 'applied.example.com', labels: { team } },
  });
  const apply = (team, manager, force) =>
    objects.patch(labelled(team), undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
  await apply('a', 'one');
  await assert.rejects(apply('b', 'two'), (error) => {
    assert.equal(error.code, 409);
    const status = JSON.parse(error.body);
    assert.equal(status.details.causes[0].field, '.metadata.labels.team');
    assert.match(status.message, /conflict with "one"/);
    return true;
  });
  const forced = await apply('b', 'two', true);
  assert.equal(forced.metadata.labels.team, 'b');
  assert.deepEqual(forced.metadata.managedFields.map((entry) => `${entry.manager} ${entry.operation}`), ['two Apply']);
});

// A watch: its events until `enough`, or its error.
function watch(path, query, enough) {
  return new Promise((resolve, reject) => {
    const events = [];
    const request = new k8s.Watch(server.config).watch(
      path,
      query,
      (type, object) => {
        events.push({ type, object });
        if (enough(events)) request.then((controller) => controller.abort());
      },
      (error) => (error && error.name !== 'AbortError' ? reject(error) : resolve(events)),
    );
  });
}

test('a watch begins where it is told, with bookmarks', async () => {
  const before = (await core.listNamespacedPod({ namespace })).metadata.resourceVersion;
  await core.createNamespacedPod({ namespace, body: pod('watched') });
  const events = await watch(
    `/api/v1/namespaces/${namespace}/pods`,
    { resourceVersion: before, allowWatchBookmarks: true, fieldSelector: 'metadata.name=watched' },
    (all) => all.some(({ object }) => object.status?.phase === 'Running'),
  );
  assert.equal(events[0].type, 'ADDED');
  assert.ok(events.every(({ object }) => Number(object.metadata.resourceVersion) > Number(before)));
  const initial = await watch(
    `/api/v1/namespaces/${namespace}/pods`,
    { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true },
    (all) => all.at(-1).type === 'BOOKMARK',
  );
  assert.equal(initial.at(-1).object.metadata.annotations['k8s.io/initial-events-end'], 'true');
});

test('a watch from a revision that is no longer known ends with 410', async () => {
  const first = (await core.listNamespacedPod({ namespace })).metadata.resourceVersion;
  await core.createNamespace({ body: { metadata: { name: 'busy' } } });
  // The history is 128 MiB: large writes push the beginning out of it.
  const text = 'x'.repeat(250_000);
  const write = (i) =>
    core.patchNamespace(
      { name: 'busy', body: { metadata: { annotations: { text: `${i}${text}` } } } },
      withType(k8s.PatchStrategy.MergePatch),
    );
  for (let i = 0; i < 560; i += 16) await Promise.all(Array.from({ length: 16 }, (_, j) => write(i + j)));
  const events = await watch('/api/v1/pods', { resourceVersion: first }, (all) => all[0].type === 'ERROR').catch((error) => [
    { type: 'ERROR', object: { code: error.statusCode ?? error.code, reason: 'Expired' } },
  ]);
  assert.equal(events[0].type, 'ERROR');
  assert.equal(Number(events[0].object.code), 410, JSON.stringify(events[0].object));
});

test('a story: a claim, a pod that gets the device, one that waits for it', async () => {
  const create = (object) => objects.create(object);
  const name = 'story.example.com';
  await create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'story' } });
  await create({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    metadata: { name },
    spec: { selectors: [{ cel: { expression: `device.driver == "${name}"` } }] },
  });
  await create({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: 'story' },
    spec: {
      driver: name,
      nodeName: 'story',
      pool: { name: 'story', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'only-one' }],
    },
  });
  await create({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaimTemplate',
    metadata: { name: 'one', namespace },
    spec: { spec: { devices: { requests: [{ name: 'device', exactly: { deviceClassName: name } }] } } },
  });
  const resourceClaims = [{ name: 'device', resourceClaimTemplateName: 'one' }];
  const phase = async (of) => (await core.readNamespacedPod({ name: of, namespace })).status.phase;
  await core.createNamespacedPod({ namespace, body: pod('first', { resourceClaims }) });
  await until(async () => (await phase('first')) === 'Running', 'the first pod runs');
  await core.createNamespacedPod({ namespace, body: pod('second', { resourceClaims }) });
  await until(async () => {
    const { items } = await core.listNamespacedEvent({ namespace, fieldSelector: 'involvedObject.name=second' });
    return items.some((event) => event.reason === 'FailedScheduling' && /1 in use/.test(event.message));
  }, 'an event that says why the second waits');
  assert.equal(await phase('second'), 'Pending');

  await core.deleteNamespacedPod({ name: 'first', namespace });
  await until(async () => (await phase('second')) === 'Running', 'the second pod runs');
  const second = await core.readNamespacedPod({ name: 'second', namespace });
  const custom = server.config.makeApiClient(k8s.CustomObjectsApi);
  const claim = await custom.getNamespacedCustomObject({
    ...GROUP,
    namespace,
    plural: 'resourceclaims',
    name: second.status.resourceClaimStatuses[0].resourceClaimName,
  });
  assert.equal(claim.status.allocation.devices.results[0].device, 'only-one');
  assert.equal(claim.status.reservedFor[0].uid, second.metadata.uid);
});
