// SPDX-License-Identifier: Apache-2.0
// Charts as SVG, drawn at the available width, so that their text keeps its size.

import {h, s, setText} from './dom.js';
import {clock, number, rate, shortClock, span} from './words.js';

/** Calls back with the width of an element, now and whenever it changes. */
function onWidth(element, draw) {
  let known = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== known) {
      known = width;
      draw(width);
    }
  });
  observer.observe(element);
  return () => observer.disconnect();
}

const SPARK = {width: 150, height: 36, up: 24};

/** The last minute of a limit: allowances above the line, denials below it. */
export function sparkline() {
  const allowed = s('path', {class: 'allowed'});
  const denied = s('path', {class: 'denied'});
  const svg = s('svg', {class: 'spark', viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, width: SPARK.width, height: SPARK.height, preserveAspectRatio: 'none', role: 'img'},
    s('path', {class: 'axis', d: `M0 ${SPARK.up + 0.5}H${SPARK.width}`}), allowed, denied);
  const peak = h('span', {});
  return {
    element: h('div', {}, svg, h('div', {class: 'scale', 'aria-hidden': 'true'}, h('span', {}, '−60 s'), peak, h('span', {}, 'now'))),
    update(series, label) {
      const most = Math.max(...series.allowed, ...series.denied, 1);
      setText(peak, `peak ${number(Math.max(...series.allowed, ...series.denied))}/s`);
      allowed.setAttribute('d', bars(series.allowed, (count) => [SPARK.up - (count / most) * SPARK.up, SPARK.up]));
      denied.setAttribute('d', bars(series.denied, (count) => [SPARK.up + 1, SPARK.up + 1 + (count / most) * (SPARK.height - SPARK.up - 1)]));
      svg.setAttribute('aria-label', label);
    },
  };
}

function bars(counts, ends) {
  const step = SPARK.width / counts.length;
  return counts.map((count, i) => {
    if (count === 0) {
      return '';
    }
    const [top, bottom] = ends(count);
    const height = Math.max(bottom - top, 1.5);
    const y = top < SPARK.up ? SPARK.up - height : top;
    return `M${(i * step).toFixed(1)} ${y.toFixed(1)}h${(step - 0.6).toFixed(1)}v${height.toFixed(1)}h-${(step - 0.6).toFixed(1)}z`;
  }).join('');
}

/** A round number at or above a value: 1, 2, 4, 10, 20, 40 and so on. An axis can show half of it exactly. */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

const KINDS = {allowed: 'allowed', denied: 'denied', shadowDenied: 'shadow-denied'};

