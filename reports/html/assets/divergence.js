'use strict';
// Where two runs part: the step, the operation with what it took and made on both sides, and what that rests on.
(function (R) {
  const {h} = R;

  const kStages = {
    forward: 'The loss differs: data, parameters before it, or forward.',
    update: 'Loss and gradients are equal, parameters are not: the optimiser.',
    evaluation: 'All steps are equal, the evaluation behind them is not; its operations are not recorded.',
  };
  const kVerdicts = {operation: 'its inputs are equal bit for bit, its result is not', scalars: 'its tensors are equal, another argument is not', inputs: 'it differs before any recorded operation made it so',
                     'other-operations': 'the two runs call other operations here', equal: 'the difference did not come back'};

  const opOf = (report) => report.of_a || report.of_b;
  const nameOf = (op) => op.op + (op.direction ? ', ' + op.direction : '') + (op.of ? ' of ' + op.of : '');

  function headline(report) {
    const op = opOf(report);
    const title = report.same ? 'No divergence' : report.incomparable ? 'Not comparable' : op ? 'The runs part in step ' + op.step : 'The runs differ from step ' + report.step + ' on';
    return h('header', {class: 'title'}, h('h1', {class: report.same ? 'ok' : report.incomparable ? '' : 'bad'}, title),
      report.same ? h('p', {class: 'state'}, 'Both are equal bit for bit.') : report.incomparable ? h('p', {class: 'state'}, report.incomparable) : null,
      op ? h('p', {class: 'state'}, [op.role, op.module, nameOf(op)].filter(Boolean).join(' · ')) : null);
  }

  /** Inputs and results of the operation, beside each other. */
  function tensors(report) {
    const {of_a: a, of_b: b} = report;
    if (!a || !b || report.verdict === 'other-operations') return null;
    const rows = [['in', 'inputs'], ['out', 'outputs']].flatMap(([key, differing]) => a[key].slice(0, b[key].length).map((mark, i) => {
      const other = b[key][i], differs = (report[differing] || []).includes(i);
      const type = mark.type === other.type ? mark.type : mark.type + ' / ' + other.type;
      return {kind: differs ? 'wrong' : '', cells: [(key === 'in' ? 'input ' : 'result ') + i, type, mark.digest || 'as it was made', other.digest || 'as it was made', differs ? '✕ differs' : 'equal']};
    }));
    return R.table('What the operation took and made', [{title: 'tensor', head: true}, {title: 'type', kind: 'mono'}, {title: 'digest of A', kind: 'mono'}, {title: 'digest of B', kind: 'mono'}, {title: 'state'}], rows);
  }

  /** Why operations were not compared. */
  function withoutOperations(report) {
    const problems = [['A', report.a], ['B', report.b]].filter(([, side]) => side.problem).map(([name, side]) => R.notice(name + '’s operations are not known: ' + side.problem));
    return problems.length ? problems : R.notice(report.same ? 'No operation differs: nothing does.' : report.incomparable ? 'Runs that cannot be compared have no first operation.' : 'Operations were not compared.');
  }

  function operation(report) {
    const op = opOf(report);
    if (!op) return report.verdict ? [h('p', null, 'No operation differs: ' + kVerdicts[report.verdict] + '.'), counts(report)] : withoutOperations(report);
    const one = report.of_a && report.of_b ? '' : 'only ' + (report.of_a ? 'A' : 'B') + ' calls it';
    return [
      R.facts([['Verdict', report.verdict + ': ' + kVerdicts[report.verdict]], ['Step', String(op.step)], ['Role', op.role], ['Module', op.module ? h('code', null, op.module) : 'none that is known'],
               ['Operation', h('code', null, op.op)], ['Direction', op.direction || ''], ['Backward of', op.of ? h('code', null, op.of) : ''], ['Phase', op.phase], ['Place', op.lane + ' ' + op.index + ' of its step'],
               ['Sides', one], ['Arguments', report.verdict === 'scalars' ? h('code', null, report.of_a.scalars + ' against ' + report.of_b.scalars) : '']]),
      tensors(report), counts(report),
    ];
  }

  const counts = (report) => h('p', {class: 'about'}, R.plural(report.compared, 'operation') + ' of steps ' + report.recorded.join(' to ') + ' compared, ' + R.count(report.differing) + (report.differing === 1 ? ' differs' : ' differ') +
                               (report.unmatched ? ', ' + R.count(report.unmatched) + ' on one side alone' : '') + '.');

  function stored(report) {
    if (report.step === undefined) return R.notice(report.same ? 'Every stored value is equal.' : 'Nothing was compared.');
    const backward = 'The loss is equal, gradients are not: backward, or their exchange.';
    return [h('p', null, 'First step that differs: ' + report.step + '. ' + (kStages[report.stage] || backward)),
            report.parameter ? h('p', null, 'Furthest off: the gradient of ', h('code', null, report.parameter)) : null];
  }

  function others(report) {
    if (!report.others) return R.notice('No further operation has equal inputs and another result.');
    return R.table('Further operations with equal inputs and another result', [{title: 'step', number: true, head: true}, {title: 'role'}, {title: 'module', kind: 'mono'}, {title: 'operation', kind: 'mono'}],
                   report.others.map((other) => [other.step, other.role, other.module, other.op]));
  }

  function sides(report) {
    const rows = [['A', report.a], ['B', report.b]].map(([name, side]) => ({
      kind: side.unlike_at === undefined ? '' : 'wrong',
      cells: [name, side.kind, side.path, side.commit ? R.commit(side.commit) : '–', side.again || 'none', side.unlike_at === undefined ? side.again ? 'has the same numbers' : '–' : '✕ other numbers from step ' + side.unlike_at + ' on'],
    }));
    return R.table('The two sides, and their further runs: ' + report.further_runs, [{title: 'side', head: true}, {title: 'kind'}, {title: 'path', kind: 'mono'}, {title: 'commit', kind: 'mono'}, {title: 'run again', kind: 'mono'}, {title: 'run again, it'}], rows);
  }

  /** `report`: redraft.divergence/1. */
  R.divergenceView = function (report) {
    const sections = [
      R.section('operation', 'First operation', '', operation(report)), R.section('stored', 'From what they stored', '', stored(report)),
      R.section('others', 'Elsewhere', '', others(report)), R.section('sides', 'What was compared', '', sides(report)),
      R.section('words', 'In words', '', h('pre', {tabindex: '0'}, report.text.join('\n'))),
    ];
    return [headline(report), R.contents(sections), sections];
  };
})(Redraft);
