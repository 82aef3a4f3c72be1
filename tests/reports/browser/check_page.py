#!/usr/bin/env python3
"""Opens an HTML report in Chromium and holds it to what docs/report.md promises.

usage: check_page.py CHROMIUM PAGE OUT      writes screenshots to OUT; exit 1 when anything is wrong

PAGE is the test's sample: case "wide" has 8 devices × 200 steps, "hostile" has texts that try to become markup. Beside it
lie run.html, bench.html and divergence.html, pages of one thing.
"""
import pathlib
import sys
import urllib.parse

from chromium import Page

LIMIT_MS = 1000  # of processor time, so that a busy machine fails nothing; the wall's figure is printed
failures = []


def check(holds, text):
    print(("ok    " if holds else "WRONG ") + text)
    if not holds:
        failures.append(text)


CONTRAST = """(() => {
  const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); };
  const rgba = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length === 3 ? [...n, 1] : n; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 0.99) return c; } return [255, 255, 255]; };
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest('script, style, noscript')) continue;
    const a = light(rgba(getComputedStyle(e).color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.add(e.tagName + '.' + e.className + ' "' + walker.currentNode.data.trim().slice(0, 30) + '" ' + ratio.toFixed(2));
  }
  return [...poor];
})()"""

UNNAMED = """(() => [...document.querySelectorAll('button, a, input, select, canvas, [role=region], summary')]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))
  .map((e) => e.outerHTML.slice(0, 120)))()"""

TABLES = """(() => [...document.querySelectorAll('table')].filter((t) => !t.caption || !t.querySelector('thead th[scope=col]')
  || [...t.tBodies].some((b) => b.rows.length && !b.querySelector('th[scope=row]') && !t.caption.textContent))
  .map((t) => t.outerHTML.slice(0, 120)))()"""

CHARTS = """(() => [...document.querySelectorAll('canvas')].filter((c) => !c.getAttribute('aria-label') || !c.closest('figure').querySelector('details.values'))
  .map((c) => c.outerHTML.slice(0, 120)))()"""

BLANK = """(() => [...document.querySelectorAll('canvas')].filter((c) => {
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  for (let i = 3; i < d.length; i += 4) if (d[i]) return false;
  return true; }).map((c) => c.getAttribute('aria-label').slice(0, 80)))()"""

# What the Tab key can reach, as the page has it; details that are closed hide theirs.
FOCUSABLE = """(() => { const all = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
  .filter((e) => e.checkVisibility() && !e.disabled); all.forEach((e, i) => e.dataset.n = i); return all.length; })()"""


def go(page, name):
    page.value(f"location.hash = {('#/case/' + urllib.parse.quote(name, safe='')) if name else '#/'!r}; true")
    page.settle()
    page.settle()


def tab_through(page, where):
    count = page.value(FOCUSABLE)
    page.value("document.querySelector('.skip').focus(); true")
    seen, invisible = [page.value("document.activeElement.dataset.n")], []
    for _ in range(count + 3):
        page.key("Tab")
        n = page.value("document.activeElement.dataset.n ?? null")
        if n is None or n == seen[0]:
            break
        seen.append(n)
        outline = page.value("(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle + s.outlineWidth; })()")
        if outline.startswith("none") or outline.endswith("0px"):
            invisible.append(n)
    check(len(set(seen)) == count, f"{where}: Tab reaches all {count} controls (reached {len(set(seen))})")
    check([int(n) for n in seen] == sorted(int(n) for n in seen), f"{where}: in the order in which they are read")
    check(not invisible, f"{where}: focus is always visible {invisible[:3]}")


def inspect(page, where):
    for text, expression in (("every control has a name", UNNAMED), ("every table has a caption and headers", TABLES),
                             ("every drawing has a name and its values as a table", CHARTS), ("no drawing is empty", BLANK)):
        wrong = page.value(expression)
        check(not wrong, f"{where}: {text} {wrong[:3] if wrong else ''}")
    for scheme in ("light", "dark"):
        page.theme(scheme)
        poor = page.value(CONTRAST)
        check(not poor, f"{where}, {scheme}: text stands out by 4.5 : 1 or more {poor[:4] if poor else ''}")
    page.theme("light")


