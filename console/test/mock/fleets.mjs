// SPDX-License-Identifier: Apache-2.0
//
// Clusters that the mock server tells of: what `dray up --demo` has, many nodes, names that a hostile driver would choose, nothing.
const kState = { free: 0, held: 1, shared: 2, partitioned: 3, blocked: 4, gone: 5, unknown: 6, removed: 255 };
const kTainted = 1;
const kUnhealthy = 2;

// The same numbers for the same seed.
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Puts together what GET fleet and GET holders say, as the process would.
export class Picture {
  constructor(now) {
    this.now = now;
    this.strings = [''];
    this.index = new Map([['', 0]]);
    this.labels = [];
    this.labelIndex = new Map();
    this.nodes = { name: [], labels: [], flags: [] };
    this.nodeIndex = new Map();
    this.pools = { driver: [], name: [], node: [], flags: [], slices: [], generation: [] };
    this.poolIndex = new Map();
    this.cards = { pool: [], name: [] };
    this.shapes = [];
    this.shapeIndex = new Map();
    this.classes = [];
    this.devices = { pool: [], name: [], shape: [], card: [], state: [], fill: [], marks: [] };
    this.claims = [];
    this.pending = [];
    this.hidden = false;
    this.details = new Map(); // by device id: what only the detail has
    this.requests = new Map(); // by claim
  }
  string(text) {
    let i = this.index.get(text);
    if (i === undefined) {
      i = this.strings.push(text) - 1;
      this.index.set(text, i);
    }
    return i;
  }
  node(name, labels = {}, flags = 0) {
    const key = JSON.stringify(labels);
    let set = this.labelIndex.get(key);
    if (set === undefined) {
      set = this.labels.push(Object.entries(labels).flatMap(([k, v]) => [this.string(k), this.string(v)])) - 1;
      this.labelIndex.set(key, set);
    }
    this.nodes.name.push(this.string(name));
    this.nodes.labels.push(set);
    this.nodes.flags.push(flags);
    const id = this.nodes.name.length - 1;
    this.nodeIndex.set(name, id);
    return id;
  }
  pool(driver, name, node, flags = 0) {
    this.pools.driver.push(this.string(driver));
    this.pools.name.push(this.string(name));
    this.pools.node.push(node);
    this.pools.flags.push(flags);
    this.pools.slices.push(1);
    this.pools.generation.push(1);
    const id = this.pools.name.length - 1;
    this.poolIndex.set(`${driver}/${name}`, id);
    return id;
  }
  card(pool, name) {
    this.cards.pool.push(pool);
    return this.cards.name.push(this.string(name)) - 1;
  }
  shape(driver, attributes, capacity, multiple, classes) {
    const key = JSON.stringify([driver, attributes, capacity, multiple, classes]);
    let i = this.shapeIndex.get(key);
    if (i === undefined) {
      i = this.shapes.push({ driver: this.string(driver), attributes, capacity, ...(multiple ? { multiple } : {}), classes }) - 1;
      this.shapeIndex.set(key, i);
    }
    return i;
  }
  device(pool, name, shape, { card = -1, state = 0, fill = 0, marks = 0 } = {}) {
    const d = this.devices;
    d.pool.push(pool);
    d.name.push(this.string(name));
    d.shape.push(shape);
    d.card.push(card);
    d.state.push(state);
    d.fill.push(fill);
    d.marks.push(marks);
    return d.pool.length - 1;
  }
  claim(namespace, name, state, devices, pods, created = this.now - 600) {
    const claim = { namespace, name, state, created, devices, pods };
    this.claims.push(claim);
    return claim;
  }
  fleet(rev, epoch) {
    return { epoch, rev, time: new Date(this.now * 1000).toISOString(), strings: this.strings, labels: this.labels, nodes: this.nodes, pools: this.pools, cards: this.cards, shapes: this.shapes, classes: this.classes,
      devices: this.devices, pending: this.pending, hidden: { claims: this.hidden } };
  }
  holders(rev, epoch) {
    const strings = [''];
    const index = new Map([['', 0]]);
    const of = (text) => {
      let i = index.get(text);
      if (i === undefined) index.set(text, (i = strings.push(text) - 1));
      return i;
    };
    const columns = { namespace: [], name: [], state: [], created: [], devices: [], pods: [] };
    for (const claim of this.claims) {
      columns.namespace.push(of(claim.namespace));
      columns.name.push(of(claim.name));
      columns.state.push(claim.state);
      columns.created.push(claim.created);
      columns.devices.push(claim.devices);
      columns.pods.push(claim.pods.map(of));
    }
    return { epoch, rev, strings, claims: columns };
  }
  // Reading it back, for the mock's own answers.
  nameOf(id) {
    return this.strings[this.devices.name[id]];
  }
  driverOf(id) {
    return this.strings[this.pools.driver[this.devices.pool[id]]];
  }
  poolOf(id) {
    return this.strings[this.pools.name[this.devices.pool[id]]];
  }
  nodeOf(id) {
    const node = this.pools.node[this.devices.pool[id]];
    return node < 0 ? '' : this.strings[this.nodes.name[node]];
  }
  find(node, name) {
    return this.devices.pool.findIndex((_, id) => this.nodeOf(id) === node && this.nameOf(id) === name);
  }
}

