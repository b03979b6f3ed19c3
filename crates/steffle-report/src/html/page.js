'use strict';
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const filters = document.getElementById('filters');
  const tip = document.getElementById('tip');
  document.documentElement.classList.add('scripted');

  // Toggles: a curve shows if its method and its epsilon do, a panel if its data and some curve do.
  const apply = () => {
    const off = { method: new Set(), epsilon: new Set(), data: new Set() };
    for (const box of all('input', filters)) if (!box.checked) off[box.name].add(box.value);
    for (const item of all('[data-method]')) {
      const { method, epsilon, data } = item.dataset;
      item.classList.toggle('off', off.method.has(method) || off.epsilon.has(epsilon) || off.data.has(data));
    }
    let shown = 0;
    for (const panel of all('.panel')) {
      const { data, epsilon } = panel.dataset;
      panel.hidden = off.data.has(data) || off.epsilon.has(epsilon) || !panel.querySelector('.curve:not(.off)');
      shown += panel.hidden ? 0 : 1;
    }
    for (const figure of all('.figure')) figure.hidden = !figure.querySelector('.panel:not([hidden])');
    document.getElementById('nothing').hidden = shown > 0;
    hide();
  };
  filters.addEventListener('change', apply);
  filters.addEventListener('click', ({ target }) => {
    if (!target.dataset.all) return;
    const boxes = all('input', target.closest('fieldset'));
    const check = boxes.some(box => !box.checked);
    for (const box of boxes) box.checked = check;
    apply();
  });

  // Values: of the point under or near the pointer, or with the focus.
  let active = null;
  const hide = () => {
    if (active) active.classList.remove('active');
    active = null;
    tip.hidden = true;
  };
  const show = point => {
    if (point === active) return;
    hide();
    active = point;
    point.classList.add('active');
    tip.textContent = point.getAttribute('aria-label');
    tip.hidden = false;
    const at = point.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.right + 10), document.documentElement.clientWidth - box.width - 8);
    const above = at.top - box.height - 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
  };
  const visible = point => !point.closest('.off');
  for (const svg of all('figure svg')) {
    const points = all('.point', svg);
    for (const point of points) {
      // The native tip would stand on top of ours.
      const title = point.querySelector('title');
      point.setAttribute('aria-label', title.textContent);
      title.remove();
      point.setAttribute('role', 'img');
      // One stop per curve; arrows go along it.
      point.setAttribute('tabindex', point.dataset.index > 0 && point.previousElementSibling?.matches('.point') ? -1 : 0);
      point.addEventListener('focus', () => show(point));
      point.addEventListener('blur', hide);
    }
    const nearest = event => {
      const there = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = null, distance = 26;
      for (const point of points.filter(visible)) {
        const away = Math.hypot(point.dataset.x - there.x, point.dataset.y - there.y);
        if (away < distance) [best, distance] = [point, away];
      }
      if (best) show(best); else hide();
    };
    svg.addEventListener('pointermove', nearest);
    svg.addEventListener('pointerdown', nearest);
    svg.addEventListener('pointerleave', hide);
    svg.addEventListener('keydown', event => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const point = event.target.closest('.point');
      if (!step || !point) return;
      const siblings = all(':scope > .point', point.parentNode).filter(visible);
      const next = siblings[siblings.indexOf(point) + step];
      if (next) next.focus();
      event.preventDefault();
    });
  }
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
  addEventListener('scroll', hide, { passive: true });

  // Downloads: what is already in this page, as files.
  const save = (name, type, text) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const study = () => document.getElementById('study').textContent;
  document.addEventListener('click', ({ target }) => {
    const { save: what, panel } = target.dataset;
    if (what === 'study') save('study.json', 'application/json', study());
    if (what === 'data') {
      const found = JSON.parse(study()).panels.find(({ id }) => id === panel);
      save(`${panel}.json`, 'application/json', JSON.stringify(found, null, 1));
    }
    if (what === 'picture') {
      const svg = document.getElementById(panel).querySelector('svg');
      save(`${panel}.svg`, 'image/svg+xml', new XMLSerializer().serializeToString(svg));
    }
  });

  apply();
})();
