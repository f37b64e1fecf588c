// What a reader with weak eyes, a keyboard or a screen reader would stumble over. Each function lists the offenders.
(() => {
  const channel = value => (value /= 255) <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const numbers = colour => colour.match(/[\d.]+/g).map(Number);
  const all = selector => [...document.querySelectorAll(selector)];

  function backdrop(element) {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  }

  function contrast(element) {
    const drawn = element instanceof SVGElement, style = getComputedStyle(element);
    const ink = luminance(numbers(drawn ? style.fill : style.color));
    const paper = luminance(backdrop(drawn ? element.closest('.chart') : element));
    return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
  }

  const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());

  function nameOf(element) {
    const by = element.getAttribute('aria-labelledby');
    return element.getAttribute('aria-label') || (by && document.getElementById(by)?.textContent)
      || (element.labels && [...element.labels].map(label => label.textContent).join('')) || element.textContent;
  }

  window.audit = {
    faint: () => all('body *').filter(element => element.checkVisibility() && hasText(element) && contrast(element) < 4.5)
      .map(element => [contrast(element), element.tagName, element.textContent.slice(0, 40)]),
    nameless: () => all('button, a, input, select, textarea, [tabindex="0"], dialog, nav, article, figure, section')
      .filter(element => !nameOf(element).trim()).map(element => element.outerHTML.slice(0, 80)),
    repeated: () => all('[id]').map(element => element.id).filter((id, place, ids) => ids.indexOf(id) !== place),
    levels: () => all('h1, main h2, main h3').filter(element => element.checkVisibility()).map(element => Number(element.tagName[1])),
    clipped: () => all('.chart .tip, .lane-names span').filter(text => text.checkVisibility()).filter(text => {
      const mine = text.getBoundingClientRect(), box = text.closest('figure').getBoundingClientRect();
      return mine.left < box.left || mine.right > box.right;
    }).map(text => text.textContent),
    wider: () => [document.documentElement, ...all('dialog[open]')].filter(box => box.scrollWidth > box.clientWidth).map(box => box.tagName)
      .concat(all('table').filter(table => table.checkVisibility() && table.getBoundingClientRect().width > table.parentElement.clientWidth + 1).map(table => table.id || table.textContent.slice(0, 40))),
  };
})();
