'use strict';
// Parameter × step on a canvas: colour by logarithm, a cell under the pointer or the cursor keys is said in words.
(function (R) {
  const kRow = 16, kTop = 22, kNames = 300, kGap = 1;

  /** The smallest and largest finite value above 0; null: there is none. */
  function range(rows) {
    let low = Infinity, high = 0;
    for (const row of rows)
      for (const value of row)
        if (value > 0 && Number.isFinite(value)) low = Math.min(low, value), high = Math.max(high, value);
    return high > 0 ? [low, high] : null;
  }

  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  /** Colours of `steps` + 1 shares between 0 and 1, from the style's low to its high end (#rrggbb both). */
  function palette(steps) {
    const low = channels(R.style('--heat-low')), high = channels(R.style('--heat-high'));
    return Array.from({length: steps + 1}, (_, i) =>
      'rgb(' + low.map((value, c) => Math.round(value + (high[c] - value) * i / steps)).join(', ') + ')');
  }

  class Heatmap {
    constructor(map, unit) {
      this.map = map;
      this.unit = unit;
      this.rows = map.rows.map((row) => row.map(R.number));
      this.range = range(this.rows);
      this.at = {row: 0, column: 0};
      const height = kTop + map.parameters.length * kRow;
      this.canvas = R.h('canvas', {class: 'heat', tabindex: '0', role: 'application', 'aria-roledescription': 'gradient map', 'aria-label': this.name() + '. Arrow keys move.'});
      this.canvas.style.height = height + 'px';
      this.height = height;
      this.says = R.h('p', {class: 'says', 'aria-live': 'polite'}, 'Point at a cell, or move with the arrow keys.');
      this.canvas.addEventListener('mousemove', (event) => this.point(event));
      this.canvas.addEventListener('keydown', (event) => this.key(event));
    }

    name() {
      const {parameters, steps} = this.map;
      const span = this.range ? ', from ' + R.digits(this.range[0], 3) + ' to ' + R.digits(this.range[1], 3) : ', all 0';
      return this.unit + ' of ' + R.plural(parameters.length, 'parameter') + ' over ' + R.plural(steps.length, 'step') + span;
    }

    share(value) {
      if (!Number.isFinite(value)) return 1;
      if (!this.range || value <= 0) return 0;
      const [low, high] = this.range;
      return high > low ? 0.12 + 0.88 * Math.log(value / low) / Math.log(high / low) : 1;
    }

    layout() {
      const names = Math.min(kNames, this.canvas.clientWidth * 0.4);
      return {names, cell: (this.canvas.clientWidth - names) / Math.max(1, this.map.steps.length)};
    }

    draw() {
      const width = this.canvas.clientWidth, {names, cell} = this.layout(), colours = palette(32);
      const context = R.canvasContext(this.canvas, width, this.height);
      context.font = '12px ' + R.style('--mono');
      context.textBaseline = 'middle';
      context.fillStyle = R.style('--quiet');
      const every = Math.ceil(48 / cell);
      this.map.steps.forEach((step, i) => { if (i % every === 0) context.fillText(step, names + i * cell, kTop / 2); });
      this.rows.forEach((row, r) => {
        const y = kTop + r * kRow;
        context.fillStyle = R.style('--text');
        context.fillText(R.shortened(context, this.map.parameters[r], names - 10), 0, y + kRow / 2);
        row.forEach((value, c) => {
          context.fillStyle = Number.isNaN(value) ? R.style('--line') : colours[Math.round(32 * this.share(value))];
          context.fillRect(names + c * cell, y, Math.max(1, cell - kGap), kRow - kGap);
        });
      });
      context.strokeStyle = R.style('--text');
      context.lineWidth = 1.5;
      if (document.activeElement === this.canvas)
        context.strokeRect(names + this.at.column * cell, kTop + this.at.row * kRow, Math.max(2, cell - kGap), kRow - kGap);
    }

    say() {
      const {row, column} = this.at, value = this.rows[row][column];
      this.says.textContent = this.map.parameters[row] + ', step ' + this.map.steps[column] + ': ' + R.digits(value, 4);
    }

    point(event) {
      const {names, cell} = this.layout();
      const row = Math.floor((event.offsetY - kTop) / kRow), column = Math.floor((event.offsetX - names) / cell);
      if (row < 0 || column < 0 || row >= this.rows.length || column >= this.map.steps.length) return;
      this.at = {row, column};
      this.say();
    }

    key(event) {
      const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
      if (!move) return;
      event.preventDefault();
      this.at.row = Math.min(this.rows.length - 1, Math.max(0, this.at.row + move[0]));
      this.at.column = Math.min(this.map.steps.length - 1, Math.max(0, this.at.column + move[1]));
      this.draw();
      this.say();
    }

    scale() {
      if (!this.range) return R.h('p', {class: 'scale'}, 'Every value is 0.');
      const bar = R.h('span', {class: 'heat-bar', 'aria-hidden': 'true'});
      return R.h('p', {class: 'scale'}, R.digits(this.range[0], 3), bar, R.digits(this.range[1], 3), ' (logarithmic)');
    }
  }

  /** `map`: GradientMap. */
  R.heatmap = function (map) {
    const unit = map.distances ? 'distance from the golden, ‖Δ‖ / ‖golden‖' : 'L2 norm of the gradient';
    const heatmap = new Heatmap(map, unit);
    const draw = () => heatmap.draw();
    R.redraws.push(draw);
    R.later(draw);
    for (const name of ['focus', 'blur']) heatmap.canvas.addEventListener(name, draw);
    const values = R.values(heatmap.name(), () => [
      [{title: 'parameter', head: true}].concat(map.steps.map((step) => ({title: 'step ' + step, number: true}))),
      map.parameters.map((name, r) => [name].concat(map.rows[r].map((value) => R.digits(value, 3)))),
    ]);
    return R.h('figure', {class: 'chart'}, heatmap.scale(), heatmap.canvas, heatmap.says, values);
  };
})(Redraft);
