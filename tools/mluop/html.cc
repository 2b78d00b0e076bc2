// SPDX-License-Identifier: Apache-2.0
#include "html.h"

namespace mluop::tool {
namespace {

// A card per case; its bars are a grid of label, bar and figure. On a phone the figure moves below.
// Plots have fixed heights and widths in percent, so that their text keeps its size on any screen.
constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --page: #fff; --text: #1f2328; --faint: #59636e; --card: #f6f8fa;
  --line: #d1d9e0; --floor: #00805c; --ours: #0072b2; --plain: #c65102; --peer: #9a4f86;
  --good: #1a7f37; --bad: #cf222e; --note: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --text: #e6edf3; --faint: #9198a1;
  --card: #161b22; --line: #30363d; --floor: #2fbf93; --ours: #4da3e0; --plain: #f08a4b;
  --peer: #d18bbd; --good: #3fb950; --bad: #f85149; --note: #d29922; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1.2em; max-width: 78em;
  background: var(--page); color: var(--text); }
h1 { font-size: 1.5em; margin: .3em 0; }
h2 { font-size: 1.25em; margin: 2em 0 .5em; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05em; margin: 1.5em 0 .4em; }
code { font-size: .86em; overflow-wrap: anywhere; }
a { color: var(--ours); } nav a { display: inline-block; margin: 0 1em .3em 0; }
.faint { color: var(--faint); font-size: .9em; }
.scroll { overflow-x: auto; margin: .6em 0; }
table { border-collapse: collapse; font-size: .9em; }
td, th { padding: .25em 1.2em .25em 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td { min-width: 4.5em; } td.wide { min-width: 18em; } td.short { white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15em 1.2em; margin: .6em 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--ours); }
.badge { display: inline-block; border-radius: 3px; padding: 0 .45em; font-size: .88em;
  border: 1px solid currentColor; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .note { color: var(--note); }
.case { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .6em .8em; margin: .7em 0; }
.facts { color: var(--faint); font-size: .86em; margin-top: .4em; }
.facts b { color: var(--text); font-weight: 600; }
.bars { display: grid; grid-template-columns: 15em 1fr 26em; gap: .25em .8em; margin-top: .4em;
  align-items: center; font-size: .88em; }
.bars span { overflow-wrap: anywhere; }
.bar { height: .85em; border-radius: 2px; min-width: 3px; }
.cut { mask-image: linear-gradient(90deg, #000 85%, transparent);
  -webkit-mask-image: linear-gradient(90deg, #000 85%, transparent); }
.floor { background: var(--floor); } .ours { background: var(--ours); }
.plain { background: var(--plain); } .peer { background: var(--peer); }
.key .bar { display: inline-block; width: 1em; }
svg { display: block; width: 100%; overflow: visible; font-size: 12.5px; }
svg text { fill: var(--text); paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
svg .faint { fill: var(--faint); }
svg .grid { stroke: var(--line); } svg .limit { stroke: var(--bad); stroke-dasharray: 4 3; }
svg .dot { fill: var(--ours); fill-opacity: .75; } svg .open { fill: none; stroke: var(--ours);
  stroke-width: 1.5; } svg .other { fill: var(--peer); }
@media (max-width: 640px) { body { padding: .8em; }
  .bars { grid-template-columns: 1fr; gap: .05em; } .bars .bar { margin-bottom: .15em; }
  .bars .figure { margin-bottom: .5em; color: var(--faint); }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .4em; } }
@media print { .case { break-inside: avoid; } }
)";

}  // namespace

std::string Escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '&': result += "&amp;"; break;
      case '\'': result += "&#39;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

double Number(const Row& row, const char* key) { return row.at(key).get<double>(); }
std::string Text(const Row& row, const char* key) { return row.at(key).get<std::string>(); }

std::string TimeOf(double seconds) {
  if (seconds < 1e-6) return Format("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return Format("%.1f µs", seconds * 1e6);
  if (seconds < 1) return Format("%.2f ms", seconds * 1e3);
  return Format("%.2f s", seconds);
}

std::string BytesOf(double bytes) {
  if (bytes < 1 << 10) return Format("%.0f B", bytes);
  if (bytes < 1 << 20) return Format("%.1f KB", bytes / (1 << 10));
  if (bytes < 1 << 30) return Format("%.1f MB", bytes / (1 << 20));
  return Format("%.1f GB", bytes / (1 << 30));
}

std::string OperationsOf(double operations) {
  if (operations < 1e6) return Format("%.1f thousand operations", operations * 1e-3);
  if (operations < 1e9) return Format("%.1f million operations", operations * 1e-6);
  return Format("%.1f billion operations", operations * 1e-9);
}

std::string PercentOf(double share) {
  return Format(share < 0.0995 && share > 0 ? "%.1f %%" : "%.0f %%", share * 100);
}

std::string TableOf(const std::vector<std::string>& head,
                    const std::vector<std::vector<std::string>>& rows, const char* css_class) {
  std::string text = Format("<div class=scroll><table class='%s'><tr>", css_class);
  for (const std::string& cell : head) text += "<th>" + cell;
  text += "</tr>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row) {
      const char* const start = cell.size() > 60   ? "<td class=wide>"
                                : cell.size() < 12 ? "<td class=short>"
                                                   : "<td>";
      text += start + cell;
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string Badge(const char* kind, const std::string& text) {
  return Format("<span class='badge %s'>", kind) + Escaped(text) + "</span>";
}

std::string PageOf(const std::string& title, const std::string& body) {
  return "<!doctype html><html lang=en><meta charset=utf-8>"
         "<meta name=viewport content='width=device-width, initial-scale=1'>"
         "<title>" +
         Escaped(title) + "</title><style>" + kStyle + "</style>\n" + body + "</html>\n";
}

}  // namespace mluop::tool
