// SPDX-License-Identifier: Apache-2.0
// Colours, the progress line and the stream for JSON.
#pragma once

#include <string>

namespace mluop::tool {

enum class Colour { kRed = 31, kGreen = 32 };

// Returns the text in a colour if stdout is a terminal that shows colours. NO_COLOR and TERM=dumb
// disable colours and the progress line.
std::string Coloured(Colour colour, const std::string& text);

// Replaces the progress line on stderr, truncated to the terminal's width; "" removes it. Prints
// nothing if stderr is not a terminal.
void SetProgressLine(const std::string& text);

// Sends all text that is printed from now on to stderr. Stdout is left for WriteToStdout.
void ReserveStdout();
// Returns false if not all of the text could be written.
bool WriteToStdout(const std::string& text);

}  // namespace mluop::tool
