// The page: what is looked at, the stream that keeps it live, and what can be asked of the service.
import { readAddress, writeAddress } from './address.js';
import { openCreate, setUpCreate } from './create.js';
import { draw, forget, setUpExperiment, showAbout, showView } from './experiment.js';
import { zoom } from './figures.js';
import { make, quoted } from './format.js';
import { setUpOverview, takeOverview } from './overview.js';
import { repaint } from './palette.js';
import { request, Stream, token } from './stream.js';

const by = id => document.getElementById(id);
const picked = name => document.querySelector(`input[name="${name}"]:checked`);
const pick = (name, value) => { for (const radio of document.querySelectorAll(`input[name="${name}"]`)) radio.checked = radio.value === value; };
let compiling = false, chosen = null, remembering = 0;

// The stream

const stream = new Stream({
  state(kind, words) {
    if (kind !== 'live') compiling = false;
    if (compiling) [kind, words] = ['waiting', 'compiling: the first Decisions wait for it'];
    if (by('pill').dataset.state !== kind || by('pill').textContent !== words) {
      by('pill').dataset.state = kind;
      by('pill').textContent = words;
    }
  },
  locked: error => openToken(error.message),
  event(name, data) {
    if (name === 'compiling') { compiling = data; this.state('live', 'live'); return; }
    if (name !== 'refusal') by('nothing').hidden = true;
    ({ overview: takeOverview, about: showAbout, view: showView, refusal: refuse })[name](data);
  },
});

const listen = () => stream.open({ experiment: chosen, span: picked('span').value });

function refuse(told) {
  if (told.error === 'unknown_experiment') {
    forget();
    by('unknown-id').textContent = quoted(chosen);
    by('unknown').hidden = false;
    by('nothing').hidden = true;
    document.title = 'unknown experiment · driftbandits';
    stream.open({ experiment: '', span: 'whole' });
    return;
  }
  say(told.message + (told.url ? ` It is served at ${told.url}.` : ''));
}

function say(words) {
  const box = by('messages');
  if (!words) { box.replaceChildren(); return; }
  const close = make('button', { type: 'button', class: 'small' }, 'Dismiss');
  close.addEventListener('click', () => say(''));
  box.replaceChildren(make('div', { class: 'message' }, make('p', {}, words), close));
}

// What is looked at

const isSkipLink = address => address.startsWith('_'); // no experiment's id begins so

function choose() {
  const { experiment, shown } = readAddress();
  if (isSkipLink(experiment) || experiment === chosen) return;
  chosen = experiment;
  say('');
  forget();
  pick('span', shown.span === 'recent' ? 'recent' : 'whole');
  pick('axis', shown.axis === 'step' ? 'step' : 'time');
  if (Number(shown.to) > Number(shown.from)) zoom.window = [Number(shown.from), Number(shown.to)];
  zoom.tell();
  by('overview').hidden = chosen !== '';
  by('back').hidden = chosen === '';
  by('unknown').hidden = true;
  by('nothing').hidden = chosen === '';
  by('nothing').textContent = `Loading ${quoted(chosen)} …`;
  if (!chosen) document.title = 'driftbandits';
  scrollTo(0, 0);
  listen();
}

// Once a gesture is over: browsers let a page change its address a few times a second only.
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(writeDown, 250);
}

function writeDown() {
  const { experiment } = readAddress(); // another one if it was just chosen, which the browser has yet to tell
  if (!chosen || (experiment !== chosen && !isSkipLink(experiment))) return;
  const [from, to] = zoom.window?.map(value => value.toPrecision(12)) ?? ['', ''];
  writeAddress(chosen, { span: picked('span').value === 'recent' && 'recent', axis: picked('axis').value === 'step' && 'step', from, to });
}

// What is asked of the service; true when it was done.
async function does(path, method, body, question) {
  if (question && !(await confirmed(question))) return false;
  try {
    await request(method, `v1/experiments/${encodeURIComponent(chosen)}/${path}`, body);
    does.done();
    return true;
  } catch (error) {
    if (error.status === 401 || error.status === 403) openToken(error.message);
    else say(error.message);
    return false;
  }
}
does.done = () => say('');

function confirmed({ title, text, yes }) {
  by('confirm-title').textContent = title;
  by('confirm-text').textContent = text;
  by('confirm-yes').textContent = yes;
  by('confirm').returnValue = 'no';
  by('confirm').showModal();
  return new Promise(resolve => by('confirm').addEventListener('close', () => resolve(by('confirm').returnValue === 'yes'), { once: true }));
}

// What is wrong with the token is said where another one is asked for, and on the page if none is given.
function openToken(wrong = '') {
  openToken.wrong = wrong;
  by('token-error').textContent = token.get() ? wrong : '';
  if (by('token').open) return;
  by('token-form').elements.token.value = token.get();
  by('token').showModal();
}
by('open-token').addEventListener('click', () => openToken());
by('token').addEventListener('close', () => say(openToken.wrong));
by('token-form').addEventListener('submit', event => {
  event.preventDefault();
  token.set(by('token-form').elements.token.value.trim());
  openToken.wrong = '';
  by('token').close();
  stream.again();
});

by('new').addEventListener('click', openCreate);
setUpCreate(id => { location.hash = id; });
setUpOverview();
setUpExperiment(does);
for (const button of document.querySelectorAll('[data-close]')) button.addEventListener('click', () => button.closest('dialog').close());
for (const radio of document.querySelectorAll('input[name="span"]')) radio.addEventListener('change', () => { zoom.reset(); listen(); });
for (const radio of document.querySelectorAll('input[name="axis"]')) radio.addEventListener('change', () => { zoom.window = null; draw(); zoom.reset(); });
zoom.changed.push(remember);

// Light and dark

const dark = matchMedia('(prefers-color-scheme: dark)');
function paint() {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
  by('theme').setAttribute('aria-pressed', String(theme ? theme === 'dark' : dark.matches));
  repaint();
  draw();
}
by('theme').addEventListener('click', () => {
  localStorage.setItem('theme', by('theme').getAttribute('aria-pressed') === 'true' ? 'light' : 'dark');
  paint();
});
dark.addEventListener('change', paint);
paint();

addEventListener('hashchange', choose);
choose();
