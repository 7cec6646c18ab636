import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { readDashboardFile } from './dashboard-files';

/** A file that pages load, under a name that changes with its content, so that browsers may keep it for ever. */
export interface Asset {
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Assets {
  readonly names: { readonly style: string; readonly script: string; readonly icon: string };
  byName(name: string): Asset | undefined;
}

export function loadAssets(): Assets {
  const [style, script, icon] = ['dashboard.css', 'dashboard.js', 'icon.svg'].map(load) as [Asset, Asset, Asset];
  const all = new Map([style, script, icon].map((asset) => [asset.name, asset]));
  return {
    names: { style: style.name, script: script.name, icon: icon.name },
    byName: (name) => all.get(name),
  };
}

function load(file: string): Asset {
  const content = readDashboardFile('assets', file);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const extension = extname(file);
  return { name: file.replace(extension, `-${hash}${extension}`), type: types[extension]!, content };
}
