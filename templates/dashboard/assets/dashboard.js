// What the pages do beyond links and forms: renew themselves, read out the chart, select rows. Everything essential works without.
'use strict';

(() => {
  const every = 5_000;
  document.documentElement.classList.add('scripted');

  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // What has just been done is said once: a reload, or the address sent to somebody, does not say it again.
  const address = new URL(location.href);
  for (const key of ['done', 'changed', 'busy']) address.searchParams.delete(key);
  if (address.href !== location.href) history.replaceState(null, '', address);

  /* ── Renewal: the page is asked for again, and what changed in it is changed here ── */

  const liveSwitch = one('[data-live-switch]');
  let wanted = true;
  let asking;
  let timer;

  function say(state, text) {
    liveSwitch.dataset.state = state;
    one('[data-live-text]', liveSwitch).textContent = text;
  }

  async function renew() {
    clearTimeout(timer);
    asking?.abort();
    if (!wanted || document.hidden) return;
    asking = new AbortController();
    say('loading', 'Live');
    try {
      const response = await fetch(location.href, { signal: asking.signal, headers: { accept: 'text/html' } });
      const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
      // A page of someone else's, such as a form to sign in, has none of our regions.
      if (!response.ok || !one('[data-live]', fresh)) throw new Error(`answered with ${response.status}`);
      for (const region of all('[data-live]')) {
        const next = one(`[data-live="${region.dataset.live}"]`, fresh);
        if (next) patch(region, next);
      }
      document.dispatchEvent(new Event('renewed'));
      failedSince = undefined;
      say('on', 'Live');
    } catch (error) {
      if (error.name === 'AbortError') return;
      failedSince ??= new Date().toLocaleTimeString();
      say('failing', `Not renewed since ${failedSince}`);
    }
    timer = setTimeout(() => void renew(), every);
  }

  let failedSince;

  if (liveSwitch) {
    liveSwitch.addEventListener('click', () => {
      wanted = !wanted;
      liveSwitch.setAttribute('aria-pressed', String(wanted));
      void renew();
      if (!wanted) say('off', 'Stopped');
    });
    // Nobody looks: nothing is asked. Somebody looks again: it is asked at once.
    document.addEventListener('visibilitychange', () => void renew());
    timer = setTimeout(() => void renew(), every);
  }

  /** Makes `here` like `there` in place, so that focus, selection, open parts and scrolling stay as they are. */
  function patch(here, there) {
    if (here.nodeType !== there.nodeType || here.nodeName !== there.nodeName) {
      here.replaceWith(document.importNode(there, true));
      return;
    }
    if (here.nodeType !== Node.ELEMENT_NODE) {
      if (here.nodeValue !== there.nodeValue) here.nodeValue = there.nodeValue;
      return;
    }
    for (const { name } of [...here.attributes]) {
      // What somebody opened, and what this script sets, is not the server's to say.
      if (!there.hasAttribute(name) && !['open', 'tabindex', 'aria-disabled', 'data-sent'].includes(name))
        here.removeAttribute(name);
    }
    for (const { name, value } of [...there.attributes]) {
      if (here.getAttribute(name) !== value) here.setAttribute(name, value);
    }
    patchChildren(here, there);
  }

  /** Rows are found again by their key, wherever they moved; the rest by its place. */
  function patchChildren(here, there) {
    const keyed = new Map(all(':scope > [data-key]', here).map((row) => [row.dataset.key, row]));
    const kept = new Set(all(':scope > [data-key]', there).map((row) => row.dataset.key));
    for (const [key, row] of keyed) if (!kept.has(key)) row.remove();
    let at = here.firstChild;
    for (const next of [...there.childNodes]) {
      const key = next.dataset?.key;
      const match = key === undefined ? at : keyed.get(key);
      if (!match || (key === undefined && match.dataset?.key !== undefined)) {
        const added = document.importNode(next, true);
        if (key !== undefined) added.classList.add('fresh');
        here.insertBefore(added, at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else here.insertBefore(match, at);
      patch(match, next);
    }
    while (at) {
      const rest = at.nextSibling;
      at.remove();
      at = rest;
    }
  }

  /* ── Selection ── */

  const selection = one('[data-selection]');

  function count() {
    const boxes = all('input[name="id"]', selection);
    const chosen = boxes.filter((box) => box.checked).length;
    const words = one('[data-chosen]', selection);
    const whole = one('[data-all]', selection);
    if (!words || !whole) return;
    words.textContent = chosen === 0 ? 'Select some:' : `${chosen} selected:`;
    whole.checked = chosen > 0 && chosen === boxes.length;
    whole.indeterminate = chosen > 0 && chosen < boxes.length;
    for (const button of all('[data-needs-choice]', selection)) {
      button.setAttribute('aria-disabled', String(chosen === 0));
    }
  }

  if (selection) {
    let last;
    selection.addEventListener('click', (event) => {
      const box = event.target;
      if (box.matches('[data-needs-choice][aria-disabled="true"]')) event.preventDefault();
      if (box.matches('[data-all]')) for (const each of all('input[name="id"]', selection)) each.checked = box.checked;
      if (box.matches('input[name="id"]')) {
        const boxes = all('input[name="id"]', selection);
        const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].toSorted((a, b) => a - b);
        // With Shift: everything between this one and the one before.
        if (event.shiftKey && from >= 0) for (const each of boxes.slice(from, to)) each.checked = box.checked;
        last = box;
      }
      count();
    });
    document.addEventListener('renewed', count);
    count();
  }

  /* ── Chart: a bar is read out below it ── */

  document.addEventListener('pointerover', (event) => readBar(event.target.closest?.('.chart-hit')));
  document.addEventListener('keydown', (event) => {
    const chart = event.target.closest?.('[data-chart]');
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!chart || !step) return;
    event.preventDefault();
    const bars = all('.chart-hit', chart);
    const now = bars.findIndex((bar) => bar.classList.contains('chosen'));
    const next = now < 0 ? bars.length - 1 : Math.min(bars.length - 1, Math.max(0, now + step));
    readBar(bars[next]);
  });

  function readBar(bar) {
    if (!bar) return;
    for (const each of all('.chart-hit.chosen')) each.classList.remove('chosen');
    bar.classList.add('chosen');
    one('[data-readout]').textContent = one('title', bar).textContent;
  }

  for (const chart of all('[data-chart]')) chart.tabIndex = 0;

  /* ── A form that does something does it once ── */

  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (form.method !== 'post') return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
    for (const button of all('button', form)) button.setAttribute('aria-disabled', 'true');
  });
  // Back from the page that followed, the form can be sent again.
  window.addEventListener('pageshow', () => {
    for (const form of all('form[data-sent]')) {
      delete form.dataset.sent;
      for (const button of all('button', form)) button.removeAttribute('aria-disabled');
    }
  });

  /* ── Times: on hover, also as this browser's clock has them ── */

  document.addEventListener('pointerover', (event) => {
    const time = event.target.closest?.('time');
    if (time && !time.title.includes('\n')) time.title += `\n${new Date(time.dateTime).toLocaleString()} here`;
  });
})();
