// The part of the x axis that all charts show together: the whole, or a window that one zooms into and moves.

const LEAST = 1 / 400;

export class Zoom {
  constructor() {
    this.full = null;
    this.window = null;
    this.changed = [];
  }

  // The range of all there is; a window that was chosen stays.
  cover(low, high) { this.full = [low, high]; }

  range() { return this.window ?? this.full; }

  set(low, high) {
    if (!this.full) return;
    const [first, last] = this.full, size = Math.min(Math.max(high - low, (last - first) * LEAST), last - first);
    const start = Math.min(Math.max(low, first), last - size);
    this.window = size > .999 * (last - first) ? null : [start, start + size];
    this.tell();
  }

  by(factor, at = null) {
    const [low, high] = this.range() ?? [0, 0], centre = at ?? (low + high) / 2;
    this.set(centre - (centre - low) * factor, centre + (high - centre) * factor);
  }

  pan(share) {
    const [low, high] = this.range() ?? [0, 0];
    if (this.window) this.set(low + share * (high - low), high + share * (high - low));
  }

  reset() { this.window = null; this.tell(); }

  tell() { for (const each of this.changed) each(); }
}

// Keys of a chart that has the focus; true if it was one of them.
export function zoomKey(zoom, event) {
  const act = {
    '+': () => zoom.by(.5), '=': () => zoom.by(.5), '-': () => zoom.by(2), 0: () => zoom.reset(),
    ArrowLeft: event.shiftKey && (() => zoom.pan(-.25)), ArrowRight: event.shiftKey && (() => zoom.pan(.25)),
  }[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return false;
  act();
  return true;
}

// Wheel with Ctrl, dragging with Shift, one finger, two fingers. `valueAt` gives the x at a place on the page, `over` is the plot.
export function zoomByHand(zoom, over, valueAt) {
  const fingers = new Map();
  let start = null;
  over.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom.by(event.deltaY > 0 ? 1.25 : .8, valueAt(event.clientX));
  }, { passive: false });
  over.addEventListener('dblclick', () => zoom.reset());
  over.addEventListener('mousedown', event => { if (event.shiftKey) event.stopImmediatePropagation(); }, true);
  over.addEventListener('pointerdown', event => {
    if (event.pointerType === 'mouse' && !event.shiftKey) return;
    over.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    start = begin(zoom, fingers, over);
  });
  over.addEventListener('pointermove', event => {
    if (!fingers.has(event.pointerId) || !start) return;
    fingers.set(event.pointerId, event.clientX);
    const [one, other] = [...fingers.values()], [low, high] = start.range, width = start.width, size = high - low;
    if (other === undefined) {
      if (zoom.window) zoom.set(low - (one - start.at[0]) / width * size, high - (one - start.at[0]) / width * size);
      return;
    }
    const grown = Math.abs(start.at[0] - start.at[1]) / Math.max(Math.abs(one - other), 10);
    const middle = ((start.at[0] + start.at[1]) / 2 - start.left) / width;
    zoom.set(low + middle * size * (1 - grown), low + middle * size * (1 - grown) + size * grown);
  });
  const end = event => { fingers.delete(event.pointerId); start = fingers.size ? begin(zoom, fingers, over) : null; };
  for (const name of ['pointerup', 'pointercancel']) over.addEventListener(name, end);
}

function begin(zoom, fingers, over) {
  const box = over.getBoundingClientRect();
  return zoom.range() && { at: [...fingers.values()], range: zoom.range(), width: box.width || 1, left: box.left };
}
