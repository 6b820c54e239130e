// SPDX-License-Identifier: Apache-2.0
//
// What would happen: manifests, sliders and what goes, planned on the cluster as it is, shown on the fleet. Nothing is written. What is
// put in stays in this tab.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, post } from '../api';
import { FleetMap } from '../fleet/map';
import { claims, claimsVersion, connection, fleet, structure } from '../live';
import { kByName } from '../model/groups';
import { address, adjust, route } from '../route';
import type { Outcome, Planned, PlanRequest, Scalable } from '../types';
import { count, cut } from '../text';
import { useChanges } from '../ui/changes';
import { CopyButton, ErrorBox, Link, useLoaded } from '../ui/parts';
import { narrow } from '../ui/screen';
import { OutcomeDetails } from './pending';

const kMostBytes = 3 * 1024 * 1024;

interface Inputs {
  manifests: string;
  scale: ReadonlyMap<string, number>;
  nodes: ReadonlyMap<string, number>;
  gone: readonly string[];
  policy: string;
  because: string; // the cure that this came from
}
const kNothing: Inputs = { manifests: '', scale: new Map(), nodes: new Map(), gone: [], policy: 'first-fit', because: '' };
const inputs = signal<Inputs>(kNothing);
const change = (changes: Partial<Inputs>): void => {
  inputs.value = { ...inputs.peek(), ...changes };
};

// What a cure would change, to be looked at here.
export function rememberPlan(plan: PlanRequest, because: string): void {
  inputs.value = { ...kNothing, manifests: plan.manifests ?? '', scale: new Map(Object.entries(plan.scale ?? {})), nodes: new Map((plan.nodes ?? []).map((row) => [row.like, row.count])), gone: plan.delete ?? [], policy: plan.policy ?? 'first-fit', because };
}

export function planRequest(from: Inputs): PlanRequest {
  const made: PlanRequest = { policy: from.policy, explain: true };
  if (from.manifests.trim() !== '') made.manifests = from.manifests;
  if (from.gone.length > 0) made.delete = [...from.gone];
  if (from.scale.size > 0) made.scale = Object.fromEntries(from.scale);
  const nodes = [...from.nodes].filter(([, n]) => n > 0).map(([like, n]) => ({ like, count: n }));
  if (nodes.length > 0) made.nodes = nodes;
  return made;
}

