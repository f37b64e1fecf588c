// The switch itself is CSS. This keeps its state in the address (#section&form=paper), opens what an address names, and searches.
const radios = document.querySelectorAll('input[name="form"]');
const contents = document.getElementById('contents');
const search = document.getElementById('search');
const found = document.getElementById('found');
const parts = [...document.querySelectorAll('details.part')];
const wide = matchMedia('(min-width: 64rem)');

function fold() { contents.open = wide.matches; }

function show(id) {
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  target.scrollIntoView();
}

function read() {
  const [section, form] = location.hash.slice(1).split('&form=');
  const radio = document.getElementById('show-' + form);
  if (radio) radio.checked = true; else write();
  show(section);
}

function write() {
  const form = document.querySelector('input[name="form"]:checked')?.value;
  const section = location.hash.slice(1).split('&')[0];
  if (form === 'paper' || (form && location.hash.includes('&'))) {
    history.replaceState(null, '', '#' + section + '&form=' + form);
  }
}

// Every section and every statement that has all the words is shown; while nothing is searched, all are, and closed.
function look() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = element => words.every(word => element.textContent.toLowerCase().includes(word));
  let count = 0;
  for (const part of parts) {
    const items = [...part.querySelectorAll('article')];
    items.forEach(item => { item.hidden = !has(item); });
    const hits = items.length ? items.filter(item => !item.hidden).length : Number(has(part));
    part.hidden = words.length > 0 && !hits;
    part.open = words.length > 0 && hits > 0;
    count += hits;
  }
  found.textContent = words.length ? `${count} found` : '';
}

radios.forEach(radio => radio.addEventListener('change', write));
search.addEventListener('input', look);
addEventListener('hashchange', read);
addEventListener('beforeprint', () => parts.forEach(part => { part.open = true; }));
wide.addEventListener('change', fold);
contents.addEventListener('click', event => {
  if (event.target.closest('a') && !wide.matches) contents.open = false;
});
fold();
read();
