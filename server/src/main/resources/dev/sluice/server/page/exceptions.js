// SPDX-License-Identifier: Apache-2.0
// The settings of one id: an override of its limit, and a penalty.

import {get, pathOf, put, remove} from './api.js';
import {h, idText, setText, visible} from './dom.js';
import {clock, number, period, span} from './words.js';

/** The panel of one bucket. `changed` is called when something was set or removed. */
export function exceptions(context, changed) {
  const override = h('div');
  const penalty = h('div');
  const problem = h('p', {class: 'problem', role: 'alert'});
  const done = h('p', {class: 'note', role: 'status'});
  const burst = field('override-burst', 'Burst', {type: 'number', min: 1, required: true});
  const count = field('override-count', 'Count', {type: 'number', min: 1, required: true});
  const every = field('override-period', 'Period', {placeholder: '1m', required: true, size: 8});
  const why = field('override-comment', 'Comment', {maxlength: 1000});
  const drop = h('button', {type: 'button', class: 'danger'}, 'Remove the override');
  const set = h('form', {class: 'ask'}, burst.element, count.element, every.element, why.element,
    h('button', {}, 'Set'), drop);
  const way = h('select', {id: 'penalty-way'},
    h('option', {value: 'for'}, 'no tokens for'), h('option', {value: 'owe'}, 'owes tokens'));
  const much = field('penalty-much', 'How much', {placeholder: '10m', required: true, size: 8});
  const reason = field('penalty-comment', 'Comment', {maxlength: 1000});
  const lift = h('button', {type: 'button', class: 'danger'}, 'Lift the penalty');
  const punish = h('form', {class: 'ask'},
    h('div', {class: 'field'}, h('label', {for: 'penalty-way'}, 'Penalty'), way),
    much.element, reason.element, h('button', {}, 'Impose'), lift);
  const element = h('section', {class: 'card', 'aria-labelledby': 'exceptions-title'},
    h('h3', {id: 'exceptions-title'}, 'For this id alone'),
    h('h4', {}, 'Override'), override, set,
    h('h4', {}, 'Penalty'), penalty, punish,
    problem, done);
  let answer = null;

  /** The path of a setting of this id; an override may be set for a part of the id, such as an address range. */
  const path = (kind) => pathOf(kind, answer.limit, (kind === 'overrides' && answer.overrideId) || answer.id);

  /** Gets a setting of this id; returns null if it is gone, which is not an error. */
  async function found(kind) {
    try {
      return await get(path(kind));
    } catch (trouble) {
      return trouble.kind === 'missing' ? null : {trouble: trouble.message};
    }
  }

  async function show(newAnswer) {
    answer = newAnswer;
    const [own, ban, all] = await Promise.all([
      answer.overrideId === undefined ? null : found('overrides'),
      answer.penaltyUntil ? found('penalties') : null,
      context.limits ?? get('/v1/limits').catch(() => null),
    ]);
    if (answer !== newAnswer) {
      return;
    }
    // Not the answer's quota if possible: under the failure rule "local", it is only this server's share of the quota.
    const usual = all?.limits.find((one) => one.name === answer.limit);
    const quota = own?.burst ? own : usual ?? (answer.decidedBy === 'local' ? {} : answer);
    override.replaceChildren(h('p', {}, own
      ? `${number(quota.count)} per ${period(quota.period)}, burst ${number(quota.burst)}. ${answer.overrideId === answer.id ? '' : `It is set for each id that begins with ${visible(answer.overrideId)}. `}${told(own)}`
      : 'None: the default of the limit is in force.'));
    drop.hidden = !own || Boolean(own.trouble) || own.keptIn === 'files';
    penalty.replaceChildren(h('p', {}, answer.penaltyUntil
      ? `The bucket counts as empty until ${clock(Date.parse(answer.penaltyUntil))}, for ${span(Math.max((Date.parse(answer.penaltyUntil) - Date.now()) / 1000, 0))}.${ban?.owed ? ` It owes ${number(ban.owed)} tokens.` : ''} ${ban ? told(ban) : ''}`
      : 'None.'));
    lift.hidden = !ban || Boolean(ban.trouble);
    if (document.activeElement?.form !== set) {
      burst.input.value = quota.burst ?? '';
      count.input.value = quota.count ?? '';
      every.input.value = quota.period ? period(quota.period) : '';
      why.input.value = own?.comment ?? '';
    }
  }

  function told(one) {
    if (one.trouble) {
      return one.trouble;
    }
    const kept = {files: 'It stands in the limit files.', memory: 'It is kept until the server ends.'}[one.keptIn] ?? `It is kept in the ${one.keptIn}.`;
    return one.comment ? `${kept} Comment: ${visible(one.comment)}` : kept;
  }

  async function act(change, words) {
    problem.textContent = '';
    done.textContent = '';
    try {
      const {json} = await change();
      setText(done, [words, ...(json?.warnings ?? [])].join(' '));
      changed();
    } catch (trouble) {
      problem.textContent = trouble.message;
      context.report(trouble);
    }
  }

  const commented = (body, input) => (input.value.trim() ? {...body, comment: input.value.trim()} : body);

  set.addEventListener('submit', (event) => {
    event.preventDefault();
    const body = {burst: Number(burst.input.value), count: Number(count.input.value), period: every.input.value.trim()};
    act(() => setOverride(commented(body, why.input)), 'The override is in force.');
  });

  /** A lower override is set only if the person confirms it. */
  async function setOverride(body) {
    const where = path('overrides');
    try {
      return await put(where, body);
    } catch (trouble) {
      if (trouble.status !== 409 || !await context.confirm('Lower this override?', [trouble.message], 'Lower it')) {
        throw trouble;
      }
      return put(`${where}${where.includes('?') ? '&' : '?'}force=true`, body);
    }
  }

  drop.addEventListener('click', () => act(() => remove(path('overrides')), 'The override was removed.'));
  punish.addEventListener('submit', async (event) => {
    event.preventDefault();
    const value = much.input.value.trim();
    const body = way.value === 'owe' ? {owe: Number(value)} : {for: value};
    const commentedBody = commented(body, reason.input);
    const where = path('penalties');
    const {limit, id} = answer;
    const until = way.value === 'owe' ? `until as many tokens have come as it owes (${value})` : `for ${value}`;
    if (await context.confirm('Impose this penalty?', ['The bucket of ', idText(id), ` in ${limit} counts as empty ${until}. Every request of this id is denied.`], 'Impose it')) {
      act(() => put(where, commentedBody), 'The penalty is in force.');
    }
  });
  lift.addEventListener('click', () => act(() => remove(path('penalties')), 'The penalty was lifted.'));
  way.addEventListener('change', () => {
    much.input.placeholder = way.value === 'owe' ? '10' : '10m';
    much.input.value = '';
  });

  return {
    element,
    show,
    /** Clears the messages about the previous bucket. */
    clear() {
      problem.textContent = '';
      done.textContent = '';
    },
  };
}

function field(id, label, attributes) {
  const input = h('input', {id, autocomplete: 'off', ...attributes});
  return {input, element: h('div', {class: 'field'}, h('label', {for: id}, label), input)};
}
