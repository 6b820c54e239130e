// SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo, useState } from 'preact/hooks';
import { FleetList } from '../fleet/list';
import { FleetMap } from '../fleet/map';
import { claims, claimsVersion, fleet, info, onDevices, states, structure } from '../live';
import { groupableLabels, Groups, kByName } from '../model/groups';
import { kMarkNames, kStateMeaning, kStateName, kStacked, Mark, State } from '../model/states';
import { adjust, route } from '../route';
import { count, number, shortName } from '../text';
import { Bar, Swatch } from '../ui/parts';
import { narrow } from '../ui/screen';

export function Legend() {
  return (
    <ul class="legend" aria-label="What the cells mean">
      {[State.free, State.held, State.shared, State.partitioned, State.blocked, State.gone, ...(fleet.value?.hidden ? [State.unknown] : [])].map((state) => (
        <li key={state} title={kStateMeaning[state]}><Swatch state={state} size={14} /> {kStateName[state]}</li>
      ))}
      {kMarkNames.map(([bit, name, meaning]) => <li key={bit} title={meaning}><Swatch state={State.free} marks={bit} size={14} /> {name}</li>)}
    </ul>
  );
}

export const stateParts = (counts: Uint32Array): { value: number; kind: string; label: string }[] =>
  kStacked.filter((state) => state !== State.free && counts[state]! > 0).map((state) => ({ value: counts[state]!, kind: kStateName[state]!, label: `${counts[state]} ${kStateName[state]}` }));

// All groups as rows: where a map would be too small, and where one wants numbers.
function GroupList({ by, className, onGroup }: { by: string; className: string; onGroup: (key: string) => void }) {
  const known = fleet.value!;
  const version = structure.value;
  const groups = useMemo(() => new Groups(known, by, className === '' ? {} : { className }), [known, version, by, className]);
  useEffect(() => onDevices((change) => groups.update(change.devices)), [groups]);
  void states.value;
  return (
    <ul class="groups" aria-label="Groups of nodes">
      {groups.groups.map((group) => (
        <li key={group.key}>
          <button type="button" onClick={() => onGroup(group.key)}>
            <span class="group-name"><strong>{group.title}</strong> <span class="dim">{count(group.places.length, 'node')}</span></span>
            <span class="group-free">{group.devices === 0 ? <span class="dim">no devices</span> : <>{number(group.counts[State.free]!)}/{number(group.devices)} free</>}</span>
            {group.devices > 0 && <Bar parts={stateParts(group.counts)} total={group.devices} label={stateParts(group.counts).map((part) => part.label).join(', ') || 'all free'} />}
            {(group.tainted > 0 || group.unhealthy > 0) && (
              <span class="group-marks">
                {group.tainted > 0 && <span><Swatch state={State.free} marks={Mark.tainted} size={12} /> {group.tainted} tainted</span>}
                {group.unhealthy > 0 && <span><Swatch state={State.free} marks={Mark.unhealthy} size={12} /> {group.unhealthy} unhealthy</span>}
              </span>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}

export function FleetView() {
  const known = fleet.value;
  const { query } = route.value;
  const version = structure.value;
  const labels = useMemo(() => (known ? groupableLabels(known) : []), [known, version]);
  const [legend, setLegend] = useState(!narrow.peek());
  const by = query.get('group') ?? kByName;
  const className = query.get('class') ?? '';
  const namespace = query.get('ns') ?? '';
  const text = query.get('q') ?? '';
  const only = query.get('only') ?? undefined;
  const view = query.get('view') ?? (narrow.value && only === undefined && (known?.nodeName.length ?? 0) > 0 ? 'groups' : 'map');
  void claimsVersion.value;
  const namespaces = useMemo(() => [...new Set([...claims.all.values()].map((claim) => claim.namespace))].sort(), [claimsVersion.value]);
  const missing = info.value?.missing ?? [];
  const select = (selected: string | undefined): void => adjust({ sel: selected });
  const filtered = className !== '' || namespace !== '' || text !== '' || only !== undefined;
  const choose = (name: string) => (event: Event) => adjust({ [name]: (event.currentTarget as HTMLSelectElement).value, only: name === 'group' ? undefined : query.get('only') ?? undefined, at: undefined });

  return (
    <section class="fleet" aria-labelledby="title">
      <div class="toolbar">
        <h1 id="title" class="sr">Fleet</h1>
        <label>group <select value={by} onChange={choose('group')}>
          <option value={kByName}>node group</option>
          {labels.map((label) => <option key={label} value={`label:${label}`}>{shortName(label)}</option>)}
        </select></label>
        <label>class <select value={className} onChange={choose('class')}>
          <option value="">all classes</option>
          {known?.classes.map((name) => <option key={name} value={name}>{name}</option>)}
        </select></label>
        {namespaces.length > 0 && (
          <label>namespace <select value={namespace} onChange={choose('ns')}>
            <option value="">all namespaces</option>
            {namespaces.map((name) => <option key={name} value={name}>{name}</option>)}
          </select></label>
        )}
        <label class="grow">filter <input type="search" value={text} placeholder="model=H100 …" onInput={(event) => adjust({ q: event.currentTarget.value })} /></label>
        {filtered && <button type="button" class="small" onClick={() => adjust({ class: undefined, ns: undefined, q: undefined, only: undefined })}>clear</button>}
        <span class="switch" role="group" aria-label="Shown as">
          {(['map', 'list', 'groups'] as const).map((name) => <button type="button" key={name} aria-pressed={view === name} onClick={() => adjust({ view: name })}>{name}</button>)}
        </span>
      </div>
      {missing.length > 0 && (
        <div class="box warn" role="status">
          <strong>Some things may not be read with these rights.</strong> {missing.map((row) => row.message).join(' ')}
          {known?.hidden && ' Devices whose holders are not known are marked with a question mark: they may be in use.'}
        </div>
      )}
      {only !== undefined && view === 'map' && <p class="crumb"><button type="button" class="small" onClick={() => adjust({ only: undefined, view: undefined })}>← all groups</button></p>}
      {view === 'list' ? (
        <FleetList by={by} className={className} {...(only !== undefined ? { only } : {})} namespace={namespace} text={text} selected={query.get('sel') ?? undefined} onSelect={select} />
      ) : view === 'groups' && known ? (
        <GroupList by={by} className={className} onGroup={(key) => adjust({ only: key, view: 'map' })} />
      ) : (
        <FleetMap
          by={by} className={className} {...(only !== undefined ? { only } : {})} namespace={namespace} text={text} zoom={query.get('z') ?? undefined} at={query.get('at') ?? undefined}
          selected={query.get('sel') ?? undefined} onSelect={select} onGroup={(key) => adjust({ only: key, view: undefined })} onView={(z, at) => adjust({ z, at })}
        />
      )}
      <div class="legend-line">
        <button type="button" class="small" aria-expanded={legend} onClick={() => setLegend(!legend)}>legend</button>
        {legend && <Legend />}
      </div>
    </section>
  );
}
