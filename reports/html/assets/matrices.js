'use strict';
// Who worked where: role × device, and the copies between devices, as tables that read as they look.
(function (R) {
  const kAllowed = {yes: 'allowed', no: 'not allowed', copies: 'as an end of its copies', unknown: 'no contract', host: 'host'};

  function cellOf(cell) {
    if (!cell) return R.h('td', {class: 'none'}, '·');
    const worked = cell.kernels + cell.copies > 0, wrong = worked && cell.allowed === 'no';
    const parts = [];
    if (cell.kernels > 0) parts.push(R.plural(cell.kernels, 'kernel'));
    if (cell.copies > 0) parts.push(R.plural(cell.copies, 'copy', 'copies'));
    if (cell.busy_ns > 1e5) parts.push(R.nanos(cell.busy_ns) + ' busy');
    if (!worked) parts.push('unused');
    const about = (cell.checks || []).join(', ') || (wrong ? 'not allowed' : '');
    return R.h('td', {class: wrong || about ? 'wrong' : worked ? 'used' : 'idle', title: kAllowed[cell.allowed]},
               R.h('span', {class: 'lines'}, parts.map((part) => R.h('span', null, part))),
               about ? R.h('strong', null, '✕ ' + about) : null);
  }

  /** `affinity`: Affinity. */
  R.affinityMatrix = function (affinity) {
    const at = new Map(affinity.cells.map((cell) => [cell.role + '|' + cell.device, cell]));
    const caption = 'Work of each role on each device';
    const table = R.h('table', {class: 'matrix'}, R.h('caption', null, caption),
      R.h('thead', null, R.h('tr', null, R.h('th', {scope: 'col'}, 'role'), affinity.devices.map((device) => R.h('th', {scope: 'col'}, 'device ' + device)))),
      R.h('tbody', null, affinity.roles.map((role) => R.h('tr', null, R.h('th', {scope: 'row'}, role),
        affinity.devices.map((device) => cellOf(at.get(role + '|' + device)))))));
    return [
      R.framed(caption, table),
      R.h('ul', {class: 'legend'}, R.h('li', null, R.h('span', {class: 'key used', 'aria-hidden': 'true'}), 'allowed and used'),
          R.h('li', null, R.h('span', {class: 'key idle', 'aria-hidden': 'true'}), 'allowed, not used'),
          R.h('li', null, R.h('span', {class: 'key wrong', 'aria-hidden': 'true'}), '✕ against the contract')),
    ];
  };

  R.copyEdges = function (affinity) {
    if (affinity.copies.length === 0) return R.notice('No copy was recorded.');
    const order = {no: 0, yes: 1, unknown: 1, copies: 1, host: 2};
    const copies = affinity.copies.slice().sort((a, b) => order[a.allowed] - order[b.allowed] || b.bytes - a.bytes);
    return R.table('Copies by role and edge',
      [{title: 'role', head: true}, {title: 'from'}, {title: 'to'}, {title: 'way'}, {title: 'copies', number: true}, {title: 'bytes', number: true}, {title: 'contract'}],
      copies.map((edge) => ({
        kind: edge.allowed === 'no' ? 'wrong' : '',
        cells: [edge.role || 'no role', R.device(edge.from), R.device(edge.to), edge.staged ? 'through the host' : 'direct', R.count(edge.count), R.bytes(edge.bytes),
                (edge.allowed === 'no' ? '✕ ' : '') + kAllowed[edge.allowed]],
      })));
  };
})(Redraft);
