// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';
import { get, query as queryOf } from '../api';
import { now } from '../live';
import { adjust, address, route } from '../route';
import type { History, NamespaceRow } from '../types';
import { clock, count, duration, isTime, number, percent } from '../text';
import { Chart, type Series } from '../ui/chart';
import { Bar, Empty, ErrorBox, Link, Loading, useLoaded } from '../ui/parts';

const kRanges = ['1h', '6h', '24h', '7d'];

// Anew every ten seconds while somebody looks.
function useTicks(seconds: number): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setTick((t) => t + 1);
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return tick;
}

export function UsageView() {
  const { query } = route.value;
  const range = kRanges.includes(query.get('range') ?? '') ? query.get('range')! : '1h';
  const wanted = query.get('class') ?? '';
  const tick = useTicks(10);
  const history = useLoaded<History>((signal) => get(`history${queryOf({ range })}`, signal), [range, tick]);
  const namespaces = useLoaded<{ namespaces: NamespaceRow[] }>((signal) => get('namespaces', signal), [tick]);
  const h = history.value;
  const classes = (h?.classes ?? []).filter((row) => wanted === '' || row.name === wanted);
  const shown = classes.slice(0, 6);
  const column = (values: Series['values'] | undefined): Series['values'] => values ?? [];
  return (
    <section class="page" aria-labelledby="title">
      <h1 id="title">Usage</h1>
      <div class="toolbar inline">
        <label>class <select value={wanted} onChange={(event) => adjust({ class: event.currentTarget.value })}><option value="">all classes</option>{h?.classes?.map((row) => <option key={row.name} value={row.name}>{row.name}</option>)}</select></label>
        <span class="switch" role="group" aria-label="How far back">{kRanges.map((name) => <button type="button" key={name} aria-pressed={name === range} onClick={() => adjust({ range: name })}>{name}</button>)}</span>
        {h && isTime(h.since) && <span class="dim">data since {clock(new Date(h.since))} ({duration((now.value - Date.parse(h.since)) / 1000)})</span>}
      </div>
      {history.error !== undefined && <ErrorBox error={history.error} retry={history.again} what="Usage could not be read." />}
      {!h && history.error === undefined && <Loading what="usage" />}
      {h && h.times.length === 0 && <Empty title="No samples yet">The console takes a sample every {h.step} seconds while it runs.</Empty>}
      {h && h.times.length > 0 && (
        <div class="charts pairs">
          <Chart title="Utilisation: share of devices in use" times={h.times} clock sync="usage" most={1} format={(value) => percent(value)} series={shown.map((row) => ({ label: row.name, values: column(row.utilisation) }))} />
          <Chart title="Fragmentation: share of free capacity that typical requests cannot use" times={h.times} clock sync="usage" most={1} format={(value) => percent(value)} series={shown.map((row) => ({ label: row.name, values: column(row.fragmentation) }))} />
          <Chart title="Queue: pending pods" times={h.times} clock sync="usage" format={(value) => (Number.isInteger(value) ? number(value) : '')} series={[{ label: 'pending', values: column(h.pending) }]} />
          <Chart title="Waiting time, including pods that are still pending" times={h.times} clock sync="usage" format={duration} series={[{ label: 'p50', values: column(h.waitP50) }, { label: 'p99', values: column(h.waitP99) }, { label: 'longest now', values: column(h.oldest) }]} />
        </div>
      )}
      {classes.length > 6 && <p class="dim">The first six classes are shown; choose another one above.</p>}
      {shown.length > 0 && h && h.times.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Classes now">
          <table>
            <thead><tr><th scope="col">Class</th><th scope="col" class="num">Devices</th><th scope="col" class="num">In use</th><th scope="col" class="num">Blocked</th><th scope="col" class="num">Utilisation</th><th scope="col" class="num">Fragmentation</th><th scope="col" class="num">Typical request</th></tr></thead>
            <tbody>{classes.map((row) => <tr key={row.name}><th scope="row"><Link href={address('fleet', [], { class: row.name })}>{row.name}</Link></th><td class="num">{latest(row.devices, number)}</td><td class="num">{latest(row.used, (value) => String(Math.round(value * 10) / 10))}</td><td class="num">{latest(row.blocked, number)}</td><td class="num">{latest(row.utilisation, (value) => percent(value))}</td><td class="num">{latest(row.fragmentation, (value) => percent(value))}</td><td class="num">{count(row.typicalCount ?? 1, 'device')}</td></tr>)}</tbody>
          </table>
        </div>
      )}
      <h2>Devices by namespace</h2>
      {namespaces.error !== undefined && <ErrorBox error={namespaces.error} retry={namespaces.again} what="Namespaces could not be read." />}
      {namespaces.value && namespaces.value.namespaces.length === 0 && <Empty title="No namespace holds devices" />}
      {namespaces.value && namespaces.value.namespaces.length > 0 && <Namespaces rows={namespaces.value.namespaces} wanted={wanted} />}
    </section>
  );
}

function latest(values: Series['values'] | undefined, format: (value: number) => string): string {
  for (let i = (values?.length ?? 0) - 1; i >= 0; --i) {
    const value = values![i];
    if (value !== null && value !== undefined) return format(value);
  }
  return '–';
}

function Namespaces({ rows, wanted }: { rows: NamespaceRow[]; wanted: string }) {
  const flat = rows.flatMap((row) => (row.classes ?? []).filter((use) => wanted === '' || use.name === wanted).map((use) => ({ namespace: row.name, ...use })));
  const most = Math.max(1, ...flat.map((row) => row.devices ?? 0));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Devices by namespace">
      <table class="namespaces">
        <thead><tr><th scope="col">Namespace</th><th scope="col">Class</th><th scope="col" class="num">Held</th><th scope="col" class="num">Quota</th><th scope="col" class="num">Pending</th><th scope="col"><span class="sr">Share</span></th></tr></thead>
        <tbody>
          {flat.map((row) => {
            const held = row.devices ?? 0;
            const quota = row.quota;
            const total = quota ? Math.max(quota.hard, quota.used) : most;
            const value = quota ? quota.used : held;
            return (
              <tr key={`${row.namespace}/${row.name}`}>
                <th scope="row"><Link href={address('fleet', [], { ns: row.namespace, class: row.name })}>{row.namespace}</Link></th>
                <td>{row.name}</td>
                <td class="num">{number(held)}</td>
                <td class="num">{quota ? <span title={quota.name}>{number(quota.used)} of {number(quota.hard)}</span> : <span class="dim">none</span>}</td>
                <td class="num">{row.pending ? number(row.pending) : ''}</td>
                <td class="wide">{quota ? <Bar total={total} parts={[{ value, kind: value >= quota.hard ? 'full' : 'held', label: `${value} of ${quota.hard}` }]} label={`${value} of ${quota.hard} allowed by quota ${quota.name}`} /> : <Bar total={total} parts={[{ value, kind: 'held', label: `${value}` }]} label={`${value} held, no quota`} />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
