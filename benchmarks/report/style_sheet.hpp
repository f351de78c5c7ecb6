#pragma once

namespace boxsum::bench {

/// Of the page that html_of makes. Colours are variables with a light and a dark value; paper is light. The series'
/// colours differ in lightness, too, and have a contrast of at least 3 to 1 against the ground in both.
inline constexpr const char* style_sheet = R"css(
:root {
  --ground: #ffffff; --raised: #f6f7f9; --text: #1b1f24; --soft: #5b6470; --rule: #d8dde3; --faint: #e9ecf0;
  --best: #e3f1e6; --best-text: #14532d; --wrong: #fde4e1; --wrong-text: #991b1b; --link: #1d4f91;
  --c0: #1f5fae; --c1: #c4480f; --c2: #1b7a3d; --c3: #7b3fc4; --c4: #a16207; --c5: #0c7489; --c6: #b8256f; --c7: #52631b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --raised: #1c2026; --text: #e6e9ed; --soft: #9aa5b1; --rule: #39414b; --faint: #262c34;
    --best: #17351f; --best-text: #a7e3b7; --wrong: #471a1a; --wrong-text: #fecaca; --link: #8ab8f2;
    --c0: #6ca8f0; --c1: #f58d55; --c2: #58c47e; --c3: #b493f2; --c4: #e0b040; --c5: #45c3d8; --c6: #ee78b4;
    --c7: #b5c95c;
  }
}
* { box-sizing: border-box; }
html { background: var(--ground); color: var(--text); font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Liberation Sans",
  "DejaVu Sans", sans-serif; -webkit-text-size-adjust: 100%; }
body { max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .75rem; letter-spacing: -.005em; }
p { margin: 0 0 1rem; max-width: 48rem; }
a { color: var(--link); }
.summary { color: var(--soft); font-size: 1.05rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem 1.5rem; margin: 1.5rem 0 0;
  padding: 1rem 1.25rem; background: var(--raised); border: 1px solid var(--rule); border-radius: .5rem; }
dt { font-size: .78rem; color: var(--soft); text-transform: uppercase; letter-spacing: .05em; }
dd { margin: 0; overflow-wrap: anywhere; }
nav { margin: 2rem 0 0; }
nav h2 { font-size: 1rem; }
nav ol { columns: 2 20rem; margin: 0; padding-left: 1.4rem; }
section { margin-top: 3rem; padding-top: 1.5rem; border-top: 1px solid var(--rule); }
figure { margin: 1.5rem 0 2rem; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: .5rem; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; line-height: 1.35; }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; }
thead th { background: var(--raised); color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--rule); }
tbody tr + tr > * { border-top: 1px solid var(--faint); }
.name { text-align: left; }
tbody th { font-weight: 500; position: sticky; left: 0; background: var(--ground); }
td.long { white-space: normal; min-width: 14rem; }
td.best { background: var(--best); color: var(--best-text); font-weight: 600; }
td.wrong { background: var(--wrong); color: var(--wrong-text); font-weight: 600; }
td.muted { color: var(--soft); }
.note { color: var(--soft); font-size: .875rem; margin: .6rem 0 0; }
svg.chart { display: block; width: 100%; height: auto; max-width: 60rem; }
svg text { fill: var(--text); font-size: 12.5px; font-variant-numeric: tabular-nums; }
svg .tick { fill: var(--soft); font-size: 11.5px; }
svg .label { fill: var(--soft); }
svg .middle { text-anchor: middle; }
svg .end { text-anchor: end; }
svg .grid { stroke: var(--rule); stroke-width: .8; }
svg .minor { stroke: var(--faint); }
svg .frame { stroke: var(--soft); stroke-width: 1; }
svg .line { fill: none; stroke-width: 1.9; stroke-linejoin: round; stroke-linecap: round; }
svg .broken { stroke-dasharray: 6 3.5; }
svg .mark { stroke: var(--ground); stroke-width: .8; }
svg .mark.broken { stroke-dasharray: none; }
svg .bar { stroke: var(--ground); stroke-width: 1; }
svg .line.reference { stroke: var(--text); stroke-dasharray: 2 4; }
svg .mark.reference { fill: var(--text); }
svg .line.c0 { stroke: var(--c0); } svg .mark.c0, svg .bar.c0 { fill: var(--c0); }
svg .line.c1 { stroke: var(--c1); } svg .mark.c1, svg .bar.c1 { fill: var(--c1); }
svg .line.c2 { stroke: var(--c2); } svg .mark.c2, svg .bar.c2 { fill: var(--c2); }
svg .line.c3 { stroke: var(--c3); } svg .mark.c3, svg .bar.c3 { fill: var(--c3); }
svg .line.c4 { stroke: var(--c4); } svg .mark.c4, svg .bar.c4 { fill: var(--c4); }
svg .line.c5 { stroke: var(--c5); } svg .mark.c5, svg .bar.c5 { fill: var(--c5); }
svg .line.c6 { stroke: var(--c6); } svg .mark.c6, svg .bar.c6 { fill: var(--c6); }
svg .line.c7 { stroke: var(--c7); } svg .mark.c7, svg .bar.c7 { fill: var(--c7); }
@media print {
  :root {
    --ground: #fff; --raised: #f6f7f9; --text: #000; --soft: #444; --rule: #bbb; --faint: #ddd; --best: #e3f1e6;
    --best-text: #000; --wrong: #fde4e1; --wrong-text: #000; --link: #000;
    --c0: #1f5fae; --c1: #c4480f; --c2: #1b7a3d; --c3: #7b3fc4; --c4: #a16207; --c5: #0c7489; --c6: #b8256f;
    --c7: #52631b;
  }
  html { font-size: 10.5pt; }
  body { max-width: none; padding: 0; }
  nav { display: none; }
  .scroll { overflow: visible; border: 0; }
  table { font-size: 8pt; }
  th, td { padding: .15rem .35rem; }
  figure, tr { break-inside: avoid; }
  h2, figcaption { break-after: avoid; }
  .best, .bar, .mark { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  @page { size: A4 landscape; margin: 14mm; }
}
)css";

}  // namespace boxsum::bench
