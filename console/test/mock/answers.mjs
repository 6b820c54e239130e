// SPDX-License-Identifier: Apache-2.0
//
// What the mock server answers besides the picture: details, explanations, plans, expressions, usage, simulations. Shapes as in
// docs/console-api.md; of the demo they say what the real process says of it.
import { kHostile } from './fleets.mjs';

const iso = (seconds) => new Date(seconds * 1000).toISOString().replace('.000', '');

export function status(code, reason, message, more = {}) {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code, ...more };
}

export function deviceDetail(p, id) {
  const d = p.devices;
  const shape = p.shapes[d.shape[id]];
  const holders = p.claims.filter((claim) => claim.devices.includes(id));
  const words = ['free: not allocated to any claim', 'held by', 'shared by', 'partitioned: partitions of it are in use', 'blocked: compatibility group mig of mig-0 excludes it', 'gone: its driver no longer lists it, but it is held by'];
  const state = d.state[id];
  const who = holders.map((claim) => `pod ${claim.namespace}/${claim.pods[0]}`).join(' and ');
  return {
    id, driver: p.driverOf(id), pool: p.poolOf(id), device: p.nameOf(id), node: p.nodeOf(id), rev: 1, state, fill: d.fill[id], marks: d.marks[id],
    why: `${words[state] ?? ''} ${[1, 2, 5].includes(state) ? who : ''}`.trim(),
    attributes: [...shape.attributes, ['example.com/uuid', 'string', `GPU-${String(id).padStart(8, '0')}-7b2c`]],
    capacity: shape.capacity.map(([name, value]) => ({ name, value, ...(state === 2 ? { used: `${d.fill[id]}G`, policy: 'default 1G, from 1G in steps of 1G' } : {}) })),
    counters: d.card[id] >= 0 ? [{ set: p.strings[p.cards.name[d.card[id]]], name: 'multiprocessors', needs: '20', left: '80' }] : [],
    groups: d.card[id] >= 0 ? [p.nameOf(id).replace(/-?[0-9]+$/, '')] : [],
    taints: d.marks[id] & 1 ? [{ key: 'maintenance', value: 'tonight', effect: 'NoSchedule', source: 'DeviceTaintRule maintenance', since: iso(p.now - 3600) }] : [],
    health: d.marks[id] & 2 ? [{ source: 'condition Ready', text: 'XID 79: the GPU has fallen off the bus', since: iso(p.now - 600) }] : [],
    classes: (shape.classes ?? []).map((c) => p.classes[c]),
    holders: holders.map((claim) => ({ namespace: claim.namespace, claim: claim.name, request: 'gpu', pods: claim.pods, since: iso(claim.created), ...(state === 2 ? { consumed: { bandwidth: '40G' }, share: 'a1b2' } : {}) })),
  };
}

export function nodeDetail(p, name) {
  const id = p.nodeIndex.get(name);
  if (id === undefined) return undefined;
  const set = p.labels[p.nodes.labels[id]];
  const labels = {};
  for (let i = 0; i < set.length; i += 2) labels[p.strings[set[i]]] = p.strings[set[i + 1]];
  return { name, labels, flags: p.nodes.flags[id], created: iso(p.now - 86400), conditions: [{ type: 'Ready', status: p.nodes.flags[id] & 1 ? 'False' : 'True', reason: 'KubeletReady', message: p.nodes.flags[id] & 1 ? 'container runtime is down' : 'kubelet is posting ready status' }],
    taints: [], allocatable: { cpu: '64', memory: '512Gi', pods: '110' }, requested: { cpu: '8', memory: '32Gi' }, pods: 4 };
}

const kClassOf = (p, id) => p.classes[p.shapes[p.devices.shape[id]].classes?.[0] ?? 0] ?? '';

