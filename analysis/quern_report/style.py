# SPDX-License-Identifier: Apache-2.0
"""How pages look: one set of colours for light, one for dark, each with a contrast of at least 4.5
for text and 3 for lines."""

LIGHT = """--paper:#fbfaf7;--card:#ffffff;--ink:#23211d;--soft:#6a665e;--rule:#e4e0d8;--grid:#ece9e2;
--c1:#1c6796;--c2:#bb4f12;--c3:#2c7a57;--c4:#84549d;--c5:#8a6a00;--c6:#b03a78;--c7:#77726a;
--heat:#1c6796;--on-heat:#ffffff;--good:#23704d;--bad:#b3261e;--wait:#d9a27a;--idle:#cfcac0;"""
DARK = """--paper:#16181a;--card:#1d2023;--ink:#e9e6df;--soft:#a29d94;--rule:#34383c;--grid:#2a2e31;
--c1:#6bb2de;--c2:#ec9a68;--c3:#6cc299;--c4:#c39ddb;--c5:#d6b54c;--c6:#f08cb8;--c7:#a8a39b;
--heat:#6bb2de;--on-heat:#10212c;--good:#6cc299;--bad:#f2897f;--wait:#b5754a;--idle:#4a4e52;"""

SVG_STYLE = f""":root{{{LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}
svg{{font-family:Inter,"Segoe UI",system-ui,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}}
svg text{{font-size:13px;fill:var(--ink)}}
svg .tick,svg .label,svg .legend{{fill:var(--soft)}} svg .label{{font-style:italic}}
svg .mark{{font-weight:600}} svg .halo{{stroke:var(--paper);stroke-width:5px;stroke-linejoin:round}}
svg .paper{{fill:var(--paper)}} svg .frame{{fill:none;stroke:var(--rule)}} svg .point{{fill:var(--c1);fill-opacity:.45}}
svg .grid{{stroke:var(--grid)}} svg .axis{{stroke:var(--soft);stroke-width:1}}
svg .strong{{stroke:var(--ink);stroke-width:1.5}}
svg .limit{{stroke:var(--bad);stroke-dasharray:5 4}} svg .ideal{{stroke:var(--soft);stroke-dasharray:.1 5;stroke-width:2;stroke-linecap:round}}
svg .curve{{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}
svg .dashed{{stroke-dasharray:6 4}} svg .dotted{{stroke-dasharray:.1 5}} svg .faint{{stroke-width:1;opacity:.32}}
svg .ring{{fill:none;stroke-width:2}} svg .dot{{stroke:var(--paper);stroke-width:1}}
{"".join(f"svg .curve.c{i},svg .ring.c{i}{{stroke:var(--c{i})}}svg .dot.c{i},svg .bar.c{i}{{fill:var(--c{i})}}" for i in range(1, 8))}
svg .bar.wait{{fill:var(--wait)}} svg .bar.idle{{fill:var(--idle)}}
svg .heat{{fill:var(--heat)}} svg .diagonal{{stroke:var(--soft);stroke-width:1}}
svg .in-cell{{font-size:12.5px}} svg .on-dark{{fill:var(--on-heat)}}
svg .span{{fill:var(--c1)}} svg .span.cut{{fill:var(--c2)}} svg .span.bad{{fill:var(--bad)}}
svg .in-span{{fill:var(--paper);font-weight:600}}
"""

