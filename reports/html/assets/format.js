'use strict';
// Numbers as people read them. Units are always said.
(function (R) {
  const kNone = '–';

  const raised = (exponent) => String(exponent).replace(/./g, (sign) => sign === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[sign]);

  /** NaN and infinities travel as texts. */
  R.number = (value) => typeof value === 'number' ? value : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : NaN;

  R.digits = function (value, digits) {
    const number = R.number(value);
    if (Number.isNaN(number)) return kNone;
    if (!Number.isFinite(number)) return number > 0 ? '∞' : '−∞';
    if (number === 0) return '0';
    const size = Math.abs(number);
    const text = size >= 1e6 || size < 1e-4 ? number.toExponential(digits - 1)
                                            : Number(number.toPrecision(digits)).toLocaleString('en', {maximumSignificantDigits: digits});
    const [mantissa, exponent] = text.split('e');
    return mantissa.replace('-', '−') + (exponent ? ' × 10' + raised(Number(exponent)) : '');
  };

  /** With as many digits, zeros too: for columns that are read downwards. */
  R.figures = function (value, digits) {
    const number = R.number(value);
    return Number.isFinite(number) ? number.toLocaleString('en', {minimumSignificantDigits: digits, maximumSignificantDigits: digits}) : kNone;
  };

  R.count = (value) => value === undefined || value === null ? kNone : Number(value).toLocaleString('en');

  R.rate = function (value) {
    const rate = R.number(value);
    if (Number.isNaN(rate)) return kNone;
    return rate >= 1e6 ? (rate / 1e6).toPrecision(3) + ' Mtok/s' : rate >= 1e4 ? (rate / 1e3).toPrecision(3) + ' Ktok/s'
         : rate >= 100 ? Math.round(rate) + ' tok/s' : rate.toPrecision(3) + ' tok/s';
  };

  R.seconds = function (value) {
    const seconds = R.number(value);
    if (Number.isNaN(seconds)) return kNone;
    if (seconds >= 60) return Math.floor(seconds / 60) + ' min ' + String(Math.round(seconds % 60)).padStart(2, '0') + ' s';
    if (seconds >= 1) return seconds.toPrecision(3) + ' s';
    return seconds >= 1e-3 ? (seconds * 1e3).toPrecision(3) + ' ms' : R.digits(seconds * 1e6, 3) + ' µs';
  };

  R.nanos = (ns) => Math.abs(ns) < 1000 ? Math.round(ns) + ' ns' : R.seconds(ns / 1e9);

  R.bytes = function (bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0, size = Number(bytes);
    while (size >= 1024 && unit < units.length - 1) size /= 1024, ++unit;
    return (unit === 0 ? size : size.toPrecision(3)) + ' ' + units[unit];
  };

  R.device = (device) => device < 0 ? 'host' : 'device ' + device;

  /** "30 November 2026, 13:08 UTC". */
  R.date = function (text) {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) return text || kNone;
    const day = date.toLocaleDateString('en-GB', {day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC'});
    return day + ', ' + date.toISOString().slice(11, 16) + ' UTC';
  };

  R.commit = (text) => (text || '').slice(0, 12);

  R.quantile = function (sorted, share) {
    if (sorted.length === 0) return NaN;
    const place = share * (sorted.length - 1), low = Math.floor(place);
    return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  };

  R.sorted = (values) => values.map(R.number).filter(Number.isFinite).sort((a, b) => a - b);

  R.plural = (count, one, many) => R.count(count) + ' ' + (count === 1 ? one : many || one + 's');

  /** "drafter[1], step 3, backward, device 7". */
  R.place = (at) => [at.role, at.step >= 0 ? 'step ' + at.step : '', at.phase, at.device >= 0 ? 'device ' + at.device : '']
                        .filter(Boolean).join(', ');
})(Redraft);
