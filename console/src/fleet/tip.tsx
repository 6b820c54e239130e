// SPDX-License-Identifier: Apache-2.0
//
// What is said of the device, or the node, that somebody points at.
import { get, query as queryOf } from '../api';
import { claims, claimsVersion, fleet } from '../live';
import { holderText } from '../model/claims';
import type { Groups } from '../model/groups';
import { State, stateText } from '../model/states';
import { cut } from '../text';
import type { DeviceDetail } from '../types';
import { Swatch, useLoaded } from '../ui/parts';
import type { Layout } from './layout';
import { nodeWords, tellingAttributes } from './words';

export interface Over {
  device: number;
  place: number;
  x: number;
  y: number;
}

export function Tip({ over, layout, groups, width, height }: { over: Over; layout: Layout; groups: Groups; width: number; height: number }) {
  const known = fleet.value!;
  void claimsVersion.value;
  const left = over.x > width - 300;
  const up = over.y > height - 220;
  const style = { [left ? 'right' : 'left']: `${left ? width - over.x + 14 : over.x + 14}px`, [up ? 'bottom' : 'top']: `${up ? height - over.y + 10 : over.y + 16}px` };
  if (over.device < 0) {
    return (
      <div class="tip" style={style} aria-hidden="true">
        <strong>{groups.placeName(over.place)}</strong>
        <div>{nodeWords(known, layout.devices[over.place]!)}</div>
      </div>
    );
  }
  return <DeviceTip key={over.device} id={over.device} style={style} />;
}

// What the page knows at once; a moment later what only the process does: why it is blocked, tainted or unhealthy.
function DeviceTip({ id, style }: { id: number; style: Record<string, string> }) {
  const known = fleet.value!;
  void claimsVersion.value;
  const holders = claims.holdersOf(id);
  const more = known.marks[id] !== 0 || known.state[id] === State.blocked || known.state[id] === State.partitioned || known.state[id] === State.gone;
  const { value: detail } = useLoaded<DeviceDetail | undefined>(async (aborted) => {
    if (!more) return undefined;
    await new Promise((done) => setTimeout(done, 150));
    return aborted.aborted ? undefined : get<DeviceDetail>(`device${queryOf({ id })}`, aborted);
  }, [id, more]);
  return (
    <div class="tip" style={style} aria-hidden="true">
      <strong><Swatch state={known.state[id]!} fill={known.fill[id]!} marks={known.marks[id]!} /> {known.deviceName(id)}</strong>
      <div>{stateText(known.state[id]!, known.fill[id]!, known.marks[id]!)}{holders.length > 0 && ` by ${holderText(holders)}`}</div>
      {detail?.why && more && known.state[id] !== State.held && known.state[id] !== State.free && <div class="dim">{cut(detail.why)}</div>}
      {detail?.health?.slice(0, 2).map((row, i) => <div key={i} class="warn-text">{cut(row.text, 120)}</div>)}
      {detail?.taints?.slice(0, 2).map((taint, i) => <div key={i}><code>{cut(`${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`, 120)}</code></div>)}
      {holders.length > 1 && holders.slice(0, 4).map((claim) => <div key={claim.name}>{holderText([claim])}</div>)}
      <dl>
        <dt>node</dt><dd>{known.nodeNameOf(id) || 'several'}</dd>
        <dt>driver</dt><dd>{known.driverOf(id)}</dd>
        {tellingAttributes(known, id, 7).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{value}</dd>])}
      </dl>
    </div>
  );
}
