// SPDX-License-Identifier: Apache-2.0
// The frame of the page: which view is shown, what the server reports, and how it fails.

import {get, keepToken, token} from './api.js';
import {h, say, setText} from './dom.js';
import {clock, plural, span} from './words.js';
import * as bucket from './bucket.js';
import * as denied from './denied.js';
import * as limit from './limit.js';
import * as limits from './limits.js';
import * as playground from './playground.js';
import * as rules from './rules.js';
import * as settings from './settings.js';

const {sign} = limits;
const VIEWS = {limits, limit, playground, bucket, rules, settings, denied};
/** The entry of the menu for a view that has none. */
const UNDER = {limit: 'limits'};
const EVERY = 2000;
const SOON = 150;
const SLOWEST = 10_000;
const LIMITS_EVERY = 4;
const CERTIFICATE_DAYS = 14;

const main = document.getElementById('main');
const trouble = document.getElementById('trouble');
const status = document.getElementById('status');
const events = new EventTarget();

const context = {
  limits: null,
  stats: null,
  /** The limits whose counts the current view shows second by second. */
  series: [],
  /** Asks the server now, because the view shows other limits. */
  refresh() {
    clearTimeout(timer);
    timer = setTimeout(poll, SOON);
  },
  on(what, react) {
    events.addEventListener(what, react);
    return () => events.removeEventListener(what, react);
  },
  /** Reports a failure in a view; a failure of access concerns the whole page. */
  report(problem) {
    if (problem.kind === 'access') {
      showTrouble(problem);
    }
  },
  confirm,
};

// Views

let leave = () => {};
let shown = '';

function show() {
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const name = Object.hasOwn(VIEWS, path) ? path : 'limits';
  if (location.hash === '#main') {
    return;
  }
  leave();
  main.replaceChildren();
  const view = h('div', {class: `view ${name}`});
  main.append(view);
  const query = new URLSearchParams(search ?? '');
  leave = VIEWS[name].mount(view, context, query);
  document.title = `${VIEWS[name].title} – Sluice`;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#/${UNDER[name] ?? name}`) {
      link.setAttribute('aria-current', 'page');
    } else {
      link.removeAttribute('aria-current');
    }
  }
  if (shown) {
    scrollTo(0, 0);
    view.querySelector('h1').focus({preventScroll: true});
  }
  if (query.get('at') === 'server') {
    document.getElementById('server').scrollIntoView();
  }
  shown = name;
}

// The answers of the server

let timer = 0;
let round = 0;
let turn = 0; // grows when a token is entered or forgotten, since no answer to an earlier poll may be shown then
let wait = EVERY;

async function poll() {
  clearTimeout(timer);
  if (document.hidden) {
    return;
  }
  const mine = turn;
  try {
    if (round % LIMITS_EVERY === 0 || !context.limits) {
      const limits = await get('/v1/limits');
      if (mine !== turn) {
        return;
      }
      context.limits = limits;
      events.dispatchEvent(new Event('limits'));
    }
    const stats = await get(`/v1/stats?series=${context.series.map(encodeURIComponent).join()}`);
    if (mine !== turn) {
      return;
    }
    context.stats = stats;
    events.dispatchEvent(new Event('stats'));
    round++;
    wait = EVERY;
    const {host, version, uptimeSeconds} = context.stats;
    setText(document.getElementById('about'), `Sluice ${version} on ${host}, up ${span(uptimeSeconds)}`);
    showStatus(context.stats, context.limits.generation);
    showTrouble(null);
  } catch (problem) {
    if (mine !== turn) {
      return;
    }
    if (!problem.kind) {
      console.error(problem); // a mistake of this page
    }
    showTrouble(problem);
    wait = Math.min(wait * 1.5, SLOWEST);
  }
  clearTimeout(timer); // of a poll that began meanwhile, when the page was shown again
  timer = setTimeout(poll, wait);
}

