// SPDX-License-Identifier: Apache-2.0
// The limits in force, their current decisions, and the state of the server.

import {breakable, h, say, setText, visible} from './dom.js';
import {clock, number, percent, plural, quotaWords, rate} from './words.js';
import {sparkline} from './charts.js';

const RECENT = 10;
const FULL = 75; // percent of the most live buckets, as in the alert
const ROWS = 25;
const SHOWN = 10; // lines of one list of mistakes, warnings or changes

const FILTERS = {
  all: ['All limits', () => true],
  denying: ['That deny now', (row) => row.denied > 0],
  deciding: ['That decide now', (row) => row.decisions > 0],
  overrides: ['With overrides', (row) => row.limit.overrides > 0],
  shadow: ['That would deny in shadow', (row) => row.shadowDenied > 0],
};

const by = (figure) => (one, other) => figure(other) - figure(one) || (one.limit.name < other.limit.name ? -1 : 1);
const SORTS = {
  share: ['Share denied', by((row) => row.share)],
  denied: ['Denials', by((row) => row.denied)],
  decisions: ['Decisions', by((row) => row.decisions)],
  overrides: ['Overrides', by((row) => row.limit.overrides)],
  name: ['Name', by(() => 0)],
};

export const title = 'Limits';

export function mount(root, context, query) {
  const hint = h('p', {class: 'hint', hidden: true},
    'Nothing was decided in the last minute. ',
    h('a', {href: '#/playground'}, 'Send the first requests in the playground'), '.');
  const search = h('input', {id: 'limits-search', type: 'search', autocomplete: 'off', spellcheck: 'false', value: query.get('search') ?? ''});
  const filter = choice('limits-filter', FILTERS, query.get('show') ?? 'all');
  const sort = choice('limits-sort', SORTS, query.get('sort') ?? 'share');
  const count = h('p', {class: 'note', role: 'status'});
  const back = h('button', {type: 'button'}, 'Previous');
  const on = h('button', {type: 'button'}, 'Next');
  const pages = h('nav', {class: 'row', 'aria-label': 'Pages'}, back, on, count);
  const body = h('tbody', {role: 'rowgroup'});
  const state = stateCards();
  const empty = h('p', {class: 'note', hidden: true}, 'No limit is configured: every request for a limit is refused.');
  const COLUMNS = ['Limit', 'Lets through', 'Burst', 'Overrides', 'Denied', 'Per second now, and the last minute'];
  const table = h('table', {class: 'limits', role: 'table', 'aria-label': 'Limits in force'},
    h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, COLUMNS.map((name) => h('th', {scope: 'col', role: 'columnheader'}, name)))), body);
  root.append(
    h('h1', {tabindex: '-1'}, 'Limits in force'),
    hint,
    h('div', {class: 'ask', role: 'search'},
      h('div', {class: 'field grow'}, h('label', {for: 'limits-search'}, 'Search by name'), search),
      h('div', {class: 'field'}, h('label', {for: 'limits-filter'}, 'Show'), filter),
      h('div', {class: 'field'}, h('label', {for: 'limits-sort'}, 'Sort by'), sort)),
    table, empty, pages,
    h('details', {class: 'theory'}, h('summary', {}, 'What the columns mean'),
      h('p', {class: 'note'}, 'A bucket holds ', h('b', {}, 'burst'), ' tokens and refills steadily. One id can get at most a full bucket in one period, and what refills during that period. Denied is the share of the decisions of the last minute.')),
    h('h2', {id: 'server'}, 'The server'), state.element);

  const shown = new Map();
  let first = 0;
  let order = [];

  /** All limits with their counts of the last minute, filtered and sorted. */
  function choose() {
    const totals = new Map((context.stats?.rates.totals ?? []).map((one) => [one.limit, one]));
    const words = search.value.trim().toLowerCase();
    order = (context.limits?.limits ?? [])
      .filter((limit) => limit.name.toLowerCase().includes(words))
      .map((limit) => {
        const {allowed = 0, denied = 0, shadowAllowed = 0, shadowDenied = 0} = totals.get(limit.name) ?? {};
        const decisions = allowed + denied + shadowAllowed + shadowDenied;
        return {limit, denied, shadowDenied, decisions, share: decisions ? denied / decisions : 0};
      })
      .filter(FILTERS[filter.value][1])
      .sort(SORTS[sort.value][1]);
    first = Math.min(first, Math.max(Math.floor((order.length - 1) / ROWS) * ROWS, 0));
  }

  function showLimits() {
    const answer = context.limits;
    if (!answer) {
      return;
    }
    choose();
    table.hidden = order.length === 0;
    empty.hidden = answer.limits.length > 0;
    pages.hidden = answer.limits.length === 0;
    back.hidden = on.hidden = order.length <= ROWS;
    back.disabled = first === 0;
    on.disabled = first + ROWS >= order.length;
    const of = order.length === answer.limits.length ? '' : ` (of ${number(answer.limits.length)} in all)`;
    setText(count, order.length === 0 ? `No limit matches${of}.` : `${number(first + 1)} to ${number(Math.min(first + ROWS, order.length))} of ${plural(order.length, 'limit', 'limits')}${of}`);
    const page = order.slice(first, first + ROWS);
    for (const name of [...shown.keys()]) {
      if (!page.some((row) => row.limit.name === name)) {
        shown.get(name).element.remove();
        shown.delete(name);
      }
    }
    page.forEach(({limit, share, decisions}, i) => {
      const told = JSON.stringify(limit);
      let row = shown.get(limit.name);
      if (row?.told !== told) {
        const fresh = limitRow(limit, COLUMNS);
        row?.element.replaceWith(fresh.element);
        row = {...fresh, told};
        shown.set(limit.name, row);
      }
      // A row is moved only if it must be, so that the focus and a selection in it stay.
      if (body.children[i] !== row.element) {
        body.insertBefore(row.element, body.children[i] ?? null);
      }
      setText(row.share, decisions ? percent(share) : '–');
    });
    context.series = page.map((row) => row.limit.name);
    state.limits(answer);
  }

  function showStats() {
    const stats = context.stats;
    if (!stats) {
      return;
    }
    // While somebody uses the table, the rows keep their places.
    if (!body.contains(document.activeElement)) {
      showLimits();
    }
    const series = new Map(stats.rates.limits.map((one) => [one.limit, one]));
    for (const [name, row] of shown) {
      row.rates(series.get(name), stats.rates.seconds);
    }
    hint.hidden = stats.rates.totals.length > 0 || shown.size === 0;
    state.stats(stats);
  }

  function turn(to) {
    first = Math.max(to, 0);
    showLimits();
    context.refresh();
    say(count.textContent);
  }

  function ask() {
    first = 0;
    const now = new URLSearchParams({
      ...(search.value && {search: search.value}),
      ...(filter.value !== 'all' && {show: filter.value}),
      ...(sort.value !== 'share' && {sort: sort.value}),
    });
    history.replaceState(null, '', now.size ? `#/limits?${now}` : '#/limits');
    showLimits();
    context.refresh();
  }

  search.addEventListener('input', ask);
  filter.addEventListener('change', ask);
  sort.addEventListener('change', ask);
  back.addEventListener('click', () => turn(first - ROWS));
  on.addEventListener('click', () => turn(first + ROWS));
  const ends = [context.on('limits', showLimits), context.on('stats', showStats)];
  showLimits();
  showStats();
  return () => {
    context.series = [];
    ends.forEach((end) => end());
  };
}