def overview(page, out):
    check(page.value("document.querySelectorAll('tbody tr.open').length") == page.value("Redraft.data.suite.cases.length"), "overview: a row for each case")
    page.value("{ const s = document.querySelector('input[type=search]'); s.value = 'wide'; s.dispatchEvent(new Event('input')); }")
    check(page.value("[...document.querySelectorAll('tbody tr.open th')].map((e) => e.textContent).join()") == "wide", "overview: the filter keeps what it names")
    page.value("{ const s = document.querySelector('input[type=search]'); s.value = ''; s.dispatchEvent(new Event('input')); }")
    page.value("document.querySelector('button.sort[data-key=steps]').focus()")
    page.key("Enter")
    page.key("Enter")
    check(page.value("document.querySelector('th[aria-sort=descending] button').dataset.key") == "steps" and page.value("document.activeElement.dataset.key") == "steps", "overview: Enter sorts, and focus stays")
    check(page.value("document.querySelector('tbody tr.open th').textContent") == "wide", "overview: the most steps first")
    page.key("Enter")
    page.value("document.querySelector('tbody a').focus()")
    page.key("ArrowDown")
    check(page.value("document.activeElement === document.querySelectorAll('tbody a')[1]"), "overview: arrow keys go from case to case")
    page.key("Enter")
    page.settle()
    check(page.value("location.hash").startswith("#/case/") and page.value("document.activeElement.id") == "main", "overview: Enter opens the case, and focus goes there")


def timeline(page):
    go(page, "")
    before = page.cpu_ms()
    go(page, "wide")
    took = page.cpu_ms() - before
    shown, drawn, decoded = (page.value("Redraft." + name) for name in ("lastShowMs", "lastTimeline.lastDrawMs", "lastTimeline.decodeMs"))
    lanes, bars = page.value("Redraft.lastTimeline.timeline.lanes.length"), page.value("Redraft.lastTimeline.timeline.lanes.reduce((n, l) => n + l.size, 0)")
    print(f"figure: 8 devices x 200 steps, {lanes} lanes, {bars} bars: decoded in {decoded:.1f} ms, drawn in {drawn:.1f} ms; the whole case shown in {shown:.1f} ms, {took:.1f} ms of processor time")
    check(took < LIMIT_MS, f"wide: all of the case is shown in less than {LIMIT_MS} ms of processor time")
    check(page.value("Redraft.lastTimeline.timeline.data.steps.length") == 200 and bars >= 8 * 200, "wide: 200 steps on 8 devices")
    page.value("document.querySelector('canvas.timeline').focus()")
    before = page.value("Redraft.lastTimeline.window.end - Redraft.lastTimeline.window.begin")
    page.key("+")
    check(page.value("Redraft.lastTimeline.window.end - Redraft.lastTimeline.window.begin") < before, "wide: + zooms")
    begin = page.value("Redraft.lastTimeline.window.begin")
    page.key("ArrowRight")
    check(page.value("Redraft.lastTimeline.window.begin") > begin, "wide: the right arrow moves on")
    page.key("n")
    check("A9" in page.value("document.querySelector('canvas.timeline + .says').textContent"), "wide: n goes to a violation and says what it is")
    page.key("0")
    check(page.value("Redraft.lastTimeline.window.begin") == 0, "wide: 0 shows all")


def hostile(page):
    go(page, page.value("Redraft.data.suite.cases.find((c) => c.name.includes('hostile')).name"))
    check(page.value("window.broken") is None, "hostile: no text ran as a script")
    check(page.value("document.querySelectorAll('img, iframe, main script, main style').length") == 0, "hostile: no text became markup")
    check("</script><script>" in page.value("document.querySelector('h1').textContent"), "hostile: its name is shown as it is")


