// SPDX-License-Identifier: Apache-2.0
// Sends requests to the server, and turns failures into messages for people.

const KEY = 'sluice.token';
const TIMEOUT = 12_000; // longer than the server's, which says what became of the request

let memory = '';

export function token() {
  try {
    return sessionStorage.getItem(KEY) ?? memory;
  } catch {
    return memory;
  }
}

export function keepToken(text) {
  memory = text;
  try {
    if (text) {
      sessionStorage.setItem(KEY, text);
    } else {
      sessionStorage.removeItem(KEY);
    }
  } catch {
    // The browser forbids storage, so the token is kept only until the page is closed.
  }
}

/** Why a request failed. `kind` is away, access, role, busy, missing or request. */
class Trouble extends Error {
  constructor(kind, message, status) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

function trouble(status, problem) {
  const mistakes = problem?.detail && problem.errors; // only Sluice's answers have both
  const words = mistakes ? mistakes.map((one) => (one.field ? `${one.field}: ${one.detail}` : one.detail)).join('; ') : problem?.detail;
  const detail = words ? `${words[0].toUpperCase()}${words.slice(1)}.` : '';
  switch (status) {
    case 401:
      return new Trouble('access', token() ? 'The server does not know this token.' : 'The server asks for an access token.', status);
    case 403:
      return new Trouble('role', `This is denied${token() ? ' to your token' : ''}. ${detail}`.trim(), status);
    case 404:
      return new Trouble('missing', detail || 'The server does not have this.', status);
    case 429:
      return new Trouble('busy', 'The server limits how often this page may ask. It asks again later.', status);
    default:
      return new Trouble('request', `${detail || `The server answered with status ${status}.`}${problem?.incident ? ` The incident in the server's log is ${problem.incident}.` : ''}`, status);
  }
}

async function send(method, path, body) {
  const headers = {Accept: 'application/json'};
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json';
  }
  if (/[^\x20-\xff]/.test(token())) { // no header can hold it
    throw new Trouble('access', 'The token has a character that no access token has: copy the whole token.', 0);
  }
  if (token()) {
    headers.Authorization = `Bearer ${token()}`;
  }
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    text = await response.text();
  } catch {
    throw new Trouble('away', 'The server does not answer.', 0);
  }
  let json = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {
    // The answer is not from Sluice, but perhaps from a proxy in between.
  }
  if (!response.ok) {
    throw trouble(response.status, json);
  }
  if (json === null && text) {
    throw new Trouble('request', 'The answer is not from Sluice: it is not JSON.', response.status);
  }
  return {status: response.status, headers: response.headers, json};
}

export const get = async (path) => (await send('GET', path)).json;
export const post = (path, body) => send('POST', path, body);
export const put = (path, body) => send('PUT', path, body);
export const remove = (path) => send('DELETE', path);

// Ids that no path can hold: the server refuses dot segments in every spelling, and empty ids.
const NO_PATH = /(^|[/\\])\.\.?($|[/\\])|^$/;

/** The path of the settings of an id. An id that a path cannot hold is in the query. */
export function pathOf(kind, limit, id) {
  const before = `/v1/admin/${kind}/${encodeURIComponent(limit)}`;
  return `${before}${NO_PATH.test(id) ? '?id=' : '/'}${encodeURIComponent(id)}`;
}

/**
 * Returns the bucket of an id, without spending. For an id that a path cannot hold, uses a check, which needs another
 * role. A check does not say whether an override is in force, so the id is returned as if it had one.
 */
export async function look(limit, id) {
  return NO_PATH.test(id)
    ? {...(await post('/v1/check', {limit, id, cost: 0})).json, overrideId: id}
    : get(`/v1/limits/${encodeURIComponent(limit)}/buckets/${encodeURIComponent(id)}`);
}
