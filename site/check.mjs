// SPDX-License-Identifier: Apache-2.0
// Each link and picture of the built site leads to a file of it, and each anchor to a heading.

import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

const SITE = fileURLToPath(new URL('../target/site/', import.meta.url));
const pages = new Map(readdirSync(SITE, {recursive: true})
  .filter((file) => file.endsWith('.html'))
  .map((file) => [file, readFileSync(SITE + file, 'utf8')]));

const broken = [];
let links = 0;
for (const [page, html] of pages) {
  for (const [, url] of html.matchAll(/(?:href|src|srcset)="([^"]+)"/g)) {
    const {origin, pathname, hash} = new URL(url.replaceAll('&amp;', '&'), `http://site/${page}`);
    if (origin !== 'http://site') {
      continue;
    }
    links++;
    const path = decodeURI(pathname).slice(1);
    const file = [path, `${path}.html`, `${path}index.html`].find((one) => pages.has(one));
    const id = decodeURIComponent(hash.slice(1));
    if (file ? id && !pages.get(file).includes(` id="${id}"`) : !existsSync(SITE + path)) {
      broken.push(`${page}: ${url} leads nowhere`);
    }
  }
}
console.log(`${pages.size} pages, ${links} links within the site`);
if (broken.length > 0) {
  console.error(broken.join('\n'));
  process.exit(1);
}