// As src/cli/demo.yaml makes it, with everything placed.
export function demo(now) {
  const p = new Picture(now);
  p.classes = ['gpu.example.com', 'cpu.example.com', 'nic.example.com', 'mig.example.com'];
  for (let n = 0; n < 2; ++n) {
    const name = `gpu-00000${n}`;
    const node = p.node(name, { 'topology.kubernetes.io/zone': `zone-${n}`, 'kubernetes.io/hostname': name, 'kubernetes.io/arch': 'amd64' });
    const gpus = p.pool('gpu.example.com', name, node);
    for (let i = 0; i < 4; ++i) {
      const numa = Math.floor(i / 2);
      p.device(gpus, `gpu-${i}`, p.shape('gpu.example.com', [['gpu.example.com/model', 'string', 'H100'], ['gpu.example.com/numa', 'int', numa], ['resource.kubernetes.io/pcieRoot', 'string', `pci0000:0${numa}`]], [['gpu.example.com/memory', '80Gi']], false, [0]));
    }
    const cpus = p.pool('cpu.example.com', name, node);
    for (let i = 0; i < 2; ++i) p.device(cpus, `socket-${i}`, p.shape('cpu.example.com', [['resource.kubernetes.io/pcieRoot', 'strings', [`pci0000:0${i}`, `pci0000:1${i}`]]], [], false, [1]));
    const nics = p.pool('nic.example.com', name, node);
    for (let i = 0; i < 2; ++i) p.device(nics, `nic-${i}`, p.shape('nic.example.com', [['nic.example.com/numaNode', 'int', i]], [['nic.example.com/bandwidth', '100G']], true, [2]));
  }
  const node = p.node('partitioned-000000', { 'kubernetes.io/hostname': 'partitioned-000000', 'kubernetes.io/arch': 'amd64' });
  const migs = p.pool('mig.example.com', 'partitioned-000000', node);
  const card = p.card(migs, 'gpu-0');
  for (let i = 0; i < 4; ++i) p.device(migs, `mig-${i}`, p.shape('mig.example.com', [['mig.example.com/type', 'string', 'mig']], [], false, [3]), { card });
  for (let i = 0; i < 2; ++i) p.device(migs, `vgpu-${i}`, p.shape('mig.example.com', [['mig.example.com/type', 'string', 'vgpu']], [], false, [3]), { card, state: kState.blocked });
  for (let n = 0; n < 2; ++n) p.node(`plain-00000${n}`, { 'kubernetes.io/hostname': `plain-00000${n}`, 'kubernetes.io/arch': 'amd64' });
  const give = (namespace, name, pod, devices, age = 187) => {
    const ids = devices.map(([n, d]) => p.find(n, d));
    for (const id of ids) p.devices.state[id] = kState.held;
    return p.claim(namespace, name, 2, ids, [pod], now - age);
  };
  give('default', 'inference-84b8fcd969-p2pbz-gpu-vg4k2', 'inference-84b8fcd969-p2pbz', [['gpu-000001', 'gpu-0']]);
  give('default', 'inference-84b8fcd969-9xkqd-gpu-7mfhw', 'inference-84b8fcd969-9xkqd', [['gpu-000001', 'gpu-1']]);
  give('default', 'kep-5004-extended-extended-resources-5hxtn', 'kep-5004-extended', [['gpu-000000', 'gpu-0']]);
  give('default', 'kep-5491-aligned-devices-r9nqt', 'kep-5491-aligned', [['gpu-000000', 'gpu-1'], ['gpu-000000', 'socket-0']]);
  give('default', 'kep-5963-mig-part-2lm8d', 'kep-5963-mig', [['partitioned-000000', 'mig-0']]);
  give('default', 'kep-6080-same-numa-devices-xxwwr', 'kep-6080-same-numa', [['gpu-000000', 'gpu-2'], ['gpu-000000', 'nic-1']]);
  const nic = p.find('gpu-000000', 'nic-0');
  p.devices.state[nic] = kState.shared;
  p.devices.fill[nic] = 80;
  for (const i of [0, 1]) p.claim('default', `kep-5075-share-${i}-nic-${i ? 'qq7wz' : 'b4x9c'}`, 2, [nic], [`kep-5075-share-${i}`], now - 187);
  const shared = p.find('gpu-000000', 'nic-1');
  p.devices.state[shared] = kState.shared;
  p.devices.fill[shared] = 1;
  p.claim('default', 'kep-5963-vgpu-part-jx2lk', 0, [], ['kep-5963-vgpu'], now - 187);
  p.claim('default', 'too-big-gpus-k7k5p', 0, [], ['too-big'], now - 187);
  p.pending = [{ namespace: 'default', name: 'kep-5963-vgpu', since: now - 187, claims: ['kep-5963-vgpu-part-jx2lk'] }, { namespace: 'default', name: 'too-big', since: now - 187, claims: ['too-big-gpus-k7k5p'] }];
  return p;
}

