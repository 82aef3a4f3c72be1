'use strict';
// The page of one case: its sections, each with what it shows or why it cannot.
(function (R) {
  const {h} = R;
  const kMetricNames = {loss: 'loss', grad_norm: 'gradient norm', accuracy: 'accuracy', prefix_acceptance: 'prefix acceptance', learning_rate: 'learning rate', tokens: 'tokens'};

  function curves(data) {
    const byName = new Map(data.metrics.map((metric) => [metric.metric, metric]));
    const place = h('div');
    const show = (name) => {
      const metric = byName.get(name), title = kMetricNames[name] || name;
      R.append(R.clear(place), R.curve(title + ' of each step' + (metric.golden ? ', this run and its golden' : ''), title, data.steps, metric.run, metric.golden));
      R.drawWaiting();
    };
    const first = byName.has('loss') ? 'loss' : data.metrics[0].metric;
    R.later(() => show(first));
    const verdict = !data.golden ? 'There is no golden to compare with.' : data.first_different === undefined ? 'Every value equals the golden’s, bit for bit.'
                                 : 'First different from the golden in step ' + data.first_different + '.';
    return [h('p', null, verdict), R.choice('Metric', data.metrics.map(({metric}) => [metric, kMetricNames[metric] || metric]), first, show), place, note(data)];
  }

  const note = (data) => data.note ? h('p', {class: 'about'}, data.note) : null;

  function gradients(data) {
    const text = data.distances ? 'How far each gradient is from the golden’s, relative to it, by 16 random projections of both.' : 'L2 norm of each gradient.';
    return [note(data), h('p', {class: 'about'}, text), R.heatmap(data)];
  }

  function rateRow(label, values) {
    const sorted = R.sorted(values);
    return [label, R.count(sorted.length), ...[0.25, 0.5, 0.75].map((share) => R.figures(R.quantile(sorted, share), 5))];
  }

  /** Medians and quartiles beside each other: what the dots come to. */
  function rateTable(roles) {
    const rows = roles.flatMap((each) => [rateRow(each.role, each.run)].concat(each.golden ? [rateRow(each.role + ', golden', each.golden)] : []));
    return R.table('tokens/s: samples, median and quartiles',
                   [{title: 'role', head: true}, {title: 'samples', number: true}, {title: '1st quartile', number: true}, {title: 'median', number: true}, {title: '3rd quartile', number: true}], rows);
  }

  function throughput(data) {
    const roles = new Map(data.roles.map((each) => [each.role, each])), place = h('div');
    const show = (name) => {
      const each = roles.get(name), rows = [{label: 'this run', colour: 'run', values: each.run.map(R.number)}];
      if (each.golden) rows.push({label: 'golden', colour: 'golden', values: each.golden.map(R.number)});
      R.append(R.clear(place), R.strips('tokens/s of each step, ' + name + (each.golden ? ', this run and its golden' : ''), 'tokens/s', rows));
      R.drawWaiting();
    };
    if (data.roles.length === 0) return R.notice('No step was timed.');
    const first = roles.has('all') ? 'all' : data.roles[0].role;
    R.later(() => show(first));
    const steps = data.step_seconds.map((seconds) => R.number(seconds) * 1e3);
    return [R.choice('Role', data.roles.map(({role}) => [role, role]), first, show), place, note(data), rateTable(data.roles),
            steps.length > 1 ? R.chart({name: 'Time of each step', x: 'step', y: 'ms', small: true, sets: [{label: 'time of each step', colour: 'run', borderWidth: 1.75, pointRadius: steps.length > 60 ? 0 : 2,
              data: steps.map((y, x) => ({x, y}))}], tooltip: {title: (items) => 'step ' + items[0].parsed.x, label: (item) => R.digits(item.parsed.y, 5) + ' ms'},
              values: () => [[{title: 'step', number: true, head: true}, {title: 'ms', number: true}], steps.map((ms, i) => [i, R.digits(ms, 6)])]}) : null];
  }

  function timeline(data) {
    const simulated = data.source === 'sim' ? ' On simulated devices a bar says when a call was made, not how long it took.' : '';
    return [h('p', {class: 'about'}, R.plural(data.records, 'record') + ' of the trace over ' + R.nanos(data.length) + '.' + simulated + (data.note ? ' ' + data.note : '')), R.timeline(data)];
  }

  function affinity(data) {
    const source = data.source === 'events' ? 'From the event log, because the run left no trace: launches and copies between devices only.'
                 : data.cells.every((cell) => cell.allowed === 'unknown') ? 'From the trace; there is no contract to hold it to.' : 'From the trace, held to the scenario’s contract.';
    return [h('p', {class: 'about'}, source), R.affinityMatrix(data), h('h3', null, 'Copies'), R.copyEdges(data)];
  }

  function trend(name) {
    const all = R.data.details.trend, own = all && all.cases[name];
    const ran = own ? own.verdicts.filter(Boolean).length : 0;
    if (ran < 2) return null;
    const points = own.tokens_per_second.map((y, x) => ({x, y: R.number(y)})).filter((point) => Number.isFinite(point.y));
    const title = (i) => all.suites[i] ? all.suites[i].name : '';
    return [
      h('ol', {class: 'verdicts'}, all.suites.map((suite, i) => own.verdicts[i] ? h('li', {class: own.expected[i] ? 'ok' : 'bad', title: suite.name + ', ' + R.commit(suite.commit)}, own.verdicts[i]) : null)),
      points.length < 2 ? null : R.chart({name: 'tokens/s over past suites', x: 'suite, oldest first', y: 'tokens/s', small: true,
        sets: [{label: 'median tokens/s', colour: 'run', borderWidth: 1.75, pointRadius: 3, data: points}],
        xAxis: R.suiteAxis(all.suites), yAxis: {beginAtZero: true},
        tooltip: {title: (items) => title(items[0].parsed.x), label: (item) => R.rate(item.parsed.y)},
        values: () => [[{title: 'suite', head: true}, {title: 'commit', kind: 'mono'}, {title: 'verdict'}, {title: 'tokens/s', number: true}, {title: 'last loss', number: true}],
                       all.suites.map((suite, i) => [suite.name, R.commit(suite.commit), own.verdicts[i] || 'not run', R.digits(own.tokens_per_second[i], 5), R.digits(own.last_loss[i], 6)])]}),
      note(all),
    ];
  }

  const parts = [
    {key: 'ending', title: 'How it ended', draw: R.ending, optional: true},
    {key: 'curves', title: 'Loss and metrics', draw: curves},
    {key: 'gradients', title: 'Gradients', draw: gradients},
    {key: 'timeline', title: 'Timeline of the devices', draw: timeline},
    {key: 'attribution', title: 'Where the time went', draw: R.attribution},
    {key: 'affinity', title: 'Affinity', draw: affinity},
    {key: 'throughput', title: 'Throughput', draw: throughput},
    {key: 'environment', title: 'Environment', draw: R.environment},
  ];

  /** The section of one part; what is absent says why. */
  function partOf(part, details) {
    if (details[part.key]) return R.section(part.key, part.title, '', part.draw(details[part.key]));
    const why = details.notices[part.key];
    if (part.optional && !why) return null;
    return R.section(part.key, part.title, '', R.notice(why || 'Nothing was recorded for this.'));
  }

  function neighbours(result) {
    const names = R.data.suite.cases.map((each) => each.name), at = names.indexOf(result.name);
    const link = (name, text, rel) => name === undefined ? null : h('a', {href: R.caseHref(name), rel, title: name}, text);
    return h('nav', {class: 'neighbours', 'aria-label': 'Cases'}, h('a', {href: '#/'}, 'All cases'), link(names[at - 1], '← Previous', 'prev'), link(names[at + 1], 'Next →', 'next'));
  }

  /** Buttons that lead to the sections of a view. */
  R.contents = function (sections) {
    const go = (section) => { section.scrollIntoView(); section.focus({preventScroll: true}); };
    return h('nav', {class: 'contents', 'aria-label': 'Sections'}, sections.map((section) => R.button(section.querySelector('h2').textContent, () => go(section), {class: 'link'})));
  };

  R.caseView = function (result) {
    const details = R.data.details.cases[result.name], over = trend(result.name);
    const sections = [R.findings(result)].concat(details ? parts.map((part) => partOf(part, details)) : [],
                                                 over ? R.section('trend', 'Trend', '', over) : null).filter(Boolean);
    return [
      neighbours(result),
      h('header', {class: 'title'}, h('h1', null, result.name), h('p', {class: 'state'}, R.badge(result), ' ', R.expectation(result)), h('p', {class: 'about'}, result.description)),
      R.contents(sections), R.verdictFacts(result),
      details ? null : R.notice(R.data.details.notice || 'This page holds no details of this case.'), sections,
    ];
  };

  /** One run, or one trace, without a suite: what it holds, and of what it should hold why it does not. */
  R.runView = function ({name, about, details, result}) {
    const sections = [result ? R.findings(result) : null].concat(parts.filter((part) => details[part.key] || details.notices[part.key]).map((part) => partOf(part, details))).filter(Boolean);
    return [h('header', {class: 'title'}, h('h1', null, name), result ? h('p', {class: 'state'}, R.badge(result), ' ', R.expectation(result)) : null, about ? h('p', {class: 'about'}, about) : null),
            R.contents(sections), result ? R.verdictFacts(result) : null, sections];
  };
})(Redraft);
