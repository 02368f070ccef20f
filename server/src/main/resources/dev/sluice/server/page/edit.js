// SPDX-License-Identifier: Apache-2.0
// The dialogs that set an override or a penalty, wherever the page shows an id.

import {get, look, pathOf, put, remove} from './api.js';
import {h, idText, say} from './dom.js';
import {period, quotas} from './words.js';

const NEVER = 'never';
const DAY_MILLIS = 24 * 60 * 60 * 1000;

/**
 * Asks for an override of an id, and sets it.
 *
 * @param own the override that decides for the id, if it is known
 * @return what the server answered; null if the person gave up
 */
export async function editOverride(context, limit, id, own) {
  const {present, unsure} = own ? {present: own} : await presentOverride(limit, id);
  const usual = context.limits?.limits.find((one) => one.name === limit) ?? {};
  const quota = present ?? usual;
  const burst = field('override-burst', 'Burst', {type: 'number', min: 1, required: true, value: quota.burst});
  const count = field('override-count', 'Count', {type: 'number', min: 1, required: true, value: quota.count});
  const every = field('override-period', 'Period', {placeholder: '1m', required: true, value: quota.period && period(quota.period)});
  const further = field('override-further', 'Further quotas', {placeholder: '10 per 1s, burst 20', value: quotas(quota).slice(1).map((one) => `${one.count} per ${period(one.period)}, burst ${one.burst}`).join('; ')}, 'Each with another period, with semicolons between them.');
  const tomorrow = new Date(Date.now() + DAY_MILLIS).toISOString().slice(0, 10);
  const end = present?.until?.slice(0, 10);
  const until = field('override-until', 'Ends', {type: 'date', min: end < tomorrow ? end : tomorrow, value: end}, 'At the start of this day, UTC. Empty: it does not end.');
  const why = field('override-comment', 'Comment', {maxlength: 1000, value: present?.comment});
  const where = pathOf('overrides', limit, present?.id ?? id);
  return ask(present ? 'Change the override' : 'Set an override', limit, present?.id ?? id, [h('div', {class: 'ask'}, [burst, count, every].map((one) => one.element)), further.element, until.element, why.element,
    !present && unsure && usual.id?.includes(':') && h('p', {class: 'note'}, 'The bucket of this id cannot be looked up now. If overrides of this limit are for the first parts of ids, an override of this whole id does not apply.')], present ? 'Change it' : 'Set it', async () => {
    const kept = end === until.input.value && present.until;
    const first = {burst: Number(burst.input.value), count: Number(count.input.value), period: every.input.value.trim()};
    const others = further.input.value.split(';').map((one) => one.trim()).filter(Boolean);
    const body = {
      ...(others.length ? {quotas: [first, ...others]} : first),
      until: kept || until.input.value || NEVER, ...commented(why),
    };
    try {
      return (await put(where, body)).json;
    } catch (trouble) {
      if (trouble.status !== 409 || !await context.confirm('Lower this override?', [trouble.message], 'Lower it')) {
        throw trouble;
      }
      return (await put(`${where}${where.includes('?') ? '&' : '?'}force=true`, body)).json;
    }
  });
}

/** Asks for a penalty on an id, and imposes it. */
export async function editPenalty(context, limit, id) {
  const way = h('select', {id: 'penalty-way'},
    h('option', {value: 'for'}, 'Deny everything for'), h('option', {value: 'until'}, 'Deny everything until'), h('option', {value: 'owe'}, 'Deny until these tokens have refilled'));
  const much = field('penalty-much', 'How long', {placeholder: '10m', required: true});
  const why = field('penalty-comment', 'Comment', {maxlength: 1000});
  way.addEventListener('change', () => {
    const [label, placeholder] = {for: ['How long', '10m'], until: ['Until', '2027-03-01'], owe: ['Tokens', '10']}[way.value];
    much.element.firstChild.textContent = label;
    much.input.placeholder = placeholder;
    much.input.value = '';
  });
  return ask('Impose a penalty', limit, id, [
    h('p', {}, 'The bucket of this id counts as empty: every request is denied.'),
    h('div', {class: 'field'}, h('label', {for: 'penalty-way'}, 'Penalty'), way), much.element, why.element], 'Impose it', async () => {
    const value = much.input.value.trim();
    return (await put(pathOf('penalties', limit, id), {[way.value]: way.value === 'owe' ? Number(value) : value, ...commented(why)})).json;
  });
}

/** Removes a setting, after a question. */
export async function end(context, kind, limit, id) {
  const word = kind === 'overrides' ? 'override' : 'penalty';
  if (!await context.confirm(`End this ${word}?`, [`The ${word} of `, idText(id), ` in ${limit} ends at once.`], 'End it')) {
    return false;
  }
  return (await remove(pathOf(kind, limit, id))).json;
}

/**
 * Gets the override that decides for an id, if there is one. If the id has no bucket that can be looked up, such as a
 * range of addresses, gets the override of exactly this id. The answer is `unsure` if the bucket cannot be looked up
 * now, since an override of the first parts of the id is not found then.
 */
async function presentOverride(limit, id) {
  let unsure = false;
  const overrideId = await look(limit, id).then((bucket) => bucket.overrideId, (trouble) => {
    unsure = trouble.status !== 400 && trouble.kind !== 'missing';
    return id;
  });
  try {
    return {present: overrideId === undefined ? undefined : await get(pathOf('overrides', limit, overrideId)), unsure};
  } catch (trouble) {
    if (trouble.kind !== 'missing') {
      throw trouble;
    }
    return {unsure};
  }
}

/** Shows a form in a dialog until its change succeeds, or the person gives up. */
function ask(question, limit, id, fields, yes, change) {
  if (document.querySelector('dialog.edit')) {
    return null; // the button was clicked again while the first click waited for the server
  }
  const problem = h('p', {class: 'problem', role: 'alert'});
  const form = h('form', {},
    h('h2', {id: 'edit-title'}, question), h('p', {}, idText(id), ` in ${limit}`), fields, problem,
    h('div', {class: 'row'}, h('button', {class: 'primary'}, yes), h('button', {type: 'button', value: 'no'}, 'Cancel')));
  const box = h('dialog', {'aria-labelledby': 'edit-title', class: 'edit'}, form);
  document.body.append(box);
  box.showModal();
  return new Promise((done) => {
    let answer = null;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      problem.textContent = '';
      try {
        answer = await change();
        box.close();
      } catch (trouble) {
        problem.textContent = trouble.message;
      }
    });
    form.querySelector('[value=no]').addEventListener('click', () => box.close());
    box.addEventListener('close', () => {
      box.remove();
      if (answer) {
        say([question, 'done.', ...(answer.warnings ?? [])].join(' '));
      }
      done(answer);
    });
  });
}

function commented({input}) {
  return input.value.trim() ? {comment: input.value.trim()} : {};
}

function field(id, label, attributes, note) {
  const input = h('input', {id, autocomplete: 'off', 'aria-describedby': note && `${id}-note`, ...attributes});
  return {input, element: h('div', {class: 'field'}, h('label', {for: id}, label), input, note && h('span', {class: 'note', id: `${id}-note`}, note))};
}
