'use strict';
// The data of a timeline: columns become typed arrays once; a window of it is found by bisection, and bars too short
// for the screen are gathered by pixel. Knows nothing of the page.
(function (R) {
  /** What a bar can be, in the order of the legend. */
  R.barKinds = ['kernel', 'collective', 'copy', 'peer copy', 'set', 'wait', 'call'];

  class Lane {
    constructor(lane, labels) {
      const size = lane.gap.length;
      this.name = lane.name;
      this.rank = lane.rank || 0;
      this.device = lane.device;
      this.size = size;
      this.start = new Float64Array(size);
      this.end = new Float64Array(size);
      this.reach = new Float64Array(size);  // the latest end so far: where to begin looking
      this.label = Int32Array.from(lane.label);
      this.step = Int32Array.from(lane.step);
      this.count = lane.count ? Int32Array.from(lane.count) : null;
      this.kind = new Uint8Array(size);
      let at = 0, reach = -Infinity;
      for (let i = 0; i < size; ++i) {
        this.start[i] = at + lane.gap[i];
        this.end[i] = at = this.start[i] + lane.length[i];
        this.reach[i] = reach = Math.max(reach, at);
        this.kind[i] = Math.max(0, R.barKinds.indexOf(labels[this.label[i]].kind));
      }
    }

    countOf(i) { return this.count ? this.count[i] : 1; }

    /** The first bar that may reach to `time`. */
    firstAt(time) {
      let low = 0, high = this.size;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.reach[middle] < time) low = middle + 1; else high = middle;
      }
      return low;
    }

    /** The bar at `time`, else the nearest within `slack`; -1: none. */
    near(time, slack) {
      let best = -1, distance = slack;
      for (let i = this.firstAt(time - slack); i < this.size && this.start[i] <= time + slack; ++i) {
        const away = this.start[i] > time ? this.start[i] - time : Math.max(0, time - this.end[i]);
        if (away <= distance) best = i, distance = away;
      }
      return best;
    }
  }

  class Timeline {
    constructor(data) {
      this.data = data;
      this.length = Math.max(1, data.length);
      this.lanes = data.lanes.map((lane) => new Lane(lane, data.labels));
      this.marks = data.marks.slice().sort((a, b) => a.at - b.at);
    }

    label(lane, i) { return this.data.labels[lane.label[i]]; }

    stepSpan(step) { return this.data.steps.find((span) => span.step === step); }
  }

  R.decodeTimeline = (data) => new Timeline(data);

  /**
   * Draws one lane's bars between `begin` and `end` onto `width` pixels. paint(kind, x, width, opacity) fills. Bars of
   * less than a pixel are summed by pixel: its colour is the kind that filled most of it, its opacity how full it is.
   * `shown`: by kind. Returns how many bars were looked at.
   */
  R.paintLane = function (lane, begin, end, width, shown, paint) {
    const kinds = R.barKinds.length, scale = width / (end - begin);
    const fill = new Float32Array(width * kinds), hits = new Float32Array(width);
    let seen = 0;
    for (let i = lane.firstAt(begin); i < lane.size && lane.start[i] <= end; ++i, ++seen) {
      const kind = lane.kind[i];
      if (!shown[kind]) continue;
      const x = (lane.start[i] - begin) * scale, wide = (lane.end[i] - lane.start[i]) * scale;
      if (wide >= 1) {
        const left = Math.max(0, x), right = Math.min(width, x + wide);
        if (right > left) paint(kind, left, Math.max(1, right - left - (wide > 3 ? 0.5 : 0)), 1);
        continue;
      }
      const pixel = Math.floor(x);
      if (pixel < 0 || pixel >= width) continue;
      fill[pixel * kinds + kind] += wide + 1e-6;
      hits[pixel] += lane.countOf(i);
    }
    for (let pixel = 0; pixel < width; ++pixel) {
      if (hits[pixel] === 0) continue;
      let most = 0, sum = 0;
      for (let kind = 0; kind < kinds; ++kind) {
        sum += fill[pixel * kinds + kind];
        if (fill[pixel * kinds + kind] > fill[pixel * kinds + most]) most = kind;
      }
      paint(most, pixel, 1, Math.min(1, Math.max(0.7 + hits[pixel] * 0.05, sum)));
    }
    return seen;
  };
})(Redraft);
