'use strict';
// The overview: what the suite came to, and its cases, to filter and to sort.
(function (R) {
  const {h} = R;

  const rateOf = (result) => R.number(result.figures.tokens_per_second.all);
  const findingOf = (result) => result.findings.length ? result.findings[0].id : result.reason || '';
  const columns = [
    {key: 'mark', title: '', name: 'Outcome', value: (c) => ({NOT: 0, known: 1, ok: 2})[c.shown.mark], cell: (c) => h('span', {class: 'mark ' + (c.shown.mark === 'ok' ? 'ok' : c.shown.mark === 'known' ? 'known' : 'bad')}, c.shown.mark === 'NOT' ? 'not' : c.shown.mark)},
    {key: 'verdict', title: 'Verdict', value: (c) => c.verdict, cell: (c) => c.verdict},
    {key: 'name', title: 'Scenario', value: (c) => c.name, cell: (c) => h('a', {href: R.caseHref(c.name)}, c.name), head: true},
    {key: 'finding', title: 'Finding', value: findingOf, cell: (c) => h('span', {class: 'clip', title: findingOf(c)}, findingOf(c))},
    {key: 'steps', title: 'Steps', number: true, value: (c) => c.figures.steps, cell: (c) => c.figures.steps > 0 ? R.count(c.figures.steps) : '–'},
    {key: 'rate', title: 'Tokens/s', number: true, value: (c) => rateOf(c) || 0, cell: (c) => R.rate(rateOf(c)).replace(' tok/s', '').replace('tok/s', '')},
    {key: 'loss', title: 'Last loss', number: true, value: (c) => c.figures.last_loss === undefined ? -Infinity : R.number(c.figures.last_loss), cell: (c) => R.digits(c.figures.last_loss, 5)},
    {key: 'time', title: 'Time', number: true, value: (c) => c.figures.seconds, cell: (c) => c.figures.seconds > 0 ? R.seconds(c.figures.seconds) : '–'},
    {key: 'audit', title: 'Audit', value: (c) => c.shown.audit_cell, cell: (c) => c.shown.audit_cell},
  ];

  /** What is shown, kept while the page is open: coming back from a case finds it as it was. */
  const state = {text: '', verdict: '', sort: null, up: true};

  function selected() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = R.data.suite.cases.filter((c) => {
      const text = (c.name + ' ' + c.verdict + ' ' + c.findings.map((f) => f.id).join(' ') + ' ' + c.reason).toLowerCase();
      const chosen = state.verdict === '' || (state.verdict === 'unexpected' ? !c.as_expected : c.verdict === state.verdict);
      return chosen && words.every((word) => text.includes(word));
    });
    if (!state.sort) return kept;
    const {value} = columns.find((column) => column.key === state.sort), sign = state.up ? 1 : -1;
    return kept.sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * sign; });
  }

  function headOf(column, redraw) {
    const active = state.sort === column.key;
    const act = () => {
      if (active && !state.up) state.sort = null; else if (active) state.up = false; else Object.assign(state, {sort: column.key, up: true});
      redraw(column.key);
    };
    return h('th', {scope: 'col', class: column.number ? 'number' : null, 'aria-sort': active ? state.up ? 'ascending' : 'descending' : 'none'},
             R.button([column.title || column.name, h('span', {class: 'arrow', 'aria-hidden': 'true'}, active ? state.up ? '↑' : '↓' : '')], act, {class: 'sort', 'data-key': column.key}));
  }

  function rowOf(c) {
    const cells = columns.map((column) => h(column.head ? 'th' : 'td', {scope: column.head ? 'row' : null, class: column.number ? 'number' : 'of-' + column.key}, column.cell(c)));
    const open = (event) => { if (!event.target.closest('a') && String(getSelection()) === '') location.hash = R.caseHref(c.name); };
    return h('tr', {class: 'open' + (c.as_expected ? '' : c.shown.mark === 'known' ? ' known' : ' wrong'), onclick: open}, cells);
  }

  /** Up and down go from one case's link to the next. */
  function moveFocus(event) {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!by || !event.target.matches('tbody a')) return;
    const links = [...event.currentTarget.querySelectorAll('tbody a')];
    const next = links[links.indexOf(event.target) + by];
    if (next) event.preventDefault(), next.focus();
  }

  function filters(redraw) {
    const counts = new Map();
    for (const c of R.data.suite.cases) counts.set(c.verdict, (counts.get(c.verdict) || 0) + 1);
    const unexpected = R.data.suite.cases.filter((c) => !c.as_expected).length;
    const choices = [['', 'All ' + R.data.suite.cases.length], ['unexpected', 'Not as expected ' + unexpected]].concat([...counts].map(([verdict, count]) => [verdict, verdict + ' ' + count]));
    const group = h('div', {class: 'filters', role: 'group', 'aria-label': 'Show only'}, choices.map(([value, text]) =>
      R.button(text, () => { state.verdict = value; redraw(); for (const b of group.children) b.setAttribute('aria-pressed', String(b.dataset.value === value)); },
               {'aria-pressed': String(state.verdict === value), 'data-value': value})));
    const id = R.newId('search');
    const search = h('input', {id, type: 'search', placeholder: 'Scenario or finding', value: state.text, autocomplete: 'off', oninput: (event) => { state.text = event.target.value; redraw(); }});
    return h('div', {class: 'toolbar'}, h('label', {for: id, class: 'unseen'}, 'Filter cases'), search, group);
  }

  function casesTable() {
    const body = h('tbody'), head = h('tr'), shown = h('p', {class: 'about', role: 'status'});
    const redraw = (focus) => {
      R.append(R.clear(head), columns.map((column) => headOf(column, redraw)));
      const rows = selected();
      R.append(R.clear(body), rows.map(rowOf));
      shown.textContent = rows.length === R.data.suite.cases.length ? '' : rows.length + ' of ' + R.data.suite.cases.length + ' cases shown';
      if (focus) head.querySelector('[data-key="' + focus + '"]').focus();
    };
    redraw();
    const table = h('table', {class: 'cases', onkeydown: moveFocus}, h('caption', {class: 'unseen'}, 'Cases of the suite, in the order of the plan'), h('thead', null, head), body);
    return [filters(redraw), shown, R.framed('Cases of the suite', table)];
  }

  function headline(suite) {
    const wrong = suite.cases.filter((c) => c.shown.mark === 'NOT').length, known = suite.cases.filter((c) => c.shown.mark === 'known').length;
    const ok = suite.cases.length - wrong - known;
    if (!suite.complete) return 'The suite has not ended';
    if (wrong === 0 && known === 0) return suite.cases.length === 1 ? 'The case ended as expected' : 'All ' + suite.cases.length + ' cases as expected';
    return wrong === 0 ? ok + ' cases as expected, ' + R.plural(known, 'known failure') : wrong + ' of ' + R.plural(suite.cases.length, 'case') + ' not as expected';
  }

  /** Geometric mean of tokens/s, of each case against its first: one line for the whole suite. */
  function pace(trend) {
    const sums = trend.suites.map(() => [0, 0]);
    for (const own of Object.values(trend.cases)) {
      const rates = own.tokens_per_second.map(R.number), first = rates.find((rate) => rate > 0);
      rates.forEach((rate, i) => { if (rate > 0) sums[i][0] += Math.log(rate / first), ++sums[i][1]; });
    }
    return sums.map(([sum, count]) => count > 0 ? Math.exp(sum / count) : NaN);
  }

  function trendSection() {
    const {trend} = R.data.details;
    if (!trend || trend.suites.length < 2) return null;
    const paces = pace(trend), all = Object.values(trend.cases);
    const wrong = trend.suites.map((_, i) => all.filter((own) => own.verdicts[i] && !own.expected[i]).length);
    const ran = trend.suites.map((_, i) => all.filter((own) => own.verdicts[i]).length);
    const rows = trend.suites.map((suite, i) => [suite.name, R.commit(suite.commit), suite.complete ? 'ended' : 'not ended', R.count(ran[i]), R.count(wrong[i]), R.figures(paces[i], 4)]).reverse();
    return R.section('trend', 'Past suites', 'tokens/s of each case as a multiple of its first in this list; geometric mean over the cases.',
      R.chart({name: 'tokens/s over past suites, relative to each case’s first', x: 'suite, oldest first', y: '× first', small: true, yAxis: {beginAtZero: true},
        sets: [{label: 'tokens/s, relative', colour: 'run', borderWidth: 1.75, pointRadius: 3, data: paces.map((y, x) => ({x, y}))}],
        xAxis: R.suiteAxis(trend.suites),
        tooltip: {title: (items) => trend.suites[items[0].parsed.x].name, label: (item) => R.digits(item.parsed.y, 4) + ' ×'},
        values: () => [[{title: 'suite', head: true}, {title: '× first', number: true}], trend.suites.map((suite, i) => [suite.name, R.digits(paces[i], 4)])]}),
      R.table('Suites, newest first', [{title: 'suite', head: true}, {title: 'commit', kind: 'mono'}, {title: 'state'}, {title: 'cases', number: true}, {title: 'not as expected', number: true}, {title: 'tokens/s', number: true}], rows),
      trend.note ? h('p', {class: 'about'}, trend.note) : null);
  }

  R.overview = function () {
    const {suite} = R.data;
    return [
      h('header', {class: 'title'}, h('h1', {class: suite.green ? 'ok' : suite.complete ? 'bad' : ''}, headline(suite)), h('p', {class: 'state'}, suite.summary),
        h('p', {class: 'about'}, [R.date(suite.started), suite.seconds > 0 ? R.seconds(suite.seconds) : '', 'version ' + suite.version, 'commit ' + suite.commit].filter(Boolean).join(' · '))),
      suite.complete ? null : R.notice('The suite has not ended, or was ended. Cases without an end are shown as ABORTED: they did not pass.', 'bad'),
      suite.known_problems.map((text) => R.notice('Known failure ' + text)),
      R.data.details.notice ? R.notice(R.data.details.notice) : null, casesTable(), trendSection(),
    ];
  };
})(Redraft);
