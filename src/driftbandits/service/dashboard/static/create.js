// The form that creates an experiment.
import { make } from './format.js';
import { Refusal, request } from './stream.js';

const dialog = document.getElementById('create'), form = document.getElementById('create-form');
const error = document.getElementById('create-error'), note = document.getElementById('create-note');
const box = document.getElementById('policy-settings');
let policies = [];

// A number, also as 1/4800 or 1e-4; true, false; or the text itself.
function parse(text) {
  const trimmed = text.trim();
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  const fraction = /^(.+)\/(.+)$/.exec(trimmed);
  const value = fraction ? Number(fraction[1]) / Number(fraction[2]) : Number(trimmed);
  return trimmed !== '' && Number.isFinite(value) ? value : trimmed;
}

const optional = text => text.trim() === '' ? null : parse(text);

function showSettings() {
  const policy = policies.find(each => each.name === form.elements.policy.value);
  document.getElementById('policy-help').textContent = policy ? policy.about : '';
  box.replaceChildren(...(policy ? policy.settings : []).map(setting => {
    const preset = setting.default === null ? '' : String(setting.default);
    return make('label', {}, make('span', {}, setting.name, ' ', make('small', {}, setting.needed ? 'needed' : preset ? `else ${preset}` : 'optional')),
      make('input', { name: `setting:${setting.name}`, autocomplete: 'off', required: setting.needed, 'aria-required': setting.needed ? 'true' : null }));
  }));
}

export async function openCreate() {
  error.textContent = '';
  try {
    policies = await request('GET', 'v1/policies');
  } catch (found) {
    error.textContent = found.message;
  }
  const select = form.elements.policy, chosen = select.value;
  select.replaceChildren(...policies.map(each => make('option', { value: each.name }, each.name + (each.two_arms ? ' (two arms)' : ''))));
  if (chosen) select.value = chosen;
  showSettings();
  dialog.showModal();
}

function collect() {
  const field = name => form.elements[name];
  const settings = {};
  for (const input of box.querySelectorAll('input')) {
    if (input.value.trim() !== '') settings[input.name.slice('setting:'.length)] = parse(input.value);
  }
  return {
    id: field('id').value.trim(),
    title: field('title').value.trim(),
    arms: field('arms').value.split('\n').map(line => line.trim()).filter(Boolean),
    policy: field('policy').value,
    policy_settings: settings,
    seed: optional(field('seed').value) ?? 0,
    timeout: optional(field('timeout').value),
    default_reward: optional(field('default_reward').value),
    drift: optional(field('drift').value),
    explore: optional(field('explore').value) ?? 0,
  };
}

export function setUpCreate(created) {
  form.elements.policy.addEventListener('change', showSettings);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    if (note.textContent) return; // asked for already
    error.textContent = '';
    note.textContent = 'Creating … A policy that is new here is compiled first, which takes a while on a busy machine.';
    try {
      const made = await request('POST', 'v1/experiments', collect());
      dialog.close();
      form.reset();
      created(made.id);
    } catch (found) {
      error.textContent = found instanceof Refusal ? found.message : 'The service cannot be reached; nothing was created.';
    } finally {
      note.textContent = '';
    }
  });
}
