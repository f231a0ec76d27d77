// Requests to the server that this page came from.

const RETRY = 2; // seconds until a server that does not respond is asked again

export class Problem extends Error {
  // `retry`: seconds after which the same request may work; 0 if it will not. `isBusy`: the server has no time or no models yet.
  constructor(message, retry = 0, isBusy = false) {
    super(message);
    [this.retry, this.isBusy] = [retry, isBusy];
  }
}

export class Server {
  key = "";

  // `busy` and `unreachable` are the messages for these two cases.
  constructor(messages) {
    this.messages = messages;
  }

  async request(path, options = {}) {
    const headers = { ...options.headers, ...(this.key ? { Authorization: `Bearer ${this.key}` } : {}) };
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(this.messages.unreachable(), RETRY);
    }
    if (response.ok) return response;
    if (response.status === 429 || response.status === 503) {
      throw new Problem(this.messages.busy(), Math.max(1, Number(response.headers.get("retry-after")) || RETRY), true);
    }
    throw new Problem(await reason(response));
  }

  async get(path) {
    return (await this.request(path)).json();
  }

  async post(path, fields, signal) {
    const headers = { "Content-Type": "application/json" };
    return (await this.request(path, { method: "POST", headers, body: JSON.stringify(fields), signal })).json();
  }
}

async function reason(response) {
  try {
    const found = await response.json();
    return found.error ?? found.detail ?? found.message ?? response.statusText;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}