// A fleet as one would show it to colleagues: 96 nodes of four kinds, most in use, some trouble.
export function showcase(now) {
  const p = new Picture(now);
  p.classes = ['h100.example.com', 'l40s.example.com', 'mig.example.com', 'nic.example.com'];
  const roll = random(7);
  const teams = ['training', 'inference', 'research', 'notebooks'];
  let serial = 0;
  const take = (ids, kind) => {
    const team = teams[Math.floor(roll() * teams.length)];
    const tag = (serial++).toString(36).padStart(4, '0');
    p.claim(team, `${kind}-${tag}-devices`, 2, ids, [`${kind}-${tag}`], now - Math.floor(roll() * 86400));
  };
  for (let n = 0; n < 28; ++n) {
    const name = `hgx-${String(n).padStart(3, '0')}`;
    const node = p.node(name, { 'topology.kubernetes.io/zone': `zone-${'abc'[n % 3]}`, 'node.kubernetes.io/instance-type': 'hgx-h100' }, n === 19 ? 1 : n === 25 ? 2 : 0);
    const gpus = p.pool('gpu.example.com', name, node);
    const nics = p.pool('nic.example.com', name, node);
    const ids = [];
    for (let i = 0; i < 8; ++i) {
      const numa = i >> 2;
      const root = `pci0000:${(i >> 1).toString(16)}0`;
      ids.push(p.device(gpus, `gpu-${i}`, p.shape('gpu.example.com', [['gpu.example.com/model', 'string', 'H100'], ['gpu.example.com/driverVersion', 'version', '570.86.10'], ['gpu.example.com/numa', 'int', numa], ['resource.kubernetes.io/pcieRoot', 'string', root]], [['gpu.example.com/memory', '80Gi']], false, [0]), { marks: n === 19 ? kUnhealthy : n === 7 && i === 5 ? kUnhealthy : 0 }));
    }
    for (let i = 0; i < 4; ++i) ids.push(p.device(nics, `nic-${i}`, p.shape('nic.example.com', [['nic.example.com/numa', 'int', i >> 1], ['resource.kubernetes.io/pcieRoot', 'string', `pci0000:${i}0`]], [['nic.example.com/bandwidth', '400G']], true, [3]), { marks: n === 19 ? kUnhealthy : 0 }));
    const full = roll();
    if (n === 25) continue;
    if (full < 0.6) {
      for (let i = 0; i < 8; ++i) p.devices.state[ids[i]] = kState.held;
      take(ids.slice(0, 8), 'pretrain');
    } else {
      for (let i = 0; i < 8; i += 2) {
        if (roll() < 0.62) {
          const got = roll() < 0.5 ? [ids[i], ids[i + 1]] : [ids[i]];
          for (const id of got) p.devices.state[id] = kState.held;
          take(got, 'finetune');
        }
      }
    }
    for (let i = 8; i < 12; ++i) {
      const fill = Math.floor(roll() * 5) * 25;
      if (fill > 0) {
        p.devices.state[ids[i]] = kState.shared;
        p.devices.fill[ids[i]] = fill;
        for (let k = 0; k < fill; k += 25) take([ids[i]], 'rdma');
      }
    }
  }
  for (let n = 0; n < 40; ++n) {
    const name = `l40s-${String(n).padStart(3, '0')}`;
    const node = p.node(name, { 'topology.kubernetes.io/zone': `zone-${'abc'[n % 3]}`, 'node.kubernetes.io/instance-type': 'l40s-4' });
    const gpus = p.pool('gpu.example.com', name, node);
    for (let i = 0; i < 4; ++i) {
      const marks = n >= 34 && n < 37 ? kTainted : 0;
      const id = p.device(gpus, `gpu-${i}`, p.shape('gpu.example.com', [['gpu.example.com/model', 'string', 'L40S'], ['gpu.example.com/driverVersion', 'version', '570.86.10'], ['gpu.example.com/numa', 'int', i >> 1]], [['gpu.example.com/memory', '48Gi']], false, [1]), { marks });
      if (marks === 0 ? roll() < 0.72 : roll() < 0.2) {
        p.devices.state[id] = n === 11 && i === 2 ? kState.gone : kState.held;
        take([id], 'serve');
      }
    }
  }
  for (let n = 0; n < 16; ++n) {
    const name = `mig-${String(n).padStart(3, '0')}`;
    const node = p.node(name, { 'topology.kubernetes.io/zone': `zone-${'abc'[n % 3]}`, 'node.kubernetes.io/instance-type': 'mig-2' });
    const pool = p.pool('mig.example.com', name, node);
    for (let c = 0; c < 2; ++c) {
      const card = p.card(pool, `gpu-${c}`);
      const attributes = (profile) => [['mig.example.com/profile', 'string', profile], ['mig.example.com/numa', 'int', c]];
      const whole = p.device(pool, `gpu-${c}-full`, p.shape('mig.example.com', attributes('7g.80gb'), [], false, [2]), { card });
      const parts = [];
      for (let i = 0; i < 7; ++i) parts.push(p.device(pool, `gpu-${c}-1g-${i}`, p.shape('mig.example.com', attributes('1g.10gb'), [], false, [2]), { card }));
      const used = Math.floor(roll() * 9);
      if (used === 8) {
        p.devices.state[whole] = kState.held;
        for (const id of parts) p.devices.state[id] = kState.blocked;
        take([whole], 'batch');
      } else if (used > 0) {
        p.devices.state[whole] = kState.partitioned;
        for (const id of parts.slice(0, used)) {
          p.devices.state[id] = kState.held;
          take([id], 'notebook');
        }
      }
    }
  }
  for (let n = 0; n < 12; ++n) p.node(`cpu-${String(n).padStart(3, '0')}`, { 'topology.kubernetes.io/zone': `zone-${'abc'[n % 3]}`, 'node.kubernetes.io/instance-type': 'cpu-64' });
  for (let i = 0; i < 12; ++i) p.pending.push({ namespace: 'training', name: `pretrain-70b-worker-${i}`, since: now - 5400, claims: [`pretrain-70b-worker-${i}-gpus`] });
  for (let i = 0; i < 3; ++i) p.pending.push({ namespace: 'research', name: `sweep-${i}`, since: now - 900, claims: [`sweep-${i}-part`] });
  p.pending.push({ namespace: 'inference', name: 'embed-canary', since: now - 120, claims: ['embed-canary-gpu'] });
  return p;
}