export function claimDetail(p, claim) {
  const created = iso(claim.created);
  const done = claim.state > 0;
  const aligned = claim.devices.length === 2 && claim.name.includes('kep-6080');
  const requests = (claim.devices.length > 0 ? claim.devices : [-1]).map((id, i) => ({
    name: id < 0 ? 'gpus' : p.nameOf(id).replace(/-?[0-9]+$/, '') || `r${i}`, class: id < 0 ? p.classes[0] : kClassOf(p, id), count: claim.name.startsWith('too-big') ? 16 : 1, mode: 'ExactCount',
    ...(aligned ? { derived: [{ name: 'shared-numa', expression: i === 0 ? 'device.attributes["gpu.example.com"].numa' : 'device.attributes["nic.example.com"].numaNode' }] } : {}),
    ...(id >= 0 && p.devices.state[id] === 2 && !aligned ? { capacity: { bandwidth: '40G' } } : {}),
    got: id < 0 ? [] : [{ id, driver: p.driverOf(id), pool: p.poolOf(id), device: p.nameOf(id), ...(aligned ? { derived: { 'shared-numa': '1' } } : {}), ...(p.devices.state[id] === 2 ? { share: 'a1b2', consumed: { bandwidth: aligned ? '1G' : '40G' } } : {}) }],
    why: id < 0 ? '' : aligned ? `${p.nameOf(id)} is the first of its class on ${p.nodeOf(id)} with which shared-numa holds` : `${p.nameOf(id)} is the first device of class ${kClassOf(p, id)} that was free on ${p.nodeOf(id)}`,
  }));
  return {
    rev: 1, namespace: claim.namespace, name: claim.name, uid: '0c7f…', state: claim.state, node: done ? p.nodeOf(claim.devices[0]) : '', owner: { kind: 'Pod', name: claim.pods[0] ?? claim.name.replace(/-[^-]+-[^-]+$/, '') }, podClaim: 'devices',
    steps: [{ step: 'created', state: 'done', time: created }, done ? { step: 'allocated', state: 'done', time: created, from: 'watch', detail: 'by default-scheduler' } : { step: 'allocated', state: 'open' },
      done ? { step: 'reserved', state: 'done', time: created, detail: `for pod ${claim.pods[0]}` } : { step: 'reserved', state: 'open' }, done ? { step: 'prepared', state: 'unknown' } : { step: 'prepared', state: 'open' }, { step: 'released', state: 'open' }],
    requests,
    constraints: aligned ? [{ type: 'matchAttribute', attribute: 'shared-numa', requests: requests.map((r) => r.name), holds: true, value: '1', values: claim.devices.map((id) => ({ id, value: '1' })) }]
      : claim.name.includes('kep-5491') ? [{ type: 'matchAttribute', attribute: 'resource.kubernetes.io/pcieRoot', requests: requests.map((r) => r.name), holds: true, value: 'pci0000:00' }] : [],
    pods: (claim.pods.length > 0 ? claim.pods : [claim.name.replace(/-[^-]+-[^-]+$/, '')]).map((name) => ({ name, node: done ? p.nodeOf(claim.devices[0]) : '', phase: done ? 'Running' : 'Pending' })),
    conditions: [],
    events: done ? [{ time: created, type: 'Normal', reason: 'Scheduled', message: `Successfully assigned ${claim.namespace}/${claim.pods[0]} to ${p.nodeOf(claim.devices[0])}`, count: 1 }] : [{ time: created, type: 'Warning', reason: 'FailedScheduling', message: '0/5 nodes are available: 5 cannot allocate all claims.', count: 7 }],
    yaml: `apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: ${claim.name}\n  namespace: ${claim.namespace}\nspec:\n  devices:\n    requests:\n${requests.map((r) => `    - name: ${r.name}\n      exactly: {deviceClassName: ${r.class}}`).join('\n')}\n`,
  };
}

const drops = (reason, devices, more = {}) => ({ reason, devices, ...more });
function tree(text, request, className, needed, ofClass, usable, list) {
  return [{ plugin: 'DynamicResources', code: 'claims', text, devices: { claims: [{ name: 'x', requests: [{ name: request, inConflict: true, alternatives: [{ deviceClass: className, needed, ofClass, considered: ofClass + 4, usable, drops: list }] }] }] } }];
}