PAGE_STYLE = """
*{box-sizing:border-box} html{color-scheme:light dark;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 Inter,"Segoe UI",system-ui,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:70rem;margin:0 auto;padding:0 1.5rem 5rem}
header{max-width:70rem;margin:0 auto;padding:3.2rem 1.5rem 0}
.kind{color:var(--soft);letter-spacing:.09em;text-transform:uppercase;font-size:.74rem;font-weight:600;margin:0}
h1,h2,h3{font-family:"Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L","Book Antiqua",Georgia,serif;font-weight:600;line-height:1.2;text-wrap:balance}
h1{font-size:clamp(1.9rem,5vw,2.9rem);margin:.35rem 0 .5rem;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.6rem;margin:3.4rem 0 1.1rem;padding-top:1.2rem;border-top:1px solid var(--rule)}
h3{font-size:1.12rem;margin:0 0 .5rem}
.subtitle{color:var(--soft);margin:0 0 1rem;max-width:46rem}
.badge{display:inline-block;font:600 .74rem/1 inherit;font-size:.74rem;line-height:1;font-weight:600;padding:.34rem .6rem;border-radius:1rem;border:1px solid currentColor;vertical-align:.45em;margin-left:.6rem;letter-spacing:.02em;font-family:Inter,"Segoe UI",system-ui,sans-serif;white-space:nowrap}
.good{color:var(--good)} .bad{color:var(--bad)} .open{color:var(--c2)}
nav{position:sticky;top:0;background:var(--paper);border-bottom:1px solid var(--rule);z-index:2;margin-top:1rem}
nav div{max-width:70rem;margin:0 auto;padding:.65rem 1.5rem;display:flex;gap:1.3rem;overflow-x:auto;scrollbar-width:none}
nav a{color:var(--soft);text-decoration:none;white-space:nowrap;font-size:.9rem} nav a:hover,nav a:focus-visible{color:var(--ink);text-decoration:underline;text-underline-offset:.25em}
section{scroll-margin-top:3rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:1px;background:var(--card);border:1px solid var(--rule);border-radius:.5rem;overflow:hidden;margin:1.6rem 0 0}
.cards div{box-shadow:0 0 0 1px var(--rule);padding:1rem 1.1rem}
.cards dt{color:var(--soft);font-size:.82rem} .cards dd{margin:0}
.cards .figure{font:600 1.5rem/1.3 "Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",Georgia,serif;white-space:nowrap}
.cards .of{color:var(--soft);font-size:.8rem}
.figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1.6rem 1.8rem;align-items:start}
figure{margin:0;min-width:0} figure.wide{grid-column:1/-1} figure svg{display:block;width:100%;height:auto;overflow:visible}
.scroll{overflow-x:auto} .scroll svg:not([style]){min-width:34rem}
figcaption,.caption{color:var(--soft);font-size:.86rem;margin:.5rem 0 0;max-width:46rem} .caption+*{margin-top:1.8rem} section>h3{margin-top:2.2rem}
p{max-width:46rem} .note{border-left:3px solid var(--c5);padding:.15rem 0 .15rem .9rem;color:var(--soft)}
.table{overflow-x:auto;margin:1.2rem 0 .4rem} table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.42rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th.l,td.l{text-align:left} td.s{white-space:nowrap} td.l:not(.s){white-space:normal;overflow-wrap:anywhere;min-width:12rem}
th{border-bottom:1.5px solid var(--ink);font-weight:600;vertical-align:bottom;padding:0}
th button{all:unset;box-sizing:border-box;display:block;width:100%;position:relative;white-space:normal;cursor:pointer;padding:.42rem .7rem}
th button:focus-visible{outline:2px solid var(--c1);outline-offset:-2px}
th button::after{position:absolute;right:0;bottom:.42rem;color:var(--soft)} th[aria-sort=ascending] button::after{content:"\\2191"} th[aria-sort=descending] button::after{content:"\\2193"}
tbody tr:hover{background:var(--card)} td.bar{position:relative} td.bar i{position:absolute;inset:.25rem auto .25rem 0;background:var(--heat);opacity:.16;border-radius:0 2px 2px 0}
tr.best td{font-weight:600}
.pager{display:flex;gap:.8rem;align-items:center;color:var(--soft);font-size:.86rem;margin:.2rem 0 1rem}
.pager button{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--rule);border-radius:.3rem;padding:.2rem .7rem;cursor:pointer} .pager button:disabled{opacity:.4;cursor:default}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.2rem,1fr));gap:1.1rem .9rem}
.gallery+.caption{margin-top:1rem} .gallery.small{grid-template-columns:repeat(auto-fill,minmax(4.4rem,1fr));gap:.7rem}
.gallery img{display:block;width:100%;image-rendering:pixelated;border:1px solid var(--rule);border-radius:3px}
.gallery figcaption{margin-top:.3rem;font-size:.8rem;line-height:1.35;color:var(--ink)} .gallery .hint{color:var(--soft);display:block}
.facts{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.35rem 1.4rem;margin:1rem 0;font-size:.92rem}
.facts dt{color:var(--soft)} .facts dd{margin:0;overflow-wrap:anywhere}
code,pre,.hash{font-family:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.86em}
details{margin:1.2rem 0} summary{cursor:pointer;color:var(--c1)} pre{background:var(--card);border:1px solid var(--rule);border-radius:.4rem;padding:1rem 1.1rem;overflow:auto;line-height:1.5}
#tip{position:fixed;pointer-events:none;background:var(--card);border:1px solid var(--rule);border-radius:.35rem;padding:.4rem .65rem;font-size:.82rem;line-height:1.45;box-shadow:0 3px 14px #0002;z-index:5;display:none} #tip i{display:inline-block;width:.62rem;height:.62rem;border-radius:50%;margin-right:.45rem}
.probe{stroke:var(--soft);stroke-dasharray:2 3}
footer{max-width:70rem;margin:0 auto;padding:0 1.5rem 3rem;color:var(--soft);font-size:.82rem}
@media (max-width:48rem){.figures{grid-template-columns:minmax(0,1fr)} header{padding-top:2rem} h2{margin-top:2.4rem} main,header,footer,nav div{padding-left:1.05rem;padding-right:1.05rem} .cards{grid-template-columns:1fr 1fr} .cards .figure{font-size:1.25rem} .gallery{grid-template-columns:repeat(3,1fr)} .gallery.small{grid-template-columns:repeat(5,1fr)} .facts{grid-template-columns:1fr;gap:0} .facts dd{margin-bottom:.6rem} figure:not(.wide) svg text{font-size:16px} th,td,th button{padding-left:.5rem;padding-right:.5rem}}
@media print{nav{display:none} body{font-size:11pt} section{break-inside:avoid-page}}
"""

