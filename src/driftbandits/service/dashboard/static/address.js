// What is looked at is the page's address: #experiment?span=recent&axis=step&from=1&to=2, so that a link shows the same.

export function readAddress() {
  const [id, query] = location.hash.slice(1).split('?');
  let experiment = id;
  try { experiment = decodeURIComponent(id); } catch { /* a broken escape is taken as it stands */ }
  return { experiment, shown: Object.fromEntries(new URLSearchParams(query || '')) };
}

export function writeAddress(experiment, shown) {
  const query = new URLSearchParams(Object.entries(shown).filter(([, value]) => value)).toString();
  history.replaceState(null, '', `#${encodeURIComponent(experiment)}${query ? `?${query}` : ''}`);
}