export function explanations(p, kind) {
  const since = (pod) => iso(pod.since);
  const pod = (name) => p.pending.find((row) => row.name === name);
  const made = [];
  if (kind === 'demo') {
    const big = pod('too-big');
    const vgpu = pod('kep-5963-vgpu');
    if (big) {
      made.push({
        cause: { key: 'count/gpu.example.com', sentence: 'The request is larger than any node: 16 devices of class gpu.example.com' }, members: [big],
        outcome: {
          kind: 'Pod', namespace: 'default', name: 'too-big', state: 'Refused', since: since(big), answer: 'No node has 16 devices of class gpu.example.com; the largest, gpu-000000, has 4.',
          cures: [
            { kind: 'wait_for', text: 'wait until pod inference-84b8fcd969-p2pbz ends, which has gpu-0 on node gpu-000001', verified: 'insufficient', shortBy: '12 devices of class gpu.example.com', pods: ['default/inference-84b8fcd969-p2pbz'], plan: { delete: ['pod/default/inference-84b8fcd969-p2pbz'] } },
            { kind: 'change_request', text: 'ask for at most 2 devices in request gpu', verified: 'sufficient', node: 'gpu-000001', plan: { manifests: 'apiVersion: v1\nkind: Pod\nmetadata: {name: too-big}\n' } },
            { kind: 'add_node', text: 'a node with 16 devices of class gpu.example.com', verified: 'unknown' },
          ],
          groups: [{ nodes: 1, nearest: true, examples: ['gpu-000001'], reasons: tree('cannot allocate all claims: request gpu needs 16 devices, 2 of 4 usable', 'gpu', 'gpu.example.com', 16, 4, 2, [drops('in_use', 2, { holders: [{ claim: 'default/inference-84b8fcd969-p2pbz-gpu-vg4k2', who: 'pod inference-84b8fcd969-p2pbz', devices: 1 }, { claim: 'default/inference-84b8fcd969-9xkqd-gpu-7mfhw', who: 'pod inference-84b8fcd969-9xkqd', devices: 1 }] })]) },
            { nodes: 1, examples: ['gpu-000000'], reasons: tree('cannot allocate all claims: request gpu needs 16 devices, 1 of 4 usable', 'gpu', 'gpu.example.com', 16, 4, 1, [drops('in_use', 3)]) },
            { nodes: 3, examples: ['partitioned-000000', 'plain-000000', 'plain-000001'], reasons: tree('cannot allocate all claims: no device of class gpu.example.com', 'gpu', 'gpu.example.com', 16, 0, 0, []) }],
        },
      });
    }
    if (vgpu) {
      made.push({
        cause: { key: 'groups/mig.example.com', sentence: 'The card is partitioned as mig; vgpu cannot be mixed with it' }, members: [vgpu],
        outcome: {
          kind: 'Pod', namespace: 'default', name: 'kep-5963-vgpu', state: 'Refused', since: since(vgpu), answer: 'The only devices of this kind, vgpu-0 and vgpu-1 on partitioned-000000, are excluded while pod kep-5963-mig has mig-0.',
          cures: [{ kind: 'wait_for', text: 'wait until pod kep-5963-mig ends, which has mig-0 on node partitioned-000000', verified: 'sufficient', node: 'partitioned-000000', pods: ['default/kep-5963-mig'], plan: { delete: ['pod/default/kep-5963-mig'] } },
            { kind: 'drop_selector', text: 'leave out the selector device.attributes["mig.example.com"].type == "vgpu" of request part', verified: 'sufficient', node: 'partitioned-000000' }],
          groups: [{ nodes: 1, nearest: true, examples: ['partitioned-000000'], reasons: tree('cannot allocate all claims: compatibility groups vgpu do not go with mig', 'part', 'mig.example.com', 1, 6, 0, [drops('groups', 2, { examples: [{ driver: 'mig.example.com', pool: 'partitioned-000000', device: 'vgpu-0' }, { driver: 'mig.example.com', pool: 'partitioned-000000', device: 'vgpu-1' }] }), drops('selector_false', 4, { expression: 'device.attributes["mig.example.com"].type == "vgpu"' })]) },
            { nodes: 4, examples: ['gpu-000000', 'gpu-000001', 'plain-000000'], reasons: tree('cannot allocate all claims: no device of class mig.example.com', 'part', 'mig.example.com', 1, 0, 0, []) }],
        },
      });
    }
  } else {
    const groups = new Map();
    for (const row of p.pending) {
      const key = row.name.replace(/[-0-9]+$/, '');
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    for (const [key, members] of groups) {
      const text = kind === 'hostile' ? key : kind === 'showcase' && key === 'pretrain-70b-worker' ? 'All 8 H100 of a node at once: no node has 8 free' : kind === 'showcase' && key === 'sweep' ? 'Only 1g.10gb partitions fit, and the cards with room are given as a whole' : kind === 'showcase' ? 'The devices that are free carry the taint maintenance=tonight:NoSchedule' : `Too few devices for ${key}`;
      const pods = kind === 'showcase' ? { answer: key === 'pretrain-70b-worker' ? 'The pod asks for 8 devices of class h100.example.com on one node; the nearest, hgx-012, has 6 free.' : text } : { answer: text };
      made.push({
        cause: { key, sentence: text }, members,
        outcome: {
          kind: 'Pod', namespace: members[0].namespace, name: members[0].name, state: 'Refused', since: since(members[0]), ...pods,
          cures: [{ kind: 'wait_for', text: kind === 'hostile' ? text : 'wait until pod research/finetune-00ab ends, which has gpu-2 and gpu-3 on node hgx-012', verified: 'sufficient', node: kind === 'hostile' ? text : 'hgx-012', plan: { delete: ['pod/research/finetune-00ab'] } },
            { kind: 'change_request', text: kind === 'hostile' ? text : 'ask for 6 devices instead of 8', verified: 'sufficient', node: kind === 'hostile' ? text : 'hgx-012' },
            { kind: 'wait_for', text: kind === 'hostile' ? text : 'wait until pod inference/finetune-004x ends', verified: 'insufficient', shortBy: kind === 'hostile' ? text : '1 device of class h100.example.com' }],
          hints: kind === 'hostile' ? [text] : [],
          groups: [{ nodes: 1, nearest: true, examples: [kind === 'hostile' ? text : 'hgx-012'], reasons: tree(kind === 'hostile' ? text : 'cannot allocate all claims: request gpus needs 8 devices, 6 of 8 usable', 'gpus', p.classes[0] ?? '', 8, 8, 6, [drops('in_use', 2, { holders: [{ claim: text, who: kind === 'hostile' ? text : 'pod research/finetune-00ab', devices: 2 }] })]) },
            { nodes: 27, examples: ['hgx-000', 'hgx-001'], reasons: tree('cannot allocate all claims: request gpus needs 8 devices, none usable', 'gpus', p.classes[0] ?? '', 8, 8, 0, [drops('in_use', 8)]) }],
        },
      });
    }
  }
  return made;
}

export function explain(p, kind, body) {
  const all = explanations(p, kind);
  if (body.target) {
    const [, namespace, name] = body.target.split('/');
    const found = all.find((row) => row.members.some((member) => member.namespace === namespace && member.name === name));
    const holder = p.claims.find((claim) => claim.namespace === namespace && claim.pods.includes(name));
    if (!found && holder) return { rev: 1, seconds: 0.01, outcomes: [{ kind: 'Pod', namespace, name, state: 'Existing', node: p.nodeOf(holder.devices[0]), claims: [] }] };
    if (!found) return undefined;
    return { rev: 1, seconds: 0.01, outcomes: [{ ...found.outcome, namespace, name, cause: found.cause.key }] };
  }
  if (kind === 'many' && p.quota) {
    return { rev: 1, seconds: 0.01, causes: [{ key: 'exceeded_quota', sentence: 'A ResourceQuota is used up.', pods: 1, members: [] }, { key: 'devices_short/gpu', sentence: 'There are too few devices of class gpu.', pods: 0, claims: 1, members: [{ namespace: 'default', name: 'loose', kind: 'ResourceClaim' }] }],
      outcomes: [], podsNotCreated: [{ namespace: 'team', owners: ['ReplicaSet/train-59f', 'Deployment/train'], wanted: 3, missing: 1, reason: 'exceeded quota: gpus', cause: 'exceeded_quota' }] };
  }
  return {
    rev: 1, seconds: 0.04,
    causes: all.map((row) => ({ ...row.cause, pods: row.members.length, oldest: iso(Math.min(...row.members.map((m) => m.since))), members: row.members.slice(0, 200).map((m) => ({ namespace: m.namespace, name: m.name, since: iso(m.since) })) })).sort((a, b) => b.pods - a.pods),
    outcomes: all.map((row) => ({ ...row.outcome, cause: row.cause.key })),
  };
}

// Not a planner: enough of one to see what the page does with an answer.
export function plan(p, kind, body) {
  const outcomes = [];
  const text = body.manifests ?? '';
  const broken = text.split('\n').findIndex((line) => /^\s*\t|[^:]*: *\[[^\]]*$|^\s*!!/.test(line));
  if (broken >= 0) return { code: 422, body: status(422, 'Invalid', `manifests:${broken + 1}:3: error: the list that begins here does not end`, { issues: [{ line: broken + 1, column: 3, message: 'the list that begins here does not end', hint: 'a ] is missing' }] }) };
  const free = p.devices.state.map((state, id) => (state === 0 && p.devices.marks[id] === 0 ? id : -1)).filter((id) => id >= 0 && (p.shapes[p.devices.shape[id]].classes ?? []).includes(0));
  const place = (name, more = {}) => {
    const id = free.shift();
    if (id === undefined) outcomes.push({ kind: 'Pod', namespace: 'default', name, state: 'Refused', ...more, ...explanations(p, kind)[0]?.outcome, answer: 'No device is left.', cures: [] });
    else outcomes.push({ kind: 'Pod', namespace: 'default', name, state: 'Placed', node: p.nodeOf(id), claims: [{ name: `${name}-gpu`, podClaim: 'gpu', devices: [{ request: 'gpu', driver: p.driverOf(id), pool: p.poolOf(id), device: p.nameOf(id), id }] }], ...more });
  };
  for (const doc of text.split(/^---$/m)) {
    const name = /name: *([-a-z0-9.]+)/.exec(doc)?.[1];
    if (!name || !/kind: *Pod/.test(doc)) continue;
    if (/priority/.test(doc)) {
      const victim = p.claims.find((claim) => claim.devices.length > 0);
      outcomes.push({ kind: 'Pod', namespace: victim.namespace, name: victim.pods[0], state: 'Preempted', node: p.nodeOf(victim.devices[0]), preemptedFor: `pod default/${name}`, claims: [] });
      const id = victim.devices[0];
      outcomes.push({ kind: 'Pod', namespace: 'default', name, state: 'Placed', node: p.nodeOf(id), victims: [`${victim.namespace}/${victim.pods[0]}`], claims: [{ name: `${name}-gpu`, devices: [{ request: 'gpu', driver: p.driverOf(id), pool: p.poolOf(id), device: p.nameOf(id), id }] }] });
    } else place(name);
  }
  for (const [key, replicas] of Object.entries(body.scale ?? {})) {
    const now = 2;
    for (let i = now; i < replicas; ++i) place(`${key.split('/')[2]}-new-${i}`, { planned: true, owners: ['Deployment/' + key.split('/')[2]] });
  }
  for (const gone of body.delete ?? []) {
    const waiting = p.pending.find((row) => row.name === 'kep-5963-vgpu');
    if (gone.endsWith('kep-5963-mig') && waiting) {
      const id = p.find('partitioned-000000', 'vgpu-0');
      outcomes.push({ kind: 'Pod', namespace: 'default', name: waiting.name, state: 'Placed', before: 'Refused', node: 'partitioned-000000', claims: [{ name: 'part', podClaim: 'part', devices: [{ request: 'part', driver: 'mig.example.com', pool: 'partitioned-000000', device: 'vgpu-0', id }] }] });
    }
  }
  const count = (state) => outcomes.filter((row) => row.state === state).length;
  return {
    code: 200,
    body: {
      rev: 1, seconds: 0.031, assumptions: [], notes: [], summary: { existing: p.claims.length, placed: count('Placed'), pending: count('Refused') + p.pending.length, waiting: 0, preempted: count('Preempted'), skipped: 0 }, outcomes,
      newNodes: (body.nodes ?? []).flatMap((row) => Array.from({ length: row.count }, (_, i) => ({ name: `${row.like}-new-${i}`, like: row.like, used: i === 0 ? [{ driver: p.driverOf(0), device: 'gpu-0', by: 'default/too-big' }] : [] }))),
      skipped: /ConfigMap/.test(text) ? [{ kind: 'ConfigMap', count: 1 }] : [],
    },
  };
}

// `device.driver == "x"` and `device.attributes["d"].name == value`; what else CEL can is the process's to know.
export function cel(p, body) {
  const text = body.expression;
  const driver = /^device\.driver == "([^"]*)"$/.exec(text);
  const attribute = /^device\.attributes\["([^"]+)"\]\.([A-Za-z]+)(?: == (?:"([^"]*)"|([0-9]+)))?$/.exec(text);
  const base = { rev: 1, expression: text };
  if (!driver && !attribute) {
    const at = / = /.exec(text);
    return { ...base, issues: [{ severity: 'error', line: 1, column: at ? at.index + 2 : 1, message: at ? "unexpected '='" : 'this is no expression', hint: at ? "equality is '=='" : '' }] };
  }
  const n = p.devices.pool.length;
  const match = Buffer.alloc(Math.ceil(n / 8));
  const error = Buffer.alloc(Math.ceil(n / 8));
  const counts = { match: 0, noMatch: 0, error: 0 };
  const values = new Map();
  const examples = [];
  for (let id = 0; id < n; ++id) {
    let is;
    if (driver) is = p.driverOf(id) === driver[1];
    else {
      const found = p.shapes[p.devices.shape[id]].attributes.find(([name]) => name === `${attribute[1]}/${attribute[2]}`);
      if (found) {
        is = attribute[3] === undefined && attribute[4] === undefined ? true : String(found[2]) === (attribute[3] ?? attribute[4]);
        values.set(String(found[2]), (values.get(String(found[2])) ?? 0) + 1);
      }
    }
    if (is === undefined) {
      ++counts.error;
      error[id >> 3] |= 1 << (id & 7);
      if (examples.length < 3) examples.push(id);
    } else if (is) {
      ++counts.match;
      match[id >> 3] |= 1 << (id & 7);
    } else ++counts.noMatch;
  }
  return {
    ...base, type: body.derived ? 'int' : 'bool', estimatedCost: 5, costLimit: 1000000, cost: 5, reads: attribute ? [`attribute ${attribute[1]}/${attribute[2]}`] : ['driver'], issues: [], counts,
    match: match.toString('base64'), error: error.toString('base64'),
    errors: counts.error > 0 ? [{ message: `no such key: ${attribute[2]}`, hint: `ask first: has(device.attributes["${attribute[1]}"].${attribute[2]})`, devices: counts.error, examples }] : [],
    values: body.derived ? [...values].map(([value, devices]) => ({ value, type: 'int', devices })) : [],
  };
}

