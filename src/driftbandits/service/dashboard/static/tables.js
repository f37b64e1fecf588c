// Tables whose rows become cards where there is no room for columns; they keep their roles then.
import { make } from './format.js';

// heads: [label, class]. A row has `key` and `cells`, text or an element each, the first of which names it. Rows stay as elements, and
// so keep the keyboard, as long as their keys do.
export function fillTable(table, heads, rows) {
  const labels = heads.map(([label]) => label).join('|');
  if (table.dataset.labels !== labels) {
    table.dataset.labels = labels;
    table.classList.add('stack');
    table.setAttribute('role', 'table');
    table.rows_ = new Map();
    table.replaceChildren(make('thead', { role: 'rowgroup' }, make('tr', { role: 'row' }, ...heads.map(([label, kind]) => make('th', { scope: 'col', role: 'columnheader', class: kind || null }, label)))),
      make('tbody', { role: 'rowgroup' }));
  }
  const body = table.tBodies[0], before = table.rows_;
  table.rows_ = new Map(rows.map(row => [row.key, before.get(row.key) ?? newRow(heads)]));
  for (const [key, row] of before) if (!table.rows_.has(key)) row.remove();
  let next = body.firstChild;
  for (const { key, cells, kind } of rows) {
    const row = table.rows_.get(key);
    row.className = kind || '';
    cells.forEach((cell, index) => put(row.children[index], cell));
    if (row === next) next = next.nextSibling;
    else body.insertBefore(row, next);
  }
}

function newRow(heads) {
  return make('tr', { role: 'row' }, ...heads.map(([label, kind], index) => (index
    ? make('td', { role: 'cell', class: kind || null, 'data-label': label }) : make('th', { scope: 'row', role: 'rowheader', class: kind || null }))));
}

function put(place, cell) {
  if (typeof cell === 'string') { if (place.textContent !== cell) place.textContent = cell; }
  else if (place.firstChild !== cell) place.replaceChildren(cell);
}
