// SPDX-License-Identifier: Apache-2.0
// The settings of one id: an override of its limit, and a penalty.

import {get, pathOf} from './api.js';
import {editOverride, editPenalty, end} from './edit.js';
import {h, setText, visible} from './dom.js';
import {clock, number, quotaWords, span} from './words.js';

/** The panel of one bucket. `changed` is called when something was set or removed. */
export function exceptions(context, changed) {
  const override = h('p');
  const penalty = h('p');
  const problem = h('p', {class: 'problem', role: 'alert'});
  const done = h('p', {class: 'note', role: 'status'});
  const button = (words, act, kind) => h('button', {type: 'button', class: kind, onclick: act}, words);
  const set = button('Set an override', () => act(() => editOverride(context, answer.limit, overridden(), own), 'The override is saved.'));
  const drop = button('Remove the override', () => act(() => end(context, 'overrides', answer.limit, overridden()), 'The override was removed.'), 'danger');
  const punish = button('Impose a penalty', () => act(() => editPenalty(context, answer.limit, answer.id), 'The penalty is in force.'));
  const lift = button('Lift the penalty', () => act(() => end(context, 'penalties', answer.limit, answer.id), 'The penalty was lifted.'), 'danger');
  const element = h('section', {class: 'card', 'aria-labelledby': 'exceptions-title'},
    h('h3', {id: 'exceptions-title'}, 'For this id alone'),
    h('h4', {}, 'Override'), override, h('div', {class: 'row'}, set, drop),
    h('h4', {}, 'Penalty'), penalty, h('div', {class: 'row'}, punish, lift),
    problem, done);
  let answer = null;
  let own = null;

  /** An override may be set for a part of the id, such as an address range. */
  const overridden = () => answer.overrideId || answer.id;

  /** Gets a setting of this id; returns null if it is gone, which is not an error. */
  async function found(kind, id) {
    try {
      return await get(pathOf(kind, answer.limit, id));
    } catch (trouble) {
      return trouble.kind === 'missing' ? null : {trouble: trouble.message};
    }
  }

  async function show(newAnswer) {
    answer = newAnswer;
    const [newOwn, ban] = await Promise.all([
      answer.overrideId === undefined ? null : found('overrides', overridden()),
      answer.penaltyUntil ? found('penalties', answer.id) : null,
      context.limits ?? get('/v1/limits').then((all) => { context.limits ??= all; }).catch(() => null),
    ]);
    if (answer !== newAnswer) {
      return;
    }
    own = newOwn?.trouble ? null : newOwn;
    setText(override, newOwn
      ? `${own ? `${quotaWords(own).join(', burst ')}. ` : ''}${answer.overrideId === answer.id ? '' : `It is set for each id that begins with ${visible(answer.overrideId)}. `}${told(newOwn)}`
      : answer.limited || answer.reason === 'unlimited' ? 'None: the default of the limit is in force.' : 'None.');
    setText(set, newOwn ? 'Change the override' : 'Set an override');
    drop.hidden = !own || own.keptIn === 'files';
    setText(penalty, answer.penaltyUntil
      ? `The bucket counts as empty until ${clock(Date.parse(answer.penaltyUntil))}, for ${span(Math.max((Date.parse(answer.penaltyUntil) - Date.now()) / 1000, 0))}.${ban?.owed ? ` It owes ${number(ban.owed)} tokens.` : ''} ${ban ? told(ban) : ''}`
      : 'None.');
    setText(punish, answer.penaltyUntil ? 'Change the penalty' : 'Impose a penalty');
    lift.hidden = !ban || Boolean(ban.trouble);
  }

  function told(one) {
    if (one.trouble) {
      return one.trouble;
    }
    return [
      {files: 'It is in the limit files.', memory: 'It is lost when the server stops.'}[one.keptIn] ?? `It is saved in the ${one.keptIn}.`,
      one.burst && one.until ? `It ends ${clock(Date.parse(one.until))}.` : '',
      one.author ? `Set by ${visible(one.author)}.` : '',
      one.comment ? `Comment: ${visible(one.comment)}` : '',
    ].filter(Boolean).join(' ');
  }

  async function act(change, words) {
    problem.textContent = '';
    done.textContent = '';
    try {
      const result = await change();
      if (result) {
        setText(done, [words, ...(result.warnings ?? [])].join(' '));
        changed();
      }
    } catch (trouble) {
      problem.textContent = trouble.message;
      context.report(trouble);
    }
  }

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