/** The decisions of a limit over time, per second, as a picture with axes and as a table. */
export function rateChart(title, kind) {
  const box = h('div', {class: 'chart'});
  const rows = h('tbody');
  const element = h('figure', {class: `rates ${kind}`},
    h('figcaption', {}, title),
    h('p', {class: 'key'}, Object.entries(KINDS).map(([field, word]) => h('span', {class: field}, h('span', {'aria-hidden': 'true'}, '■ '), word))),
    box,
    h('details', {}, h('summary', {}, 'As a table'),
      h('table', {class: 'plain'}, h('thead', {}, h('tr', {}, ['Until', 'Allowed', 'Denied', 'Shadow-denied'].map((name) => h('th', {scope: 'col'}, name)))), rows)));
  let answer = null;
  let width = 0;

  function draw() {
    if (!answer || !width) {
      return;
    }
    const {counts, steps, stepSeconds, lastSeconds, at} = answer;
    const perSecond = (field, i) => (counts[field]?.[i] ?? 0) / (i === steps - 1 ? Math.max(lastSeconds, 1) : stepSeconds);
    const stacked = (i) => Object.keys(KINDS).reduce((sum, field) => sum + perSecond(field, i), 0);
    const top = nice(Math.max(...Array.from({length: steps}, (_, i) => stacked(i)), 0.2));
    const height = 200;
    const frame = {left: 26 + 8 * Math.max(rate(top).length, rate(top / 2).length), right: 14, top: 12, bottom: 28};
    const inner = {width: width - frame.left - frame.right, height: height - frame.top - frame.bottom};
    const x = (i) => frame.left + (i / steps) * inner.width;
    const y = (value) => frame.top + (1 - value / top) * inner.height;
    const area = (low, high) => Array.from({length: steps}, (_, i) => (high(i) > low(i)
      ? `M${x(i).toFixed(1)} ${y(low(i)).toFixed(1)}V${Math.min(y(high(i)), y(low(i)) - 1).toFixed(1)}H${x(i + 1).toFixed(1)}V${y(low(i)).toFixed(1)}z` : '')).join('');
    const paths = [];
    Object.keys(KINDS).reduce((low, field) => {
      const high = (i) => low(i) + perSecond(field, i);
      paths.push(s('path', {class: field, d: area(low, high)}));
      return high;
    }, () => 0);
    const marks = kind === 'day' ? hours(at, steps * stepSeconds, inner.width) : [0, 15, 30, 45, 60].map((ago) => [ago, ago === 0 ? 'now' : `−${ago} s`]);
    const all = Object.entries(KINDS).map(([field, word]) => `${number(Array.from({length: steps}, (_, i) => counts[field]?.[i] ?? 0).reduce((one, other) => one + other, 0))} ${word}`).join(', ');
    box.replaceChildren(s('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title}: ${all}. At most ${rate(top)} per second.`},
      [0, top / 2, top].map((value) => [
        s('path', {class: 'grid', d: `M${frame.left} ${y(value)}H${width - frame.right}`}),
        s('text', {x: frame.left - 8, y: y(value) + 4, 'text-anchor': 'end'}, value === 0 ? '0' : `${rate(value)}/s`)]),
      marks.map(([ago, word]) => {
        const place = x(steps - ago / stepSeconds);
        return [
          s('path', {class: 'grid', d: `M${place} ${frame.top}V${height - frame.bottom}`}),
          s('text', {x: place, y: height - 8, 'text-anchor': place > width - 24 ? 'end' : 'middle'}, word)];
      }),
      paths));
    const group = kind === 'day' ? 12 : 5; // an hour, five seconds
    rows.replaceChildren(...Array.from({length: Math.ceil(steps / group)}, (_, i) => {
      const end = steps - i * group;
      const part = (field) => number((counts[field] ?? []).slice(Math.max(end - group, 0), end).reduce((one, other) => one + other, 0));
      return h('tr', {}, h('td', {}, clock(at - i * group * stepSeconds * 1000)), Object.keys(KINDS).map((field) => h('td', {class: 'right'}, part(field))));
    }));
  }

  const stop = onWidth(box, (found) => {
    width = found;
    draw();
  });
  return {
    element,
    stop,
    /** Shows counts, oldest first; each covers `stepSeconds`, except the newest. */
    show(counts, steps, stepSeconds, lastSeconds) {
      answer = {counts, steps, stepSeconds, lastSeconds, at: Date.now()};
      draw();
    },
  };
}

/** Marks at whole hours of the reader's clock, as seconds ago and as words. */
function hours(at, seconds, width) {
  const step = width > 520 ? 3 : 6;
  const hour = new Date(at);
  hour.setMinutes(0, 0, 0);
  const marks = [];
  for (; at - hour < seconds * 1000; hour.setTime(hour.getTime() - 3_600_000)) {
    if (hour.getHours() % step === 0) {
      marks.push([(at - hour) / 1000, shortClock(hour.getTime())]);
    }
  }
  return marks;
}

/** A round number of seconds at or above one, with marks that people read easily. */
function niceTime(seconds) {
  const steps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800];
  for (const step of steps) {
    if (seconds <= step * 5) {
      return {end: Math.max(Math.ceil(seconds / step), 2) * step, step};
    }
  }
  const step = Math.ceil(seconds / 5 / 86400) * 86400;
  return {end: Math.ceil(seconds / step) * step, step};
}

