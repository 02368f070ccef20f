// SPDX-License-Identifier: Apache-2.0
// The overrides and penalties of all ids, as the server lists them.

import {get} from './api.js';
import {breakable, h, idText, say, visible} from './dom.js';
import {clock, number, period, plural} from './words.js';

const PLACES = {files: 'limit files'};

export const title = 'Overrides and penalties';

export function mount(root, context, query) {
  const select = h('select', {id: 'settings-limit'});
  const again = h('button', {type: 'button'}, 'Look again');
  const lists = [
    list(context, 'Overrides', 'overrides', ['Limit', 'Id', 'Lets through', 'Burst', 'Kept in', 'Comment'],
      (one) => [`${number(one.count)} per ${period(one.period)}`, number(one.burst)]),
    list(context, 'Penalties', 'penalties', ['Limit', 'Id', 'Until', 'Owes', 'Kept in', 'Comment'],
      (one) => [clock(Date.parse(one.until)), one.owed ? plural(one.owed, 'token', 'tokens') : '–']),
  ];
  root.append(
    h('h1', {tabindex: '-1'}, 'Overrides and penalties'),
    h('p', {class: 'lead'}, 'An override holds for its id in place of the default. A penalty lets its id have nothing until it ends. To change one, follow its id.'),
    h('div', {class: 'ask'},
      h('div', {class: 'field'}, h('label', {for: 'settings-limit'}, 'Limit'), select), again),
    ...lists.map((one) => one.element));

  function showLimits() {
    const chosen = select.value || query.get('limit') || '';
    const names = (context.limits?.limits ?? []).map((limit) => limit.name);
    select.replaceChildren(h('option', {value: ''}, 'All'), ...names.map((name) => h('option', {value: name}, name)));
    if (names.includes(chosen)) {
      select.value = chosen;
    }
  }

  function load() {
    lists.forEach((one) => one.load(select.value));
  }

  select.addEventListener('change', () => {
    history.replaceState(null, '', select.value ? `#/settings?limit=${encodeURIComponent(select.value)}` : '#/settings');
    load();
  });
  again.addEventListener('click', load);
  let loaded = false;
  const end = context.on('limits', () => {
    if (select.options.length !== context.limits.limits.length + 1) {
      showLimits();
    }
    if (!loaded && query.get('limit')) {
      load();
    }
    loaded = true;
  });
  showLimits();
  loaded = context.limits !== null;
  load();
  return () => {
    end();
    lists.forEach((one) => one.stop());
  };
}

/** A table that grows page by page. `cells` makes the cells that differ between overrides and penalties. */
function list(context, name, kind, columns, cells) {
  const body = h('tbody', {role: 'rowgroup'});
  const id = `settings-${kind}`;
  const table = h('table', {class: 'limits', role: 'table', 'aria-labelledby': id, hidden: true},
    h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, columns.map((column) => h('th', {scope: 'col', role: 'columnheader'}, column)))), body);
  const none = h('p', {class: 'note', hidden: true}, 'None is set.');
  const problem = h('p', {class: 'problem', role: 'alert'});
  const more = h('button', {type: 'button', hidden: true}, `Show more ${kind}`);
  let limit = '';
  let next = '';
  let turn = 0;

  async function page(after) {
    const mine = ++turn;
    const search = new URLSearchParams({...(limit && {limit}), ...(after && {after})});
    problem.textContent = '';
    try {
      const answer = await get(`/v1/admin/${kind}?${search}`);
      if (mine !== turn) {
        return;
      }
      const rows = answer[kind].map((one) => row(one, columns, cells(one)));
      if (after) {
        body.append(...rows);
        say(`${plural(rows.length, 'row', 'rows')} more.`);
      } else {
        body.replaceChildren(...rows);
      }
      next = answer.next ?? '';
      more.hidden = !next;
      table.hidden = body.children.length === 0;
      none.hidden = !table.hidden;
    } catch (trouble) {
      if (mine === turn) {
        problem.textContent = trouble.message;
        context.report(trouble);
      }
    }
  }

  more.addEventListener('click', () => page(next));
  return {
    element: h('section', {'aria-labelledby': id}, h('h2', {id}, name), table, none, problem, more),
    load(ofLimit) {
      limit = ofLimit;
      page('');
    },
    stop() {
      turn++;
    },
  };
}

function row(one, columns, [first, second]) {
  const search = new URLSearchParams({limit: one.limit, id: one.id});
  const cell = (column, text, free) => h('td', {role: 'cell', 'data-label': columns[column], class: free && 'free'}, text);
  return h('tr', {role: 'row'},
    h('th', {scope: 'row', role: 'rowheader'}, h('span', {class: 'name'}, breakable(one.limit))),
    cell(1, h('a', {href: `#/bucket?${search}`}, idText(one.id)), true),
    cell(2, first), cell(3, second), cell(4, PLACES[one.keptIn] ?? one.keptIn),
    cell(5, one.comment ? visible(one.comment) : '–', true));
}