/** What an operator must know: is it deciding, as configured, and what ends soon. */
function showStatus({host, store, ending, degraded, certificateEnd, endingOverrides}, generation) {
  const lines = [];
  const byRule = degraded.length > 0
    ? `${plural(degraded.length, 'limit is', 'limits are')} decided by failure rules since ${clock(Math.min(...degraded.map((one) => Date.parse(one.since))))}: ${degraded.slice(0, 3).map((one) => `${one.limit} (${one.rule})`).join(', ')}${degraded.length > 3 ? ', …' : ''}`
    : '';
  if (ending) {
    lines.push(sign(false, `${host} is about to stop.`));
  } else if (!store.ready) {
    lines.push(sign(false, byRule ? `${host}: ${store.problem}. ${byRule}.` : `The server cannot decide now: ${store.problem}. Failure rules decide, and the server keeps trying.`));
  } else {
    lines.push(byRule ? sign(false, `${host}: ${byRule}.`) : sign(true, `${host} decides as configured.`));
  }
  const kinds = {'limit files': generation, tokens: generation?.tokens, certificates: generation?.certificates};
  for (const [name, kind] of Object.entries(kinds)) {
    const mistakes = kind?.offered?.mistakes.length ?? 0;
    if (mistakes > 0) {
      lines.push(h('a', {href: '#/limits?at=server'}, sign(false, `The ${name} have ${plural(mistakes, 'mistake', 'mistakes')}: those loaded ${clock(Date.parse(kind.active.since))} stay in force.`)));
    }
  }
  if (generation?.active.putBack) {
    lines.push(h('a', {href: '#/limits?at=server'}, sign(false, `A rollback of ${clock(Date.parse(generation.active.since))} is in force until changed limit files are applied.`)));
  }
  if (generation?.runtime?.mistakes.length) {
    lines.push(h('a', {href: '#/limits?at=server'}, sign(false, 'Saved overrides and penalties cannot be read.')));
  }
  if (certificateEnd) {
    const days = Math.floor((Date.parse(certificateEnd) - Date.now()) / 86_400_000);
    lines.push(sign(days >= CERTIFICATE_DAYS, `The certificate ${days < 0 ? 'ended' : 'ends'} ${clock(Date.parse(certificateEnd))}.`));
  }
  if (endingOverrides) {
    lines.push(h('a', {href: '#/settings'}, sign(false, `${plural(endingOverrides.count, 'override ends', 'overrides end')} within a week, the first ${clock(Date.parse(endingOverrides.first))}.`)));
  }
  const key = lines.map((line) => line.textContent).join('\n');
  if (status.dataset.key !== key) {
    status.dataset.key = key;
    status.replaceChildren(...lines.map((line) => h('span', {}, line)));
  }
}

function showTrouble(problem) {
  const key = problem ? `${problem.kind}${problem.message}` : '';
  if (trouble.dataset.key === key) {
    return;
  }
  trouble.dataset.key = key;
  trouble.replaceChildren();
  if (!problem) {
    return;
  }
  trouble.append(h('p', {},
    h('span', {'aria-hidden': 'true'}, '▲ '), problem.message,
    problem.kind === 'away' && ' The page asks again every few seconds; what you see is from before.',
    problem.kind === 'access' && [' ', h('button', {type: 'button', onclick: () => signIn(problem.message)}, 'Enter a token')]));
}

// Dialogs

const dialog = document.getElementById('sign-in');
const tokenButton = document.getElementById('token');

function signIn(why) {
  if (why) {
    setText(document.getElementById('sign-in-why'), `${why} This page keeps a token until the tab is closed, and sends it to this server only.`);
  }
  document.getElementById('token-text').value = '';
  dialog.returnValue = 'cancel';
  dialog.showModal();
}

function showToken() {
  setText(tokenButton, token() ? 'Token: set' : 'Token');
  document.getElementById('metrics').hidden = Boolean(token()); // a link cannot send it
}

dialog.addEventListener('close', () => {
  const text = document.getElementById('token-text').value.trim();
  document.getElementById('token-text').value = '';
  if (dialog.returnValue === 'forget') {
    keepToken('');
  } else if (dialog.returnValue === 'keep' && text) {
    keepToken(text);
  } else {
    return;
  }
  showToken();
  // Nothing that the former token could see stays on the page.
  turn++;
  context.limits = context.stats = null;
  status.replaceChildren();
  delete status.dataset.key;
  setText(document.getElementById('about'), '');
  say('');
  round = 0;
  show();
  poll();
});
tokenButton.addEventListener('click', () => signIn());

/** Asks before something is done that cannot be undone. */
function confirm(question, text, yes) {
  const box = h('dialog', {'aria-labelledby': 'confirm-title'},
    h('form', {method: 'dialog'},
      h('h2', {id: 'confirm-title'}, question), h('p', {}, text),
      h('div', {class: 'row'}, h('button', {value: 'yes', class: 'danger'}, yes), h('button', {value: 'no'}, 'Cancel'))));
  document.body.append(box);
  box.showModal();
  return new Promise((answer) => {
    box.addEventListener('close', () => {
      box.remove();
      answer(box.returnValue === 'yes');
    });
  });
}

// Colours

const theme = document.getElementById('theme');
theme.value = document.documentElement.dataset.theme ?? '';
theme.addEventListener('change', () => {
  if (theme.value) {
    document.documentElement.dataset.theme = theme.value;
  } else {
    delete document.documentElement.dataset.theme;
  }
  try {
    localStorage.setItem('sluice.theme', theme.value);
  } catch {
    // The browser forbids storage, so the colours are chosen for this page only.
  }
});

addEventListener('hashchange', show);
document.addEventListener('visibilitychange', poll);
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
showToken();
show();
poll();
