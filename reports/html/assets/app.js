'use strict';
// Which view is shown, by what the data holds and the address's fragment, and in which theme.
(function (R) {
  const main = document.getElementById('main'), crumb = document.getElementById('crumb'), themeButton = document.getElementById('theme');
  const kThemes = ['auto', 'light', 'dark'];

  R.caseHref = (name) => '#/case/' + encodeURIComponent(name);

  function caseOfAddress() {
    const match = /^#\/case\/(.+)$/.exec(location.hash);
    if (!match) return null;
    let name = match[1];
    try { name = decodeURIComponent(name); } catch { /* as it was typed */ }
    return {name, result: R.data.suite.cases.find((each) => each.name === name)};
  }

  function suiteView() {
    const wanted = caseOfAddress();
    if (!wanted) return {view: R.overview(), crumb: '', title: 'Redraft: ' + R.data.suite.summary};
    const view = wanted.result ? R.caseView(wanted.result) : R.notice('This report has no case “' + wanted.name + '”.', 'bad');
    return {view, crumb: wanted.name, title: wanted.name + ' · Redraft'};
  }

  /** A page holds a suite, or one other thing, which has one view. */
  function chosenView() {
    if (R.data.suite) return suiteView();
    const {run, bench, divergence} = R.data;
    const view = run ? R.runView(run) : bench ? R.benchView(bench) : R.divergenceView(divergence);
    return {view, crumb: run ? run.name : bench ? 'Bench' : 'First divergence', title: document.title};
  }

  function show(focus) {
    const start = performance.now();
    R.forgetCharts();
    R.redraws = [];
    const chosen = chosenView();
    R.append(R.clear(main), chosen.view);
    crumb.textContent = chosen.crumb;
    document.title = chosen.title;
    R.drawWaiting();
    R.drawWaiting();  // what was drawn may have asked for more
    R.lastShowMs = performance.now() - start;
    if (focus) window.scrollTo(0, 0), main.focus({preventScroll: true});
  }

  function setTheme(theme) {
    if (theme === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
    themeButton.textContent = {auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark'}[theme];
    themeButton.setAttribute('aria-label', 'Colour theme: ' + (theme === 'auto' ? 'as the system' : theme));
    R.redrawAll();
  }

  let theme = 'auto';
  themeButton.addEventListener('click', () => setTheme(theme = kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length]));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => R.redrawAll());
  matchMedia('print').addEventListener('change', () => R.redrawAll());  // paper is light
  let width = window.innerWidth, pending = 0;
  window.addEventListener('resize', () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => R.redrawAll());
  });
  window.addEventListener('hashchange', () => show(true));
  document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
  setTheme(theme);
  show(false);
})(Redraft);
