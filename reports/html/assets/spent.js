'use strict';
// Where the time of the steps went: a bar a device whose parts add up to its step, what took longest, what changed.
(function (R) {
  const {h} = R;

  const ms = (ns) => R.figures(ns / 1e6, Math.abs(ns) >= 1e8 ? 5 : 4);
  const fixed = (ns) => (ns / 1e6).toLocaleString('en', {minimumFractionDigits: 3, maximumFractionDigits: 3});
  const signed = (ns) => (ns < 0 ? '−' : '+') + fixed(Math.abs(ns));
  const share = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '–';
  const key = (part) => h('span', {class: 'key part-' + part, 'aria-hidden': 'true'});
  const titleOf = (device) => device.title + (device.roles ? ' (' + device.roles.join(', ') + ')' : '');

  /** A kernel's name, its whole one for the pointer, and its shape. */
  function work(line) {
    if (!line.name) return '';
    return [h('code', {title: line.whole || null}, line.name), line.shape ? h('span', {class: 'shape'}, ' ' + line.shape) : null];
  }

  /** One row of the drawing: widths are shares of the longest step. */
  function bar(parts, values, wall, longest) {
    const strip = h('span', {class: 'strip', 'aria-hidden': 'true'});
    values.forEach((ns, i) => {
      if (ns <= 0) return;
      const piece = h('span', {class: 'part-' + parts[i].key, title: parts[i].title + ': ' + fixed(ns) + ' ms, ' + share(ns, wall)});
      piece.style.width = 100 * ns / longest + '%';
      strip.append(piece);
    });
    return strip;
  }

  function barRow(name, parts, values, wall, longest, about) {
    return h('li', {class: about ? 'was' : null}, h('span', {class: 'who'}, name), bar(parts, values, wall, longest), h('span', {class: 'much'}, ms(wall) + ' ms'));
  }

  /** The bars as numbers: each part of each device, and their sum. */
  function partsTable(data, used) {
    const columns = [{title: 'device', head: true}].concat(used.map((i) => ({title: data.parts[i].title, number: true})), [{title: 'step', number: true}, {title: 'spread', number: true}]);
    const row = (name, parts, wall, spread) => [name].concat(used.map((i) => fixed(parts[i]) + ' (' + share(parts[i], wall) + ')'), [fixed(wall), spread === undefined ? '–' : fixed(spread)]);
    const rows = data.devices.flatMap((device) => (device.before ? [row(titleOf(device) + ', reference', device.before.parts, device.before.wall_ns)] : [])
                                                       .concat([row(titleOf(device), device.parts, device.wall_ns, device.spread_ns)]));
    return [columns, rows];
  }

  function bars(data) {
    const used = data.parts.map((_, i) => i).filter((i) => data.devices.some((device) => device.parts[i] > 0 || (device.before && device.before.parts[i] > 0)));
    const longest = Math.max(1, ...data.devices.flatMap((device) => [device.wall_ns, device.before ? device.before.wall_ns : 0]));
    const rows = data.devices.flatMap((device) => (device.before ? [barRow('reference', data.parts, device.before.parts, device.before.wall_ns, longest, true)] : [])
                                                       .concat([barRow(titleOf(device), data.parts, device.parts, device.wall_ns, longest)]));
    const name = 'Parts of a step, ms, of each device';
    return h('figure', {class: 'chart'},
      h('ul', {class: 'legend'}, used.map((i) => h('li', null, key(data.parts[i].key), data.parts[i].title))),
      h('ul', {class: 'bars', 'aria-label': name}, rows), R.values(name, () => partsTable(data, used)));
  }

  function linesTable(data, device) {
    const titles = new Map(data.parts.map((part) => [part.key, part.title]));
    const rows = device.lines.map((line) => [
      [key(line.part), titles.get(line.part)], fixed(line.ns), share(line.ns, device.wall_ns), line.count ? R.digits(line.count, 4) : '', line.count ? R.digits(line.busy_ns / line.count / 1e3, 4) : '', line.place || '', work(line)]);
    if (device.others) rows.push(['others', fixed(device.other_ns), share(device.other_ns, device.wall_ns), '', '', '', R.plural(device.others, 'group') + ' more']);
    rows.push(['the step', fixed(device.wall_ns), share(device.wall_ns, device.wall_ns), '', '', '', '']);
    return R.table('What took longest on ' + titleOf(device) + ', means of ' + R.plural(device.steps, 'step'),
      [{title: 'part', head: true}, {title: 'ms a step', number: true}, {title: 'share', number: true}, {title: '× a step', number: true}, {title: 'µs each', number: true}, {title: 'role, phase, stream', kind: 'place'}, {title: 'kernel, copy or what was waited for', kind: 'work'}], rows, {class: 'spent'});
  }

  const times = (count, each) => count ? R.digits(count, 4) + ' × ' + R.digits(each / 1e3, 4) : '0';

  function changesTable(data, device) {
    const titles = new Map(data.parts.map((part) => [part.key, part.title])), {before} = device;
    const rows = before.changes.map((change) => [
      [key(change.part), titles.get(change.part)], signed(change.ns),
      change.count_before || change.count_now ? times(change.count_before || 0, change.each_before || 0) + ' → ' + times(change.count_now || 0, change.each_now || 0) : '', change.place || '',
      [work(change), change.matched ? h('span', {class: 'shape'}, (change.name ? '; ' : '') + change.matched) : null]]);
    if (before.more) rows.push(['others', signed(before.more_ns), '', '', R.plural(before.more, 'change') + ' more']);
    rows.push(['residual', signed(before.residual_ns), '', '', 'all changes within three standard errors, or 0.1 % of the step'], ['the step', signed(device.wall_ns - before.wall_ns), '', '', '± ' + fixed(before.error_ns) + ' ms, one standard error']);
    return R.table('What changed on ' + titleOf(device), [{title: 'part', head: true}, {title: 'ms a step', number: true}, {title: 'µs each', number: true}, {title: 'role, phase, stream', kind: 'place'}, {title: 'kernel, copy or what was waited for', kind: 'work'}], rows, {class: 'spent'});
  }

  function change(device) {
    const {before} = device, by = device.wall_ns - before.wall_ns;
    const text = titleOf(device) + ': ' + ms(before.wall_ns) + ' → ' + ms(device.wall_ns) + ' ms a step (' + (by < 0 ? '−' : '+') + share(Math.abs(by), before.wall_ns) + ')';
    return h('li', null, before.clear ? text : text + ', within what steps vary by');
  }

  function waits(data) {
    if (!data.waits) return null;
    const compared = Boolean(data.reference);
    const columns = [{title: 'role', head: true}, {title: 'call', kind: 'mono'}].concat(compared ? [{title: 'reference ×', number: true}] : [], [{title: '× a step', number: true}], compared ? [{title: 'reference ms', number: true}] : [], [{title: 'ms a step', number: true}]);
    const rows = data.waits.map((wait) => ({
      kind: compared && wait.count !== wait.count_before ? 'wrong' : '',
      cells: [wait.role || 'no role', wait.call].concat(compared ? [R.digits(wait.count_before, 4)] : [], [R.digits(wait.count, 4)], compared ? [fixed(wait.ns_before)] : [], [fixed(wait.ns)])}));
    return R.table('Calls that wait for a device', columns, rows);
  }

  /** Details of one device at a time: those of eight would be a long way down. */
  function perDevice(data) {
    const place = h('div'), longest = data.devices.reduce((a, b) => b.wall_ns > a.wall_ns ? b : a);
    const show = (title) => {
      const device = data.devices.find((each) => each.title === title);
      R.append(R.clear(place), [device.before ? changesTable(data, device) : null, linesTable(data, device)]);
      R.drawWaiting();
    };
    R.later(() => show(longest.title));
    return [data.devices.length > 1 ? R.choice('Device', data.devices.map((device) => [device.title, titleOf(device)]), longest.title, show) : null, place];
  }

  /** `data`: Attribution. */
  R.attribution = function (data) {
    if (data.devices.length === 0) return R.notice('No device worked in the steps that count.');
    const compared = data.devices.filter((device) => device.before);
    return [
      h('p', null, (data.steps ? 'Means of steps ' + data.steps + (data.left_out ? '; left out: ' + data.left_out : '') : 'The whole trace as one step') + '. Every nanosecond of a step is of exactly one part.'),
      data.reference ? [h('p', null, 'Compared with ', h('code', null, data.reference), compared.length ? ':' : ', which has none of these devices.'), h('ul', null, compared.map(change))] : null,
      bars(data), (data.notes || []).map((text) => R.notice(text)), perDevice(data), waits(data),
    ];
  };
})(Redraft);
