// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { findToken } from './api';
import { startKeys } from './keys';
import { connection, run } from './live';
import { startRouting } from './route';
import { Door, Shell } from './shell';

function App() {
  const { phase, message } = connection.value;
  return phase === 'denied' ? <Door message={message} /> : <Shell />;
}

async function start(): Promise<void> {
  await findToken();
  startRouting();
  startKeys();
  render(<App />, document.getElementById('app')!);
  await run();
}
void start();