export function WhatIfView() {
  const { query } = route.value;
  const wanted = inputs.value;
  const [plan, setPlan] = useState<Planned>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [drag, setDrag] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const result = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  const scalable = useLoaded<Scalable>((aborted) => get('scalable', aborted), [structure.value, claimsVersion.value > 0]);
  const took = useRef(0);
  const version = useChanges(structure, () => Math.max(3000, took.current * 10000));
  const stale = connection.value.phase === 'stale' && connection.value.attempt > 1;

  // A link that says what should go, and `w` on a selection.
  useEffect(() => {
    const gone = query.get('delete');
    if (!gone) return;
    if (!inputs.peek().gone.includes(gone)) change({ gone: [...inputs.peek().gone, gone] });
    adjust({ delete: undefined });
  }, [query.get('delete')]);

  // On a phone the plan is below what one types and moves: until one is there, its sum is in sight.
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => setSeen(entries.some((entry) => entry.isIntersecting)), { rootMargin: '0px 0px -130px 0px' });
    if (result.current) watch.observe(result.current);
    return () => watch.disconnect();
  }, []);

  const request = useMemo(() => planRequest(wanted), [wanted]);
  const something = request.manifests !== undefined || request.delete !== undefined || request.scale !== undefined || request.nodes !== undefined;
  useEffect(() => {
    if (!something && wanted.policy === 'first-fit') {
      setPlan(undefined);
      setError(undefined);
      return;
    }
    if (stale) return;
    const controller = new AbortController();
    // Whoever drags a slider or types gets the plan of where he stops.
    const timer = setTimeout(() => {
      setBusy(true);
      post<Planned>('plan', request, controller.signal).then(
        (made) => {
          took.current = made.seconds ?? 0;
          setPlan(made);
          setError(undefined);
          setBusy(false);
        },
        (failed: unknown) => {
          if (controller.signal.aborted) return;
          setError(failed);
          setPlan(undefined);
          setBusy(false);
        },
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [request, stale, version]);

  const { planned, victims } = useMemo(() => cellsOf(plan, wanted.gone), [plan, wanted.gone, claimsVersion.value]);

  async function drop(files: FileList): Promise<void> {
    const texts: string[] = [];
    let bytes = 0;
    for (const file of files) {
      bytes += file.size;
      if (bytes > kMostBytes) {
        setError(new Error(`${cut(file.name)}: these files are larger than 3 MiB in total, the maximum for a plan.`));
        return;
      }
      texts.push((await file.text()).trim());
    }
    const before = inputs.peek().manifests.trim();
    change({ manifests: [...(before === '' ? [] : [before]), ...texts].join('\n---\n') });
  }

  const issues = error !== undefined && error !== null && typeof error === 'object' && 'issues' in error ? (error as { issues: { line: number; column: number }[] }).issues : [];
  return (
    <section
      class={`page fill whatif${drag ? ' drag' : ''}`} aria-labelledby="title"
      onDragOver={(event) => { event.preventDefault(); setDrag(true); }}
      onDragLeave={(event) => { if (event.currentTarget === event.target) setDrag(false); }}
      onDrop={(event: DragEvent) => { event.preventDefault(); setDrag(false); if (event.dataTransfer) void drop(event.dataTransfer.files); }}
    >
      <h1 id="title">What if</h1>
      <div class="split">
        <div class="side">
          {wanted.because !== '' && <div class="box note" role="status">Shown: {cut(wanted.because, 300)} <button type="button" class="small" onClick={() => { inputs.value = kNothing; }}>clear</button></div>}
          <label class="stack">
            <span>Manifests <span class="dim">paste, or drop files anywhere here</span></span>
            <textarea ref={area} class="mono" rows={10} spellcheck={false} placeholder={'apiVersion: v1\nkind: Pod\n…'} value={wanted.manifests} onInput={(event) => change({ manifests: event.currentTarget.value, because: '' })} aria-invalid={issues.length > 0} />
          </label>
          {issues[0] && issues[0].line > 0 && (
            <button type="button" class="small" onClick={() => goToLine(area.current, issues[0]!.line, issues[0]!.column)}>go to line {issues[0].line}</button>
          )}
          <p class="row">
            <label class="button small">choose files <input type="file" multiple class="sr" accept=".yaml,.yml,.json" onChange={(event) => { if (event.currentTarget.files) void drop(event.currentTarget.files); event.currentTarget.value = ''; }} /></label>
            {wanted.manifests !== '' && <CopyButton text={wanted.manifests} label="copy YAML" />}
            {(something || wanted.policy !== 'first-fit') && <button type="button" class="small" onClick={() => { inputs.value = kNothing; }}>start over</button>}
          </p>
          {scalable.error !== undefined && <ErrorBox error={scalable.error} retry={scalable.again} what="The workloads that can be scaled could not be read." />}
          {(scalable.value?.workloads ?? []).length > 0 && <h2>Replicas</h2>}
          {[...(scalable.value?.workloads ?? [])].sort((a, b) => Number((b.devices ?? 0) > 0) - Number((a.devices ?? 0) > 0)).slice(0, 12).map((row) => {
            const key = `${row.kind.toLowerCase()}/${row.namespace}/${row.name}`;
            return <Slider key={key} name={row.name} detail={`${row.kind} in ${row.namespace}`} value={wanted.scale.get(key) ?? row.replicas} from={row.replicas} most={Math.max(8, row.replicas * 3)}
              set={(value) => change({ scale: changed(wanted.scale, key, value === row.replicas ? undefined : value) })} />;
          })}
          {(scalable.value?.shapes ?? []).length > 0 && <h2>More nodes</h2>}
          {scalable.value?.shapes?.filter((row) => row.text !== 'no devices').slice(0, 8).map((row) => (
            <Slider key={row.like} name={row.text} detail={`like ${row.like}, of which there are ${row.nodes}`} value={row.nodes + (wanted.nodes.get(row.like) ?? 0)} from={row.nodes} most={row.nodes + Math.max(8, Math.ceil(row.nodes / 2))} least={row.nodes}
              set={(value) => change({ nodes: changed(wanted.nodes, row.like, value === row.nodes ? undefined : value - row.nodes) })} />
          ))}
          {wanted.gone.length > 0 && (
            <>
              <h2>Deleted in this plan</h2>
              <ul class="plain">{wanted.gone.map((key) => <li key={key}><span class="mono">{key}</span> <button type="button" class="small" aria-label={`Keep ${key}`} onClick={() => change({ gone: wanted.gone.filter((other) => other !== key) })}>keep</button></li>)}</ul>
            </>
          )}
          <label class="row">policy <select value={wanted.policy} onChange={(event) => change({ policy: event.currentTarget.value })}>{['first-fit', 'best-fit', 'fragmentation'].map((name) => <option key={name}>{name}</option>)}</select></label>
        </div>
        {narrow.value && plan && !seen && <button type="button" class="sum" onClick={() => result.current?.scrollIntoView()}>{sumOf(plan)} ▾</button>}
        <div class="result" ref={result}>
          {stale && <div class="box warn" role="status">The connection is lost. Planning continues when it is back.</div>}
          {error !== undefined && <ErrorBox error={error} what="Nothing was planned." />}
          {!plan && error === undefined && <p class="dim">{busy ? 'Planning…' : 'Paste manifests, move a slider, or choose a claim to delete. The plan is shown on the fleet below; nothing is applied to the cluster.'}</p>}
          {plan && <PlanResult plan={plan} busy={busy} />}
          <div class="fleet small-map">
            <FleetMap by={kByName} planned={planned} victims={victims} zoom={query.get('z') ?? undefined} at={query.get('at') ?? undefined} selected={query.get('sel') ?? undefined}
              onView={(z, at) => adjust({ z, at })} onSelect={(sel) => adjust({ sel })} />
          </div>
          {plan?.newNodes && plan.newNodes.length > 0 && <Ghosts plan={plan} />}
        </div>
      </div>
    </section>
  );
}

function changed(from: ReadonlyMap<string, number>, key: string, value: number | undefined): Map<string, number> {
  const made = new Map(from);
  if (value === undefined) made.delete(key);
  else made.set(key, value);
  return made;
}

// Cells that would get somebody, and those whose pods would have to go.
export function cellsOf(plan: Planned | undefined, gone: readonly string[]): { planned: Set<number>; victims: Set<number> } {
  const planned = new Set<number>();
  const victims = new Set<number>();
  for (const outcome of plan?.outcomes ?? []) {
    if (outcome.state === 'Placed' || outcome.state === 'Waiting') for (const claim of outcome.claims ?? []) for (const device of claim.devices ?? []) if (device.id !== undefined) planned.add(device.id);
    if (outcome.state === 'Preempted') for (const claim of claims.ofPod(outcome.namespace, outcome.name)) for (const id of claim.devices) victims.add(id);
  }
  for (const key of gone) {
    const [kind, namespace, name] = key.split('/');
    if (kind === 'claim') for (const id of claims.find(namespace!, name!)?.devices ?? []) victims.add(id);
    if (kind === 'pod') for (const claim of claims.ofPod(namespace!, name!)) for (const id of claim.devices) victims.add(id);
  }
  return { planned, victims };
}

function goToLine(area: HTMLTextAreaElement | null, line: number, column: number): void {
  if (!area) return;
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, column - 1);
  area.focus();
  area.setSelectionRange(start, Math.min(area.value.length, start + 1));
  area.scrollTop = Math.max(0, (line - 3) * 18);
}

function Slider({ name, detail, value, from, most, least = 0, set }: { name: string; detail: string; value: number; from: number; most: number; least?: number; set: (value: number) => void }) {
  return (
    <label class={value === from ? 'slider' : 'slider moved'}>
      <span class="slider-name">{name}</span>
      <input type="range" min={least} max={Math.max(most, value)} value={value} aria-valuetext={value === from ? `${value}, as now` : `${value} instead of ${from}`} onInput={(event) => set(Number(event.currentTarget.value))} />
      <output>{value === from ? value : `${from} → ${value}`}</output>
      <span class="dim slider-detail">{detail}</span>
    </label>
  );
}

const kOrder = ['Refused', 'Preempted', 'Placed', 'Waiting', 'Existing'];
const kStateWords = new Map([['Placed', 'would run'], ['Waiting', 'would run when its devices are ready'], ['Refused', 'would stay pending'], ['Preempted', 'would be evicted'], ['Existing', 'already running']]);

// Rows are what is different; what stays as it is is in the counts alone.
function sumOf(plan: Planned): string {
  const s = (name: string): number => plan.summary[name] ?? 0;
  const refused = plan.outcomes.filter((outcome) => outcome.state === 'Refused').length;
  const before = Math.max(0, s('pending') - refused);
  return [
    `${s('placed') + s('waiting')} placed`,
    before === 0 ? `${refused} pending` : refused === 0 ? `${before} still pending, as before` : `${refused} pending, and ${before} as before`,
    `${s('preempted')} would be preempted`,
    ...(s('existing') > 0 ? [`${s('existing')} already running`] : []),
  ].join(' · ');
}

function PlanResult({ plan, busy }: { plan: Planned; busy: boolean }) {
  const [open, setOpen] = useState('');
  const rows = [...plan.outcomes].sort((a, b) => kOrder.indexOf(a.state) - kOrder.indexOf(b.state));
  return (
    <>
      <p class={`plan-head${busy ? ' busy' : ''}`} role="status"><strong>{sumOf(plan)}</strong> <span class="dim">planned in {Math.max(1, Math.round((plan.seconds ?? 0) * 1000))} ms for the cluster as it is now; nothing was applied</span></p>
      {[...(plan.assumptions ?? []), ...(plan.notes ?? [])].map((note) => <p key={note} class="dim note-line">{cut(note, 400)}</p>)}
      {(plan.skipped ?? []).length > 0 && <p class="dim">Not planned: {plan.skipped!.map((row) => count(row.count, row.kind)).join(', ')}.</p>}
      {plan.podsNotCreated?.map((row) => <div key={`${row.namespace}/${row.owners?.join()}`} class="box warn">{row.owners?.[row.owners.length - 1]} in {row.namespace}: {row.missing} of {row.wanted} pods cannot be created: {cut(row.reason)}</div>)}
      {rows.length > 0 && (
        <div class="scroll outcomes" tabIndex={0} role="region" aria-label="Outcomes">
          <table>
            <thead><tr><th scope="col">What</th><th scope="col">Would be</th><th scope="col">Node</th><th scope="col">Devices</th></tr></thead>
            <tbody>
              {rows.slice(0, 300).map((outcome) => {
                const key = `${outcome.kind}/${outcome.namespace}/${outcome.name}`;
                return [
                  <tr key={key} class={`o-${outcome.state}`}>
                    <td class="mono">{outcome.namespace}/{outcome.name}{outcome.planned && <span class="dim" title="A controller would create it."> (new)</span>}</td>
                    <td class="nowrap"><span class={`state-tag o-${outcome.state}`}>{outcome.state === 'Preempted' ? <s>{outcome.state}</s> : outcome.state}</span> <span class="dim">{kStateWords.get(outcome.state)}</span></td>
                    <td class="mono nowrap">{outcome.node}</td>
                    <td>{outcome.state === 'Refused' ? <button type="button" class="link" aria-expanded={open === key} onClick={() => setOpen(open === key ? '' : key)}>explain</button> : <Devices outcome={outcome} />}
                      {outcome.preemptedFor && <span class="dim"> for {outcome.preemptedFor}</span>}{outcome.victims && outcome.victims.length > 0 && <span class="dim"> instead of {outcome.victims.join(', ')}</span>}</td>
                  </tr>,
                  open === key ? <tr key={`${key}!`}><td colSpan={4}><OutcomeDetails outcome={outcome} /></td></tr> : null,
                ];
              })}
            </tbody>
          </table>
          {rows.length > 300 && <p class="dim">and {rows.length - 300} more</p>}
        </div>
      )}
      {rows.length === 0 && <p class="dim">Nothing would change.</p>}
    </>
  );
}

function Devices({ outcome }: { outcome: Outcome }) {
  const known = fleet.value;
  const devices = (outcome.claims ?? []).flatMap((claim) => claim.devices ?? []);
  return (
    <>
      {devices.slice(0, 8).map((device, i) => (
        <span key={i}>{i > 0 && ', '}{device.id !== undefined && known?.exists(device.id) ? <Link href={address('whatif', [], { sel: `${device.driver}/${device.pool}/${device.device}` })}>{device.device}</Link> : device.device}</span>
      ))}
      {devices.length > 8 && ` and ${devices.length - 8} more`}
    </>
  );
}

// Nodes that do not exist: their devices as the plan would use them.
function Ghosts({ plan }: { plan: Planned }) {
  return (
    <>
      <h2>New nodes</h2>
      <ul class="ghosts">
        {plan.newNodes!.map((node) => (
          <li key={node.name}><strong class="mono">{node.name}</strong> <span class="dim">like {node.like}</span>
            <div>{(node.used ?? []).length === 0 ? <span class="dim">no pod would run here</span> : node.used!.map((use, i) => <span key={i} class="ghost" title={use.by}>{use.device}{use.by && <span class="dim"> {use.by}</span>}</span>)}</div></li>
        ))}
      </ul>
    </>
  );
}
