// SPDX-License-Identifier: Apache-2.0
// One bucket: its level over the next minutes, and what an administrator may do to it.

import {look, post} from './api.js';
import {levelChart} from './charts.js';
import {exceptions} from './exceptions.js';
import {h, idText, offer, say, setText, visible} from './dom.js';
import {Bucket, now} from './gcra.js';
import {byRule, clock, number, period, plural, span} from './words.js';

export const title = 'One bucket';

const calm = matchMedia('(prefers-reduced-motion: reduce)');

/** Returns a sentence about an act, with the penalty that is still in force, if any. */
function butPenalized(json, words) {
  return json.penaltyUntil ? `${words}, but a penalty denies until ${clock(Date.parse(json.penaltyUntil))}.` : `${words}.`;
}

export function mount(root, context, query) {
  const select = h('select', {id: 'bucket-limit', required: true});
  const input = h('input', {id: 'bucket-id', autocomplete: 'off', spellcheck: 'false', required: true, maxlength: '1024'});
  const form = h('form', {class: 'ask'},
    h('div', {class: 'field'}, h('label', {for: 'bucket-limit'}, 'Limit'), select),
    h('div', {class: 'field grow'}, h('label', {for: 'bucket-id'}, 'Id'), input, h('span', {class: 'note', id: 'bucket-form'})),
    h('button', {class: 'primary'}, 'Look up'));
  const problem = h('p', {class: 'problem', role: 'alert'});
  const result = h('div', {class: 'result', hidden: true});
  root.append(h('h1', {tabindex: '-1'}, 'One bucket'), h('p', {class: 'lead'}, 'Looking a bucket up spends nothing.'), form, problem, result);
  input.setAttribute('aria-describedby', 'bucket-form');

  const chart = levelChart('Its level over the next minutes');
  const big = h('b', {class: 'big'});
  const of = h('span');
  const facts = h('dl', {class: 'facts'});
  const theory = h('dl', {class: 'facts'});
  const heading = h('h2');
  const amount = h('input', {id: 'refund-cost', type: 'number', min: '1', value: '1', inputmode: 'numeric'});
  const reset = h('button', {type: 'button', class: 'danger'}, 'Reset');
  const refund = h('button', {type: 'button'}, 'Give back');
  const again = h('button', {type: 'button', class: 'quiet'}, 'Look again');
  const done = h('p', {class: 'note', role: 'status'});
  const own = exceptions(context, () => asked && ask(asked.limit, asked.id, true));
  const split = h('div', {class: 'split'},
    h('div', {class: 'card'}, h('p', {class: 'level-now'}, big, ' ', of), facts,
      h('details', {class: 'theory'}, h('summary', {}, 'Details of the algorithm'), theory), again),
    h('div', {class: 'card wide'}, chart.element));
  const change = h('section', {class: 'card', 'aria-labelledby': 'act-title'},
    h('h3', {id: 'act-title'}, 'Change it'),
    h('p', {class: 'note'}, 'Where the server has access control, this needs a token with the role ', h('b', {}, 'admin'), '.'),
    h('div', {class: 'row'},
      h('span', {class: 'group'}, h('label', {for: 'refund-cost'}, 'Tokens'), amount, refund),
      reset),
    done);
  result.append(heading, split, change, own.element);

  let bucket = null;
  let quotas = [];
  let asked = null;

  let known = 0;

  function showForms() {
    const limits = context.limits?.limits ?? [];
    const chosen = select.value || query.get('limit') || '';
    known = limits.length;
    offer(select, limits.map((limit) => limit.name), chosen);
    form.hidden = false;
    showForm();
  }

  function showForm() {
    const limit = context.limits?.limits.find((one) => one.name === select.value);
    setText(form.querySelector('#bucket-form'), limit ? `An id of this limit has the form ${limit.id}.` : '');
  }

  async function ask(limit, id, quiet) {
    asked = {limit, id};
    problem.textContent = '';
    try {
      const answer = await look(limit, id);
      if (asked.limit !== limit || asked.id !== id) {
        return;
      }
      show(answer, quiet);
      await own.show(answer);
    } catch (trouble) {
      if (asked.limit !== limit || asked.id !== id) {
        return;
      }
      result.hidden = true;
      bucket = null;
      problem.textContent = trouble.message;
      context.report(trouble);
    }
  }

  function show(answer, quiet) {
    result.hidden = false;
    heading.replaceChildren(answer.limit, ' · ', idText(answer.id));
    const known = answer.limited && 'remaining' in answer;
    for (const part of [split, change]) {
      part.hidden = !known;
    }
    if (!known) {
      bucket = null;
      problem.textContent = answer.limited ? byRule(answer) : answer.reason === 'unlimited' ? 'This id is unlimited: it has no bucket.' : 'Nothing limits this id: the limit has overrides only, and none for it.';
      return;
    }
    bucket = new Bucket(answer, now());
    quotas = answer.quotas ?? [];
    amount.max = String(bucket.burst);
    setText(of, `of ${plural(bucket.burst, 'token', 'tokens')}${answer.decidedBy === 'local' ? ', by this server alone: the store does not answer' : ''}`);
    chart.show(bucket, now());
    tick();
    if (!quiet) {
      const penalty = bucket.penaltyLeft(now()) > 0 ? `A penalty makes it count as empty until ${clock(bucket.penaltyUntil)}. ` : '';
      say(`${number(bucket.tokensAt(now()))} of ${number(bucket.burst)} tokens. ${bucket.owedAt(now()) > 0 ? `It owes ${plural(bucket.owedAt(now()), 'token', 'tokens')}. ` : ''}${penalty}${bucket.ahead > 0 ? `Full in ${span(bucket.ahead)}.` : 'The bucket is full.'}`);
    }
  }

  function tick() {
    if (!bucket) {
      return;
    }
    const at = now();
    const ahead = bucket.aheadAt(at);
    setText(big, number(bucket.tokensAt(at)));
    const next = bucket.waitFor(bucket.tokensAt(at) + 1, at);
    const penalized = bucket.penaltyLeft(at) > 0;
    const owed = bucket.owedAt(at);
    const lines = [
      [quotas.length ? 'Strictest quota' : 'Limit', `${number(bucket.count)} per ${period(bucket.period)}, burst ${number(bucket.burst)}`],
      ...(penalized ? [['Penalty', `counts as empty until ${clock(bucket.penaltyUntil)}`]] : []),
      ...(owed > 0 ? [['Debt', plural(owed, 'token', 'tokens')]] : []),
      ['Next token', ahead > 0 ? `in ${span(Math.max(next, 0))}` : 'there is no room for one'],
      ['Full', ahead > 0 ? `in ${span(ahead)}` : 'now'],
      ...quotas.map((one) => [`Left of ${number(one.count)} per ${period(one.period)}, at this look`, `${number(one.remaining)} of ${number(one.burst)}`]),
    ];
    const inner = [
      ['TAT', penalized ? 'not told until the penalty ends' : ahead > 0 ? `${clock(Date.now() + ahead * 1000)}, when it is full` : 'in the past: the bucket is full'],
      ['Key in the store', visible(bucket.key)],
    ];
    fill(facts, lines);
    fill(theory, inner);
    chart.tick(at);
  }

  function fill(list, lines) {
    if ([...list.querySelectorAll('dt')].map((name) => name.textContent).join() !== lines.map(([name]) => name).join()) {
      list.replaceChildren(...lines.flatMap(([name]) => [h('dt', {}, name), h('dd')]));
    }
    lines.forEach(([, text], i) => setText(list.children[i * 2 + 1], text));
  }

  async function act(path, body, words) {
    done.textContent = '';
    problem.textContent = '';
    try {
      const {json} = await post(path, body);
      done.textContent = words(json);
      await ask(body.limit, body.id, true);
    } catch (trouble) {
      problem.textContent = trouble.message;
      context.report(trouble);
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    done.textContent = '';
    own.clear();
    const search = new URLSearchParams({limit: select.value, id: input.value});
    history.replaceState(null, '', `#/bucket?${search}`);
    ask(select.value, input.value, false);
  });
  select.addEventListener('change', showForm);
  again.addEventListener('click', () => asked && ask(asked.limit, asked.id, false));
  refund.addEventListener('click', () => {
    const cost = Number(amount.value);
    if (!Number.isInteger(cost) || cost < 1 || cost > bucket.burst) {
      problem.textContent = `Write a whole number of tokens from 1 to ${number(bucket.burst)}.`;
      amount.focus();
      return;
    }
    act('/v1/refund', {limit: bucket.limit, id: bucket.id, cost}, (json) => butPenalized(json, json.allowed ? `${plural(cost, 'token was', 'tokens were')} given back, as far as there was room` : 'The bucket is full: nothing was given back'));
  });
  reset.addEventListener('click', async () => {
    const {limit, id} = bucket;
    if (await context.confirm('Reset this bucket?', ['The bucket of ', idText(id), ` in ${limit} becomes full at once. The spent tokens are forgotten.`], 'Reset it')) {
      act('/v1/reset', {limit, id}, (json) => butPenalized(json, 'The bucket was reset: it is full'));
    }
  });

  const end = context.on('limits', () => {
    if (known !== context.limits.limits.length) {
      showForms();
    }
  });
  showForms();
  input.value = query.get('id') ?? '';
  if (query.get('limit') && input.value) {
    ask(query.get('limit'), input.value, false);
  }
  const timer = setInterval(tick, calm.matches ? 1000 : 250);
  return () => {
    end();
    chart.stop();
    clearInterval(timer);
  };
}
