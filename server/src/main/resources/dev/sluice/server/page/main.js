// SPDX-License-Identifier: Apache-2.0
// The frame of the page: which view is shown, what the server reports, and how it fails.

import {get, keepToken, token} from './api.js';
import {h, setText} from './dom.js';
import {span} from './words.js';
import * as bucket from './bucket.js';
import * as denied from './denied.js';
import * as limits from './limits.js';
import * as playground from './playground.js';
import * as settings from './settings.js';

const VIEWS = {limits, playground, bucket, settings, denied};
const EVERY = 2000;
const SLOWEST = 10_000;
const LIMITS_EVERY = 4;

const main = document.getElementById('main');
const trouble = document.getElementById('trouble');
const events = new EventTarget();

const context = {
  limits: null,
  stats: null,
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
  leave = VIEWS[name].mount(view, context, new URLSearchParams(search ?? ''));
  document.title = `${VIEWS[name].title} – Sluice`;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#/${name}`) {
      link.setAttribute('aria-current', 'page');
    } else {
      link.removeAttribute('aria-current');
    }
  }
  if (shown) {
    scrollTo(0, 0);
    view.querySelector('h1').focus({preventScroll: true});
  }
  shown = name;
}

// The answers of the server

let timer = 0;
let round = 0;
let wait = EVERY;

async function poll() {
  clearTimeout(timer);
  if (document.hidden) {
    return;
  }
  try {
    if (round % LIMITS_EVERY === 0 || !context.limits) {
      context.limits = await get('/v1/limits');
      events.dispatchEvent(new Event('limits'));
    }
    context.stats = await get('/v1/stats');
    events.dispatchEvent(new Event('stats'));
    round++;
    wait = EVERY;
    const {store, version, uptimeSeconds} = context.stats;
    setText(document.getElementById('about'), `Sluice ${version}, up ${span(uptimeSeconds)}`);
    showTrouble(store.ready ? null : {kind: 'store', message: `The server cannot decide now: ${store.problem}. Limits answer by their failure rules.`});
  } catch (problem) {
    if (!problem.kind) {
      console.error(problem); // a mistake of this page
    }
    showTrouble(problem);
    wait = Math.min(wait * 1.5, SLOWEST);
  }
  timer = setTimeout(poll, wait);
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
