// SPDX-License-Identifier: Apache-2.0
//
// The same fleet as a table, of which only the rows in sight exist.
import { useMemo, useRef, useState } from 'preact/hooks';
import { claims, claimsVersion, fleet, states, structure } from '../live';
import { holderText } from '../model/claims';
import { Groups } from '../model/groups';
import { matching } from '../model/search';
import { State, stateText } from '../model/states';
import { count, csvCell, shortName } from '../text';
import { CopyButton, Empty, Swatch } from '../ui/parts';
import { attributeText } from './words';

const kRow = 28;

export function FleetList({ by, className, only, namespace, text, selected, onSelect }: { by: string; className?: string; only?: string; namespace: string; text: string; selected?: string | undefined; onSelect: (key: string) => void }) {
  const known = fleet.value;
  const version = structure.value;
  const holders = claimsVersion.value;
  const host = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const rows = useMemo(() => {
    if (!known) return [];
    const groups = new Groups(known, by, { ...(className ? { className } : {}), ...(only !== undefined ? { only } : {}) });
    const match = matching(known, claims, text, namespace);
    return groups.groups.flatMap((group) => group.places.flatMap((place) => groups.places[place]!.devices.filter((id) => match === undefined || match[id] === 1)));
  }, [known, version, by, className, only, text, namespace, text || namespace ? holders : 0]);
  void states.value;
  if (!known) return null;
  if (rows.length === 0) return <Empty title="No device matches the filters">Clear the filters to see all {known.size} devices.</Empty>;
  const first = Math.max(0, Math.floor(top / kRow) - 8);
  const last = Math.min(rows.length, first + 60);
  const cells = (id: number): string[] => {
    const shape = known.shapeOfDevice(id);
    const model = shape.attributes.find(([name]) => /(^|\/)(model|productName|type)$/.test(name));
    return [known.nodeNameOf(id) || known.poolNameOf(id), known.deviceName(id), stateText(known.state[id]!, known.fill[id]!, known.marks[id]!), holderText(claims.holdersOf(id)), shape.numa, model ? attributeText(model[2]) : '', shape.classes.map(shortName).join(', '), shape.driver];
  };
  const names = ['Node', 'Device', 'State', 'Held by', 'NUMA', 'Model', 'Classes', 'Driver'];
  return (
    <div class="list">
      <div class="list-head">
        <span>{count(rows.length, 'device')}</span>
        <CopyButton label="copy as CSV" text={() => [names, ...rows.map(cells)].map((row) => row.map(csvCell).join(',')).join('\n')} />
      </div>
      <div class="list-scroll" ref={host} tabIndex={0} role="region" aria-label="Devices" onScroll={() => setTop(host.current!.scrollTop)}>
        <table aria-rowcount={rows.length + 1}>
          <thead><tr>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {first > 0 && <tr aria-hidden="true" style={{ height: `${first * kRow}px` }} />}
            {rows.slice(first, last).map((id, i) => {
              const key = known.key(id);
              const [node, device, state, holder, ...rest] = cells(id);
              return (
                <tr key={id} aria-rowindex={first + i + 2} class={key === selected ? 'selected' : ''} onClick={() => onSelect(key)}>
                  <td class="mono">{node}</td>
                  <td class="mono"><button type="button" class="link" onClick={(event) => { event.stopPropagation(); onSelect(key); }}>{device}</button></td>
                  <td class="nowrap"><Swatch state={known.state[id] ?? State.free} fill={known.fill[id]!} marks={known.marks[id]!} size={14} /> {state}</td>
                  <td>{holder}</td>
                  {rest.map((cell, k) => <td key={k}>{cell}</td>)}
                </tr>
              );
            })}
            {last < rows.length && <tr aria-hidden="true" style={{ height: `${(rows.length - last) * kRow}px` }} />}
          </tbody>
        </table>
      </div>
    </div>
  );
}