export function history(p, range, roll) {
  const span = { '1h': 3600, '6h': 21600, '24h': 86400, '7d': 604800 }[range] ?? 3600;
  const step = span <= 3600 ? 10 : 300;
  const n = Math.min(360, Math.floor(span / step));
  const times = Array.from({ length: n }, (_, i) => p.now - (n - 1 - i) * step);
  const wave = (base, swing, phase, end) => times.map((_, i) => {
    const w = base + swing * Math.sin(i / 37 + phase) + (roll() - 0.5) * swing * 0.25;
    const mix = i / n;
    return Math.max(0, Math.min(1, end === undefined ? w : w * (1 - mix) + end * mix));
  });
  const classes = p.classes.slice(0, 6).map((name, c) => {
    const ids = p.devices.shape.map((s, id) => ((p.shapes[s].classes ?? []).includes(c) ? id : -1)).filter((id) => id >= 0);
    const used = ids.filter((id) => p.devices.state[id] === 1).length + ids.filter((id) => p.devices.state[id] === 2).reduce((sum, id) => sum + p.devices.fill[id] / 100, 0);
    const blocked = ids.filter((id) => p.devices.state[id] === 4 || p.devices.state[id] === 3).length;
    const share = ids.length > blocked ? used / (ids.length - blocked) : 0;
    const line = wave(share, 0.12, c * 1.7, share);
    line[n - 1] = share;
    return { name, devices: times.map(() => ids.length), used: line.map((v) => Math.round(v * (ids.length - blocked) * 10) / 10), blocked: times.map(() => blocked), utilisation: line, fragmentation: wave(0.18 + c * 0.06, 0.08, c * 2.3), typicalCount: c === 0 ? 8 : 1 };
  });
  const queue = wave(0.4, 0.3, 1, 0.5).map((v) => Math.round(v * Math.max(2, p.pending.length) * 2));
  queue[n - 1] = p.pending.length;
  return { since: iso(times[0]), step, times, pending: queue, oldest: times.map((_, i) => (queue[i] > 0 ? 60 + (i % 90) * 12 : 0)), running: times.map(() => p.claims.length), waitP50: wave(0.3, 0.2, 0).map((v) => v * 2), waitP99: wave(0.5, 0.3, 2).map((v) => v * 600), classes };
}

