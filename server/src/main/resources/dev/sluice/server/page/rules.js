// SPDX-License-Identifier: Apache-2.0
// The rule book in force, and which rule a request meets.

import {get, post} from './api.js';
import {h, idText, setText, visible} from './dom.js';
import {number, plural} from './words.js';

export const title = 'Rules';

export function mount(root, context) {
  const lead = h('p', {class: 'lead'});
  const problem = h('p', {class: 'problem', role: 'alert'});
  const method = h('input', {id: 'rule-method', required: true, value: 'GET', size: 8, autocomplete: 'off'});
  const target = h('input', {id: 'rule-target', required: true, value: '/', autocomplete: 'off', spellcheck: 'false'});
  const client = h('input', {id: 'rule-client', placeholder: '192.0.2.7', autocomplete: 'off', spellcheck: 'false'});
  const header = h('input', {id: 'rule-header', placeholder: 'X-Api-Key: k', pattern: '[^:]+:.*', title: 'Name: value', autocomplete: 'off', spellcheck: 'false'});
  const field = (input, label, wide) => h('div', {class: wide ? 'field grow' : 'field'}, h('label', {for: input.id}, label), input);
  const form = h('form', {class: 'ask'}, field(method, 'Method'), field(target, 'Path and query', true), field(client, 'Client address'), field(header, 'One header'),
    h('button', {class: 'primary'}, 'Try'));
  const result = h('div', {role: 'status'});
  const body = h('tbody');
  const list = h('table', {class: 'plain'},
    h('thead', {}, h('tr', {}, ['Line', 'For', 'Matches'].map((name) => h('th', {scope: 'col'}, name)))), body);
  const trial = h('section', {class: 'card', 'aria-labelledby': 'try-title'},
    h('h2', {id: 'try-title'}, 'Try a request'),
    h('p', {class: 'note'}, 'Shows which rule the request meets. Nothing is charged.'), form, result);
  const book = h('section', {class: 'card', 'aria-labelledby': 'book-title'}, h('h2', {id: 'book-title'}, 'Rules in force'), list);
  root.append(h('h1', {tabindex: '-1'}, 'Rules'), lead, problem, trial, book);
  let file = '';
  let failed = false; // to get the rules, which are asked for again when the server answers

  async function load(request) {
    try {
      if (request) {
        problem.textContent = '';
        result.replaceChildren();
        const {readings} = (await post('/v1/explain', request)).json;
        result.replaceChildren(...readings.map((reading) => shown(reading, readings.length > 1)));
      }
      const answer = await get('/v1/rules');
      if (failed) {
        failed = false;
        problem.textContent = '';
      }
      file = answer.file;
      setText(lead, answer.rules.length === 0
        ? 'No rules are loaded: a proxy names the limits itself.'
        : `${plural(answer.rules.length, 'rule', 'rules')} of ${file}. The first that matches decides.`);
      trial.hidden = !answer.rules.some((rule) => rule.for === 'request');
      book.hidden = answer.rules.length === 0;
      body.replaceChildren(...answer.rules.map((rule) => h('tr', {id: `rule-${rule.line}`},
        h('td', {}, rule.line), h('td', {}, rule.for), h('td', {}, h('code', {}, visible(rule.matches))))));
    } catch (trouble) {
      failed ||= !request;
      setText(problem, trouble.message);
      context.report(trouble);
    }
  }

  function shown({method: read, path, line, verdict, charges, passedOver, problem: why}, several) {
    const answer = why ? `▲ It cannot be charged: ${why}`
      : line === undefined ? 'No rule matches: the request passes, and nothing is charged.'
        : verdict === 'unlimited' ? `The rule on line ${line} lets it pass without a limit.`
          : verdict === 'denies' ? `The rule on line ${line} denies it always.`
            : charges.length === 0 ? `The rule on line ${line} matches, and charges nothing.` : `The rule on line ${line} charges:`;
    return h('div', {},
      several && h('p', {class: 'note'}, `Read as ${read} ${path}:`),
      h('p', {}, h('b', {}, answer)),
      charges?.length > 0 && h('ul', {}, charges.map((one) => h('li', {},
        h('a', {href: `#/bucket?${new URLSearchParams({limit: one.limit, id: one.id})}`}, one.limit, ' · ', idText(one.id)),
        `, cost ${number(one.cost)}${one.shadow ? ', in shadow' : ''}`))),
      passedOver.length > 0 && h('details', {}, h('summary', {}, `Why ${passedOver.length === 1 ? 'the rule' : `the ${passedOver.length} rules`} before it ${passedOver.length === 1 ? 'does' : 'do'} not match`),
        h('ul', {}, passedOver.map((one) => h('li', {}, `Line ${one.line}: ${visible(one.reason)}`)))));
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const [name, ...value] = header.value.split(':');
    load({
      method: method.value.trim(), target: target.value.trim(),
      ...(client.value.trim() && {client: client.value.trim()}),
      ...(header.value.trim() && {headers: {[name.trim()]: value.join(':').trim()}}),
    });
  });
  load();
  return context.on('stats', () => failed && load());
}
