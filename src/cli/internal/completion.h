// SPDX-License-Identifier: Apache-2.0
//
// What may come next on a command line. Shells ask the program (`dray __complete WORD...`), so that
// the scripts they load are a few lines that never grow old.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dray::cli::internal {

struct Candidate {
  std::string word;
  std::string text;  // what it means, in a line; may be empty
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // names of files would do as well
};

// Of words after the program's name; the last one is unfinished, and may be empty.
Completion Complete(std::span<const std::string> words);

// Candidates a line each, a tab before the text, then a line with a number: what cobra, kubectl's
// library, has its programs print, so that kubectl takes the answer of kubectl_complete-dray as it
// is. 4: nothing but these; 0: or files.
std::string CompletionText(const Completion& completion);

// The script for "bash", "zsh" or "fish"; empty for another shell.
std::string CompletionScript(std::string_view shell);

}  // namespace dray::cli::internal
