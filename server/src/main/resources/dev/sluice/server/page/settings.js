// SPDX-License-Identifier: Apache-2.0
// The overrides and penalties of all ids, as the server lists them.

import {get} from './api.js';
import {editOverride, editPenalty, end as endSetting} from './edit.js';
import {breakable, h, idText, offer, say, visible} from './dom.js';
import {clock, plural, quotaWords} from './words.js';

const PLACES = {files: 'limit files'};

export const title = 'Overrides and penalties';

export function mount(root, context, query) {
  const select = h('select', {id: 'settings-limit'});
  const newLimit = h('select', {id: 'settings-new-limit', required: true});
  const newId = h('input', {id: 'settings-id', required: true, autocomplete: 'off', spellcheck: 'false', maxlength: '1024'});
  const problem = h('p', {class: 'problem', role: 'alert'});
  const again = h('button', {type: 'button'}, 'Look again');
  const lists = [
    list(context, 'Overrides', 'overrides', ['Limit', 'Id', 'Lets through', 'Burst', 'Ends', 'Saved in', 'Author and comment', 'Change'],
      act, (one) => [...quotaWords(one), one.until ? clock(Date.parse(one.until)) : 'never']),
    list(context, 'Penalties', 'penalties', ['Limit', 'Id', 'Until', 'Owes', 'Saved in', 'Author and comment', 'Change'],
      act, (one) => [clock(Date.parse(one.until)), one.owed ? plural(one.owed, 'token', 'tokens') : '–']),
  ];
  root.append(
    h('h1', {tabindex: '-1'}, 'Overrides and penalties'),
    h('p', {class: 'lead'}, 'An override holds for its id in place of the default. A penalty denies everything to its id until it ends.'),
    h('div', {class: 'ask'},
      h('div', {class: 'field'}, h('label', {for: 'settings-limit'}, 'Limit'), select), again),
    h('form', {class: 'ask', id: 'settings-new'},
      h('div', {class: 'field'}, h('label', {for: 'settings-new-limit'}, 'New: limit'), newLimit),
      h('div', {class: 'field grow'}, h('label', {for: 'settings-id'}, 'Id'), newId),
      h('button', {}, 'Set an override'), h('button', {type: 'button', id: 'settings-punish'}, 'Impose a penalty')),
    problem,
    ...lists.map((one) => one.element));

  let known = 0;

  function showLimits() {
    known = context.limits?.limits.length ?? 0;
    const chosen = select.value || query.get('limit') || '';
    const names = (context.limits?.limits ?? []).map((limit) => limit.name);
    offer(select, names, chosen, h('option', {value: ''}, 'All'));
    offer(newLimit, names, newLimit.value || chosen);
  }

  /** Runs a change, then shows the lists again. */
  async function act(change) {
    problem.textContent = '';
    try {
      const answer = await change();
      if (answer) {
        problem.textContent = (answer.warnings ?? []).join(' ');
        load();
      }
    } catch (trouble) {
      problem.textContent = trouble.message;
      context.report(trouble);
    }
  }

  const form = root.querySelector('#settings-new');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act(() => editOverride(context, newLimit.value, newId.value));
  });
  root.querySelector('#settings-punish').addEventListener('click', () => form.reportValidity() && act(() => editPenalty(context, newLimit.value, newId.value)));

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
    if (known !== context.limits.limits.length) {
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
function list(context, name, kind, columns, act, cells) {
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
      const rows = answer[kind].map((one) => row(context, kind, one, columns, cells(one), act));
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

function row(context, kind, one, columns, cells, act) {
  const search = new URLSearchParams({limit: one.limit, id: one.id});
  const texts = [...cells, PLACES[one.keptIn] ?? one.keptIn];
  const cell = (column, text, free) => h('td', {role: 'cell', 'data-label': columns[column], class: free && 'free'}, text);
  const note = [one.author, one.comment].filter(Boolean).map(visible).join(': ');
  const last = columns.length - 1;
  return h('tr', {role: 'row'},
    h('th', {scope: 'row', role: 'rowheader'}, h('span', {class: 'name'}, breakable(one.limit))),
    cell(1, h('a', {href: `#/bucket?${search}`}, idText(one.id)), true),
    texts.map((text, i) => cell(i + 2, text)),
    cell(last - 1, note || '–', true),
    h('td', {role: 'cell', class: 'buttons', 'data-label': columns[last]},
      h('button', {type: 'button', 'aria-label': `Change the setting of ${one.id}`, onclick: () => act(() => (kind === 'overrides' ? editOverride(context, one.limit, one.id, one) : editPenalty(context, one.limit, one.id)))}, 'Change'),
      one.keptIn !== 'files' && h('button', {type: 'button', class: 'danger', 'aria-label': `End the setting of ${one.id}`, onclick: () => act(() => endSetting(context, kind, one.limit, one.id))}, 'End')));
}
