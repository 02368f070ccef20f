// SPDX-License-Identifier: Apache-2.0
// Send requests to a limit, and watch the bucket, its TAT and the headers change.

import {look, post} from './api.js';
import {tank, timeLine} from './charts.js';
import {h, say, setText} from './dom.js';
import {Bucket, now} from './gcra.js';
import {throwAwayId} from './ids.js';
import {byRule, clock, number, period, plural, span} from './words.js';

export const title = 'Playground';

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const SHOWN = 60;
const IN_FLIGHT = 8;
const LONGEST_STREAM = 120;
const HEADERS = ['RateLimit-Policy', 'RateLimit', 'Retry-After'];

/** A limit whose bucket a person can empty and see refill. */
function inviting(limits) {
  const seconds = (limit) => (limit.burst * limit.periodSeconds) / limit.count;
  return limits.find((limit) => limit.burst >= 3 && limit.burst <= 50 && seconds(limit) >= 5 && seconds(limit) <= 180) ?? limits[0];
}

export function mount(root, context, query) {
  const select = h('select', {id: 'play-limit'});
  const input = h('input', {id: 'play-id', autocomplete: 'off', spellcheck: 'false', maxlength: '1024', 'aria-describedby': 'play-id-note'});
  const fresh = h('button', {type: 'button', class: 'quiet'}, 'Another id');
  const one = h('button', {type: 'button', class: 'primary'}, 'Send a request');
  const five = h('button', {type: 'button'}, 'Send 5');
  const pattern = h('select', {id: 'play-pattern'}, h('option', {value: 'steady'}, 'steady'), h('option', {value: 'bursty'}, 'in bursts'));
  const speed = h('select', {id: 'play-rate'}, [1, 2, 5, 10, 20].map((rate) => h('option', {value: rate, selected: rate === 2}, `${rate} a second`)));
  const stream = h('button', {type: 'button', 'aria-pressed': 'false'}, 'Start a stream');
  const problem = h('p', {class: 'problem', role: 'alert'});

  const picture = tank();
  const line = timeLine();
  const count = h('b', {class: 'big'}, '–');
  const of = h('span');
  const refill = h('p', {class: 'note'});
  const verdict = h('p', {class: 'verdict'}, 'Nothing was sent yet.');
  const headers = h('dl', {class: 'headers'});
  const dots = h('ol', {class: 'dots', 'aria-hidden': 'true'});
  const tally = h('p', {class: 'note'}, 'Decisions appear here, the newest last.');
  const noLimits = h('p', {class: 'problem', hidden: true}, 'No limit is in force that could be tried.');

  const stage = h('div', {class: 'stage'},
    h('section', {class: 'card', 'aria-labelledby': 'play-bucket'},
      h('h2', {id: 'play-bucket'}, 'The bucket'),
      h('div', {class: 'tankbox'}, picture.svg, h('div', {}, h('p', {class: 'level-now'}, count, ' ', of), refill))),
    h('section', {class: 'card wide', 'aria-labelledby': 'play-answer'},
      h('h2', {id: 'play-answer'}, 'The last answer'), verdict, headers),
    h('section', {class: 'card all', 'aria-label': 'Time line'}, line.element),
    h('section', {class: 'card all', 'aria-labelledby': 'play-history'}, h('h2', {id: 'play-history'}, 'Decisions'), dots, tally));
  const controls = h('section', {class: 'card controls', 'aria-label': 'Requests'},
    h('div', {class: 'ask'},
      h('div', {class: 'field'}, h('label', {for: 'play-limit'}, 'Limit'), select),
      h('div', {class: 'field grow'}, h('label', {for: 'play-id'}, 'Id'), input),
      fresh),
    h('p', {class: 'note', id: 'play-id-note'}, 'Each request really spends from the bucket of this id. The id was made up for this page.'),
    h('div', {class: 'row'}, one, five,
      h('span', {class: 'group'},
        h('label', {for: 'play-pattern', class: 'hidden'}, 'Pattern'), pattern,
        h('label', {for: 'play-rate', class: 'hidden'}, 'Rate'), speed, stream)));
  root.append(
    h('h1', {tabindex: '-1'}, 'Playground'),
    h('p', {class: 'lead'}, 'Send requests to a limit of this server. Watch its bucket drain and refill, and see what a client is told.'),
    noLimits, controls, problem, stage);

  let limits = [];
  let bucket = null;
  let inFlight = 0;
  let due = 0; // requests of the stream that wait until a request in flight has ended
  let turn = 0;
  let running = null;
  let gone = false;
  let totals = {allowed: 0, denied: 0};
  let lastSaid = 0;

  const limit = () => limits.find((each) => each.name === select.value);

  function showLimits() {
    if (!context.limits) {
      return;
    }
    const names = limits.map((each) => each.name).join();
    limits = context.limits.limits.filter((each) => each.limited);
    noLimits.hidden = limits.length > 0;
    controls.hidden = stage.hidden = limits.length === 0;
    if (limits.length === 0 || names === limits.map((each) => each.name).join()) {
      return;
    }
    const before = select.value;
    const chosen = before || query.get('limit') || inviting(limits).name;
    select.replaceChildren(...limits.map((each) => h('option', {value: each.name}, each.name)));
    select.value = limits.some((each) => each.name === chosen) ? chosen : limits[0].name;
    if (select.value !== before) {
      choose();
    }
  }

  function choose() {
    stop();
    input.value = throwAwayId(limit().id);
    setText(root.querySelector('#play-id-note'), input.value
      ? `Each request really spends from the bucket of this id, which was made up for this page. Its form: ${limit().id}.`
      : `Write an id of the form ${limit().id}: this page cannot make one up. Each request really spends from its bucket.`);
    begin();
  }

  /** Starts with a bucket that this page has not shown yet. */
  async function begin() {
    const mine = ++turn;
    totals = {allowed: 0, denied: 0};
    dots.replaceChildren();
    setText(tally, 'Decisions appear here, the newest last.');
    headers.replaceChildren();
    verdict.className = 'verdict';
    setText(verdict, 'Nothing was sent yet.');
    problem.textContent = '';
    if (!input.value) {
      return;
    }
    try {
      const answer = await look(select.value, input.value);
      if (mine === turn && !gone) {
        show(answer);
      }
    } catch (trouble) {
      fail(trouble);
    }
  }

  function show(answer) {
    const known = 'remaining' in answer;
    picture.svg.toggleAttribute('hidden', !known);
    line.element.parentNode.hidden = !known;
    if (!known) {
      bucket = null;
      setText(count, '–');
      setText(of, '');
      setText(refill, '');
      problem.textContent = answer.limited ? byRule(answer) : 'This id is not limited.';
      return;
    }
    bucket = new Bucket(answer, now());
    setText(of, `of ${plural(bucket.burst, 'token', 'tokens')}`);
    setText(refill, `A token comes back every ${span(bucket.interval)}: ${number(bucket.count)} per ${period(bucket.period)}.`);
    draw();
  }

  async function send() {
    if (inFlight >= IN_FLIGHT || !input.value) {
      return null;
    }
    const mine = turn;
    inFlight++;
    try {
      const answer = await post('/v1/spend?headers=ietf', {limit: select.value, id: input.value, cost: 1});
      if (mine === turn && !gone) {
        problem.textContent = '';
        decided(answer);
      }
      return answer.json;
    } catch (trouble) {
      stop();
      fail(trouble);
      return null;
    } finally {
      inFlight--;
      sendDue();
    }
  }

  function sendDue() {
    while (running && due > 0 && inFlight < IN_FLIGHT) {
      due--;
      send();
    }
  }

  function decided({headers: told, json}) {
    show(json);
    const kind = json.allowed ? 'allowed' : 'denied';
    totals[kind]++;
    if (!json.allowed && bucket) {
      line.denied(1, now());
    }
    verdict.className = `verdict ${kind}`;
    verdict.replaceChildren(
      h('b', {}, json.allowed ? '✓ Allowed' : '✕ Denied'),
      ` at ${clock(Date.now())}. `,
      json.allowed
        ? bucket ? `${plural(json.remaining, 'token is', 'tokens are')} left.` : ''
        : bucket ? `As a status, that is 429 Too Many Requests. The next token comes in ${span(json.retryInSeconds)}.`
          : 'As a status, that is 503 Service Unavailable.');
    showHeaders(told, json);
    if (dots.children.length >= SHOWN) {
      dots.firstChild.remove();
    }
    dots.append(h('li', {class: kind}, json.allowed ? '✓' : '✕'));
    setText(tally, `${number(totals.allowed)} allowed, ${number(totals.denied)} denied.`);
    if (!running) {
      say(json.allowed ? `Allowed${bucket ? `, ${number(json.remaining)} left` : ''}.` : bucket ? `Denied, retry in ${span(json.retryInSeconds)}.` : 'Denied.');
    } else if (now() - lastSaid > 5) {
      lastSaid = now();
      say(`${number(totals.allowed)} allowed, ${number(totals.denied)} denied so far.`);
    }
  }

  function showHeaders(told, json) {
    const before = new Map([...headers.querySelectorAll('dd')].map((each) => [each.dataset.name, each.textContent]));
    const lines = HEADERS.filter((name) => told.get(name) !== null).map((name) => [name, told.get(name)]);
    headers.replaceChildren(...lines.flatMap(([name, value]) => [
      h('dt', {}, name), h('dd', {'data-name': name, class: before.get(name) !== value && 'changed'}, value)]),
    ...(json.message ? [h('dt', {}, 'Message'), h('dd', {class: 'text'}, json.message)] : []));
  }

  function fail(trouble) {
    if (!gone) {
      problem.textContent = trouble.message;
      context.report(trouble);
    }
  }

  function start() {
    const perSecond = Number(speed.value);
    const bursts = pattern.value === 'bursty';
    const began = now();
    lastSaid = began;
    const step = () => {
      if (now() - began > LONGEST_STREAM) {
        stop();
        setText(tally, `${tally.textContent} The stream ended after ${span(LONGEST_STREAM)}.`);
        return;
      }
      due = Math.min(due + (bursts ? perSecond * 4 : 1), perSecond * 4); // so slow answers cannot pile up more
      sendDue();
    };
    running = setInterval(step, bursts ? 4000 : 1000 / perSecond);
    stream.setAttribute('aria-pressed', 'true');
    setText(stream, 'Stop the stream');
    step();
  }

  function stop() {
    clearInterval(running);
    running = null;
    due = 0;
    stream.setAttribute('aria-pressed', 'false');
    setText(stream, 'Start a stream');
  }

  function draw() {
    if (bucket) {
      const at = now();
      setText(count, number(bucket.tokensAt(at)));
      picture.update(bucket, at);
      line.update(bucket, at);
    }
  }

  one.addEventListener('click', send);
  five.addEventListener('click', async () => {
    const id = input.value;
    for (let i = 0; i < 5 && input.value === id; i++) {
      await send();
    }
  });
  stream.addEventListener('click', () => (running ? stop() : start()));
  for (const setting of [pattern, speed]) {
    setting.addEventListener('change', () => {
      if (running) {
        stop();
        start();
      }
    });
  }
  select.addEventListener('change', choose);
  fresh.addEventListener('click', choose);
  input.addEventListener('input', stop); // a stream must not spend from an id that is half written
  input.addEventListener('change', begin);

  const end = context.on('limits', showLimits);
  showLimits();
  let frame = 0;
  const timer = setInterval(() => {
    if (!document.hidden) {
      draw();
    }
  }, 1000);
  const animate = () => {
    if (!calm.matches) {
      draw();
    }
    frame = requestAnimationFrame(animate);
  };
  animate();
  return () => {
    gone = true;
    stop();
    end();
    line.stop();
    clearInterval(timer);
    cancelAnimationFrame(frame);
  };
}
