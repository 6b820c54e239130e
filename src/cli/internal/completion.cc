// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/completion.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/gates.h"
#include "cli/internal/outline.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kBash = R"(# bash completion of dray: source <(dray completion bash)
_dray() {
  local line=${COMP_LINE:0:COMP_POINT} words answer files current
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${words[-1]}
  local IFS=$'\n'
  answer=($("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)) || return
  files=${answer[-1]}
  unset 'answer[-1]'
  COMPREPLY=("${answer[@]%%$'\t'*}")
  # What is before the = is a word of its own to bash.
  if [[ $current == *=* && $COMP_WORDBREAKS == *=* ]]; then COMPREPLY=("${COMPREPLY[@]#"${current%%=*}="}"); fi
  if [[ ${COMPREPLY[*]} == *= ]]; then compopt -o nospace; fi
  if [[ $files == :0 ]]; then compopt -o default; fi
}
complete -F _dray dray
)";

constexpr std::string_view kZsh = R"(#compdef dray
# zsh completion of dray: source <(dray completion zsh), or a file _dray in a folder of $fpath
_dray() {
  local -a answer candidates
  local line
  answer=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${answer[@]}"; do
    case $line in
      :0) _files ;;
      :*) ;;
      *) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  _describe dray candidates
}
if [[ ${funcstack[1]} == _dray ]]; then _dray; else compdef _dray dray; fi
)";

constexpr std::string_view kFish = R"(# fish completion of dray: dray completion fish | source
function __dray_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$current"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete --command dray --no-files --arguments '(__dray_complete)'
)";

// Flags that kubectl's users put before the command; each has a value.
constexpr std::array<std::string_view, 4> kBefore = {"-n", "--namespace", "--context",
                                                     "--kubeconfig"};

void Offer(Completion& completion, std::string_view prefix, std::string word, std::string text) {
  if (word.starts_with(prefix)) completion.candidates.push_back({std::move(word), std::move(text)});
}

// The place of the command among the words before the last, if it is there.
std::optional<std::size_t> PlaceOfCommand(std::span<const std::string> words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with("-")) return i;
    if (std::ranges::find(kBefore, words[i]) != kBefore.end()) ++i;
  }
  return std::nullopt;
}

void OfferCommands(Completion& completion, std::string_view prefix) {
  for (const CommandRow& row : Commands()) {
    Offer(completion, prefix, std::string(row.name), std::string(row.summary));
  }
}

const FlagOutline* FindFlag(const CommandOutline& command, std::string_view name) {
  const auto it = std::ranges::find_if(command.flags, [&](const FlagOutline& flag) {
    return std::ranges::find(flag.names, name) != flag.names.end();
  });
  return it == command.flags.end() ? nullptr : &*it;
}

// `before` is what stands in front of the value in the same word: "--output=", or nothing.
void OfferValues(Completion& completion, const FlagOutline& flag, std::string_view before,
                 std::string_view value) {
  // Of a list, the last one is unfinished.
  const std::size_t comma = value.rfind(',');
  std::string head(before);
  if (comma != std::string_view::npos) {
    head += value.substr(0, comma + 1);
    value.remove_prefix(comma + 1);
  }
  const std::string prefix = fmt::format("{}{}", head, value);
  for (const std::string& choice : flag.choices) Offer(completion, prefix, head + choice, "");
  if (std::ranges::find(flag.names, "--feature-gates") != flag.names.end()) {
    for (const api::GateInfo& gate : api::GateTable()) {
      Offer(completion, prefix, fmt::format("{}{}=true", head, gate.name),
            std::string(gate.summary));
      Offer(completion, prefix, fmt::format("{}{}=false", head, gate.name),
            std::string(gate.summary));
    }
  }
  completion.files = completion.files || flag.files;
}

void OfferFlags(Completion& completion, const CommandOutline& command, std::string_view prefix) {
  for (const FlagOutline& flag : command.flags) {
    for (const std::string& name : flag.names) Offer(completion, prefix, name, flag.text);
  }
}

void CompleteCommand(Completion& completion, const CommandOutline& command,
                     std::span<const std::string> words) {
  const std::string& last = words.back();
  if (words.size() > 1) {
    const FlagOutline* before = FindFlag(command, words[words.size() - 2]);
    if (before != nullptr && !before->value.empty() && !before->value_optional) {
      return OfferValues(completion, *before, "", last);
    }
  }
  if (last.starts_with("-")) {
    const std::size_t equals = last.find('=');
    if (equals == std::string::npos) return OfferFlags(completion, command, last);
    const std::string_view name = std::string_view(last).substr(0, equals);
    if (const FlagOutline* flag = FindFlag(command, name)) {
      OfferValues(completion, *flag, last.substr(0, equals + 1),
                  std::string_view(last).substr(equals + 1));
    }
    return;
  }
  // Words before this one that are neither flags nor their values.
  std::size_t place = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with("-")) {
      ++place;
    } else if (const FlagOutline* flag = FindFlag(command, words[i]);
               flag != nullptr && !flag->value.empty() && !flag->value_optional) {
      ++i;
    }
  }
  if (place < command.arguments.size()) {
    OfferValues(completion, command.arguments[place], "", last);
  }
  if (completion.candidates.empty() && last.empty()) OfferFlags(completion, command, last);
}

}  // namespace

Completion Complete(std::span<const std::string> words) {
  Completion completion;
  if (words.empty()) return completion;
  const std::string& last = words.back();
  const std::optional<std::size_t> at = PlaceOfCommand(words);
  if (!at) {
    if (last.starts_with("-")) {
      Offer(completion, last, "--help", "List the commands");
      Offer(completion, last, "--version", "Print the version");
      return completion;
    }
    OfferCommands(completion, last);
    return completion;
  }
  if (words[*at] == "help") {
    OfferCommands(completion, last);
  } else if (const CommandRow* row = FindCommand(words[*at])) {
    CompleteCommand(completion, OutlineOf(*row), words.subspan(*at + 1));
  }
  return completion;
}

std::string CompletionText(const Completion& completion) {
  std::string text;
  for (const Candidate& one : completion.candidates) {
    text += one.text.empty() ? fmt::format("{}\n", one.word)
                             : fmt::format("{}\t{}\n", one.word, one.text);
  }
  return text + (completion.files ? ":0\n" : ":4\n");
}

std::string CompletionScript(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  return shell == "fish" ? std::string(kFish) : "";
}

}  // namespace dray::cli::internal
