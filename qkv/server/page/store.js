// What this browser keeps: settings, glossary, history. Nothing of it is sent anywhere unless a request needs it.

const PREFIX = "qkv serve ";

export function recall(name, fallback) {
  try {
    const kept = JSON.parse(localStorage.getItem(PREFIX + name));
    return typeof kept === typeof fallback && kept !== null && Array.isArray(kept) === Array.isArray(fallback) ? kept : fallback;
  } catch {
    return fallback; // nothing is stored, or the browser does not allow it
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // the page works without
  }
}
