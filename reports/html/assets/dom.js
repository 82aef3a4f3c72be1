'use strict';
// What the other modules build the page with. Text becomes text nodes: no string of the data is ever markup.
const Redraft = {};

(function (R) {
  /** The embedded data (reports/html/page.h declares its keys). */
  R.data = JSON.parse(document.getElementById('data').textContent);

  /** h('td', {class: 'number', onclick: f}, child…): an element. Children: elements, texts, lists; null is left out. */
  R.h = function (tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else if (value === true) element.setAttribute(key, '');
      else element.setAttribute(key, value);
    }
    R.append(element, children);
    return element;
  };

  R.append = function (element, children) {
    for (const child of [children].flat(Infinity)) {
      if (child === null || child === undefined || child === '') continue;
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  };

  R.clear = function (element) {
    while (element.firstChild) element.removeChild(element.firstChild);
    return element;
  };

  let ids = 0;
  R.newId = (prefix) => prefix + '-' + ++ids;

  /** A section with a heading that names it; `about` is one line on what it shows. */
  R.section = function (key, title, about, ...children) {
    const id = 'part-' + key;
    return R.h('section', {id, 'aria-labelledby': id + '-title', tabindex: '-1'},
               R.h('h2', {id: id + '-title'}, title), about ? R.h('p', {class: 'about'}, about) : null, children);
  };

  R.notice = (text, kind) => R.h('p', {class: 'notice' + (kind ? ' ' + kind : ''), role: 'note'}, text);

  /** A table's frame: it scrolls where the table is too wide, and only then is a stop for the Tab key. */
  R.framed = function (name, table) {
    const frame = R.h('div', {class: 'scroll', role: 'region', 'aria-label': name}, table);
    const fit = () => frame.scrollWidth > frame.clientWidth ? frame.setAttribute('tabindex', '0') : frame.removeAttribute('tabindex');
    R.redraws.push(fit);
    R.later(fit);
    return frame;
  };

  /**
   * A table with a caption and column headers. columns: [{title, number, head}], head: the row's header. Rows hold
   * texts or elements.
   */
  R.table = function (caption, columns, rows, properties) {
    const head = R.h('tr', null, columns.map((c) => R.h('th', {scope: 'col', class: c.number ? 'number' : null}, c.title)));
    const body = rows.map((row) => R.h('tr', {class: row.kind || null}, (row.cells || row).map((cell, i) => {
      const column = columns[i];
      const tag = column.head ? 'th' : 'td';
      return R.h(tag, {scope: column.head ? 'row' : null, class: column.number ? 'number' : column.kind || null}, cell);
    })));
    const table = R.h('table', properties, R.h('caption', null, caption), R.h('thead', null, head), R.h('tbody', null, body));
    return R.framed(caption, table);
  };

  /** The text alternative of a drawing: a table that is made when it is opened. `make` returns [columns, rows]. */
  R.values = function (caption, make) {
    const details = R.h('details', {class: 'values'}, R.h('summary', null, 'Values as a table'));
    details.addEventListener('toggle', () => {
      if (!details.open || details.children.length > 1) return;
      const [columns, rows] = make();
      details.append(R.table(caption, columns, rows));
      R.drawWaiting();
    });
    return details;
  };

  /** A <select> with a label. options: [value, text]. */
  R.choice = function (label, options, value, onchange) {
    const id = R.newId('choice');
    const select = R.h('select', {id, onchange: () => onchange(select.value)},
                       options.map(([v, text]) => R.h('option', {value: v, selected: v === value}, text)));
    return R.h('span', {class: 'choice'}, R.h('label', {for: id}, label), select);
  };

  R.button = (text, onclick, properties) => R.h('button', Object.assign({type: 'button', onclick}, properties), text);

  /** A value of the page's style: colours follow the theme. Kept, because asking costs more than drawing. */
  const styles = new Map();
  R.style = function (name) {
    if (!styles.has(name)) styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return styles.get(name);
  };

  /** Sizes a canvas for the screen's density; returns its 2D context in CSS pixels. */
  R.canvasContext = function (canvas, width, height) {
    const density = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.height = height + 'px';
    const context = canvas.getContext('2d');
    context.setTransform(density, 0, 0, density, 0, 0);
    return context;
  };

  /** A text that fits `width` pixels: its end is what tells names apart. */
  R.shortened = function (context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let tail = text;
    while (tail.length > 1 && context.measureText('…' + tail).width > width) tail = tail.slice(1);
    return '…' + tail;
  };

  /** What needs its place in the page first: done when the view is shown. */
  const waiting = [];
  R.later = (act) => waiting.push(act);
  R.drawWaiting = () => waiting.splice(0).forEach((act) => act());

  /** Things to draw again when the theme or the width changes; forgotten when another view is shown. */
  R.redraws = [];
  R.redrawAll = function () {
    styles.clear();
    R.redraws.forEach((draw) => draw());
  };
})(Redraft);