def narrow(page):
    page.size(390, 844)
    for name in ("", "wide"):
        go(page, name)
        width = page.value("document.documentElement.scrollWidth")
        check(width <= 390, f"{name or 'overview'}: nothing is wider than a narrow screen ({width} px)")
    page.size(1280, 900)


def printed(page):
    go(page, "caught")
    page.theme("dark")
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.settle()
    lane = "(() => { const c = document.querySelector('canvas.timeline'), d = c.getContext('2d').getImageData(c.width - 3, 30, 1, 1).data; return d[0] + d[1] + d[2]; })()"
    check(page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)" and page.value(lane) > 600, "print: light, drawings too, whatever the theme")
    check(not page.value("document.querySelector('.toolbar, .controls, .contents').checkVisibility()"), "print: without controls")
    page.call("Emulation.setEmulatedMedia", media="")
    page.theme("light")


def shots(page, out):
    for scheme in ("light", "dark"):
        page.theme(scheme)
        for file, name in (("overview", ""), ("case", "caught")):
            go(page, name)
            page.screenshot(out / f"{file}-{scheme}.png", whole=True)
    page.theme("light")


def attribution(page):
    """Widths on the screen are the shares that the data has."""
    go(page, "caught")
    strips = page.value("""[...document.querySelectorAll('.bars li:not(.was) .strip')].map((s) => [...s.children].reduce((w, e) => w + e.getBoundingClientRect().width, 0) / s.getBoundingClientRect().width)""")
    walls = page.value("Redraft.data.details.cases.caught.attribution.devices.map((d) => d.wall_ns)")
    wanted = [wall / max(walls) for wall in walls]
    check(len(strips) == 2 and all(abs(a - b) < 0.01 for a, b in zip(strips, wanted)), f"attribution: bars are as long as steps {strips} {wanted}")
    page.value("{ const s = [...document.querySelectorAll('select')].find((e) => e.labels[0].textContent === 'Device'); s.value = 'device 6'; s.dispatchEvent(new Event('change')); }")
    check("device 6" in page.value("[...document.querySelectorAll('caption')].map((c) => c.textContent).find((t) => t.startsWith('What took longest'))"), "attribution: another device can be chosen")


def single(page, path, out):
    """A page of one thing: held to what the suite's is held to."""
    name = path.stem
    page.open(path.as_uri())
    inspect(page, name)
    tab_through(page, name)
    check(page.value("document.querySelectorAll('main section').length") >= 5, f"{name}: has its sections")
    check(page.value("window.broken") is None and page.value("document.querySelectorAll('img, iframe, main script').length") == 0, f"{name}: no text became markup")
    page.size(390, 844)
    page.settle()
    width = page.value("document.documentElement.scrollWidth")
    check(width <= 390, f"{name}: nothing is wider than a narrow screen ({width} px)")
    page.size(1280, 900)
    for scheme in ("light", "dark"):
        page.theme(scheme)
        page.value("window.scrollTo(0, 0)")
        page.screenshot(out / f"{name}-{scheme}.png", whole=True)
    page.theme("light")
    problems = page.problems()
    check(not problems, f"{name}: no error on the console, and nothing is asked of the network {problems[:3] if problems else ''}")


def main():
    program, path, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    with Page(program) as page:
        page.open(path.as_uri())
        for name in ("", "caught", "wide", "hung"):
            go(page, name)
            inspect(page, name or "overview")
            tab_through(page, name or "overview")
        go(page, "")
        overview(page, out)
        timeline(page)
        attribution(page)
        hostile(page)
        narrow(page)
        printed(page)
        page.value("document.getElementById('theme').click(); document.getElementById('theme').click(); true")
        check(page.value("getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 24)", "the button turns the theme dark")
        page.value("document.getElementById('theme').click(); true")
        shots(page, out)
        problems = page.problems()
        check(not problems, f"no error on the console, and nothing is asked of the network {problems[:3] if problems else ''}")
        for name in ("run", "bench", "divergence"):
            single(page, path.with_name(name + ".html"), out)
    print(f"{len(failures)} of the checks failed" if failures else "all checks hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
