"""The look of a page: for a screen by day and night, for a phone, and for paper."""

STYLE = """
:root { --ink: #1d2730; --soft: #55636f; --line: #d4dae0; --page: #ffffff; --band: #f3f6f8;
        --mark: #332288; --alarm: #a40000; --alarm-page: #fdecec; --fill: #fff3c4; --link: #0b5394 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ed; --soft: #a5b1bb; --line: #3b464f; --page: #14191d; --band: #1e262c;
          --mark: #a9b8ff; --alarm: #ff8f8f; --alarm-page: #3a1616; --fill: #4a3f12;
          --link: #8cc4ff } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink);
       font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
main { max-width: 50rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
main:has(th:nth-child(7)) { max-width: 70rem }
h1 { font-size: 1.8rem; line-height: 1.2; margin: .5rem 0 1rem }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 2.6rem 0 .6rem; padding-top: .8rem;
     border-top: 1px solid var(--line) }
h3 { font-size: 1.08rem; margin: 1.6rem 0 .4rem }
h1, h2, h3, p, li, td, .label, .note { overflow-wrap: anywhere }
p { margin: .5rem 0 .8rem }
ul { margin: .4rem 0 .9rem; padding-left: 1.2rem }
li { margin: .2rem 0 }
a { color: var(--link) }
table { border-collapse: collapse; width: 100%; margin: .7rem 0 1rem; font-size: .94rem }
th, td { border-bottom: 1px solid var(--line); padding: .38rem .8rem .38rem 0; text-align: left;
         vertical-align: top; min-width: 3.2rem }
th { font-weight: 600; color: var(--soft) }
td:first-child { min-width: 6.4rem }
td:last-child { min-width: 4.6rem }
.number { text-align: right; overflow-wrap: normal; font-variant-numeric: tabular-nums }
td.number { white-space: nowrap }
.keyed th { width: 32%; overflow-wrap: anywhere; color: var(--ink) }
.blank { background: var(--fill); font-style: italic }
.alert { border: 2px solid var(--alarm); border-radius: .3rem; padding: .7rem .9rem;
         background: var(--alarm-page); color: var(--alarm); font-size: 1.05rem }
.plot { margin: 1rem 0 1.2rem; padding: .6rem .8rem .5rem; background: var(--band);
        border-radius: .3rem }
.row { display: grid; grid-template-columns: minmax(8rem, 30%) 1fr 6rem;
       column-gap: .8rem; align-items: center; font-size: .9rem; line-height: 1.25;
       break-inside: avoid }
.note { text-align: right; color: var(--soft); font-variant-numeric: tabular-nums }
svg { display: block; overflow: visible }
.zero { stroke: var(--soft); stroke-width: 1; opacity: .6 }
.interval { stroke: var(--mark); stroke-width: 2 }
.point { fill: var(--mark) }
svg text { fill: var(--soft); font-size: 12px }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .2rem }
@media (max-width: 36rem) {
  main { padding: 1rem .8rem 3rem }
  h1 { font-size: 1.5rem }
  table { display: block; overflow-x: auto; font-size: .88rem }
  th, td { padding-right: .45rem; min-width: 2.4rem; overflow-wrap: break-word }
  .wide tbody, .wide tr, .wide td:first-child { display: block }
  .wide tr { border-bottom: 1px solid var(--line); padding: .4rem 0 }
  .wide tr:first-child, .wide td:empty { display: none }
  .wide td { display: flex; justify-content: space-between; border: 0; padding: .1rem 0;
             white-space: normal; text-align: right }
  .wide td:first-child { font-weight: 600; text-align: left; overflow-wrap: anywhere }
  .wide td:not(:first-child)::before { content: attr(data-title); color: var(--soft);
                                       padding-right: .8rem; text-align: left }
  .row { grid-template-columns: 1fr auto; row-gap: 0; margin-top: .35rem }
  .row svg { grid-row: 2; grid-column: 1 / 3 }
}
@media print {
  :root { --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --band: #fff; --mark: #332288;
          --alarm: #a40000; --alarm-page: #fff; --fill: #fff; --link: #000 }
  body { font-size: 10.5pt }
  main { max-width: none; padding: 0 }
  h2, h3 { break-after: avoid }
  td.number { white-space: normal }
  tr, .plot, .alert { break-inside: avoid }
  .blank { border: 2px dashed #888 }
  .plot { border: 1px solid #bbb }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact }
}
"""
"""Colours are variables, so that night and paper change these and nothing else."""
