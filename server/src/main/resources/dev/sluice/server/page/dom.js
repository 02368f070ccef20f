// SPDX-License-Identifier: Apache-2.0
// Builds elements. Text is always set as text: no string ever becomes markup.

const SVG = 'http://www.w3.org/2000/svg';

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) {
      continue;
    }
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, '');
    } else {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h('p', {class: 'note'}, 'text', otherElement). */
export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** Replaces a text only if it differs, so that a screen reader announces only changes. */
export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

// Control characters, and those that are invisible or change the direction of what follows.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u00a0\u115f\u1160\u3164\uffa0]/gu;

/** Returns an id in which invisible characters are escaped like \u{200B}, so that people can tell ids apart. */
export function visible(text) {
  return text.replace(UNSEEN, (c) => `\\u{${c.codePointAt(0).toString(16).toUpperCase()}}`);
}

/** An id that cannot disturb the text around it, whatever its script. */
export function idText(id) {
  return h('bdi', {class: 'id'}, visible(id));
}

/** A long name breaks between its words: LoginsPerUser, PerIPAddress, edge.logins_per-user. */
export function breakable(name) {
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[._:/-])/).flatMap((word) => [word, h('wbr')]);
}

const MOST_OPTIONS = 100;

/**
 * Offers names in a list of choices. Thousands of options take the browser seconds, so a long list is filled when the
 * person comes to it. `first` are the options before the names.
 */
export function offer(select, names, chosen, ...first) {
  const option = (name) => h('option', {value: name}, name);
  const fill = () => {
    const value = select.value;
    select.replaceChildren(...first, ...names.map(option));
    select.value = value;
  };
  const known = names.includes(chosen);
  select.onfocus = null;
  select.onpointerdown = null;
  if (names.length <= MOST_OPTIONS) {
    select.replaceChildren(...first, ...names.map(option));
  } else {
    select.replaceChildren(...first, ...(known ? [chosen] : first.length ? [] : [names[0]]).map(option));
    select.onfocus = select.onpointerdown = () => {
      select.onfocus = null;
      select.onpointerdown = null;
      fill();
    };
  }
  if (known) {
    select.value = chosen;
  }
}

let spoken = 0;

/** Makes screen readers announce a text, without interrupting. */
export function say(text) {
  const live = document.getElementById('live');
  live.textContent = '';
  const mine = ++spoken;
  setTimeout(() => {
    if (mine === spoken) {
      live.textContent = text;
    }
  }, 50);
}
