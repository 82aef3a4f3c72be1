'use strict';
// The device timeline: a lane a stream, steps as bands, violations as marks. Zoom and pan by pointer, buttons or keys.
(function (R) {
  const kLane = 18, kDeviceGap = 10, kTop = 24, kShortest = 50;  // px, px, px, ns
  const kNames = () => window.innerWidth < 700 ? 110 : 216;

  class TimelineView {
    constructor(data) {
      const start = performance.now();
      this.timeline = R.decodeTimeline(data);
      this.decodeMs = performance.now() - start;
      this.shown = R.barKinds.map(() => true);
      this.lane = 0;
      this.mark = -1;
      this.window = {begin: 0, end: this.timeline.length};
      this.placeLanes();
      this.build();
    }

    /** y of each lane: devices stand apart. */
    placeLanes() {
      let y = kTop;
      this.tops = this.timeline.lanes.map((lane, i, lanes) => {
        if (i > 0 && (lanes[i - 1].device !== lane.device || lanes[i - 1].rank !== lane.rank)) y += kDeviceGap;
        y += kLane;
        return y - kLane;
      });
      this.height = y + 4;
    }

    build() {
      const {data} = this.timeline;
      this.canvas = R.h('canvas', {class: 'timeline', tabindex: '0', role: 'application', 'aria-roledescription': 'timeline',
        'aria-label': 'Timeline of ' + R.plural(this.timeline.lanes.length, 'lane') + ' over ' + R.nanos(this.timeline.length) + ', ' +
          R.plural(data.records, 'record') + ', ' + R.plural(data.marks.length, 'violation') + ' marked. ' +
          'Left and right move, plus and minus zoom, 0 shows all, up and down choose a lane, n and p go from one violation to the next.'});
      this.canvas.style.height = this.height + 'px';
      this.says = R.h('p', {class: 'says', 'aria-live': 'polite'}, 'Point at a bar. Drag to move, Ctrl and wheel to zoom.');
      this.drawn = R.h('span', {class: 'drawn'});
      this.listen();
    }

    listen() {
      const canvas = this.canvas;
      canvas.addEventListener('wheel', (event) => {
        if (!event.ctrlKey && !event.metaKey) return;  // a plain wheel scrolls the page
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1 / 1.3 : 1.3, this.timeAt(event.offsetX));
      }, {passive: false});
      canvas.addEventListener('pointerdown', (event) => {
        canvas.setPointerCapture(event.pointerId);
        this.drag = {x: event.offsetX, window: this.window};
      });
      canvas.addEventListener('pointerup', () => this.drag = null);
      canvas.addEventListener('pointermove', (event) => this.drag ? this.dragTo(event.offsetX) : this.point(event));
      canvas.addEventListener('dblclick', (event) => this.zoom(1 / 3, this.timeAt(event.offsetX)));
      canvas.addEventListener('keydown', (event) => this.key(event));
      for (const name of ['focus', 'blur']) canvas.addEventListener(name, () => this.draw());
    }

    span() { return this.window.end - this.window.begin; }
    plotWidth() { return Math.max(1, Math.floor(this.canvas.clientWidth - kNames())); }
    timeAt(x) { return this.window.begin + (x - kNames()) / this.plotWidth() * this.span(); }
    xAt(time) { return kNames() + (time - this.window.begin) / this.span() * this.plotWidth(); }

    show(begin, end) {
      const length = this.timeline.length, span = Math.min(length, Math.max(kShortest, end - begin));
      const from = Math.min(Math.max(0, begin), length - span);
      this.window = {begin: from, end: from + span};
      this.draw();
    }
    zoom(factor, around) {
      const {begin, end} = this.window;
      this.show(around - (around - begin) * factor, around + (end - around) * factor);
    }
    pan(share) { this.show(this.window.begin + share * this.span(), this.window.end + share * this.span()); }
    dragTo(x) {
      const by = (this.drag.x - x) / this.plotWidth() * (this.drag.window.end - this.drag.window.begin);
      this.show(this.drag.window.begin + by, this.drag.window.end + by);
    }

    draw() {
      const start = performance.now(), width = this.plotWidth(), names = kNames();
      const context = R.canvasContext(this.canvas, this.canvas.clientWidth, this.height);
      context.textBaseline = 'middle';
      context.font = '12px ' + R.style('--sans');
      this.drawSteps(context, names, width);
      const colours = R.barKinds.map((kind) => R.style('--bar-' + kind.replace(' ', '-')));
      let seen = 0;
      this.timeline.lanes.forEach((lane, i) => {
        const y = this.tops[i];
        this.drawName(context, lane, i, names);
        context.fillStyle = R.style('--lane');
        context.fillRect(names, y + 1, width, kLane - 3);
        seen += R.paintLane(lane, this.window.begin, this.window.end, width, this.shown, (kind, x, wide, opacity) => {
          context.globalAlpha = opacity;
          context.fillStyle = colours[kind];
          context.fillRect(names + x, y + 2, wide, kLane - 5);
        });
        context.globalAlpha = 1;
      });
      this.drawMarks(context, names);
      this.lastDrawMs = performance.now() - start;
      this.drawn.textContent = R.count(seen) + ' bars drawn in ' + this.lastDrawMs.toFixed(1) + ' ms';
    }

    drawSteps(context, names, width) {
      let free = -Infinity;
      this.timeline.data.steps.forEach((span, i) => {
        if (span.end < this.window.begin || span.begin > this.window.end) return;
        const left = Math.max(names, this.xAt(span.begin)), right = Math.min(names + width, this.xAt(span.end));
        if (i % 2 === 0) {
          context.fillStyle = R.style('--band');
          context.fillRect(left, kTop - 4, right - left, this.height - kTop + 4);
        }
        if (left < free) return;
        const text = 'step ' + span.step;
        context.fillStyle = R.style('--quiet');
        context.fillText(text, left + 3, kTop / 2 - 2);
        free = left + context.measureText(text).width + 16;
      });
    }

    drawName(context, lane, i, names) {
      const active = document.activeElement === this.canvas && i === this.lane;
      context.fillStyle = active ? R.style('--accent') : R.style('--text');
      context.fillText(R.shortened(context, (active ? '▸ ' : '') + (lane.rank > 0 ? 'rank ' + lane.rank + ', ' : '') + lane.name, names - 8), 0, this.tops[i] + kLane / 2);
    }

    /** A mark is a triangle above a line through its lane: it is told by its shape, not by colour alone. */
    drawMarks(context, names) {
      context.fillStyle = context.strokeStyle = R.style('--bad');
      this.timeline.marks.forEach((mark, i) => {
        if (mark.at < this.window.begin || mark.at > this.window.end) return;
        const x = Math.max(names, this.xAt(mark.at)), y = this.tops[mark.lane];
        const size = i === this.mark ? 8 : 5;
        context.lineWidth = i === this.mark ? 2.5 : 1.5;
        context.beginPath();
        context.moveTo(x, y + kLane - 2);
        context.lineTo(x, y);
        context.stroke();
        context.beginPath();
        context.moveTo(x - size, y - size);
        context.lineTo(x + size, y - size);
        context.lineTo(x, y + 2);
        context.fill();
      });
    }

    point(event) {
      const lane = this.tops.findIndex((top) => event.offsetY >= top && event.offsetY < top + kLane);
      if (lane < 0 || event.offsetX < kNames()) return;
      const time = this.timeAt(event.offsetX), slack = 4 * this.span() / this.plotWidth();
      const mark = this.timeline.marks.find((each) => each.lane === lane && Math.abs(each.at - time) <= slack);
      this.say(mark ? this.markText(mark) : this.barText(lane, time, slack));
    }

    say(text) { this.says.textContent = text; }
    markText(mark) { return mark.check + ': ' + mark.message + ' (' + R.place(mark) + ') at ' + R.nanos(mark.at); }
    barText(index, time, slack) {
      const lane = this.timeline.lanes[index], i = lane.near(time, slack);
      if (i < 0) return lane.name + ': nothing at ' + R.nanos(time);
      const label = this.timeline.label(lane, i), count = lane.countOf(i);
      const place = R.place({role: label.role, step: lane.step[i], phase: label.phase});
      return lane.name + ': ' + (count > 1 ? R.count(count) + ' × ' : '') + label.name + ' (' + label.kind + ')' +
             (place ? ', ' + place : '') + ', at ' + R.nanos(lane.start[i]) + ' for ' + R.nanos(lane.end[i] - lane.start[i]);
    }

    key(event) {
      const act = {
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
        '+': () => this.zoom(1 / 1.6, this.middle()), '=': () => this.zoom(1 / 1.6, this.middle()), '-': () => this.zoom(1.6, this.middle()),
        '0': () => this.show(0, this.timeline.length),
        ArrowUp: () => this.choose(-1), ArrowDown: () => this.choose(1),
        n: () => this.nextMark(1), p: () => this.nextMark(-1),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    }

    middle() { return (this.window.begin + this.window.end) / 2; }
    choose(by) {
      this.lane = Math.min(this.timeline.lanes.length - 1, Math.max(0, this.lane + by));
      this.draw();
      this.say(this.barText(this.lane, this.middle(), this.span() / 2));
    }
    nextMark(by) {
      const {marks} = this.timeline;
      if (marks.length === 0) return this.say('No violation is marked.');
      this.goTo((this.mark + by + marks.length) % marks.length);
    }
    goTo(index) {
      const mark = this.timeline.marks[index], span = Math.min(this.span(), this.timeline.length / 20);
      this.mark = index;
      this.lane = mark.lane;
      this.show(mark.at - span / 2, mark.at + span / 2);
      this.say(this.markText(mark));
    }
  }

  function controls(view) {
    const length = view.timeline.length, {steps} = view.timeline.data;
    const buttons = [['−', 'Zoom out', () => view.zoom(1.6, view.middle())], ['+', 'Zoom in', () => view.zoom(1 / 1.6, view.middle())],
                     ['←', 'Earlier', () => view.pan(-0.3)], ['→', 'Later', () => view.pan(0.3)], ['All', 'Show all', () => view.show(0, length)]];
    const choice = steps.length > 1 && R.choice('Step', [['', 'all']].concat(steps.map((span) => [String(span.step), String(span.step)])), '', (value) => {
      const span = value === '' ? {begin: 0, end: length} : view.timeline.stepSpan(Number(value));
      view.show(span.begin, span.end);
    });
    return R.h('div', {class: 'controls'}, buttons.map(([text, name, act]) => R.button(text, act, {'aria-label': name, title: name})), choice || null, view.drawn);
  }

  /** Each kind that there is, as a switch. */
  function kinds(view) {
    const used = new Set(view.timeline.data.labels.map((label) => label.kind));
    return R.h('div', {class: 'kinds', role: 'group', 'aria-label': 'Kinds of bars'}, R.barKinds.map((kind, i) => used.has(kind) &&
      R.h('label', null, R.h('input', {type: 'checkbox', checked: true, onchange: (event) => { view.shown[i] = event.target.checked; view.draw(); }}),
          R.h('span', {class: 'key bar-' + kind.replace(' ', '-'), 'aria-hidden': 'true'}), kind)).filter(Boolean));
  }

  function marksTable(view) {
    if (view.timeline.marks.length === 0) return null;
    return R.table('Violations on the timeline', [{title: 'check'}, {title: 'what'}, {title: 'where'}, {title: 'at', number: true}, {title: 'timeline'}],
      view.timeline.marks.map((mark, i) => [mark.check, mark.message, R.place(mark), R.nanos(mark.at),
        R.button('Show', () => { view.goTo(i); view.canvas.focus(); }, {'aria-label': 'Show violation ' + (i + 1) + ' on the timeline'})]));
  }

  /** The text alternative: what each lane did in all. */
  function laneValues(view) {
    return R.values('What each lane did', () => [
      [{title: 'lane', head: true}, {title: 'bars', number: true}, {title: 'records', number: true}].concat(R.barKinds.map((kind) => ({title: kind, number: true}))),
      view.timeline.lanes.map((lane) => {
        const records = new Array(R.barKinds.length).fill(0);
        for (let i = 0; i < lane.size; ++i) records[lane.kind[i]] += lane.countOf(i);
        return [lane.name, R.count(lane.size), R.count(records.reduce((a, b) => a + b, 0))].concat(records.map(R.count));
      })]);
  }

  /** `data`: Timeline. */
  R.timeline = function (data) {
    const view = new TimelineView(data), draw = () => view.draw();
    R.redraws.push(draw);
    R.later(draw);
    R.lastTimeline = view;
    return R.h('figure', {class: 'chart'}, R.h('div', {class: 'bar'}, controls(view), kinds(view)), view.canvas, view.says, marksTable(view), laneValues(view));
  };
})(Redraft);
