'use strict';
// What a case says in words: verdict, findings, how it ended, environment.
(function (R) {
  const {h} = R;

  R.badge = function (result) {
    const kind = result.shown.mark === 'ok' ? 'ok' : result.shown.mark === 'known' ? 'known' : 'bad';
    return h('span', {class: 'badge ' + kind}, result.verdict);
  };

  R.expectation = function (result) {
    if (result.as_expected) return 'as expected';
    const wanted = result.expected.verdict + (result.expected.finding ? ' ' + result.expected.finding : '');
    return 'expected ' + wanted + (result.shown.mark === 'known' ? ', a known failure' : '');
  };

  /** A command with a button that copies it. */
  R.command = function (text) {
    const says = h('span', {class: 'copied', role: 'status'});
    const copy = () => navigator.clipboard.writeText(text).then(() => says.textContent = 'copied', () => says.textContent = 'select the text to copy it');
    return h('span', {class: 'command'}, h('code', null, text), navigator.clipboard ? R.button('Copy', copy, {'aria-label': 'Copy the command'}) : null, says);
  };

  R.facts = function (rows) {
    return h('dl', {class: 'facts'}, rows.filter(([, value]) => value !== '' && value !== null && value !== undefined)
                                         .map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
  };

  const block = (lines) => h('pre', {tabindex: '0'}, lines.join('\n'));
  const folded = (title, content, open) => h('details', {open: Boolean(open)}, h('summary', null, title), content);

  function ruledOut(finding) {
    if (finding.ruled_out.length === 0) return null;
    return [h('h4', null, 'Ruled out'), h('ul', {class: 'ruled'}, finding.ruled_out.map((other) => h('li', null, h('code', null, other.id), h('span', null, other.because))))];
  }

  function proofs(finding) {
    if (!finding.proofs || finding.proofs.length === 0) return null;
    return R.table('Records of the trace that prove it', [{title: 'check', head: true}, {title: 'what is wrong'}, {title: 'record', kind: 'mono'}],
                   finding.proofs.map((proof) => [proof.check, proof.message, proof.record]));
  }

  function finding(each, first) {
    const place = R.place(each), details = each.details || [];
    return h('article', {class: 'finding' + (first ? ' cause' : '')},
      h('p', {class: 'kicker'}, first ? 'Cause' : 'Also'), h('h3', null, each.title), h('p', {class: 'where'}, h('code', null, each.id), place ? ' · ' + place : ''),
      details.length === 0 ? null : details.length <= 6 ? block(details) : folded('Details, ' + R.plural(details.length, 'line'), block(details), first),
      proofs(each), ruledOut(each),
      each.evidence.length ? h('p', {class: 'about'}, 'Evidence: events ' + each.evidence.slice(0, 8).join(', ') +
        (each.evidence.length > 8 ? ' and ' + (each.evidence.length - 8) + ' more' : '') + ' of events.jsonl') : null);
  }

  R.findings = function (result) {
    if (result.findings.length === 0) return null;
    return R.section('findings', 'Findings', '', result.findings.map((each, i) => finding(each, i === 0)));
  };

  function auditTable(audit) {
    const rows = audit.found.map((text) => ({kind: 'wrong', cells: ['✕ found', text]}))
                            .concat(audit.clean.length ? [['clean', audit.clean.join(', ')]] : [])
                            .concat(audit.not_computable.map((each) => ['not computable', each.id + ' ' + each.name + ': ' + each.reason]));
    return folded('Audit: ' + audit.outcome, R.table('Checks of the trace', [{title: 'state', head: true}, {title: 'checks'}], rows));
  }

  R.verdictFacts = function (result) {
    const figures = result.figures, known = result.known_failures || [];
    return [
      R.facts([
        ['Replay', result.replay ? R.command(result.replay) : ''],
        ['Reason', result.reason], ['Golden', result.golden], ['Ended', result.ended],
        ['Steps', figures.steps ? R.count(figures.steps) + (figures.seconds ? ' in ' + R.seconds(figures.seconds) : '') : ''],
        ['Pace', result.shown.pace],
        ['Accepted', figures.accept_length === undefined ? '' : R.digits(figures.accept_length, 4) + ' tokens a draft'],
        ['Stable id', (result.issues || []).map((issue) => h('div', null, h('code', null, issue.fingerprint), ' ' + issue.id))],
        ['Known', known.map((entry) => h('div', null, entry.reason + ' (' + entry.owner + ', until ' + entry.expires + ')'))],
        ['Run', result.run_folder ? h('code', null, result.run_folder) : ''],
      ].filter(([, value]) => !Array.isArray(value) || value.length > 0)),
      result.audit ? auditTable(result.audit) : null,
    ];
  };

  function endingRow(role, longest) {
    const at = role.point ? role.point + (role.object >= 0 ? ' ' + role.object : '') : 'no progress mark';
    const bar = h('span', {class: 'silence', 'aria-hidden': 'true'});
    bar.style.width = Math.max(1, 60 * role.silent_seconds / longest) + 'px';
    return {
      kind: role.ended ? '' : role.waits ? '' : 'wrong',
      cells: [(role.rank > 0 ? 'rank ' + role.rank + ', ' : '') + role.role, R.device(role.device),
              role.ended ? 'ended by itself' : role.waits ? 'waits for others in ' + at : 'last seen at ' + at,
              role.step >= 0 ? role.step : '–', role.phase || '–', [bar, R.seconds(role.silent_seconds)]],
    };
  }

  function failure(each) {
    return h('article', {class: 'finding'}, h('h3', null, each.what), R.facts([
      ['Where', (each.rank > 0 ? 'rank ' + each.rank + ', ' : '') + R.place(each)], ['Blames', each.blames >= 0 ? 'rank ' + each.blames : ''], ['Thrown as', each.exception ? h('code', null, each.exception) : ''],
      ['Call', each.call ? h('code', null, each.call + (each.status ? ': ' + each.status : '')) : ''],
      ['Last launch', each.launch], ['Tensors', (each.tensors || []).length ? (each.tensors || []).map((tensor) => h('div', null, h('code', null, tensor))) : '']]),
      each.frames && each.frames.length ? folded('Stack, innermost first', block(each.frames), true) : null);
  }

  R.ending = function (ending) {
    const longest = Math.max(1e-9, ...ending.roles.map((role) => role.silent_seconds));
    return [
      (ending.failures || []).map(failure),
      ending.roles.length ? R.table('Where each role was last seen',
        [{title: 'role', head: true}, {title: 'device'}, {title: 'state'}, {title: 'step', number: true}, {title: 'phase'}, {title: 'silent for', number: true}],
        ending.roles.map((role) => endingRow(role, longest))) : null,
      (ending.stacks || []).map((stack) => folded((stack.fatal ? 'Stack of the crash, ' : 'Stack of ') + (stack.rank > 0 ? 'rank ' + stack.rank + ', ' : '') + stack.thread,
                                                  block(stack.frames), stack.fatal)),
      ending.log && ending.log.length ? folded('Last lines of the log', block(ending.log)) : null,
    ];
  };

  R.environment = function (environment) {
    const differs = (row) => row.golden !== undefined && row.golden !== row.run;
    const changed = environment.rows.filter(differs).length;
    const columns = [{title: 'what', head: true}, {title: 'this run', kind: 'mono'}, {title: 'golden', kind: 'mono'}, {title: 'state'}];
    const rows = (all) => environment.rows.filter((row) => all || differs(row)).map((row) => ({
      kind: differs(row) ? 'wrong' : '', cells: [row.group + ': ' + row.key, row.run || '–', row.golden === undefined ? 'not recorded' : row.golden || '–', differs(row) ? '✕ differs' : ''],
    }));
    const text = !environment.golden ? 'There is no golden to compare with.'
               : changed === 0 ? 'Nothing recorded differs from the golden’s environment.' : R.plural(changed, 'value differs', 'values differ') + ' from the golden’s environment.';
    return [h('p', null, text), environment.golden ? h('p', {class: 'about'}, environment.golden) : null,
            changed > 0 ? R.table('Differences from the golden’s environment', columns, rows(false)) : null,
            folded('All ' + environment.rows.length + ' recorded values', R.table('Environment of this run and of its golden', columns, rows(true)))];
  };
})(Redraft);
