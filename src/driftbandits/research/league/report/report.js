// The switch itself is CSS. This keeps its state in the address (#section&form=paper), and opens the contents on wide screens.
const radios = document.querySelectorAll('input[name="form"]');
const contents = document.getElementById('contents');
const wide = matchMedia('(min-width: 64rem)');

function fold() { contents.open = wide.matches; }

function read() {
  const [section, form] = location.hash.slice(1).split('&form=');
  const radio = document.getElementById('show-' + form);
  if (radio) {
    radio.checked = true;
    document.getElementById(section)?.scrollIntoView();
  } else {
    write();
  }
}

function write() {
  const form = document.querySelector('input[name="form"]:checked')?.value;
  const section = location.hash.slice(1).split('&')[0];
  if (form === 'paper' || (form && location.hash.includes('&'))) {
    history.replaceState(null, '', '#' + section + '&form=' + form);
  }
}

radios.forEach(radio => radio.addEventListener('change', write));
addEventListener('hashchange', read);
wide.addEventListener('change', fold);
contents.addEventListener('click', event => {
  if (event.target.closest('a') && !wide.matches) contents.open = false;
});
fold();
read();
