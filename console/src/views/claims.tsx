// SPDX-License-Identifier: Apache-2.0
import { useMemo, useRef, useState } from 'preact/hooks';
import { get, query as queryOf } from '../api';
import { claims, claimsVersion, fleet, holdersKnown, info, states } from '../live';
import { kClaimState, type Claim } from '../model/claims';
import { adjust, address, route } from '../route';
import type { ClaimDetail, ClaimRequest, Got, Step } from '../types';
import { count, cut, duration, isTime, natural, shortName } from '../text';
import { Age, CopyButton, Empty, ErrorBox, Link, Loading, Swatch, useLoaded, When } from '../ui/parts';

const kRow = 30;

export function ClaimsView() {
  const { parts } = route.value;
  return parts.length >= 2 ? <ClaimView namespace={parts[0]!} name={parts[1]!} /> : <ClaimList />;
}

function ClaimList() {
  const version = claimsVersion.value;
  const { query } = route.value;
  const namespace = query.get('ns') ?? '';
  const text = query.get('q') ?? '';
  const wanted = query.get('state') ?? '';
  const host = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const known = fleet.value;
  const namespaces = useMemo(() => [...new Set([...claims.all.values()].map((claim) => claim.namespace))].sort(), [version]);
  const rows = useMemo(() => {
    const lower = text.toLowerCase();
    const has = (claim: Claim): boolean => (namespace === '' || claim.namespace === namespace) && (wanted === '' || kClaimState[claim.state] === wanted)
      && (lower === '' || claim.name.toLowerCase().includes(lower) || claim.pods.some((pod) => pod.toLowerCase().includes(lower)));
    return [...claims.all.values()].filter(has).sort((a, b) => a.state - b.state || (a.namespace === b.namespace ? (rowsAreMany() ? 0 : natural(a.name, b.name)) : a.namespace < b.namespace ? -1 : 1));
  }, [version, namespace, text, wanted]);
  const first = Math.max(0, Math.floor(top / kRow) - 8);
  const last = Math.min(rows.length, first + 60);
  return (
    <section class="page fill" aria-labelledby="title">
      <h1 id="title">Claims</h1>
      <div class="toolbar inline">
        <label>namespace <select value={namespace} onChange={(event) => adjust({ ns: event.currentTarget.value })}><option value="">all namespaces</option>{namespaces.map((name) => <option key={name} value={name}>{name}</option>)}</select></label>
        <label>state <select value={wanted} onChange={(event) => adjust({ state: event.currentTarget.value })}><option value="">all states</option>{kClaimState.map((name) => <option key={name} value={name}>{name}</option>)}</select></label>
        <label class="grow">filter <input type="search" value={text} placeholder="claim or pod" onInput={(event) => adjust({ q: event.currentTarget.value })} /></label>
        <span class="dim">{count(rows.length, 'claim')}</span>
      </div>
      {!holdersKnown.value && (info.value?.missing?.some((row) => row.resource === 'resourceclaims') ? <Empty title="Claims may not be read with these rights">{info.value.missing.find((row) => row.resource === 'resourceclaims')!.message}</Empty> : <Loading what="claims" />)}
      {holdersKnown.value && rows.length === 0 && (claims.all.size === 0 ? <Empty title="There are no ResourceClaims">They are made from templates when pods that name them are created.</Empty> : <Empty title="No claim matches the filters" />)}
      {rows.length > 0 && (
        <div class="list-scroll" ref={host} tabIndex={0} role="region" aria-label="List of claims" onScroll={() => setTop(host.current!.scrollTop)}>
          <table class="claims" aria-rowcount={rows.length + 1}>
            <thead><tr><th scope="col">Claim</th><th scope="col">State</th><th scope="col">Namespace</th><th scope="col">Devices</th><th scope="col">For</th><th scope="col">Age</th></tr></thead>
            <tbody>
              {first > 0 && <tr aria-hidden="true" style={{ height: `${first * kRow}px` }} />}
              {rows.slice(first, last).map((claim, i) => (
                <tr key={`${claim.namespace}/${claim.name}`} aria-rowindex={first + i + 2}>
                  <td class="mono"><Link href={address('claims', [claim.namespace, claim.name])}>{claim.name}</Link></td>
                  <td><span class={`state-tag t-${kClaimState[claim.state]}`}>{kClaimState[claim.state]}</span></td>
                  <td>{claim.namespace}</td>
                  <td>{known && claim.devices.slice(0, 3).map((id) => (known.exists(id) ? `${known.nodeNameOf(id) || known.poolNameOf(id)}/${known.deviceName(id)}` : 'gone')).join(', ')}{claim.devices.length > 3 && ` and ${claim.devices.length - 3} more`}</td>
                  <td>{claim.pods.slice(0, 2).join(', ')}{claim.pods.length > 2 && ` and ${claim.pods.length - 2} more`}</td>
                  <td class="nowrap"><Age since={claim.created} /></td>
                </tr>
              ))}
              {last < rows.length && <tr aria-hidden="true" style={{ height: `${(rows.length - last) * kRow}px` }} />}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
// Comparing tens of thousands of names as people would takes longer than anybody waits.
const rowsAreMany = (): boolean => claims.all.size > 5000;

const kStepWords: Record<string, string> = { created: 'created', allocated: 'allocated', reserved: 'reserved', prepared: 'prepared', released: 'released' };

// How a time is known.
const kFrom = new Map([['condition', 'from its condition'], ['event', 'from an event'], ['watch', 'as observed by the console']]);

function TimeLine({ steps }: { steps: Step[] }) {
  let before: number | undefined;
  return (
    <ol class="timeline" aria-label="The claim's life">
      {steps.map((step) => {
        const at = isTime(step.time) ? Date.parse(step.time) : undefined;
        const since = at !== undefined && before !== undefined ? (at - before) / 1000 : undefined;
        if (at !== undefined) before = at;
        return (
          <li key={step.step} class={`step-${step.state}`}>
            <span class="dot" aria-hidden="true">{step.state === 'done' ? '●' : step.state === 'unknown' ? '?' : '○'}</span>
            <strong>{kStepWords[step.step] ?? step.step}</strong>
            <span class="step-time">
              {step.state === 'done' ? (at !== undefined ? <When time={step.time} ago={false} /> : 'at an unknown time') : step.state === 'unknown' ? <span title="No condition or event reports this step.">unknown</span> : 'not yet'}
              {since !== undefined && <span class="dim"> +{duration(since)}</span>}
            </span>
            {step.detail && <span class="dim">{cut(step.detail)}</span>}
            {step.from && step.state === 'done' && kFrom.has(step.from) && <span class="dim">{kFrom.get(step.from)}</span>}
          </li>
        );
      })}
    </ol>
  );
}

function GotDevice({ got }: { got: Got }) {
  const known = fleet.value;
  void states.value;
  const id = got.id ?? known?.find(`${got.driver}/${got.pool}/${got.device}`) ?? -1;
  const there = known && known.exists(id);
  return (
    <div class="got">
      {there ? <Swatch state={known.state[id]!} fill={known.fill[id]!} marks={known.marks[id]!} size={14} /> : null}
      <Link href={address('fleet', [], { sel: `${got.driver}/${got.pool}/${got.device}` })}>{there ? known.nodeNameOf(id) || got.pool : got.pool}/{got.device}</Link>
      {got.share && <span class="dim"> a share</span>}
      {got.consumed && Object.entries(got.consumed).map(([name, value]) => <span key={name} class="dim"> {shortName(name)} {value}</span>)}
      {got.derived && Object.entries(got.derived).map(([name, value]) => <code key={name}>{name}={value}</code>)}
    </div>
  );
}

function RequestRow({ request, prefix = '' }: { request: ClaimRequest & { chosen?: boolean }; prefix?: string }) {
  const asks = request.mode === 'All' ? 'all devices' : `${request.count ?? 1} ×`;
  return (
    <>
      <tr class={request.chosen === false ? 'faint' : ''}>
        <th scope="row" class="mono">{prefix}{request.name}{request.chosen && <span class="state-tag t-reserved"> chosen</span>}</th>
        <td>
          {request.class ? <>{asks} <Link href={address('classes', [], { class: request.class })}>{request.class}</Link></> : request.alternatives ? <span class="dim">the first of {request.alternatives.length} that can be allocated</span> : null}
          {request.adminAccess && <div class="dim">with admin access</div>}
          {request.selectors?.map((text) => <pre key={text} class="cel">{text}</pre>)}
          {request.derived?.map((row) => <pre key={row.name} class="cel">{row.name} = {row.expression}</pre>)}
          {request.capacity && Object.entries(request.capacity).map(([name, value]) => <div key={name} class="dim">at least {value} of {name}</div>)}
          {request.tolerations?.map((text) => <div key={text} class="dim">tolerates {text}</div>)}
        </td>
        <td>{request.got && request.got.length > 0 ? request.got.map((got) => <GotDevice key={`${got.driver}/${got.pool}/${got.device}/${got.share ?? ''}`} got={got} />) : !request.alternatives && <span class="dim">nothing{request.chosen === false ? '' : ' yet'}</span>}</td>
        <td>{request.why}</td>
      </tr>
      {request.alternatives?.map((row) => <RequestRow key={row.name} request={row} prefix={`${request.name}/`} />)}
    </>
  );
}

function ClaimView({ namespace, name }: { namespace: string; name: string }) {
  const known = claims.find(namespace, name);
  void claimsVersion.value;
  const look = known ? `${known.state}/${known.devices.join()}/${known.pods.join()}` : 'none';
  const { value: claim, error, again } = useLoaded<ClaimDetail>((signal) => get(`claim${queryOf({ namespace, name })}`, signal), [namespace, name, look]);
  if (error !== undefined && !claim) return <section class="page"><h1>{name}</h1><ErrorBox error={error} retry={again} what={`Claim ${namespace}/${name} could not be read.`} /></section>;
  if (!claim) return <section class="page"><h1>{name}</h1><Loading what={`claim ${name}`} /></section>;
  const waits = claim.state === 0;
  const first = claim.requests?.flatMap((request) => [...(request.got ?? []), ...(request.alternatives ?? []).flatMap((row) => row.got ?? [])])[0];
  return (
    <section class="page" aria-labelledby="title">
      <p class="crumb"><Link href={address('claims', [], { ns: namespace })}>claims in {namespace}</Link></p>
      <h1 id="title" class="mono">{claim.name} <span class={`state-tag t-${known ? kClaimState[claim.state] : 'gone'}`}>{known || !holdersKnown.value ? kClaimState[claim.state] : 'released'}</span></h1>
      <p class="dim">
        {claim.owner && <>created for {claim.owner.kind.toLowerCase()} {claim.owner.name}{claim.podClaim ? ` (its claim ${claim.podClaim})` : ''} · </>}
        {claim.node ? <>on node <Link href={address('fleet', [], { sel: `node:${claim.node}` })}>{claim.node}</Link></> : waits ? 'no devices yet' : ''}
      </p>
      {!known && holdersKnown.value && <div class="box warn" role="status"><strong>This claim was deleted.</strong> Below is its last known state.</div>}
      {claim.steps && <TimeLine steps={claim.steps} />}
      {waits && claim.pods?.[0] && <p><Link class="button" href={address('pending', [], { pod: `${namespace}/${claim.pods[0].name}` })}>why it is pending</Link></p>}
      <h2>Requests and their devices</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Requests">
        <table class="requests">
          <thead><tr><th scope="col">Request</th><th scope="col">Asks for</th><th scope="col">Got</th><th scope="col">Why</th></tr></thead>
          <tbody>{claim.requests?.map((request) => <RequestRow key={request.name} request={request} />)}</tbody>
        </table>
      </div>
      {claim.constraints && claim.constraints.length > 0 && (
        <>
          <h2>Constraints</h2>
          <ul class="plain constraints">
            {claim.constraints.map((row, i) => (
              <li key={i}>
                <span class={row.holds ? 'yes' : 'no'} aria-hidden="true">{row.holds ? '✓' : waits ? '…' : '✗'}</span>{' '}
                <code>{row.type} {row.attribute}</code> over {row.requests && row.requests.length > 0 ? row.requests.join(', ') : 'all requests'}
                {row.holds && row.value !== undefined && row.value !== '' && <>: holds, all have <code>{row.value}</code></>}
                {row.holds && (row.value === undefined || row.value === '') && ': holds'}
                {row.holds === false && !waits && ': does not hold for what it has now'}
              </li>
            ))}
          </ul>
        </>
      )}
      {claim.pods && claim.pods.length > 0 && (
        <><h2>Pods</h2><ul class="plain">{claim.pods.map((pod) => <li key={pod.name}><span class="mono">{pod.name}</span> <span class="dim">{pod.phase}{pod.node ? ` on ${pod.node}` : ''}</span></li>)}</ul></>
      )}
      {claim.conditions && claim.conditions.length > 0 && (
        <><h2>Conditions</h2><ul class="plain">{claim.conditions.map((row, i) => <li key={i}><strong>{row.type}</strong> {row.status} {row.device && <code>{row.device}</code>} {row.message && <span class="dim">{cut(row.message)}</span>} <When time={row.since} /></li>)}</ul></>
      )}
      {claim.events && claim.events.length > 0 && (
        <><h2>Events</h2><ul class="plain">{claim.events.map((row, i) => <li key={i}><When time={row.time} /> <strong>{row.reason}</strong> {cut(row.message ?? '', 400)} {(row.count ?? 1) > 1 && <span class="dim">×{row.count}</span>}</li>)}</ul></>
      )}
      <p class="actions">
        {first && <Link class="button" href={address('fleet', [], { sel: `${first.driver}/${first.pool}/${first.device}`, q: claim.name })}>show on the fleet</Link>}
        {!waits && <Link class="button" href={address('whatif', [], { delete: `claim/${namespace}/${name}` })}>what if it were released</Link>}
        <CopyButton text={`kubectl get resourceclaim ${name} -n ${namespace} -o yaml`} label="copy kubectl command" />
      </p>
      {claim.yaml && <details><summary>YAML</summary><pre class="yaml">{claim.yaml}</pre><CopyButton text={claim.yaml} /></details>}
    </section>
  );
}