/** The level of a bucket from now until it is full, as a picture and as a table. */
export function levelChart(title) {
  const box = h('div', {class: 'chart'});
  const rows = h('tbody');
  const element = h('figure', {class: 'level'},
    h('figcaption', {}, title), box,
    h('details', {}, h('summary', {}, 'As a table'),
      h('table', {class: 'plain'}, h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'In'), h('th', {scope: 'col'}, 'Tokens'))), rows)));
  let bucket = null;
  let horizon = null;
  let width = 0;
  let at = 0;

  function draw() {
    if (!bucket || !width) {
      return;
    }
    const height = width > 520 ? 320 : 230;
    const frame = {left: 14 + 8 * number(bucket.burst).length, right: 18, top: 18, bottom: 34};
    const inner = {width: width - frame.left - frame.right, height: height - frame.top - frame.bottom};
    const x = (seconds) => frame.left + (seconds / horizon.end) * inner.width;
    const y = (tokens) => frame.top + (1 - tokens / bucket.burst) * inner.height;
    const ahead = bucket.aheadAt(at);
    const penalty = bucket.penaltyLeft(at);
    const empty = Math.max(ahead - bucket.depth, 0);
    const points = [[0, bucket.levelAt(at)]];
    if (penalty > 0 && penalty < horizon.end) {
      points.push([penalty, 0], [penalty, bucket.levelAt(at + penalty)]);
    }
    if (empty > penalty) {
      points.push([Math.min(empty, horizon.end), 0]);
    }
    if (ahead > 0 && ahead < horizon.end) {
      points.push([ahead, bucket.burst]);
    }
    points.push([horizon.end, bucket.levelAt(at + horizon.end)]);
    const line = points.map(([seconds, tokens]) => `${x(seconds).toFixed(1)} ${y(tokens).toFixed(1)}`).join('L');
    const ticks = [];
    const room = Math.floor(inner.width / 62);
    const skip = Math.ceil(horizon.end / horizon.step / room);
    for (let t = 0; t <= horizon.end + 1e-9; t += horizon.step * skip) {
      ticks.push(t);
    }
    const levels = bucket.burst > 1 ? [0, bucket.burst / 2, bucket.burst].filter(Number.isInteger) : [0, 1];
    const svg = s('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': describe(ahead)},
      levels.map((tokens) => [
        s('path', {class: 'grid', d: `M${frame.left} ${y(tokens)}H${width - frame.right}`}),
        s('text', {x: frame.left - 8, y: y(tokens) + 4, 'text-anchor': 'end'}, number(tokens))]),
      ticks.map((t) => [
        s('path', {class: 'grid', d: `M${x(t)} ${frame.top}V${height - frame.bottom}`}),
        s('text', {x: x(t), y: height - 12, 'text-anchor': t === 0 ? 'start' : t > horizon.end * 0.96 ? 'end' : 'middle'}, t === 0 ? 'now' : `+${span(t)}`)]),
      s('path', {class: 'area', d: `M${x(0)} ${y(0)}L${line}L${x(horizon.end)} ${y(0)}z`}),
      s('path', {class: 'line', d: `M${line}`}),
      s('circle', {class: 'point', cx: x(0), cy: y(bucket.levelAt(at)), r: 5}),
      ahead > 0 && ahead <= horizon.end && penalty === 0 && [
        s('path', {class: 'tat', d: `M${x(ahead)} ${frame.top - 6}V${height - frame.bottom}`}),
        s('text', {class: 'tat', x: x(ahead) + (x(ahead) > width - 90 ? -6 : 6), y: height - frame.bottom - 8, 'text-anchor': x(ahead) > width - 90 ? 'end' : 'start'}, 'TAT')]);
    box.replaceChildren(svg);
    rows.replaceChildren(...ticks.map((t) => h('tr', {}, h('td', {}, t === 0 ? 'now' : span(t)), h('td', {}, number(bucket.tokensAt(at + t))))));
  }

  function describe(ahead) {
    return ahead > 0
      ? `${number(bucket.tokensAt(at))} of ${number(bucket.burst)} tokens now, full in ${span(ahead)}`
      : `Full: ${number(bucket.burst)} tokens`;
  }

  const stop = onWidth(box, (found) => {
    width = found;
    draw();
  });
  return {
    element,
    stop,
    /** Shows another bucket, or a newer answer about the same bucket. */
    show(newBucket, now) {
      bucket = newBucket;
      at = now;
      horizon = niceTime(Math.max(bucket.aheadAt(now) * 1.1, bucket.interval * 3, 5));
      draw();
    },
    /** Redraws the chart for a later time. */
    tick(now) {
      at = now;
      draw();
    },
  };
}

