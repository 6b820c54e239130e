// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';
import { get, post, remove } from '../api';
import { info } from '../live';
import { adjust, route } from '../route';
import type { ScenarioRow, Simulation, SimulationResult } from '../types';
import { count, cut, duration, number, percent } from '../text';
import { Chart, type Series } from '../ui/chart';
import { Empty, ErrorBox, Loading, useLoaded, When } from '../ui/parts';

export function SimulateView() {
  const { parts, query } = route.value;
  const scenarios = useLoaded<{ folder?: string; scenarios: ScenarioRow[] }>((signal) => get('scenarios', signal), []);
  const [round, setRound] = useState(0);
  const runs = useLoaded<{ simulations: Simulation[] }>((signal) => get('simulations', signal), [round]);
  const [failed, setFailed] = useState<unknown>();
  const [own, setOwn] = useState('');
  const again = (): void => setRound((r) => r + 1);
  const a = query.get('run') ?? '';
  const b = query.get('compare') ?? '';
  const chosen = parts[0] ?? '';
  const running = runs.value?.simulations.some((run) => run.state === 'running') ?? false;
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(again, 700);
    return () => clearInterval(timer);
  }, [running]);

  async function start(body: { scenario?: string; text?: string; seed?: number; policy?: string; duration?: number }): Promise<void> {
    try {
      const made = await post<{ id: string }>('simulations', body);
      setFailed(undefined);
      adjust({ run: made.id, compare: undefined });
      again();
    } catch (error) {
      setFailed(error);
    }
  }

  const scenario = scenarios.value?.scenarios.find((row) => row.name === chosen) ?? scenarios.value?.scenarios.find((row) => !row.error);
  return (
    <section class="page" aria-labelledby="title">
      <h1 id="title">Simulation</h1>
      <p class="lead">Runs the real scheduler on a simulated cluster, in simulated time.</p>
      {scenarios.error !== undefined && <ErrorBox error={scenarios.error} retry={scenarios.again} what="Scenarios could not be read." />}
      {info.value?.can?.includes('simulations') === false && <Empty title="Simulations are not enabled">Start dray console with --scenarios FOLDER.</Empty>}
      {!scenarios.value && scenarios.error === undefined && <Loading what="scenarios" />}
      {scenarios.value && scenarios.value.scenarios.length === 0 && <Empty title="There are no scenarios">{scenarios.value.folder ? `The folder ${scenarios.value.folder} has none. ` : ''}Choose another folder with dray console --scenarios FOLDER, or paste a scenario below.</Empty>}
      {scenarios.value && (
        <div class="split simulate">
          <div class="side">
            <h2>Scenarios {scenarios.value.folder && <span class="dim mono">{cut(scenarios.value.folder, 60)}</span>}</h2>
            <ul class="choices">
              {scenarios.value.scenarios.map((row) => (
                <li key={row.name}>
                  <button type="button" aria-pressed={row === scenario} disabled={Boolean(row.error)} onClick={() => setChosen(row.name)}>
                    <strong>{row.title || row.name}</strong> <span class="dim">{row.title ? row.name : ''}{row.nodes ? `, ${count(row.nodes, 'node')}` : ''}{row.duration ? `, ${duration(row.duration)}` : ''}</span>
                    {row.error && <span class="warn-text">{cut(row.error)}</span>}
                  </button>
                </li>
              ))}
            </ul>
            {scenario && <StartForm key={scenario.name} scenario={scenario} start={start} />}
            <details>
              <summary>A scenario of your own</summary>
              <label class="stack"><span class="sr">Scenario as YAML</span><textarea class="mono" rows={8} spellcheck={false} value={own} placeholder={'apiVersion: dray/v1alpha1\nkind: Scenario\n…'} onInput={(event) => setOwn(event.currentTarget.value)} /></label>
              <button type="button" disabled={own.trim() === ''} onClick={() => void start({ text: own })}>run it</button>
            </details>
            {failed !== undefined && <ErrorBox error={failed} what="The simulation was not started." />}
          </div>
          <div class="result">
            <h2>Runs</h2>
            {runs.error !== undefined && <ErrorBox error={runs.error} retry={again} what="Runs could not be read." />}
            {runs.value && runs.value.simulations.length === 0 && <p class="dim">No runs yet. Choose a scenario and run it.</p>}
            {runs.value && runs.value.simulations.length > 0 && (
              <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
                <table class="runs">
                  <thead><tr><th scope="col">A</th><th scope="col">B</th><th scope="col">Run</th><th scope="col">Seed</th><th scope="col">Policy</th><th scope="col">State</th><th scope="col"><span class="sr">End</span></th></tr></thead>
                  <tbody>
                    {runs.value.simulations.map((run) => (
                      <tr key={run.id} class={run.id === a || run.id === b ? 'selected' : ''}>
                        <td><input type="radio" name="a" aria-label={`Show run ${run.id}`} checked={run.id === a} onChange={() => adjust({ run: run.id, compare: b === run.id ? undefined : b })} /></td>
                        <td><input type="checkbox" aria-label={`Compare with run ${run.id}`} checked={run.id === b} disabled={run.id === a || a === ''} onChange={() => adjust({ compare: b === run.id ? undefined : run.id })} /></td>
                        <td>{run.title || run.scenario} <span class="dim mono">{run.id}</span></td>
                        <td>{run.seed}</td>
                        <td>{run.policy}</td>
                        <td><Progress run={run} /></td>
                        <td><button type="button" class="small" aria-label={run.state === 'running' ? `Stop run ${run.id}` : `Forget run ${run.id}`} onClick={() => { void remove(`simulations/${encodeURIComponent(run.id)}`).then(again, setFailed); }}>{run.state === 'running' ? 'stop' : 'forget'}</button></td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            {a !== '' && <Results a={a} b={b} round={runs.value?.simulations.find((run) => run.id === a)?.state === 'running' ? round : -1} />}
          </div>
        </div>
      )}
    </section>
  );

  function setChosen(name: string): void {
    // A part of the path, so that a link names the scenario.
    const { query: now } = route.peek();
    history.replaceState(null, '', `/console/simulate/${encodeURIComponent(name)}${now.size > 0 ? `?${now}` : ''}`);
    route.value = { view: 'simulate', parts: [name], query: now };
  }
}

function StartForm({ scenario, start }: { scenario: ScenarioRow; start: (body: { scenario: string; seed?: number; policy?: string; duration?: number }) => Promise<void> }) {
  const [seed, setSeed] = useState(String(scenario.seed ?? 1));
  const [policy, setPolicy] = useState(scenario.policy ?? 'first-fit');
  const [hours, setHours] = useState('');
  return (
    <form
      class="row start"
      onSubmit={(event) => {
        event.preventDefault();
        void start({ scenario: scenario.name, policy, ...(seed !== '' ? { seed: Number(seed) } : {}), ...(Number(hours) > 0 ? { duration: Math.round(Number(hours) * 3600) } : {}) });
      }}
    >
      <label>seed <input type="number" min="0" step="1" value={seed} onInput={(event) => setSeed(event.currentTarget.value)} /></label>
      <label>policy <select value={policy} onChange={(event) => setPolicy(event.currentTarget.value)}>{['first-fit', 'best-fit', 'fragmentation'].map((name) => <option key={name}>{name}</option>)}</select></label>
      <label>hours <input type="number" min="0" step="0.5" placeholder={scenario.duration ? String(Math.round(scenario.duration / 360) / 10) : 'all'} value={hours} onInput={(event) => setHours(event.currentTarget.value)} /></label>
      <button type="submit" class="primary">▶ run</button>
    </form>
  );
}

function Progress({ run }: { run: Simulation }) {
  if (run.state === 'running') {
    const share = run.progress ?? 0;
    return <span class="progress"><progress max={1} value={share} aria-label={`Run ${run.id}`} /> {percent(share)} <span class="dim">{duration(run.simulatedSeconds ?? 0)}</span></span>;
  }
  if (run.state === 'failed') return <span class="warn-text">failed: {cut(run.error ?? '')}</span>;
  return <span>{run.state} {run.started && <span class="dim"><When time={run.started} ago={false} /></span>}</span>;
}

function Results({ a, b, round }: { a: string; b: string; round: number }) {
  const first = useLoaded<Simulation>((signal) => get(`simulations/${encodeURIComponent(a)}`, signal), [a, round]);
  const second = useLoaded<Simulation | undefined>((signal) => (b === '' ? Promise.resolve(undefined) : get<Simulation>(`simulations/${encodeURIComponent(b)}`, signal)), [b]);
  if (first.error !== undefined) return <ErrorBox error={first.error} retry={first.again} what={`Run ${a} could not be read.`} />;
  const run = first.value;
  if (!run) return <Loading what={`run ${a}`} />;
  if (run.state === 'failed') return <ErrorBox error={new Error(run.error ?? '')} what="The run failed." />;
  if (!run.result) return <p class="dim" role="status">Runs: {percent(run.progress ?? 0)}, {duration(run.simulatedSeconds ?? 0)} of simulated time.</p>;
  return <Compared a={run.result} b={b !== '' ? second.value?.result : undefined} names={[a, b]} />;
}

interface Line {
  name: string;
  a: number | undefined;
  b: number | undefined;
  format: (value: number) => string;
  lower?: boolean; // less is better
}

function Compared({ a, b, names }: { a: SimulationResult; b: SimulationResult | undefined; names: [string, string] }) {
  const lines: Line[] = [];
  const add = (name: string, of: (result: SimulationResult) => number | undefined, format: (value: number) => string, lower = false): void => {
    const va = of(a);
    const vb = b ? of(b) : undefined;
    if (va !== undefined || vb !== undefined) lines.push({ name, a: va, b: vb, format, lower });
  };
  add('pods created', (r) => r.pods.created, number);
  add('pods placed', (r) => r.pods.placed, number);
  add('still pending at the end', (r) => r.stillWaiting, number, true);
  add('waiting time, p50', (r) => r.waiting?.p50, duration, true);
  add('waiting time, p99', (r) => r.waiting?.p99, duration, true);
  for (const row of (a.classes ?? []).slice(0, 8)) {
    const of = (r: SimulationResult) => r.classes?.find((other) => other.name === row.name);
    add(`${row.name}: mean utilisation`, (r) => of(r)?.meanUtilisation, (value) => percent(value, 1));
    add(`${row.name}: mean fragmentation`, (r) => of(r)?.meanFragmentation, (value) => percent(value, 1), true);
  }
  for (const row of (a.workloads ?? []).slice(0, 12)) {
    const of = (r: SimulationResult) => r.workloads?.find((other) => other.name === row.name);
    add(`${row.name}: placed`, (r) => of(r)?.placed, number);
    add(`${row.name}: still pending`, (r) => of(r)?.waiting, number, true);
    add(`${row.name}: waiting time, p99`, (r) => of(r)?.times?.p99, duration, true);
  }
  const samples = [...new Set([...(a.samples ?? []), ...(b?.samples ?? [])].map((sample) => sample.seconds))].sort((x, y) => x - y);
  const column = (result: SimulationResult, of: (sample: NonNullable<SimulationResult['samples']>[number]) => number | undefined): Series['values'] => {
    const byTime = new Map((result.samples ?? []).map((sample) => [sample.seconds, of(sample)]));
    return samples.map((time) => byTime.get(time) ?? null);
  };
  const both = (label: string, color: number, of: (result: SimulationResult) => ((sample: NonNullable<SimulationResult['samples']>[number]) => number | undefined)): Series[] => [
    { label: b ? `${label} A` : label, values: column(a, of(a)), color },
    ...(b ? [{ label: `${label} B`, values: column(b, of(b)), second: true, color }] : []),
  ];
  const classes = (a.classes ?? []).slice(0, 3);
  const at = (result: SimulationResult, name: string): number => result.classes?.findIndex((row) => row.name === name) ?? -1;
  return (
    <>
      <h2>{a.title || 'Result'} <span class="dim">{a.nodes !== undefined && `${count(a.nodes, 'node')}, ${count(a.devices ?? 0, 'device')}; `}{duration(a.simulatedSeconds ?? 0)} simulated; {a.policy}, seed {a.seed}{b && ` · B: ${b.policy}, seed ${b.seed}`}</span></h2>
      {samples.length > 1 && (
        <div class="charts">
          <Chart title="Utilisation" times={samples} sync="simulation" most={1} format={(value) => percent(value)} series={classes.flatMap((row, i) => both(row.name, i, (result) => (sample) => sample.utilisation[at(result, row.name)]))} />
          <Chart title="Fragmentation" times={samples} sync="simulation" most={1} format={(value) => percent(value)} series={classes.flatMap((row, i) => both(row.name, i, (result) => (sample) => sample.fragmentation[at(result, row.name)]))} />
          <Chart title="Pending pods" times={samples} sync="simulation" format={(value) => (Number.isInteger(value) ? number(value) : '')} series={both('pending', 0, () => (sample) => sample.waiting)} />
          <Chart title="Running pods" times={samples} sync="simulation" format={(value) => (Number.isInteger(value) ? number(value) : '')} series={both('running', 0, () => (sample) => sample.running)} />
        </div>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label="Figures">
        <table class="compare">
          <thead><tr><th scope="col">Figure</th><th scope="col" class="num">A {names[0]}</th>{b && <><th scope="col" class="num">B {names[1]}</th><th scope="col" class="num">B − A</th></>}</tr></thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.name}>
                <th scope="row">{line.name}</th>
                <td class="num">{line.a === undefined ? '–' : line.format(line.a)}</td>
                {b && <><td class="num">{line.b === undefined ? '–' : line.format(line.b)}</td><td class="num">{delta(line)}</td></>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(a.reasons ?? []).length > 0 && (
        <><h2>Why pods were refused</h2>
          <ul class="plain">{a.reasons!.slice(0, 12).map((row) => <li key={row.plugin + row.text}>{cut(row.text)} <span class="dim">{count(row.pods, 'pod')}, {count(row.attempts, 'attempt')}</span></li>)}</ul></>
      )}
    </>
  );
}

function delta(line: Line) {
  if (line.a === undefined || line.b === undefined) return '–';
  const value = line.b - line.a;
  if (Math.abs(value) < 1e-9) return <span class="dim">same</span>;
  const better = line.lower ? value < 0 : value > 0;
  return <span class={better ? 'better' : 'worse'}>{value > 0 ? '+' : '−'}{line.format(Math.abs(value))} <span class="sr">{better ? 'better' : 'worse'}</span></span>;
}