function choice(id, options, chosen) {
  const select = h('select', {id}, Object.entries(options).map(([value, [words]]) => h('option', {value}, words)));
  select.value = Object.hasOwn(options, chosen) ? chosen : Object.keys(options)[0];
  return select;
}

/** What a limit lets through, in the words of the columns. */
export function limitWords(limit) {
  return limit.limited
    ? quotaWords(limit)
    : [limit.reason === 'unlimited' ? 'unlimited' : 'only overrides', '–'];
}

function limitRow(limit, columns) {
  const spark = sparkline();
  const figures = {allowed: figure('allowed', 'allowed'), denied: figure('denied', 'denied'), shadowDenied: figure('shadow', 'shadow-denied')};
  const share = h('td', {role: 'cell', 'data-label': columns[4]}, '–');
  const link = `limit=${encodeURIComponent(limit.name)}`;
  const element = h('tr', {role: 'row'},
    h('th', {scope: 'row', role: 'rowheader'},
      h('a', {class: 'name', href: `#/limit?${link}`}, breakable(limit.name)), h('span', {class: 'note'}, `by ${limit.id}`),
      h('span', {class: 'links'},
        limit.limited && h('a', {href: `#/playground?${link}`, 'aria-label': `Try it in the playground: ${limit.name}`}, 'Try it'),
        h('a', {href: `#/bucket?${link}`, 'aria-label': `Look up a bucket of ${limit.name}`}, 'Look up'))),
    limitWords(limit).map((text, i) => h('td', {role: 'cell', class: 'quotas', 'data-label': columns[i + 1]}, text)),
    h('td', {role: 'cell', 'data-label': columns[3]}, number(limit.overrides)),
    share,
    h('td', {role: 'cell', class: 'live', 'data-label': columns[5]}, h('div', {class: 'figures'}, Object.values(figures).map((one) => one.element)), spark.element));
  return {
    element,
    share,
    rates(series, seconds) {
      const none = Array(seconds).fill(0);
      const counts = {};
      for (const [field, one] of Object.entries(figures)) {
        counts[field] = series?.[field] ?? none;
        one.show(counts[field]);
      }
      spark.update(counts, `Last minute: ${number(sum(counts.allowed))} allowed, ${number(sum(counts.denied))} denied, ${number(sum(counts.shadowDenied))} shadow-denied`);
    },
  };
}