// Many: nodes × devices, all states in proportion.
export function large(now, nodes = 10000, devices = 16) {
  const p = new Picture(now);
  p.classes = ['gpu.example.com', 'nic.example.com'];
  const roll = random(3);
  const half = Math.max(1, devices / 2);
  for (let n = 0; n < nodes; ++n) {
    const name = `gpu-${String(n).padStart(6, '0')}`;
    const node = p.node(name, { 'topology.kubernetes.io/zone': `zone-${Math.floor(n / (nodes / 8))}` });
    const pool = p.pool('gpu.example.com', name, node);
    for (let i = 0; i < devices; ++i) {
      const kind = Math.floor((n * 7) / nodes);
      const shape = p.shape('gpu.example.com', [['gpu.example.com/model', 'string', ['A100', 'H100', 'L40S', 'B200', 'H200', 'MI300', 'Gaudi3'][kind]], ['gpu.example.com/numa', 'int', Math.floor(i / half)]], [['gpu.example.com/memory', '80Gi']], false, [0]);
      const r = roll();
      const state = r < 0.6 ? kState.held : r < 0.68 ? kState.shared : r < 0.7 ? kState.partitioned : r < 0.73 ? kState.blocked : r < 0.7305 ? kState.gone : kState.free;
      const marks = roll() < 0.004 ? kTainted : roll() < 0.0018 ? kUnhealthy : 0;
      const id = p.device(pool, `gpu-${i}`, shape, { state, fill: state === kState.shared ? 10 + Math.floor(roll() * 90) : 0, marks });
      if ((state === kState.held || state === kState.shared || state === kState.gone) && roll() < 0.5) p.claim(`team-${id % 20}`, `train-${id}-gpu`, 2, [id], [`train-${id}`], now - (id % 86400));
    }
  }
  return p;
}

