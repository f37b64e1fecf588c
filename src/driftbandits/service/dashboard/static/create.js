// The form that creates an experiment.
import { optional, PolicyFields } from './policy_fields.js';
import { Refusal, request } from './stream.js';

const dialog = document.getElementById('create'), form = document.getElementById('create-form');
const error = document.getElementById('create-error'), note = document.getElementById('create-note');
const policy = new PolicyFields(form.elements.policy, document.getElementById('policy-help'), document.getElementById('policy-settings'));

export async function openCreate() {
  error.textContent = '';
  try {
    await policy.load();
  } catch (found) {
    error.textContent = found.message;
  }
  dialog.showModal();
}

function collect() {
  const field = name => form.elements[name];
  return {
    id: field('id').value.trim(),
    title: field('title').value.trim(),
    arms: field('arms').value.split('\n').map(line => line.trim()).filter(Boolean),
    policy: field('policy').value,
    policy_settings: policy.settings(),
    seed: optional(field('seed').value) ?? 0,
    timeout: optional(field('timeout').value),
    default_reward: optional(field('default_reward').value),
    drift: optional(field('drift').value),
    explore: optional(field('explore').value) ?? 0,
    sticky: optional(field('sticky').value),
    late: field('late').value === 'true',
  };
}

export function setUpCreate(created) {
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
