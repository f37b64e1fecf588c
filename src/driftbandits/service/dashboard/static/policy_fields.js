// The choice of a policy and of its settings, in the forms that create and change experiments.
import { make } from './format.js';
import { request } from './stream.js';

// A number, also as 1/4800 or 1e-4; true, false; or the text itself.
export function parse(text) {
  const trimmed = text.trim();
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  const fraction = /^(.+)\/(.+)$/.exec(trimmed);
  const value = fraction ? Number(fraction[1]) / Number(fraction[2]) : Number(trimmed);
  return trimmed !== '' && Number.isFinite(value) ? value : trimmed;
}

export const optional = text => text.trim() === '' ? null : parse(text);

export class PolicyFields {
  constructor(select, help, box, first = null) {
    Object.assign(this, { select, help, box, first, policies: [] });
    select.addEventListener('change', () => this.show());
  }

  async load() {
    this.policies = await request('GET', 'v1/policies');
    const chosen = this.select.value;
    this.select.replaceChildren(...(this.first ? [make('option', { value: '' }, this.first)] : []),
      ...this.policies.map(each => make('option', { value: each.name }, each.name + (each.two_arms ? ' (two arms)' : ''))));
    if (chosen) this.select.value = chosen;
    this.show();
  }

  show() {
    const policy = this.policies.find(each => each.name === this.select.value);
    this.help.textContent = policy ? policy.about : '';
    this.box.replaceChildren(...(policy ? policy.settings : []).map(setting => {
      const preset = setting.default === null ? '' : String(setting.default);
      return make('label', {}, make('span', {}, setting.name, ' ', make('small', {}, setting.needed ? 'needed' : preset ? `else ${preset}` : 'optional')),
        make('input', { name: `setting:${setting.name}`, autocomplete: 'off', required: setting.needed, 'aria-required': setting.needed ? 'true' : null }));
    }));
  }

  settings() {
    const given = [...this.box.querySelectorAll('input')].filter(input => input.value.trim() !== '');
    return Object.fromEntries(given.map(input => [input.name.slice('setting:'.length), parse(input.value)]));
  }
}
