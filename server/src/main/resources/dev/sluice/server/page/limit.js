// SPDX-License-Identifier: Apache-2.0
// One limit: its decisions of the last minute and of the last day.

import {get} from './api.js';
import {rateChart} from './charts.js';
import {breakable, h, setText} from './dom.js';
import {limitWords} from './limits.js';
import {number, percent, period, plural} from './words.js';

const DAY_EVERY = 60_000;

export const title = 'One limit';

export function mount(root, context, query) {
  const name = query.get('limit') ?? '';
  const facts = h('p', {class: 'lead'});
  const minute = rateChart('Last minute, decisions per second', 'minute');
  const day = rateChart('Last day, decisions per second', 'day');
  const missing = h('p', {class: 'problem', role: 'alert'});
  const problem = h('p', {class: 'problem', role: 'alert'});
  const link = `limit=${encodeURIComponent(name)}`;
  root.append(
    h('p', {}, h('a', {href: '#/limits'}, '← All limits')),
    h('h1', {tabindex: '-1'}, breakable(name)), facts, missing, problem,
    h('p', {class: 'row'},
      h('a', {href: `#/playground?${link}`}, 'Try it'), h('a', {href: `#/bucket?${link}`}, 'Look up a bucket'),
      h('a', {href: `#/settings?${link}`}, 'Overrides and penalties'), h('a', {href: '#/denied'}, 'Most denied ids')),
    h('div', {class: 'card'}, minute.element),
    h('div', {class: 'card'}, day.element,
      h('p', {class: 'note'}, 'Decisions of this server since it started, in steps of five minutes. For a fleet, use Prometheus.')));

  function showLimit() {
    const limit = context.limits?.limits.find((one) => one.name === name);
    if (limit) {
      const [through, burst] = limitWords(limit);
      const total = context.stats?.rates.totals.find((one) => one.limit === name) ?? {};
      const {allowed = 0, denied = 0, shadowAllowed = 0, shadowDenied = 0} = total;
      const shadow = shadowAllowed + shadowDenied;
      const all = allowed + denied + shadow;
      facts.replaceChildren(`${through}, burst ${burst}, by ${limit.id}. ${limit.limited ? `At most ${number(limit.worstPeriod ?? limit.burst + limit.count)} in ${period(limit.period)}. ` : ''}${plural(limit.overrides, 'override', 'overrides')}. Last minute: ${number(allowed)} allowed, ${number(denied)} denied${all ? ` (${percent(denied / all)})` : ''}${shadow ? `, ${number(shadow)} in shadow mode` : ''}.`);
    }
    setText(missing, limit || !context.limits ? '' : 'There is no limit with this name.');
  }

  function showMinute() {
    showLimit();
    const rates = context.stats?.rates;
    if (rates) {
      minute.show(rates.limits.find((one) => one.limit === name) ?? {}, rates.seconds, 1, 1);
    }
  }

  let timer = 0;
  let gone = false;
  let failed = false; // to get the day, which is asked for again when the server answers

  async function load() {
    clearTimeout(timer);
    failed = false;
    try {
      const rates = await get(`/v1/rates?limit=${encodeURIComponent(name)}`);
      if (!gone) {
        problem.textContent = '';
        day.show(rates, rates.steps, rates.stepSeconds, rates.lastSeconds);
      }
    } catch (trouble) {
      if (!gone) {
        failed = trouble.kind !== 'missing';
        setText(problem, failed ? trouble.message : '');
        context.report(trouble);
      }
    }
    if (!gone) {
      timer = setTimeout(load, DAY_EVERY);
    }
  }

  context.series = [name];
  const ends = [context.on('limits', showLimit), context.on('stats', showMinute), context.on('stats', () => failed && load())];
  showMinute();
  context.refresh();
  load();
  return () => {
    gone = true;
    clearTimeout(timer);
    context.series = [];
    ends.forEach((end) => end());
    minute.stop();
    day.stop();
  };
}
