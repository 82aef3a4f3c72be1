'use strict';
// A bench: which is faster and how sure that is, the pairs over time, what was left out, clocks.
(function (R) {
  const {h} = R;

  const percent = (ratio) => 100 * (ratio - 1);
  const signed = (value, digits) => (value < 0 ? '−' : '+') + Math.abs(value).toFixed(digits === undefined ? 2 : digits) + ' %';
  const ratioText = (ratio) => R.figures(ratio.ratio, 5) + ' [' + R.figures(ratio.low, 5) + ', ' + R.figures(ratio.high, 5) + ']';
  const kVerdicts = {FASTER: 'ok', SAME: 'ok', SLOWER: 'bad', AMBIGUOUS: ''};
  const kSeconds = {'seconds a token': [1e6, 'µs a token'], 'seconds a step': [1e3, 'ms a step']};

  const lastLook = (record) => record.looks[record.looks.length - 1];
  const unitOf = (record) => kSeconds[record.measure] || kSeconds['seconds a step'];
  const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

  function headline(record) {
    const look = lastLook(record);
    const words = {FASTER: 'B is faster than A', SLOWER: 'B is slower than A', SAME: 'B takes as long as A', AMBIGUOUS: 'It is not known which is faster'}[record.verdict];
    return h('header', {class: 'title'}, h('h1', {class: kVerdicts[record.verdict]}, record.verdict + ': ' + words),
      look && look.time ? h('p', {class: 'state'}, 'B takes ' + ratioText(look.time) + ' times as long as A (' + signed(percent(look.time.ratio)) + '), ' + record.measure + ', ' +
        R.digits(100 * record.options.confidence, 4) + ' % confidence, ' + R.plural(look.counted, 'pair') + ' of runs') : null,
      record.reason ? h('p', null, record.reason) : null,
      h('p', {class: 'about'}, [R.date(record.started), R.seconds(record.seconds), 'version ' + record.version, 'commit ' + record.commit].filter(Boolean).join(' · ')));
  }

  function sideText(side, values, record) {
    const [scale, unit] = unitOf(record);
    return [h('code', null, side.name), side.name === side.scenario ? null : ', ' + side.scenario, ', commit ' + R.commit(side.commit),
            values.length ? ': ' + R.figures(scale * geometricMean(values), 4) + ' ' + unit : null];
  }

  function facts(record, pairs) {
    const numbers = !record.a.numbers || !record.b.numbers ? 'not the same from run to run of one side' : record.a.numbers === record.b.numbers ? 'the same bit for bit on both sides' : 'A’s and B’s differ';
    const same = record.a.program === record.b.program && record.a.scenario === record.b.scenario;
    return R.facts([
      ['A', sideText(record.a, pairs.map((pair) => pair.a), record)], ['B', sideText(record.b, pairs.map((pair) => pair.b), record)],
      ['Note', same ? 'A and B are the same program and scenario: any difference is chance' : ''],
      ['Ended', record.end + (record.problem ? ': ' + record.problem : '')],
      ['Margin', 'a difference below ' + R.digits(100 * record.options.margin, 3) + ' % does not matter'],
      ['Numbers', pairs.length ? numbers : ''],
      ['Runs', record.options.turn ? 'both of a pair at once, by turns of ' + R.plural(record.options.turn, 'step') : 'of a pair one after the other'],
      ['Order', 'of A and B in each pair by a coin, seed ' + record.options.seed],
      ['Warm-up', R.plural(record.options.warmup, 'step') + ' of each run do not count'],
    ]);
  }

  /** Up to one digit: the end of an axis. */
  function rounded(value) {
    const unit = 10 ** Math.floor(Math.log10(value));
    return Math.ceil(value / unit) * unit;
  }

  /** Intervals above each other, with the margin as a band: what lies within it makes no difference. */
  function intervals(record) {
    const look = lastLook(record);
    const rows = [['time', look.time], ['GPU cycles', look.cycles], ['mean of steps', look.mean]].filter(([, ratio]) => ratio);
    const finite = rows.filter(([, ratio]) => Number.isFinite(R.number(ratio.high)));
    const margin = 100 * record.options.margin, reach = rounded(1.2 * Math.max(1.5 * margin, ...finite.flatMap(([, ratio]) => [ratio.low, ratio.high].map((each) => Math.abs(percent(each))))));
    const sets = rows.flatMap(([name, ratio], y) => [
      {label: name, colour: 'run', pointRadius: 5, order: 0, data: [{x: percent(ratio.ratio), y}]},
      {label: '', colour: 'run', type: 'line', borderWidth: 3, pointRadius: 0, pointHitRadius: 0, order: 1,
       data: [{x: Math.max(-reach, percent(R.number(ratio.low))), y}, {x: Math.min(reach, percent(R.number(ratio.high))), y}]}]);
    for (const x of [-margin, margin]) sets.push({label: '', colour: 'golden', type: 'line', borderWidth: 1.5, borderDash: [4, 4], pointRadius: 0, pointHitRadius: 0, order: 2, data: [{x, y: -0.6}, {x, y: rows.length - 0.4}]});
    return R.chart({
      type: 'scatter', name: 'How much longer B takes than A, with its interval; dashed: the margin of ±' + R.digits(margin, 3) + ' %', x: '% longer than A', y: '', sets, small: true, mode: 'nearest', legend: false,
      xAxis: {min: -reach, max: reach}, yAxis: {min: -0.6, max: rows.length - 0.4, reverse: true, grid: {display: false}, ticks: {stepSize: 1, callback: (value) => rows[value] ? rows[value][0] : ''}},
      tooltip: {label: (item) => item.dataset.label ? item.dataset.label + ': ' + signed(item.parsed.x) : ''},
      values: () => [[{title: 'by', head: true}, {title: 'B / A', number: true}, {title: 'from', number: true}, {title: 'to', number: true}],
                     rows.map(([name, ratio]) => [name, R.figures(ratio.ratio, 6), R.figures(ratio.low, 6), R.number(ratio.high) === Infinity ? '∞' : R.figures(ratio.high, 6)])],
    });
  }

  const minutes = (pair) => pair.start_seconds / 60;
  const difference = (pair) => percent(pair.ratio);

  function pairsTable(record, pairs) {
    const [scale, unit] = unitOf(record);
    return [[{title: 'pair', number: true, head: true}, {title: 'minute', number: true}, {title: 'order'}, {title: 'A, ' + unit, number: true}, {title: 'B, ' + unit, number: true}, {title: 'B longer by', number: true}, {title: 'log(B / A)', number: true}, {title: 'A, MHz', number: true}, {title: 'B, MHz', number: true}, {title: 'left out'}],
            pairs.map((pair, i) => [i + 1, minutes(pair).toFixed(2), pair.order, R.figures(scale * pair.a, 5), R.figures(scale * pair.b, 5), signed(difference(pair)), Math.log(pair.ratio).toFixed(5).replace('-', '−'), R.digits(pair.clock_a, 5), R.digits(pair.clock_b, 5), pair.excluded || ''])];
  }

  /** Each pair at its time: what drifts is seen; what order did it is told by the point's shape. */
  function pairsChart(record, pairs) {
    const set = (symbol, label, colour, pointStyle, chosen) => ({symbol, label, colour, pointStyle, showLine: false, pointRadius: 4.5, borderWidth: 2, data: chosen.map((pair) => ({x: minutes(pair), y: difference(pair)}))});
    const counted = pairs.filter((pair) => !pair.excluded), left = pairs.filter((pair) => pair.excluded);
    const sets = [set('●', 'A first', 'run', 'circle', counted.filter((pair) => pair.order === 'AB')), set('▲', 'B first', 'other', 'triangle', counted.filter((pair) => pair.order === 'BA')), set('✕', 'left out', 'out', 'crossRot', left)].filter((each) => each.data.length);
    return R.chart({name: 'How much longer B took than A in each pair, over the time of the bench', x: 'minutes since the bench began', y: '% longer than A', sets, mode: 'nearest',
      yAxis: {suggestedMin: -100 * record.options.margin, suggestedMax: 100 * record.options.margin},
      tooltip: {title: () => '', label: (item) => item.dataset.label + ': ' + signed(item.parsed.y) + ' at minute ' + item.parsed.x.toFixed(1)}, values: () => pairsTable(record, pairs)});
  }

  /** A and B over time, a block a point. */
  function sides(name, unit, pairs, of, digits) {
    const points = (side) => pairs.map((pair) => ({x: minutes(pair), y: R.number(of(pair, side))})).filter((point) => Number.isFinite(point.y));
    return R.chart({name, x: 'minutes since the bench began', y: unit, small: true,
      sets: [{label: 'A', colour: 'golden', borderWidth: 5, pointRadius: 0, order: 1, data: points('a')}, {label: 'B', colour: 'run', borderWidth: 1.75, pointRadius: 2, order: 0, data: points('b')}],
      tooltip: {title: (items) => 'minute ' + items[0].parsed.x.toFixed(1), label: (item) => item.dataset.label + ': ' + R.digits(item.parsed.y, digits) + ' ' + unit},
      values: () => [[{title: 'pair', number: true, head: true}, {title: 'A, ' + unit, number: true}, {title: 'B, ' + unit, number: true}], pairs.map((pair, i) => [i + 1, R.digits(of(pair, 'a'), digits), R.digits(of(pair, 'b'), digits)])]});
  }

  function leftOut(pairs) {
    const rows = pairs.map((pair, i) => [i + 1, minutes(pair).toFixed(1), pair.excluded || '']).filter((row) => row[2]);
    if (rows.length === 0) return R.notice('No pair was left out.');
    return [h('p', null, R.count(rows.length) + ' of ' + R.plural(pairs.length, 'pair') + ': they were run, and do not count.'),
            R.table('Pairs that were left out', [{title: 'pair', number: true, head: true}, {title: 'minute', number: true}, {title: 'why'}], rows)];
  }

  function clocks(record, pairs) {
    const known = pairs.filter((pair) => Number.isFinite(R.number(pair.clock_a)) && Number.isFinite(R.number(pair.clock_b)));
    if (known.length === 0) return R.notice('Not confirmed in cycles: ' + (record.clock === 'NVML' ? 'no block has a GPU clock.' : record.clock));
    return [known.length < pairs.length ? R.notice(R.plural(pairs.length - known.length, 'pair has', 'pairs have') + ' no clock: a difference cannot be confirmed in cycles.') : null,
            sides('Clock of the multiprocessors while steps ran, mean of each block', 'MHz', known, (pair, side) => pair['clock_' + side], 5)];
  }

  function looks(record) {
    return R.table('What each look came to, of ' + R.plural(record.planned, 'planned pair'),
      [{title: 'pairs', number: true, head: true}, {title: 'counted', number: true}, {title: 'error spent', number: true}, {title: 'B / A', number: true}, {title: 'verdict'}, {title: 'why'}],
      record.looks.map((look) => [look.pairs, look.counted, R.digits(100 * look.error, 2) + ' %', look.time ? ratioText(look.time) : '–', look.verdict, look.reason || '']));
  }

  function machine(record) {
    const rows = Object.entries(record.performance_class).concat([['program of A', record.a.program], ['program of B', record.b.program], ['runner of A', record.a.runner], ['runner of B', record.b.runner], ['record', record.folder + '/bench.json']]);
    return R.table('Machine and programs', [{title: 'what', head: true}, {title: 'value', kind: 'mono'}], rows.filter(([, value]) => value));
  }

  /** `bench`: record (redraft.bench/1 without its samples) and pairs. */
  R.benchView = function ({record, pairs}) {
    const none = R.notice('No pair of runs was completed.'), look = lastLook(record);
    const [scale, unit] = unitOf(record);
    const sections = [
      R.section('sure', 'How sure it is', '', look && look.time ? [intervals(record), looks(record)] : R.notice(record.end === 'running' ? 'The bench has not come to its first look.' : 'No look was taken.')),
      R.section('pairs', 'Pairs of runs', 'Of builds that do not differ, each pair is as likely above 0 as below.', pairs.length ? pairsChart(record, pairs) : none),
      R.section('left-out', 'Left out', '', pairs.length ? leftOut(pairs) : none),
      R.section('blocks', 'Times of the runs', 'The median of each run’s steps.', pairs.length ? sides('Time of each run of A and B, ' + unit, unit, pairs, (pair, side) => scale * pair[side], 5) : none),
      R.section('clocks', 'Clocks', '', pairs.length ? clocks(record, pairs) : none),
      R.section('machine', 'Machine', '', machine(record)),
    ];
    return [headline(record), record.end === 'running' ? R.notice('This bench was killed, or had not ended when the page was made.', 'bad') : null, R.contents(sections), facts(record, pairs), sections];
  };
})(Redraft);
