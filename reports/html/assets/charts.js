'use strict';
// Line and strip charts by Chart.js, each with a name for screen readers and its values as a table.
(function (R) {
  const live = [];

  /** Charts of the view before are given back. */
  R.forgetCharts = () => live.splice(0).forEach((chart) => chart.destroy());

  const seriesColour = {run: '--run', golden: '--golden', other: '--other', out: '--quiet', 'run-box': '--run-soft', 'golden-box': '--golden-soft'};

  function axis(title, extra) {
    const {ticks, grid, ...rest} = extra || {};
    return {
      title: {display: title !== '', text: title, color: R.style('--quiet'), font: {size: 12}},
      ticks: {color: R.style('--quiet'), font: {size: 12}, maxTicksLimit: 8, maxRotation: 0, ...ticks},
      grid: {color: R.style('--line'), borderColor: R.style('--line'), tickLength: 4, ...grid},
      ...rest,
    };
  }

  function options(spec) {
    return {
      animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
      interaction: {mode: spec.mode || 'index', intersect: false, axis: 'x'},
      scales: {
        x: axis(spec.x, {type: 'linear', ...spec.xAxis}),
        y: axis(spec.y, spec.yAxis),
      },
      plugins: {
        legend: {display: false},
        tooltip: {
          displayColors: true, backgroundColor: R.style('--text'), titleColor: R.style('--surface'), bodyColor: R.style('--surface'),
          callbacks: spec.tooltip,
        },
      },
    };
  }

  /** Applies the theme's colours to a dataset that names its role in `colour`. */
  function painted(set) {
    const colour = R.style(seriesColour[set.colour] || '--run');
    return Object.assign({borderColor: colour, backgroundColor: colour, pointHoverRadius: 4}, set);
  }

  /** A legend in the page's own text, so that it can be read and selected. */
  function legend(sets) {
    return R.h('ul', {class: 'legend'}, sets.map((set) => R.h('li', null, R.h('span', set.symbol ? {'aria-hidden': 'true'} : {class: 'key ' + set.colour, 'aria-hidden': 'true'}, set.symbol ? set.symbol + ' ' : ''), set.label)));
  }

  /**
   * spec: name (of the drawing, in words), x and y (axis titles), sets ([{label, colour, data: [{x, y}]}]), type,
   * xAxis, yAxis, tooltip, values (() => [columns, rows]).
   */
  R.chart = function (spec) {
    const canvas = R.h('canvas', {role: 'img', 'aria-label': spec.name});
    let chart = null;
    const draw = () => {
      if (chart) live.splice(live.indexOf(chart), 1), chart.destroy();
      chart = new Chart(canvas, {type: spec.type || 'line', data: {datasets: spec.sets.map(painted)}, options: options(spec)});
      live.push(chart);
    };
    R.redraws.push(draw);
    R.later(draw);
    return R.h('figure', {class: 'chart'}, spec.legend !== false && spec.sets.length > 1 ? legend(spec.sets) : null,
               R.h('div', {class: 'plot' + (spec.small ? ' small' : '')}, canvas), R.values(spec.name, spec.values));
  };

  /** An axis of suites, by place in their list, named by commit. */
  R.suiteAxis = (suites) => ({ticks: {stepSize: 1, callback: (at) => suites[at] ? suites[at].commit.slice(0, 7) : ''}});

  /** A value at each step, of a run and its golden: the golden's line is broad and lies below. */
  R.curve = function (name, metric, steps, run, golden) {
    const points = (values) => steps.map((step, i) => ({x: step, y: R.number(values[i])}));
    const radius = steps.length > 60 ? 0 : 2;
    const sets = [{label: 'this run', colour: 'run', data: points(run), borderWidth: 1.75, pointRadius: radius, order: 0}];
    if (golden) sets.push({label: 'golden', colour: 'golden', data: points(golden), borderWidth: 6, pointRadius: 0, order: 1});
    return R.chart({
      name, x: 'step', y: metric, sets, xAxis: {ticks: {precision: 0, maxTicksLimit: 12}},
      tooltip: {title: (items) => 'step ' + items[0].parsed.x, label: (item) => item.dataset.label + ': ' + R.digits(item.parsed.y, 7)},
      values: () => [
        [{title: 'step', number: true, head: true}, {title: 'this run', number: true}].concat(golden ? [{title: 'golden', number: true}, {title: 'difference', number: true}] : []),
        steps.map((step, i) => [step, R.digits(run[i], 9)].concat(golden ? [R.digits(golden[i], 9), R.digits(R.number(run[i]) - R.number(golden[i]), 3)] : [])),
      ],
    });
  };

  /** Spread over a band, so that equal samples do not hide each other; the same each time. */
  const jitter = (i) => ((i * 0.618034) % 1 - 0.5) * 0.5;

  /** Samples as dots, one row a set, with a bar from the first to the third quartile and a tick at the median. */
  R.strips = function (name, unit, rows) {
    const kept = rows.filter((row) => row.values.length > 0);
    const sets = kept.map((row, r) => ({
      label: row.label, colour: row.colour, pointRadius: 2.5, order: 1,
      data: row.values.map((value, i) => ({x: value, y: r + jitter(i)})),
    }));
    kept.forEach((row, r) => {
      const sorted = R.sorted(row.values), box = [0.25, 0.75].map((share) => ({x: R.quantile(sorted, share), y: r}));
      sets.push({label: '', colour: row.colour + '-box', type: 'line', showLine: true, data: box, borderWidth: 18, pointRadius: 0, order: 2, pointHitRadius: 0});
      sets.push({label: '', colour: 'median', type: 'scatter', data: [{x: R.quantile(sorted, 0.5), y: r}], pointStyle: 'line', rotation: 90,
                 pointRadius: 11, borderWidth: 2.5, borderColor: R.style('--text'), order: 0, pointHitRadius: 0});
    });
    return R.chart({
      type: 'scatter', name, x: unit, y: '', sets, small: true, mode: 'nearest', legend: false,
      yAxis: {min: -0.6, max: kept.length - 0.4, reverse: true, grid: {display: false}, ticks: {
        stepSize: 1, callback: (value) => kept[value] ? kept[value].label : ''}},
      tooltip: {label: (item) => item.dataset.label ? item.dataset.label + ': ' + R.digits(item.parsed.x, 6) + ' ' + unit : ''},
      values: () => [
        [{title: 'sample', number: true, head: true}].concat(kept.map((row) => ({title: row.label, number: true}))),
        Array.from({length: Math.max(0, ...kept.map((row) => row.values.length))},
                   (_, i) => [i].concat(kept.map((row) => i < row.values.length ? R.digits(row.values[i], 6) : ''))),
      ],
    });
  };
})(Redraft);
