// SPDX-License-Identifier: Apache-2.0
// The Markdown of this repository as a static site: docs/, and the pages at the top.

import {cpSync, existsSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {dirname, join, posix, relative} from 'node:path';
import {fileURLToPath} from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = fileURLToPath(new URL('../pages', import.meta.url));
const REPOSITORY = process.env.SLUICE_REPOSITORY ?? 'https://example.org/sluice';

const isPage = (file) => /^(docs\/.*|proof\/README|[^/]+)\.md$/.test(file);

/** Copies the pages, since VitePress resolves its modules only from below this folder. */
function copyPages() {
  rmSync(PAGES, {recursive: true, force: true});
  for (const file of ['docs', 'proof/README.md', ...readdirSync(ROOT).filter(isPage)]) {
    cpSync(join(ROOT, file), join(PAGES, file), {recursive: true});
  }
}

/** Returns the file that a link from a page leads to; of a folder, its README. */
function fileOf(page, link) {
  const file = posix.normalize(posix.join(dirname(page), decodeURI(link))).replace(/\/$/, '');
  if (!existsSync(join(ROOT, file))) {
    throw new Error(`${page}: the link ${link} leads to no file`);
  }
  const readme = posix.join(file, 'README.md');
  return isPage(readme) && existsSync(join(ROOT, readme)) ? readme : file;
}

const address = (file) => `/${file.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1')}`;

/** The anchor of a heading, as the repository's own pages have it. */
const anchorOf = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');

/** Links are written for readers of the repository: each leads to a page here, or to the file there. */
function links(md) {
  const render = md.renderer.rules.link_open ?? ((tokens, i, options, _env, self) => self.renderToken(tokens, i, options));
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const link = tokens[i].attrGet('href');
    if (link && !/^([a-z]+:|#)/.test(link)) {
      const [path, anchor] = link.split('#');
      const file = fileOf(relative(PAGES, env.realPath ?? env.path), path);
      const target = isPage(file) ? address(file) : `${REPOSITORY}/blob/main/${file}`;
      tokens[i].attrSet('href', anchor ? `${target}#${anchor}` : target);
    }
    return render(tokens, i, options, env, self);
  };
  const html = md.renderer.rules.html_block;
  md.renderer.rules.html_block = (...all) => html(...all).replace(/(src|srcset)="(?=images\/)/g, '$1="./');
}

const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

/** The groups at the left are the rows of the README's own tables of pages. */
function sidebar() {
  const rows = readFileSync(join(ROOT, 'README.md'), 'utf8').match(/^\|[^|]+\| \[.*]\(.*\.md.*$/gm);
  return rows.map((row) => {
    const [group, pages] = row.split('|').slice(1);
    return {
      text: capitalized(group.trim()),
      collapsed: true,
      items: [...pages.matchAll(/\[([^\]]+)]\(([^)#]+)/g)]
        .map(([, text, link]) => ({text: capitalized(text.replaceAll('`', '')), file: fileOf('README.md', link)}))
        .filter(({file}) => isPage(file))
        .map(({text, file}) => ({text, link: address(file)})),
    };
  });
}

copyPages();

export default {
  title: 'Sluice',
  description: 'A rate limiter for the JVM, and a server for other languages',
  srcDir: 'pages',
  outDir: '../target/site',
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  cleanUrls: true,
  markdown: {anchor: {slugify: anchorOf}, config: links, languageAlias: {caddyfile: 'nginx', haproxy: 'nginx'}},
  themeConfig: {
    search: {provider: 'local'},
    outline: [2, 3],
    sidebar: sidebar(),
  },
};
