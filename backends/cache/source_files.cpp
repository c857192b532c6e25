// SPDX-License-Identifier: Apache-2.0
#include "backends/cache/source_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/file_descriptor.hpp"

namespace weir::cache {
namespace {

/// Thrown if the files that a compilation reads cannot be determined. Contains the reason.
class Unknown : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

std::string without_splices(std::string_view text) {
  std::string joined(text);
  for (const std::string_view splice : {"\\\n", "\\\r\n"}) {
    for (std::size_t at = 0; (at = joined.find(splice, at)) != std::string::npos;) joined.erase(at, splice.size());
  }
  return joined;
}

std::optional<std::string> read_file(const std::string& path, std::size_t most) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (static_cast<std::uint64_t>(status.st_size) > most) throw Unknown("the files are too large");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  if (!file.read(text.data(), text.size())) throw Unknown(path + " cannot be read");
  return text;
}

class Reader {
 public:
  Reader(CacheKeyBuilder& key, const SourceFiles& files) : key_(key), files_(files) {}

  void run() {
    read_options();
    key_.add("source").add(files_.source).add(files_.folder);
    for (const std::string& name : included_first_) include(name, files_.folder, true);
    scan(files_.source, files_.folder);
  }

 private:
  void read_options() {
    key_.add("options");
    for (std::size_t i = 0; i < files_.options.size(); ++i) {
      const std::string& option = files_.options[i];
      key_.add(option);
      check_time(option);
      const auto value = [&](std::string_view name) -> std::optional<std::string> {
        if (option == name && i + 1 < files_.options.size()) {
          key_.add(files_.options[++i]);
          return files_.options[i];
        }
        const bool long_name = name.starts_with("--") || name == "-include";
        if (long_name && option.starts_with(std::string(name) + "=")) return option.substr(name.size() + 1);
        if (!long_name && option.starts_with(name) && option.size() > name.size()) return option.substr(name.size());
        return std::nullopt;
      };
      if (option.starts_with("-D") || option.starts_with("--define-macro")) continue;
      if (const auto first = value("--pre-include")) {
        included_first_.push_back(*first);
      } else if (const auto also = value("-include")) {
        included_first_.push_back(*also);
      } else if (const auto folder = value("--include-path")) {
        folders_.push_back(*folder);
      } else if (const auto short_folder = value("-I")) {
        folders_.push_back(*short_folder);
      } else if (names_files(option)) {
        throw Unknown(fmt::format("the option '{}' may name a file", option));
      }
    }
  }

  static bool names_files(std::string_view option) {
    for (const char* const word :
         {"/", "@", "file", "pch", "include", "isystem", "iquote", "idirafter", "imacros", "-Xclang", "plugin"}) {
      if (option.find(word) != std::string_view::npos) return true;
    }
    return !option.starts_with('-');
  }

  static void check_time(std::string_view text) {
    for (const char* const word : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
      if (text.find(word) != std::string_view::npos) throw Unknown(fmt::format("it uses {}", word));
    }
  }

  void scan(std::string_view text, const std::string& folder) {
    const std::string joined = text.find('\\') != std::string_view::npos ? without_splices(text) : std::string();
    if (!joined.empty()) text = joined;
    check_time(text);
    for (std::size_t at = 0; (at = text.find('#', at)) != std::string_view::npos;) {
      at = behind_blanks(text, at + 1);
      if (text.substr(at).starts_with("embed")) throw Unknown("it contains an #embed");
      for (const std::string_view word : {"include_next", "include", "import"}) {
        if (!text.substr(at).starts_with(word)) continue;
        at = behind_blanks(text, at + word.size());
        directive(text.substr(at, std::min(text.find('\n', at), text.size()) - at), folder, true);
        break;
      }
    }
    constexpr std::string_view question = "__has_include";
    for (std::size_t at = 0; (at = text.find(question, at)) != std::string_view::npos;) {
      at = behind_blanks(text, at + question.size());
      if (at < text.size() && text[at] == '(') directive(text.substr(behind_blanks(text, at + 1), 1024), folder, false);
    }
  }

  static std::size_t behind_blanks(std::string_view text, std::size_t at) {
    while (at < text.size() && is_blank(text[at])) ++at;
    return at;
  }

  // Handles the operand of an `#include`: <name>, "name", or a macro.
  void directive(std::string_view text, const std::string& folder, bool is_include) {
    const char open = text.empty() ? '\0' : text[0];
    const std::size_t close = open == '<' ? text.find('>') : open == '"' ? text.find('"', 1) : std::string_view::npos;
    if (close == std::string_view::npos) {
      if (is_include) throw Unknown("the name in an #include comes from a macro");
      return;
    }
    include(std::string(text.substr(1, close - 1)), folder, is_include);
  }

  // Adds every file to which the include may refer.
  void include(const std::string& name, const std::string& folder, bool must_be_known) {
    bool known = false;
    for (std::size_t i = 0; i < files_.header_names.size(); ++i) {
      if (name != files_.header_names[i]) continue;
      known = true;
      if (!seen_.insert("handed over: " + name).second) continue;
      key_.add("header").add(name).add(files_.header_texts[i]);
      scan(files_.header_texts[i], "");
    }
    if (name.starts_with('/')) {
      known = file(name) || known;
    } else {
      if (!folder.empty()) known = file(folder + "/" + name) || known;
      for (const std::string& searched : folders_) known = file(searched + "/" + name) || known;
    }
    // A header that is given as text may include the real file of the same name as "./name". No system header has such a
    // name.
    if (!known && must_be_known && files_.has_own_folders && !name.starts_with("./")) {
      throw Unknown(fmt::format("'{}' is in none of the passed folders, but may be in one of the compiler's folders", name));
    }
  }

  // Adds the file to the key if it exists. Returns whether it exists.
  bool file(const std::string& path) {
    if (!seen_.insert(path).second) return present_.count(path) != 0;
    const auto text = read_file(path, left_);
    if (!text) {
      key_.add("missing").add(path);
      return false;
    }
    present_.insert(path);
    left_ -= text->size();
    key_.add("file").add(path).add(*text);
    scan(*text, path.substr(0, path.rfind('/')));
    return true;
  }

  CacheKeyBuilder& key_;
  const SourceFiles& files_;
  std::vector<std::string> folders_, included_first_;
  std::set<std::string> seen_, present_;
  std::size_t left_ = std::size_t{64} << 20U;  // how many bytes may still be read
};

}  // namespace

std::string add_source_files(CacheKeyBuilder& key, const SourceFiles& files) {
  try {
    Reader(key, files).run();
    return {};
  } catch (const Unknown& reason) {
    return reason.what();
  }
}

}  // namespace weir::cache
