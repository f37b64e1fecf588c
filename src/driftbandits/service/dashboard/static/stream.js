// Requests with the token, and the live stream: server-sent events read by fetch, as EventSource can send no token.

const SILENT = 3000, GIVEN_UP = 12_000;

export const token = {
  get: () => sessionStorage.getItem('token') || '',
  set: value => value ? sessionStorage.setItem('token', value) : sessionStorage.removeItem('token'),
};

function headers() { return token.get() ? { Authorization: `Bearer ${token.get()}` } : {}; }

export class Refusal extends Error {
  constructor(status, told) {
    super(told.message || `the service answered ${status}`);
    this.status = status;
    this.told = told;
  }
}

export async function request(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { ...headers(), ...(body ? { 'Content-Type': 'application/json' } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  const told = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, told);
  return told;
}

// Calls on.event(name, data) for each event, on.state('live' | 'silent' | 'gone', words) when the connection changes.
// The service says something every second: when nothing came for three, it is silent, and after twelve it is given up.
export class Stream {
  constructor(on) {
    this.on = on;
    this.failures = 0;
    this.number = 0;
  }

  open(query) {
    this.query = query;
    this.failures = 0;
    this.connect();
  }

  again() { this.failures = 0; this.connect(); }

  async connect() {
    const number = ++this.number;
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = new AbortController();
    this.heard(false);
    let words = 'away';
    try {
      const response = await fetch(`v1/live?${new URLSearchParams(this.query)}`, { headers: headers(), signal: this.abort.signal });
      if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})));
      await this.read(response.body.getReader(), number);
    } catch (error) {
      if (number !== this.number) return;
      if (error instanceof Refusal) {
        words = error.message;
        if (error.status === 401 || error.status === 403) {
          clearInterval(this.watch);
          this.on.state('gone', error.status === 401 ? 'needs a token' : 'token not allowed');
          this.on.locked(error);
          return;
        }
      }
    }
    if (number === this.number) this.later(words);
  }

  // Something came just now, or a connection is being made: count the silence from here.
  heard(live = true) {
    const since = Date.now();
    clearInterval(this.watch);
    if (live) this.on.state('live', 'live');
    this.watch = setInterval(() => {
      const silence = Date.now() - since;
      if (silence > GIVEN_UP) this.abort.abort();
      else if (silence >= SILENT) this.on.state('silent', `silent for ${Math.floor(silence / 1000)} s`);
    }, 500);
  }

  async read(reader, number) {
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done || number !== this.number) return;
      this.failures = 0;
      this.heard();
      const parts = (text + decoder.decode(value, { stream: true })).split('\n\n');
      text = parts.pop();
      for (const part of parts) {
        const found = /^event: (.*)\ndata: (.*)$/.exec(part);
        if (found && number === this.number) this.on.event(found[1], JSON.parse(found[2]));
      }
    }
  }

  later(words) {
    const wait = Math.min(500 * 2 ** this.failures, 15_000) * (.75 + Math.random() / 2);
    clearInterval(this.watch);
    this.failures++;
    this.on.state('gone', `${words}; again in ${Math.max(1, Math.round(wait / 1000))} s`);
    this.timer = setTimeout(() => this.connect(), wait);
  }
}
