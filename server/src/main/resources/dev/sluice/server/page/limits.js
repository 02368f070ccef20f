// SPDX-License-Identifier: Apache-2.0
// The limits in force, their current decisions, and the state of the server.

import {breakable, h, setText, visible} from './dom.js';
import {clock, number, period, plural, rate} from './words.js';
import {sparkline} from './charts.js';

const RECENT = 10;
const FULL = 75; // percent of the most live buckets, as in the alert

export const title = 'Limits';

export function mount(root, context) {
  const hint = h('p', {class: 'hint', hidden: true},
    'Nothing was decided in the last minute. ',
    h('a', {href: '#/playground'}, 'Send the first requests in the playground'), '.');
  const body = h('tbody', {role: 'rowgroup'});
  const rows = new Map();
  const state = stateCards();
  const empty = h('p', {class: 'note', hidden: true}, 'No limit is configured: every request for a limit is refused.');
  const COLUMNS = ['Limit', 'Lets through', 'Burst', 'Worst period', 'Overrides', 'Per second, and the last minute'];
  const table = h('table', {class: 'limits', role: 'table', 'aria-label': 'Limits in force'},
    h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, COLUMNS.map((name) => h('th', {scope: 'col', role: 'columnheader'}, name)))), body);
  root.append(
    h('h1', {tabindex: '-1'}, 'Limits in force'),
    hint, table, empty,
    h('p', {class: 'note'}, 'A bucket holds ', h('b', {}, 'burst'), ' tokens and refills steadily. The worst period is the most that one id can get in one period: a full bucket, and what refills during the period.'),
    h('h2', {}, 'The server'), state.element);

  function showLimits() {
    const answer = context.limits;
    if (!answer) {
      return;
    }
    const names = new Set(answer.limits.map((limit) => limit.name));
    for (const [name, row] of rows) {
      if (!names.has(name)) {
        row.element.remove();
        rows.delete(name);
      }
    }
    for (const limit of answer.limits) {
      const known = rows.get(limit.name);
      const told = JSON.stringify(limit);
      if (known?.told !== told) {
        const row = limitRow(limit, COLUMNS);
        row.told = told;
        if (known) {
          known.element.replaceWith(row.element);
        } else {
          body.append(row.element);
        }
        rows.set(limit.name, row);
      }
    }
    table.hidden = answer.limits.length === 0;
    empty.hidden = answer.limits.length > 0;
    state.limits(answer);
    showStats();
  }

  function showStats() {
    const stats = context.stats;
    if (!stats) {
      return;
    }
    const series = new Map(stats.rates.limits.map((one) => [one.limit, one]));
    let decisions = 0;
    for (const [name, row] of rows) {
      decisions += row.rates(series.get(name), stats.rates.seconds);
    }
    hint.hidden = decisions > 0 || rows.size === 0;
    state.stats(stats);
  }

  const ends = [context.on('limits', showLimits), context.on('stats', showStats)];
  showLimits();
  showStats();
  return () => ends.forEach((end) => end());
}

function limitRow(limit, columns) {
  const spark = sparkline();
  const figures = {allowed: figure('allowed', 'allowed'), denied: figure('denied', 'denied'), shadowDenied: figure('shadow', 'shadow-denied')};
  const cells = limit.limited
    ? [`${number(limit.count)} per ${period(limit.period)}`, number(limit.burst), `${number(limit.worstPeriod ?? limit.burst + limit.count)} in ${period(limit.period)}`]
    : [limit.reason === 'unlimited' ? 'unlimited' : 'only overrides', '–', '–'];
  const link = `limit=${encodeURIComponent(limit.name)}`;
  const element = h('tr', {role: 'row'},
    h('th', {scope: 'row', role: 'rowheader'},
      h('span', {class: 'name'}, breakable(limit.name)), h('span', {class: 'note'}, `by ${limit.id}`),
      h('span', {class: 'links'},
        limit.limited && h('a', {href: `#/playground?${link}`, 'aria-label': `Try ${limit.name} in the playground`}, 'Try it'),
        h('a', {href: `#/bucket?${link}`, 'aria-label': `Look up a bucket of ${limit.name}`}, 'Look up'))),
    cells.map((text, i) => h('td', {role: 'cell', 'data-label': columns[i + 1]}, text)),
    h('td', {role: 'cell', 'data-label': columns[4]}, number(limit.overrides)),
    h('td', {role: 'cell', class: 'live', 'data-label': columns[5]}, h('div', {class: 'figures'}, Object.values(figures).map((one) => one.element)), spark.svg));
  return {
    element,
    rates(series, seconds) {
      const none = Array(seconds).fill(0);
      const counts = {};
      let minute = 0;
      for (const [field, one] of Object.entries(figures)) {
        counts[field] = series?.[field] ?? none;
        one.show(counts[field]);
        minute += sum(counts[field]);
      }
      const label = `Last minute: ${number(sum(counts.allowed))} allowed, ${number(sum(counts.denied))} denied, ${number(sum(counts.shadowDenied))} shadow-denied`;
      spark.update(counts, label);
      return minute + sum(series?.shadowAllowed ?? none);
    },
  };
}

