// SPDX-License-Identifier: Apache-2.0
//
// What is selected, beside the view; on phones a sheet from below.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { get, query as queryOf } from '../api';
import { attributeText, nodeWords } from '../fleet/words';
import { claims, claimsVersion, fleet, states } from '../live';
import { marksText, NodeFlag, State, stateText } from '../model/states';
import { address, adjust, route } from '../route';
import type { DeviceDetail, NodeDetail } from '../types';
import { cut, shortName } from '../text';
import { CopyButton, ErrorBox, Link, Swatch, useLoaded, When } from '../ui/parts';

export function Inspector() {
  const selected = route.value.query.get('sel');
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (selected && document.activeElement?.closest('.inspector')) heading.current?.focus();
  }, [selected]);
  if (!selected || !fleet.value) return null;
  const node = selected.startsWith('node:') ? selected.slice(5) : undefined;
  return (
    <aside class="inspector" aria-label="Details">
      <button type="button" class="close" aria-label="Close details" title="Close (Esc)" onClick={() => adjust({ sel: undefined })}>✕</button>
      {node !== undefined ? <NodeDetails key={selected} name={node} /> : <DeviceDetails key={selected} path={selected} />}
    </aside>
  );
}

function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}
function Fact({ name, title, children }: { name: string; title?: string; children: ComponentChildren }) {
  return <div><dt title={title ?? name}>{name}</dt><dd>{children}</dd></div>;
}

function DeviceDetails({ path }: { path: string }) {
  const known = fleet.value!;
  void states.value;
  void claimsVersion.value;
  const id = known.find(path);
  const state = id < 0 ? -1 : known.state[id]!;
  const look = id < 0 ? '' : `${state}/${known.fill[id]}/${known.marks[id]}/${claims.holdersOf(id).map((claim) => claim.name).join()}`;
  const { value: detail, error, again } = useLoaded<DeviceDetail | undefined>((signal) => (id < 0 ? Promise.resolve(undefined) : get<DeviceDetail>(`device${queryOf({ id })}`, signal)), [id, look]);
  if (id < 0) return <><h2>Device not found</h2><p>Device {cut(path)} no longer exists.</p></>;
  const shape = known.shapeOfDevice(id);
  const node = known.nodeNameOf(id);
  const holders = detail?.holders ?? claims.holdersOf(id).map((claim) => ({ namespace: claim.namespace, claim: claim.name, pods: claim.pods }));
  const attributes = detail?.attributes ?? shape.attributes;
  const capacity = detail?.capacity ?? shape.capacity.map(([name, value]) => ({ name, value }));
  return (
    <>
      <h2 tabIndex={-1}><Swatch state={state} fill={known.fill[id]!} marks={known.marks[id]!} /> {known.deviceName(id)}</h2>
      <p class="state-line">{detail?.why ?? stateText(state, known.fill[id]!, known.marks[id]!)}</p>
      {marksText(known.marks[id]!) !== '' && <p class="dim">{marksText(known.marks[id]!)}</p>}
      <Facts>
        <Fact name="node">{node === '' ? 'several' : <Link href={address('fleet', [], { sel: `node:${node}` })}>{node}</Link>}</Fact>
        <Fact name="driver">{known.driverOf(id)}</Fact>
        {known.poolNameOf(id) !== node && <Fact name="pool">{known.poolNameOf(id)}</Fact>}
        {known.card[id]! >= 0 && <Fact name="card">{known.cardName[known.card[id]!]}</Fact>}
        {(detail?.classes ?? shape.classes).length > 0 && <Fact name="classes">{(detail?.classes ?? shape.classes).map((name) => <div key={name}><Link href={address('classes', [], { class: name })}>{name}</Link></div>)}</Fact>}
        {detail?.groups && detail.groups.length > 0 && <Fact name="compatibility">{detail.groups.join(', ')}</Fact>}
      </Facts>
      {error !== undefined && <ErrorBox error={error} retry={again} what="Details could not be read." />}
      {holders.length > 0 && (
        <>
          <h3>Held by</h3>
          <ul class="plain">
            {holders.map((holder) => (
              <li key={`${holder.namespace}/${holder.claim}`}>
                <Link href={address('claims', [holder.namespace, holder.claim])}>{holder.claim}</Link>
                {(holder.pods ?? []).slice(0, 5).map((pod) => <div key={pod} class="dim">pod {holder.namespace}/{pod}</div>)}
                {'since' in holder && holder.since && <div class="dim">since <When time={holder.since} /></div>}
                {'consumed' in holder && holder.consumed && Object.entries(holder.consumed).map(([name, value]) => <div key={name} class="dim">{shortName(name)}: {value}</div>)}
                {'adminAccess' in holder && holder.adminAccess && <div class="dim">with admin access, which does not allocate it</div>}
              </li>
            ))}
          </ul>
        </>
      )}
      {(detail?.hidden ?? 0) > 0 && <p class="dim">and {detail!.hidden} more that you may not see.</p>}
      {detail?.health && detail.health.length > 0 && (
        <><h3>Health</h3><ul class="plain">{detail.health.map((row, i) => <li key={i}>{row.text} <span class="dim">{row.source}</span></li>)}</ul></>
      )}
      {detail?.taints && detail.taints.length > 0 && (
        <><h3>Taints</h3><ul class="plain">{detail.taints.map((taint, i) => <li key={i}><code>{taint.key}{taint.value ? `=${taint.value}` : ''}:{taint.effect}</code> <span class="dim">{taint.source}</span></li>)}</ul></>
      )}
      {detail?.counters && detail.counters.length > 0 && (
        <><h3>Counters of its card</h3><Facts>{detail.counters.map((row) => <Fact key={`${row.set}/${row.name}`} name={row.name}>needs {row.needs}{row.left !== undefined && <span class="dim">, {row.left} left of {row.set}</span>}</Fact>)}</Facts></>
      )}
      {capacity.length > 0 && (
        <><h3>Capacity</h3><Facts>{capacity.map((row) => <Fact key={row.name} name={shortName(row.name)} title={row.name}>{'used' in row && row.used ? `${row.used} of ${row.value} in use` : row.value}{'policy' in row && row.policy && <div class="dim">{row.policy}</div>}</Fact>)}</Facts></>
      )}
      {attributes.length > 0 && (
        <><h3>Attributes</h3><Facts>{attributes.map(([name, , value]) => <Fact key={name} name={shortName(name)} title={name}><span class="mono">{cut(attributeText(value))}</span></Fact>)}</Facts></>
      )}
      <p class="actions">
        {state === State.held && holders[0] && <Link class="button" href={address('whatif', [], { delete: `claim/${holders[0].namespace}/${holders[0].claim}` })}>what if it were released</Link>}
        <CopyButton text={path} label="copy name" />
      </p>
    </>
  );
}

