// SPDX-License-Identifier: Apache-2.0
//
// Classes, what drivers have published, and a place to try expressions on the cluster's devices.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, post } from '../api';
import { FleetMap } from '../fleet/map';
import { fleet, states, structure } from '../live';
import { kByName } from '../model/groups';
import { PoolFlag, State } from '../model/states';
import { address, adjust, route } from '../route';
import type { CelAnswer, ClassRow, Issue } from '../types';
import { count, cut, number } from '../text';
import { CopyButton, Empty, ErrorBox, Link, Loading, useLoaded } from '../ui/parts';

// A bit per device, the lowest of a byte first.
export function bitsOf(base64: string | undefined, size: number): Uint8Array {
  const made = new Uint8Array(size);
  if (!base64) return made;
  const bytes = atob(base64);
  for (let id = 0; id < size; ++id) if ((bytes.charCodeAt(id >> 3) >> (id & 7)) & 1) made[id] = 1;
  return made;
}

export function ClassesView() {
  const { query } = route.value;
  const expression = query.get('cel') ?? '';
  const derived = query.get('derived') === '1';
  const tab = query.get('tab') ?? 'expression';
  const [answer, setAnswer] = useState<CelAnswer>();
  const [error, setError] = useState<unknown>();
  const [light, setLight] = useState<'match' | 'error'>('match');
  const version = structure.value;
  useEffect(() => {
    if (expression.trim() === '') {
      setAnswer(undefined);
      setError(undefined);
      return;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      post<CelAnswer>('cel', { expression, derived }, controller.signal).then(
        (made) => {
          setAnswer(made);
          setError(undefined);
        },
        (failed: unknown) => {
          if (!controller.signal.aborted) setError(failed);
        },
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [expression, derived, version]);
  const known = fleet.value;
  const lit = useMemo(() => (answer?.type && known ? bitsOf(light === 'match' ? answer.match : answer.error, known.size) : undefined), [answer, known, version, light]);
  const classes = useLoaded<{ classes: ClassRow[] }>((signal) => get('classes', signal), [known, version]);

  return (
    <section class="page fill" aria-labelledby="title">
      <h1 id="title">Classes</h1>
      <span class="switch" role="group" aria-label="What to look at">
        {(['expression', 'classes', 'slices'] as const).map((name) => <button type="button" key={name} aria-pressed={tab === name} onClick={() => adjust({ tab: name === 'expression' ? undefined : name })}>{name === 'expression' ? 'try an expression' : name}</button>)}
      </span>
      {tab === 'classes' && <ClassTable loaded={classes} />}
      {tab === 'slices' && <Slices />}
      {tab === 'expression' && (
        <div class="playground">
          <label class="stack">
            <span>Expression over <code>device</code> <span class="dim">as in a selector of a class or request; tried on {known ? count(known.size, 'device') : 'all devices'}</span></span>
            <textarea class="mono cel-input" rows={2} spellcheck={false} value={expression} placeholder={'device.driver == "gpu.example.com"'} aria-invalid={answer?.issues?.some((issue) => issue.severity === 'error') ?? false} aria-describedby="cel-answer"
              onInput={(event) => adjust({ cel: event.currentTarget.value })} />
          </label>
          <p class="row">
            <label><input type="checkbox" checked={derived} onChange={(event) => adjust({ derived: event.currentTarget.checked ? '1' : undefined })} /> evaluate it as a derived attribute, not as a selector</label>
            {classes.value && (
              <label>start from <select value="" onChange={(event) => { const row = classes.value!.classes.find((c) => c.name === event.currentTarget.value); if (row?.selectors?.[0]) adjust({ cel: row.selectors.join(' && '), derived: undefined }); }}>
                <option value="">class …</option>{classes.value.classes.filter((row) => row.selectors?.length).map((row) => <option key={row.name} value={row.name}>{row.name}</option>)}
              </select></label>
            )}
          </p>
          <div id="cel-answer" role="status">
            {error !== undefined && <ErrorBox error={error} what="The expression was not tried." />}
            {answer && error === undefined && <Answer answer={answer} expression={expression} derived={derived} light={light} setLight={setLight} />}
          </div>
          {expression.trim() === '' && <p class="dim">Type an expression: devices for which it is true stay lit on the fleet below.</p>}
          <div class="fleet small-map">
            <FleetMap by={kByName} lit={lit} zoom={query.get('z') ?? undefined} at={query.get('at') ?? undefined} selected={query.get('sel') ?? undefined} onView={(z, at) => adjust({ z, at })} onSelect={(sel) => adjust({ sel })} />
          </div>
        </div>
      )}
    </section>
  );
}

function Answer({ answer, expression, derived, light, setLight }: { answer: CelAnswer; expression: string; derived: boolean; light: 'match' | 'error'; setLight: (value: 'match' | 'error') => void }) {
  const counts = answer.counts ?? {};
  const share = answer.estimatedCost !== undefined && answer.costLimit ? answer.estimatedCost / answer.costLimit : 0;
  return (
    <>
      {answer.issues?.map((issue, i) => <IssueLine key={i} issue={issue} expression={expression} />)}
      {answer.type && (
        <p class="facts-line">
          <span>type <code>{answer.type}</code></span>
          <span class={share > 1 ? 'warn-text' : ''}>cost at most {number(answer.estimatedCost ?? 0)} of {number(answer.costLimit ?? 0)}</span>
          {answer.cost !== undefined && <span>at most {number(answer.cost)} on these devices</span>}
          {answer.reads && answer.reads.length > 0 && <span>reads {answer.reads.map((name) => cut(name, 80)).join(', ')}</span>}
        </p>
      )}
      {answer.type && (
        <p class="switch" role="group" aria-label="Lit on the fleet">
          <button type="button" aria-pressed={light === 'match'} onClick={() => setLight('match')}>{number(counts.match ?? 0)} {derived ? 'have a value' : 'match'}</button>
          {!derived && <span class="dim">{number(counts.noMatch ?? 0)} do not match</span>}
          {(counts.error ?? 0) > 0 && <button type="button" aria-pressed={light === 'error'} onClick={() => setLight('error')}>{number(counts.error!)} fail</button>}
        </p>
      )}
      {answer.errors && answer.errors.length > 0 && (
        <ul class="plain">{answer.errors.slice(0, 6).map((row) => <li key={row.message}><span class="warn-text">{count(row.devices, 'device')}:</span> {cut(row.message)} {row.hint && <span class="dim">{cut(row.hint)}</span>}</li>)}</ul>
      )}
      {answer.values && answer.values.length > 0 && (
        <ul class="values">{answer.values.slice(0, 24).map((row) => <li key={`${row.type}:${row.value}`}><code>{cut(row.value, 60)}</code> <span class="dim">{row.type}, {count(row.devices, 'device')}</span></li>)}</ul>
      )}
    </>
  );
}

// The line with the place underlined.
function IssueLine({ issue, expression }: { issue: Issue; expression: string }) {
  const line = issue.line > 0 ? expression.split('\n')[issue.line - 1] ?? '' : '';
  const from = Math.max(0, issue.column - 1 - 60);
  return (
    <div class={`box ${issue.severity === 'warning' ? 'warn' : 'error'}`}>
      <strong>{issue.line > 0 ? `Line ${issue.line}, column ${issue.column}: ` : ''}{cut(issue.message, 400)}</strong>
      {issue.line > 0 && (
        <pre class="cel at">{from > 0 && '…'}{line.slice(from, issue.column - 1)}<mark>{line.slice(issue.column - 1, issue.column) || ' '}</mark>{line.slice(issue.column, issue.column + 60)}</pre>
      )}
      {issue.hint && <p>{cut(issue.hint, 400)}</p>}
    </div>
  );
}

function ClassTable({ loaded }: { loaded: { value: { classes: ClassRow[] } | undefined; error: unknown; again: () => void } }) {
  const wanted = route.value.query.get('class') ?? '';
  if (loaded.error !== undefined) return <ErrorBox error={loaded.error} retry={loaded.again} what="Classes could not be read." />;
  if (!loaded.value) return <Loading what="classes" />;
  if (loaded.value.classes.length === 0) return <Empty title="There are no DeviceClasses">Each request of a claim names a class; drivers usually come with theirs.</Empty>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="List of classes">
      <table>
        <thead><tr><th scope="col">Class</th><th scope="col" class="num">Devices</th><th scope="col">Selectors</th><th scope="col">Extended resource</th><th scope="col"><span class="sr">Try</span></th></tr></thead>
        <tbody>
          {loaded.value.classes.map((row) => (
            <tr key={row.name} class={row.name === wanted ? 'selected' : ''}>
              <th scope="row" class="mono"><Link href={address('fleet', [], { class: row.name })}>{row.name}</Link></th>
              <td class="num">{number(row.devices ?? 0)}</td>
              <td>{row.error && <span class="warn-text">{cut(row.error)}</span>}{row.selectors?.map((text) => <pre class="cel" key={text}>{text}</pre>)}{!row.selectors?.length && <span class="dim">none: every device</span>}</td>
              <td class="mono">{row.extendedResourceName}</td>
              <td>{row.selectors?.[0] && <Link class="button small" href={address('classes', [], { cel: row.selectors.join(' && ') })}>try</Link>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// What drivers have published, by driver, then pool.
function Slices() {
  const known = fleet.value;
  void states.value;
  const version = structure.value;
  const rows = useMemo(() => {
    if (!known) return [];
    const devices = new Uint32Array(known.poolName.length);
    for (let id = 0; id < known.size; ++id) if (known.state[id] !== State.removed && known.state[id] !== State.gone) ++devices[known.pool[id]!]!;
    const byDriver = new Map<string, { driver: string; pools: number; slices: number; devices: number; bad: string[]; nodes: number }>();
    known.poolName.forEach((pool, i) => {
      const driver = known.poolDriver[i]!;
      let row = byDriver.get(driver);
      if (!row) byDriver.set(driver, (row = { driver, pools: 0, slices: 0, devices: 0, bad: [], nodes: 0 }));
      if (devices[i] === 0 && ((known.poolSlices[i] ?? 0) === 0 || (known.poolFlags[i] ?? 0) & PoolFlag.gone)) return;
      ++row.pools;
      row.slices += known.poolSlices[i] ?? 0;
      row.devices += devices[i]!;
      if (known.poolNode[i]! >= 0) ++row.nodes;
      const flags = (known.poolFlags[i] ?? 0) & (PoolFlag.incomplete | PoolFlag.invalid);
      if (flags !== 0) row.bad.push(`${pool}: ${flags & PoolFlag.invalid ? 'invalid' : 'incomplete'}`);
    });
    return [...byDriver.values()].sort((a, b) => b.devices - a.devices);
  }, [known, version]);
  if (rows.length === 0) return <Empty title="No ResourceSlices: no DRA driver has published devices" />;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Slices">
      <table>
        <thead><tr><th scope="col">Driver</th><th scope="col">Pools</th><th scope="col" class="num">Slices</th><th scope="col" class="num">Devices</th><th scope="col">Pools complete</th><th scope="col"><span class="sr">Copy</span></th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.driver}>
              <th scope="row" class="mono"><Link href={address('fleet', [], { q: row.driver })}>{row.driver}</Link></th>
              <td class="nowrap">{number(row.pools)} <span class="dim">{row.nodes === row.pools ? 'one per node' : `${row.nodes} of single nodes`}</span></td>
              <td class="num">{number(row.slices)}</td>
              <td class="num">{number(row.devices)}</td>
              <td>{row.bad.length === 0 ? <span class="yes nowrap">✓ all</span> : <span class="warn-text">{row.bad.slice(0, 4).join(', ')}{row.bad.length > 4 && ` and ${row.bad.length - 4} more`}</span>}</td>
              <td><CopyButton text={`kubectl get resourceslices --field-selector spec.driver=${row.driver}`} label="copy kubectl command" /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
