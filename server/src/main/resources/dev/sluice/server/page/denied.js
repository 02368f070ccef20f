// SPDX-License-Identifier: Apache-2.0
// The ids that each limit denied most.

import {get} from './api.js';
import {editOverride, editPenalty} from './edit.js';
import {h, idText, setText} from './dom.js';
import {number, plural, span} from './words.js';

const EVERY = 4000;
const STEP = 12; // limits

export const title = 'Most denied';

export function mount(root, context) {
  const lead = h('p', {class: 'lead'});
  const lists = h('div', {class: 'grid'});
  const trouble = h('p', {class: 'problem', role: 'alert'});
  const told = h('p', {class: 'problem', role: 'alert'}); // about the last change
  const more = h('button', {type: 'button', hidden: true}, 'Show more limits');
  root.append(h('h1', {tabindex: '-1'}, 'Most denied ids'), lead, trouble, told, lists, more);
  let most = STEP;
  let timer = 0;
  let shown = '';
  let gone = false;

  async function load() {
    try {
      const answer = await get('/v1/admin/top-denied');
      if (gone) {
        return;
      }
      setText(trouble, '');
      const found = JSON.stringify(answer);
      // While somebody uses the lists, they stay as they are.
      if (found !== shown && !lists.contains(document.activeElement)) {
        shown = found;
        show(answer);
      }
    } catch (problem) {
      setText(trouble, problem.message);
      context.report(problem);
    }
    if (!gone) {
      timer = setTimeout(load, EVERY);
    }
  }

  function show(answer) {
    if (!answer.kept) {
      lead.replaceChildren('This server does not keep ids, because they are often personal data. To see here which ids are denied most, start it with ', h('code', {}, 'sluice serve --top-denied'), '.');
      lists.replaceChildren();
      return;
    }
    const window = span(answer.windowSeconds);
    lead.replaceChildren(answer.limits.length === 0
      ? `No id was denied in the last ${span(answer.windowSeconds * 2)}.`
      : `Denials of the last ${window} to ${span(answer.windowSeconds * 2)}. The ids are kept in memory only. Where a count is a range, the truth lies within it.`);
    const denials = (limit) => limit.ids.reduce((sum, one) => sum + one.atMost, 0);
    const all = [...answer.limits].sort((one, other) => denials(other) - denials(one));
    lists.replaceChildren(...all.slice(0, most).map((limit) => section(limit, act)));
    more.hidden = all.length <= most;
    more.onclick = () => {
      most += STEP;
      show(answer);
    };
  }

  /** Runs a change, and shows its warnings, or why it failed. */
  async function act(change) {
    told.textContent = '';
    try {
      told.textContent = ((await change(context))?.warnings ?? []).join(' ');
    } catch (problem) {
      told.textContent = problem.message;
      context.report(problem);
    }
    if (lists.contains(document.activeElement)) {
      document.activeElement.blur(); // the person is done, so the lists go on
    }
  }

  load();
  return () => {
    gone = true;
    clearTimeout(timer);
  };
}

function section({limit, ids}, act) {
  const most = Math.max(...ids.map((one) => one.atMost));
  return h('section', {class: 'card'},
    h('h2', {}, limit),
    h('table', {class: 'plain ranked'},
      h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Id'), h('th', {scope: 'col', class: 'right'}, 'Denials'), h('th', {scope: 'col'}, h('span', {class: 'hidden'}, 'Change')))),
      h('tbody', {}, ids.map((one) => h('tr', {},
        h('td', {},
          h('a', {href: `#/bucket?limit=${encodeURIComponent(limit)}&id=${encodeURIComponent(one.id)}`}, idText(one.id)),
          h('meter', {min: 0, max: most, value: one.atMost, 'aria-label': plural(one.atMost, 'denial', 'denials')})),
        h('td', {class: 'right'}, one.atLeast === one.atMost ? number(one.atMost) : `${number(one.atLeast)}–${number(one.atMost)}`),
        h('td', {class: 'buttons'},
          h('button', {type: 'button', 'aria-label': `Override for ${one.id}`, onclick: () => act((context) => editOverride(context, limit, one.id))}, 'Override'),
          h('button', {type: 'button', 'aria-label': `Penalty on ${one.id}`, onclick: () => act((context) => editPenalty(context, limit, one.id))}, 'Penalty')))))));
}