export function namespaces(p) {
  const rows = new Map();
  for (const claim of p.claims) {
    let row = rows.get(claim.namespace);
    if (!row) rows.set(claim.namespace, (row = { claims: 0, pods: new Set(), classes: new Map() }));
    ++row.claims;
    for (const pod of claim.pods) row.pods.add(pod);
    for (const id of claim.devices) for (const c of p.shapes[p.devices.shape[id]].classes ?? []) row.classes.set(p.classes[c], (row.classes.get(p.classes[c]) ?? 0) + 1);
  }
  return {
    rev: 1,
    namespaces: [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, row], i) => ({
      name, claims: row.claims, pods: row.pods.size, pending: p.pending.filter((pod) => pod.namespace === name).length,
      classes: [...row.classes].map(([className, devices], k) => ({ name: className, devices, ...(k === 0 && i % 2 === 0 ? { quota: { name: 'devices', hard: Math.ceil(devices * (i === 0 ? 1.25 : 1)), used: devices } } : {}), ...(k === 0 && name === 'training' ? { pending: 96 } : {}) })),
    })),
  };
}

export function simulationResult(seed, policy, roll) {
  const better = policy === 'first-fit' ? 0 : 0.06;
  const samples = Array.from({ length: 145 }, (_, i) => {
    const load = 0.45 + 0.4 * Math.sin(Math.PI * i / 144) + (roll() - 0.5) * 0.05;
    return { seconds: i * 600, waiting: Math.max(0, Math.round((load - 0.7) * 160 * (1 - better * 3) + roll() * 3)), running: Math.round(load * 420), utilisation: [Math.min(1, load + 0.1 + better), load * 0.85, load * 0.3], fragmentation: [Math.max(0, 0.28 - better * 2 + (roll() - 0.5) * 0.06), 0.05 + roll() * 0.02, 0.02] };
  });
  const waiting = 23 - Math.round(better * 200);
  return {
    title: 'An ordinary working day', seed, policy, nodes: 64, devices: 464, simulatedSeconds: 86400, pods: { created: 5612, placed: 5612 - waiting, refused: waiting, pending: 0, running: 318, departed: 5200 }, attempts: 9211,
    waiting: { count: 5612, p50: 0, p90: 4 - better * 20, p99: 4271 - better * 30000, max: 4838, mean: 88 }, stillWaiting: waiting,
    classes: [['h100', 190, 0.753 + better / 2, 0.21 - better], ['l4', 79, 0.527, 0.04], ['nic', 192, 0.133, 0]].map(([name, devices, mean, fragmentation]) => ({ name, devices, used: devices * 0.9, free: devices * 0.1, blocked: 0, utilisation: 0.93, meanUtilisation: mean, peakUtilisation: 1, fragmentation, meanFragmentation: fragmentation, typicalCount: name === 'h100' ? 4 : 1 })),
    workloads: [['training', 924, waiting, 4838 - better * 20000], ['inference', 3731, 0, 1], ['notebook', 957, 0, 115]].map(([name, created, left, p99]) => ({ name, created, placed: created - left, waiting: left, times: { count: created, p50: 0, p90: 0, p99, max: p99, mean: 3 } })),
    groups: [{ name: 'hgx', nodes: 24, placed: 900 }, { name: 'small', nodes: 40, placed: 4700 }], reasons: [{ plugin: 'DynamicResources', code: 'claims', text: 'cannot allocate all claims: devices of class h100', attempts: 7268, pods: 36 }, { plugin: 'NodeResourcesFit', code: 'fit', text: 'Insufficient memory', attempts: 7254, pods: 26 }],
    samples,
  };
}

// Every text of an answer replaced by one that a stranger chose; numbers, enums and times stay.
export function poison(value, keep = new Set(['state', 'verified', 'step', 'kind', 'time', 'since', 'oldest', 'created', 'started', 'mode', 'epoch', 'id', 'match', 'error', 'key', 'cause', 'code', 'type', 'can'])) {
  let next = 0;
  const walk = (v, key) => {
    if (typeof v === 'string') return keep.has(key) ? v : kHostile[next++ % kHostile.length];
    if (Array.isArray(v)) return keep.has(key) ? v : v.map((item) => walk(item, ''));
    if (v !== null && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, item]) => [k, walk(item, k)]));
    return v;
  };
  return walk(value, '');
}
