// SPDX-License-Identifier: Apache-2.0
// The summary of a report in words.
#include "efficiency.h"
#include "html.h"
#include "peers.h"
#include "report.h"

namespace mluop::tool {
namespace {

// A call that returned a status was refused; else its result was wrong.
bool IsRefusal(const std::string& error) { return error.rfind("MLUOP_STATUS_", 0) == 0; }

Row FailuresOf(const Row& document, bool refused) {
  Row items = Row::array();
  for (const Row& op : document.value("operators", Row::array())) {
    for (const Row& failure : op.at("failures")) {
      if (IsRefusal(Text(failure, "error")) != refused) continue;
      items.push_back(Text(failure, "case") + ": " + Text(failure, "error"));
    }
  }
  return items;
}

// The cases that the device refuses by design.
Row BeyondDevice(const Row& document) {
  Row items = Row::array();
  for (const Row& op : document.value("operators", Row::array())) {
    for (const Row& refused : op.value("refused", Row::array())) {
      items.push_back(Text(refused, "case") + ": " + Text(refused, "error"));
    }
  }
  return items;
}

Row WrongParameterChecks(const Row& document) {
  Row items = Row::array();
  for (const Row& op : document.value("operators", Row::array())) {
    for (const Row& check : op.at("parameter_checks")) {
      if (check.value("passed", false)) continue;
      items.push_back(Text(check, "entry") + ": " + Text(check, "rule") + ": " +
                      Text(check, "error"));
    }
  }
  return items;
}

// The reason of a case below 50 %. A case that reaches 50 % has none.
std::string ReasonText(const Row& row) {
  const std::string reason = row.value("reason", "");
  if (!reason.empty()) return "; " + reason;
  return row.value("met", false) ? "; reaches 50 %" : "; no reason given";
}

Row SlowerThanPeers(const Row& cases, const Row& peers) {
  Row items = Row::array();
  for (const Row& row : cases) {
    for (const Peer& peer : PeersOf(peers, row)) {
      if (peer.ratio >= 1) continue;
      items.push_back(Text(row, "case") + ": " + TimeOf(Number(row, "min_s")) +
                      Format(", %.2f times the time of ", 1 / peer.ratio) + peer.name +
                      " (measured elsewhere: " + peer.machine + ")" + ReasonText(row));
    }
  }
  return items;
}

Row BelowAccepted(const Row& cases) {
  Row items = Row::array();
  for (const Row& row : cases) {
    if (row.value("met", false)) continue;
    items.push_back(Text(row, "case") + ": IO " + PercentOf(Number(row, "io_efficiency")) +
                    ", compute " + PercentOf(Number(row, "compute_efficiency")) + ReasonText(row));
  }
  return items;
}

}  // namespace

Row SummaryOf(const Row& document, const Row& peers) {
  const Row& cases = document.at("cases");
  Row summary = {{{"title", "Not accurate enough"}, {"items", FailuresOf(document, false)}},
                 {{"title", "Refused"}, {"items", FailuresOf(document, true)}},
                 {{"title", "Parameter checks with another outcome"},
                  {"items", WrongParameterChecks(document)}},
                 {{"title", "Slower than a peer"}, {"items", SlowerThanPeers(cases, peers)}},
                 {{"title", "Below 50 %"}, {"items", BelowAccepted(cases)}}};
  const Row beyond = BeyondDevice(document);
  if (!beyond.empty())
    summary.push_back({{"title", "Beyond the device's limits"}, {"items", beyond}});
  return summary;
}

}  // namespace mluop::tool