function figure(kind, word) {
  const value = h('b', {}, '0');
  return {
    element: h('span', {class: `figure ${kind}`}, value, `/s ${word}`),
    show(counts) {
      setText(value, rate(sum(counts.slice(-RECENT)) / RECENT));
    },
  };
}

function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}

/** The three limits that made most new buckets in the last minute. */
function newIds(rates) {
  return rates.totals.filter((one) => one.newBuckets)
    .sort((one, other) => other.newBuckets - one.newBuckets).slice(0, 3).map((one) => [one.limit, one.newBuckets]);
}

/** Returns a sign with a shape and a word, since a colour alone is not accessible. */
export function sign(good, ...text) {
  return h('span', {class: good ? 'good' : 'bad'}, h('span', {'aria-hidden': 'true'}, good ? '● ' : '▲ '), text);
}

function stateCards() {
  const store = h('dd');
  const doors = h('dd');
  const load = h('dd');
  const generation = h('dd');
  const element = h('dl', {class: 'cards'},
    card('Store', store), card('Doors', doors), card('Load', load), card('Files', generation));
  const shown = new Map();

  /** Replaces the content only if it changed; otherwise a reader's selection would be lost every two seconds. */
  function fill(target, told, children) {
    const key = JSON.stringify(told);
    if (shown.get(target) !== key) {
      shown.set(target, key);
      target.replaceChildren(...children().flat(2));
    }
  }

  return {
    element,
    stats(stats) {
      fill(store, [stats.store.name, stats.store.problem, stats.breakers, stats.store.serverCount, stats.store.servers], () => [
        h('p', {}, h('code', {}, stats.store.name)),
        h('p', {}, stats.store.ready ? sign(true, 'reachable') : sign(false, stats.store.problem)),
        stats.breakers.map((one) => h('p', {}, h('code', {}, one.server), ' ', one.up ? sign(true, 'reachable') : sign(false, 'unreachable, retrying'))),
        sharing(stats.store.serverCount ?? 0, stats.store.servers)]);
      fill(doors, [stats.doors, stats.ending], () => [
        ...stats.doors.map((door) => h('p', {}, h('code', {}, `${door.protocol}://${door.address}`))),
        h('p', {}, stats.ending ? sign(false, 'the server is about to stop') : sign(true, 'open'))]);
      const share = stats.store.maxLiveBuckets && Math.round(100 * stats.store.liveBuckets / stats.store.maxLiveBuckets);
      const newest = newIds(stats.rates);
      fill(load, [stats.connections, stats.store.liveBuckets, share, newest], () => [
        h('p', {}, plural(stats.connections, 'connection', 'connections')),
        stats.store.liveBuckets === undefined ? [] : h('p', {}, plural(stats.store.liveBuckets, 'bucket', 'buckets'), ' not full'),
        share === undefined ? [] : h('p', {}, sign(share < FULL, `${share} % of the table in use`)),
        h('p', {class: 'note'}, newest.length === 0 ? 'No new id in the last minute.' : `Most new ids in the last minute: ${newest.map(([limit, count]) => `${limit} ${number(count)}`).join(', ')}`)]);
    },
    limits(answer) {
      fill(generation, [answer.generation, answer.limits.length], () => generations(answer));
    },
  };
}