// Whatever a driver, a user or a node could put where a text is expected.
export const kHostile = [
  '<img src=x onerror="document.title=\'owned\'">', '"><script>window.owned=1</script>', 'javascript:alert(1)', '\u202egnp.exe', 'a\u0000b\u001b[31mred', '__proto__', 'constructor', '${7*7}{{7*7}}', '=HYPERLINK("http://evil.example")',
  `${'long '.repeat(400)}`, '\u200b\u2066hidden\u2069', 'line\nbreak\r\nand\ttab', "' onmouseover='alert(1)", '&lt;b&gt;', '🙈'.repeat(40), '../../../api/v1/secrets', '%3Cscript%3E', 'toString',
];
export function hostile(now) {
  const p = new Picture(now);
  p.classes = [...kHostile];
  kHostile.forEach((text, i) => {
    const node = p.node(text, { [text]: text, zone: kHostile[(i + 1) % kHostile.length] });
    const pool = p.pool(text, text, node);
    const card = p.card(pool, text);
    kHostile.slice(0, 4).forEach((other, k) => {
      const id = p.device(pool, other + (k > 1 ? k : ''), p.shape(text, [[text, 'string', other], ['numa', 'string', text], ['resource.kubernetes.io/pcieRoot', 'string', other], [`list/${text}`, 'strings', kHostile]], [[text, text]], false, [i]), { card: k > 1 ? card : -1, state: k, fill: 50, marks: k });
      if (k === 1 || k === 2) p.claim(text, `${text}-${k}`, 2, [id], [text, other]);
    });
    p.pending.push({ namespace: text, name: `${text}-waits`, since: now - 60, claims: [text] });
  });
  return p;
}

export const empty = (now) => new Picture(now);
