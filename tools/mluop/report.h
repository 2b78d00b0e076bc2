// SPDX-License-Identifier: Apache-2.0
// Writes the object of DocumentOf, with the sections that `mluop report` adds, as JSON and as a
// self-contained HTML page. The page shows only the contents of the object.
#pragma once

#include "figures.h"

namespace mluop::tool {

// docs/quality.json, the last result of each nightly step; the build embeds it.
std::string_view BuiltInQuality();

// Writes the page that the options name. Returns the exit status.
int WritePage(const PerfOptions& options, const Row& document);

// Whether WriteFile can write to this path. Prints its error message if not. For the time before a
// command that takes long.
bool IsWritable(const std::string& name, const char* option);

// Writes a file; "-" is stdout. Returns the exit status; `option` is named in the error message.
int WriteFile(const std::string& name, const char* option, const std::string& text);

// The page of a document. peers: as ReadPeers returns them.
std::string DocumentPage(const Row& document, const Row& peers);

// The sections of an operator: its description, checklist, tests and parameter checks.
std::string OperatorSections(const Row& op);
// The table of the counters of its cases, on a device that counts.
std::string CountersSection(const std::vector<const Row*>& rows);
// The cards of its measurements; all rows are of one operator.
std::string PerformanceSection(const std::vector<const Row*>& rows, const Row& peers);

// Lists the cases that are not accurate enough, refused, slower than a peer or below 50 %, with the
// reasons: an array of {"title", "items"}.
Row SummaryOf(const Row& document, const Row& peers);

}  // namespace mluop::tool
