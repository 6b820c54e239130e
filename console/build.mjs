// SPDX-License-Identifier: Apache-2.0
//
// console/src -> console/dist: what the binary embeds. The same sources give the same bytes, wherever and whenever: nothing of the
// machine goes in, and manifest.json has the hashes of all that went in and came out (tools/check-console compares them without npm).
//
//   node build.mjs [--out FOLDER]
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf('--out');
const out = at < 0 ? join(here, 'dist') : process.argv[at + 1];

function filesBelow(folder) {
  return readdirSync(join(here, folder), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(posix.join(folder, entry.name)) : [posix.join(folder, entry.name)]))
    .sort();
}

const made = await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/main.tsx' },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2022'],
  charset: 'utf8',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  metafile: true,
  write: false,
  logLevel: 'warning',
});

// What is inside, of whom, under which licence.
const packages = new Set();
for (const input of Object.keys(made.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = join(here, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
});

const outputs = new Map(made.outputFiles.map((file) => [posix.basename(file.path.replaceAll('\\', '/')), Buffer.from(file.contents)]));
outputs.set('index.html', readFileSync(join(here, 'src/index.html')));
outputs.set('icon.svg', readFileSync(join(here, 'src/icon.svg')));
outputs.set('LICENSES.txt', Buffer.from(`What the console's app.js and app.css contain besides dray itself.\n\n${licences.join(`\n${'-'.repeat(80)}\n\n`)}`));

const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
const sources = ['build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json', ...filesBelow('src')].sort();
const manifest = {
  about: 'Made by `make console`; do not edit. SHA-256 of what went in and what came out.',
  sources: Object.fromEntries(sources.map((name) => [name, hash(readFileSync(join(here, name)))])),
  outputs: Object.fromEntries([...outputs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, bytes]) => [name, hash(bytes)])),
};
outputs.set('manifest.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));

mkdirSync(out, { recursive: true });
for (const [name, bytes] of outputs) writeFileSync(join(out, name), bytes);