/** A tank that fills and drains. */
export function tank() {
  const size = {width: 150, height: 250, left: 6, top: 6, inner: 238};
  const water = s('rect', {class: 'water', x: size.left + 3, width: size.width - 2 * size.left - 6, rx: 4});
  const marks = s('g', {class: 'marks'});
  const svg = s('svg', {class: 'tank', width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}`, role: 'img'},
    s('rect', {class: 'wall', x: size.left, y: size.top, width: size.width - 2 * size.left, height: size.inner, rx: 7}), water, marks);
  let burst = 0;
  return {
    svg,
    update(bucket, now) {
      const inside = size.inner - 6;
      if (bucket.burst !== burst) {
        burst = bucket.burst;
        const lines = burst <= 25 ? Array.from({length: burst - 1}, (_, i) => i + 1) : [burst / 4, burst / 2, (burst * 3) / 4];
        marks.replaceChildren(...lines.map((tokens) => s('path', {d: `M${size.left + 3} ${size.top + 3 + inside * (1 - tokens / burst)}h14`})));
      }
      const height = (bucket.levelAt(now) / bucket.burst) * inside;
      water.setAttribute('y', (size.top + 3 + inside - height).toFixed(2));
      water.setAttribute('height', height.toFixed(2));
      const label = `${number(bucket.tokensAt(now))} of ${number(bucket.burst)} tokens in the bucket`;
      if (svg.getAttribute('aria-label') !== label) {
        svg.setAttribute('aria-label', label);
      }
    },
  };
}

/** The TAT between now (a full bucket) and now + τ (an empty one). */
export function timeLine() {
  const box = h('div', {class: 'chart'});
  const words = h('p', {class: 'note'});
  const element = h('figure', {class: 'timeline'}, h('figcaption', {}, 'The TAT on its time line'), box, words);
  let parts = null;
  let width = 0;
  let bucket = null;
  let ghost = null;

  function build() {
    const y = 46;
    parts = {
      y,
      left: 26,
      right: width - 60,
      used: s('rect', {class: 'used', y: y - 8, height: 16, rx: 3}),
      free: s('rect', {class: 'free', y: y - 8, height: 16, rx: 3}),
      marker: s('g', {class: 'tat'}, s('path', {d: `M0 ${y - 16}V${y + 16}`}), s('text', {y: y - 22, 'text-anchor': 'middle'}, 'TAT')),
      ghost: s('g', {class: 'ghost'}, s('path', {d: `M0 ${y - 16}V${y + 16}`}), s('text', {y: y + 32, 'text-anchor': 'end', x: 8}, 'would be here')),
      clock: s('text', {y: y + 32, 'text-anchor': 'start', x: 26}),
      end: s('text', {y: y + 32, x: width - 60, 'text-anchor': 'middle'}, 'now + τ'),
    };
    box.replaceChildren(s('svg', {width, height: 88, viewBox: `0 0 ${width} 88`, 'aria-hidden': 'true'},
      s('path', {class: 'axis', d: `M${parts.left} ${y}H${width - 6}M${width - 12} ${y - 5}l6 5l-6 5`}),
      parts.free, parts.used,
      s('path', {class: 'edge', d: `M${parts.left} ${y - 14}v28M${parts.right} ${y - 14}v28`}),
      parts.clock, parts.end, parts.ghost, parts.marker));
  }

  function draw(now) {
    if (!bucket || !parts) {
      return;
    }
    const scale = (parts.right - parts.left) / bucket.depth;
    const ahead = bucket.aheadAt(now);
    const penalty = bucket.penaltyLeft(now);
    const x = penalty > 0 ? parts.right : Math.min(parts.left + ahead * scale, width - 14);
    parts.used.setAttribute('x', parts.left);
    parts.used.setAttribute('width', Math.max(Math.min(x, parts.right) - parts.left, 0).toFixed(2));
    parts.free.setAttribute('x', Math.min(x, parts.right).toFixed(2));
    parts.free.setAttribute('width', Math.max(parts.right - x, 0).toFixed(2));
    parts.marker.setAttribute('transform', `translate(${x.toFixed(2)} 0)`);
    parts.marker.setAttribute('visibility', penalty > 0 ? 'hidden' : 'visible');
    const shown = ghost !== null && now < ghost.until && penalty === 0;
    parts.ghost.setAttribute('visibility', shown ? 'visible' : 'hidden');
    parts.end.setAttribute('visibility', shown ? 'hidden' : 'visible');
    if (shown) {
      parts.ghost.setAttribute('transform', `translate(${Math.min(parts.left + (ahead + ghost.cost * bucket.interval) * scale, width - 14).toFixed(2)} 0)`);
    }
    setText(parts.clock, 'now');
    const whole = `${span(Math.round(ahead))} ahead of now`;
    if (penalty > 0) {
      setText(words, `A penalty makes the bucket count as empty for ${span(Math.ceil(penalty))}. Its TAT is not told until then.`);
      return;
    }
    setText(words, ahead <= 0
      ? `The TAT is not ahead of now: the bucket is full. Each token moves it by ${span(bucket.interval)}, up to τ = ${span(bucket.depth)}.`
      : `The TAT is ${clock(Date.now() + ahead * 1000)}, ${whole}. Each token moves it by ${span(bucket.interval)}, up to τ = ${span(bucket.depth)}.`);
  }

  const stop = onWidth(box, (found) => {
    width = found;
    build();
    draw(performance.now() / 1000);
  });
  return {
    element,
    stop,
    update(newBucket, now) {
      bucket = newBucket;
      draw(now);
    },
    /** Where a denied request would have moved the TAT. */
    denied(cost, now) {
      ghost = {cost, until: now + 1.5};
    },
  };
}