function figure(kind, word) {
  const value = h('b', {}, '0');
  return {
    element: h('span', {class: `figure ${kind}`}, value, ` ${word}`),
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
  return rates.limits.map((one) => [one.limit, sum(one.newBuckets ?? [])])
    .filter(([, count]) => count > 0).sort((one, other) => other[1] - one[1]).slice(0, 3);
}

/** Returns a sign with a shape and a word, since a colour alone is not accessible. */
function sign(good, text) {
  return h('span', {class: good ? 'good' : 'bad'}, h('span', {'aria-hidden': 'true'}, good ? '● ' : '▲ '), text);
}

function stateCards() {
  const store = h('dd');
  const breakers = h('dd');
  const doors = h('dd');
  const load = h('dd');
  const generation = h('dd');
  const element = h('dl', {class: 'cards'},
    card('Store', store), card('Breaker', breakers), card('Doors', doors), card('Load', load), card('Files', generation));
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
      fill(store, stats.store.name + stats.store.ready + stats.store.problem, () => [
        h('p', {}, h('code', {}, stats.store.name)),
        h('p', {}, stats.store.ready ? sign(true, 'answers') : sign(false, stats.store.problem))]);
      fill(breakers, stats.breakers, () => stats.breakers.length === 0
        ? [h('p', {class: 'note'}, stats.store.name === 'memory' ? 'Memory needs none.' : 'The store was not asked yet.')]
        : stats.breakers.map((one) => h('p', {}, h('code', {}, one.server), ' ', one.up ? sign(true, 'closed: it is asked') : sign(false, 'open: it is left alone for a while'))));
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

function card(name, value) {
  return h('div', {class: 'card'}, h('dt', {}, name), value);
}

/** Shows the files in force, and the mistakes of the files that were offered later. */
function generations(answer) {
  const count = h('p', {}, `${plural(answer.limits.length, 'limit', 'limits')} in force`);
  const {active, runtime, tokens, certificates} = answer.generation ?? {};
  const kept = runtime?.mistakes?.length ? [h('p', {}, sign(false, 'what is set at run time cannot be read; what was read before stays in force:')), lines(runtime.mistakes)] : [];
  const limits = !active || active.hash === 'none'
    ? [h('p', {class: 'note'}, active ? 'Sample limits: no file is watched.' : '')]
    : stateOf('the files', answer.generation);
  return [count, limits, tokens ? stateOf('the tokens', tokens) : [], certificates ? stateOf('the certificates', certificates) : [], kept].flat();
}

/** Shows the files of one kind. */
function stateOf(name, {active, offered}) {
  const mistakes = offered?.mistakes ?? [];
  const warnings = offered?.warnings ?? [];
  return [h('p', {}, h('code', {}, active.hash.slice(0, 12)), ` since ${clock(Date.parse(active.since))}`),
    mistakes.length === 0
      ? [h('p', {}, sign(true, `${name} as they are now`)),
        warnings.length === 0 ? [] : [h('p', {}, sign(false, `with ${plural(warnings.length, 'warning', 'warnings')}:`)), lines(warnings)]]
      : [h('p', {}, sign(false, `${name} of ${clock(Date.parse(offered.since))} (`), h('code', {}, offered.hash.slice(0, 12)), `) have ${plural(mistakes.length, 'mistake', 'mistakes')}, and are not in force:`),
        lines(mistakes)]];
}

function lines(texts) {
  return h('ul', {class: 'mistakes'}, texts.slice(0, 10).map((text) => h('li', {}, visible(text))));
}