function NodeDetails({ name }: { name: string }) {
  const known = fleet.value!;
  void states.value;
  const index = known.findNode(name);
  const flags = index < 0 ? 0 : known.nodeFlags[index]!;
  const { value: detail, error, again } = useLoaded<NodeDetail>((signal) => get(`node${queryOf({ name })}`, signal), [name, flags]);
  if (index < 0 || known.nodeRemoved[index]) return <><h2>Node not found</h2><p>Node {cut(name)} no longer exists.</p></>;
  const devices: number[] = [];
  for (let id = 0; id < known.size; ++id) if (known.state[id] !== State.removed && known.nodeIdOf(id) === index) devices.push(id);
  return (
    <>
      <h2 tabIndex={-1}>{name}</h2>
      <p class="state-line">
        {flags & NodeFlag.notReady ? 'The node is not ready.' : flags & NodeFlag.absent ? 'No Node object exists; only slices name this node.' : flags & NodeFlag.cordoned ? 'Cordoned: no new pods are scheduled here.' : 'Ready.'} {nodeWords(known, Int32Array.from(devices))}.
      </p>
      {error !== undefined && <ErrorBox error={error} retry={again} what="Details could not be read." />}
      <ul class="plain device-rows">
        {devices.slice(0, 64).map((id) => (
          <li key={id}><button type="button" class="link" onClick={() => adjust({ sel: known.key(id) })}><Swatch state={known.state[id]!} fill={known.fill[id]!} marks={known.marks[id]!} size={14} /> {known.deviceName(id)}</button>
            <span class="dim">{claims.holdersOf(id).map((claim) => claim.pods[0] ?? claim.name).slice(0, 2).join(', ')}</span></li>
        ))}
      </ul>
      {detail && (
        <>
          {detail.allocatable && (
            <><h3>Resources</h3><Facts>{Object.entries(detail.allocatable).map(([key, value]) => <Fact key={key} name={key}>{detail.requested?.[key] ? `${detail.requested[key]} of ${value} requested` : value}</Fact>)}</Facts></>
          )}
          {detail.conditions && detail.conditions.length > 0 && (
            <><h3>Conditions</h3><Facts>{detail.conditions.map((row) => <Fact key={row.type} name={row.type}>{row.status} {row.message && <span class="dim">{cut(row.message)}</span>}</Fact>)}</Facts></>
          )}
          {detail.taints && detail.taints.length > 0 && <><h3>Taints</h3><ul class="plain">{detail.taints.map((taint, i) => <li key={i}><code>{taint.key}{taint.value ? `=${taint.value}` : ''}:{taint.effect}</code></li>)}</ul></>}
        </>
      )}
      {known.nodeLabels[index]!.size > 0 && <><h3>Labels</h3><Facts>{[...known.nodeLabels[index]!].map(([key, value]) => <Fact key={key} name={shortName(key)} title={key}>{value}</Fact>)}</Facts></>}
    </>
  );
}
