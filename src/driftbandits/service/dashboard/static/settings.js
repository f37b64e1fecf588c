// The form that changes what was declared, while the experiment runs.
import { optional, parse, PolicyFields } from './policy_fields.js';
import { Refusal, request } from './stream.js';

const dialog = document.getElementById('settings'), form = document.getElementById('settings-form'), error = document.getElementById('settings-error');
const policy = new PolicyFields(form.elements.policy, document.getElementById('new-policy-help'), document.getElementById('new-policy-settings'), 'as it is');
const FIELDS = ['title', 'timeout', 'default_reward', 'explore', 'drift', 'sticky', 'late', 'reward_low', 'reward_high'];
let about = null, before = {};

const text = value => value === null || value === undefined ? '' : String(value);

export async function openSettings(now) {
  about = now;
  const [low, high] = about.reward_range ?? [null, null];
  for (const name of FIELDS) before[name] = form.elements[name].value = text({ ...about, reward_low: low, reward_high: high }[name]);
  form.elements.policy.value = '';
  error.textContent = '';
  dialog.showModal();
  try { await policy.load(); } catch (found) { error.textContent = found.message; }
}

// Only what is another than before: what is not given stays.
function collect() {
  const value = name => form.elements[name].value.trim(), changed = name => value(name) !== before[name].trim(), changes = {};
  if (changed('title')) changes.title = value('title');
  for (const name of ['timeout', 'default_reward', 'drift', 'sticky']) if (changed(name)) changes[name] = optional(value(name));
  if (changed('late')) changes.late = value('late') === 'true';
  if (changed('explore')) changes.explore = optional(value('explore')) ?? 0;
  if (changed('reward_low') || changed('reward_high')) {
    changes.reward_range = value('reward_low') || value('reward_high') ? [parse(value('reward_low')), parse(value('reward_high'))] : null;
  }
  if (form.elements.policy.value) Object.assign(changes, { policy: form.elements.policy.value, policy_settings: policy.settings() });
  return changes;
}

export function setUpSettings(changed) {
  form.addEventListener('submit', async event => {
    event.preventDefault();
    const changes = collect();
    error.textContent = '';
    if (!Object.keys(changes).length) { dialog.close(); return; }
    try {
      await request('PATCH', `v1/experiments/${encodeURIComponent(about.id)}`, changes);
      dialog.close();
      changed();
    } catch (found) {
      error.textContent = found instanceof Refusal ? found.message : 'The service cannot be reached; nothing was changed.';
    }
  });
}