SCRIPT = """
(() => {
  const kRows = 25;
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0], rows = [...body.rows], pager = table.parentElement.nextElementSibling;
    let page = 0;
    const pages = Math.ceil(rows.length / kRows), isPaged = pager && pager.className === "pager";
    const show = () => {
      rows.forEach((row, i) => {
        body.append(row);
        row.hidden = isPaged && Math.floor(i / kRows) !== page;
      });
      if (!isPaged) return;
      const [back, on] = pager.querySelectorAll("button");
      back.disabled = page === 0;
      on.disabled = page === pages - 1;
      pager.querySelector("span").textContent =
        `${page * kRows + 1} to ${Math.min(rows.length, (page + 1) * kRows)} of ${rows.length}`;
      back.onclick = () => { page -= 1; show(); };
      on.onclick = () => { page += 1; show(); };
      pager.hidden = false;
    };
    const key = (row, i) => {
      const cell = row.cells[i], text = cell.dataset.order ?? cell.textContent, value = Number(text);
      return text.trim() === "" || Number.isNaN(value) ? text : value;
    };
    table.querySelectorAll("th").forEach((head, i) => {
      head.querySelector("button").onclick = () => {
        const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
        rows.sort((a, b) => {
          const x = key(a, i), y = key(b, i);
          if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
          return down * (typeof x === "number" ? x - y : x.localeCompare(y));
        });
        page = 0;
        show();
      };
    });
    show();
  }
  const tip = document.body.appendChild(document.createElement("div"));
  tip.id = "tip";
  const form = value => Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(4));
  for (const chart of document.querySelectorAll("svg.chart")) {
    const plot = JSON.parse(chart.dataset.plot);
    const probe = chart.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line"));
    probe.setAttribute("class", "probe");
    const on = plot.isLog ? Math.log : x => x, [low, high] = plot.x.map(on);
    const across = x => plot.left + (on(x) - low) / (high - low) * (plot.right - plot.left);
    const away = (point, place) => Math.abs(across(point[0]) - place.x);
    const hide = () => { tip.style.display = "none"; probe.style.display = "none"; };
    hide();
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("pointermove", event => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
      if (place.x < plot.left - 8 || place.x > plot.right + 8) return hide();
      const near = plot.series.map(one => one.points.reduce((a, b) => away(b, place) < away(a, place) ? b : a));
      const x = near.reduce((a, b) => away(b, place) < away(a, place) ? b : a)[0];
      tip.textContent = `${plot.xLabel} ${form(x)}`;
      plot.series.forEach((one, i) => {
        const entry = tip.appendChild(document.createElement("div")), dot = entry.appendChild(document.createElement("i"));
        dot.style.background = `var(--c${one.colour})`;
        entry.append(`${plot.series.length > 1 ? one.label + ": " : ""}${form(near[i][1] * plot.factor)}${plot.unit}`);
      });
      for (const [name, value] of [["x1", across(x)], ["x2", across(x)], ["y1", plot.top], ["y2", plot.bottom]]) probe.setAttribute(name, value);
      probe.style.display = "";
      tip.style.display = "block";
      tip.style.left = Math.min(event.clientX + 16, innerWidth - tip.offsetWidth - 8) + "px";
      tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 12) + "px";
    });
  }
})();
"""
