// SPDX-License-Identifier: Apache-2.0
// Facts about operators for reports, from lines of the families' cases.txt:
//   #: OPERATOR description: what it computes
//   #: OPERATOR limits: sizes that one device does not take, and the reason
//   #: OPERATOR DEVICE [KEY=VALUE ...]: its bottleneck, with the number that proves it
// DEVICE is a kind: cpu, cuda. The words KEY=VALUE must all occur in the case line. The first line
// that fits is the note.
#pragma once

#include <string>
#include <string_view>

namespace mluop::testing {

// Returns the note in the text of a cases.txt; "" if there is none. `line` is a case line, or the
// name of an operator. `topic` is "description", "limits" or the name of a device: "cuda:0".
std::string NoteIn(std::string_view text, std::string_view line, std::string_view topic);

// The same in the cases.txt of the operator's family.
std::string NoteOf(std::string_view line, std::string_view topic);

}  // namespace mluop::testing