/** Shows the servers that use the store now; their names only if the token may see them. */
function sharing(count, servers = []) {
  return count === 0 ? []
    : count === 1 ? [h('p', {}, 'used by this server alone')]
    : [h('p', {}, `shared by ${count} servers${servers.length === 0 ? '' : ':'}`), ...servers.map((server) => h('p', {}, h('code', {}, server)))];
}

function card(name, value) {
  return h('div', {class: 'card'}, h('dt', {}, name), value);
}

/** Shows the files in force, and the mistakes of the files that were offered later. */
function generations(answer) {
  const count = h('p', {}, `${plural(answer.limits.length, 'limit', 'limits')} in force`);
  const {active, runtime, tokens, certificates} = answer.generation ?? {};
  const kept = runtime?.mistakes?.length ? [h('p', {}, sign(false, 'Overrides and penalties that are set at run time cannot be read. Those read before stay in force:')), lines(runtime.mistakes)] : [];
  const limits = !active || active.hash === 'none'
    ? [h('p', {class: 'note'}, active ? 'Sample limits: no file is watched.' : '')]
    : stateOf('limit files', answer.generation);
  return [count, limits, tokens ? stateOf('tokens', tokens) : [], certificates ? stateOf('certificates', certificates) : [], kept].flat();
}

/** Shows the files of one kind. */
function stateOf(name, {active, offered}) {
  const mistakes = offered?.mistakes ?? [];
  const warnings = offered?.warnings ?? [];
  const how = active.putBack ? 'put back by a rollback' : 'loaded';
  return [h('p', {}, sign(mistakes.length === 0 && !active.putBack, `${name} ${how} ${clock(Date.parse(active.since))} (`), h('code', {}, active.hash.slice(0, 12)), ')'),
    active.putBack ? h('p', {class: 'note'}, 'They stay in force until changed files are applied or the server restarts.') : [],
    active.changed.length === 0 ? [] : h('details', {}, h('summary', {}, `What that changed: ${plural(active.changed.length, 'line', 'lines')}`), lines(active.changed)),
    mistakes.length === 0 ? [] : [
      h('p', {}, sign(false, `The files of ${clock(Date.parse(offered.since))} have ${plural(mistakes.length, 'mistake', 'mistakes')}, and are not in force:`)),
      lines(mistakes)],
    warnings.length === 0 ? [] : [h('p', {}, sign(false, `${plural(warnings.length, 'warning', 'warnings')}:`)), lines(warnings)]];
}

function lines(texts) {
  return h('ul', {class: 'mistakes'}, texts.slice(0, SHOWN).map((text) => h('li', {}, visible(text))),
    texts.length > SHOWN && h('li', {}, `and ${number(texts.length - SHOWN)} more`));
}
